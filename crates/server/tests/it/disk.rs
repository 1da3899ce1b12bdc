//! A small disk of a test's own: it can be filled, closed for writes, and given back. Only root may mount one; elsewhere
//! a test that needs it says that it was skipped.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

pub(crate) struct Disk {
    mount: PathBuf,
    /// Where the disk's image and its mount point are, if they are its own.
    _dir: Option<TempDir>,
}

impl Disk {
    /// In memory, with so many KiB.
    pub(crate) fn new(kib: u32) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mount = dir.path().join("disk");
        let mut disk = Self::at(&mount, kib)?;
        disk._dir = Some(dir);
        Some(disk)
    }

    /// The same at a folder of somebody else's.
    pub(crate) fn at(mount: &Path, kib: u32) -> Option<Self> {
        fs::create_dir_all(mount).unwrap();
        let size = format!("size={kib}k");
        let mounted = run("mount", &["-t", "tmpfs", "-o", &size, "docwright-test"], mount);
        mounted.then(|| Self { mount: mount.to_owned(), _dir: None })
    }

    /// An ext4 in a file. It can be closed for writes while files on it are open.
    pub(crate) fn ext4() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let (image, mount) = (dir.path().join("image"), dir.path().join("disk"));
        File::create(&image).unwrap().set_len(64 << 20).unwrap();
        fs::create_dir(&mount).unwrap();
        let options = ["-o", "loop,errors=remount-ro", image.to_str().unwrap()];
        let mounted = run("mkfs.ext4", &["-q"], &image) && run("mount", &options, &mount);
        mounted.then(|| Self { mount, _dir: Some(dir) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.mount
    }

    /// Until nothing more goes in.
    pub(crate) fn fill(&self) {
        self.fill_up_to(0);
    }

    /// But for so many KiB.
    pub(crate) fn fill_up_to(&self, kib: usize) {
        let mut file = File::create(self.mount.join("filler")).unwrap();
        let mut size = 0;
        while file.write_all(&[1; 4096]).is_ok() {
            size += 4096;
        }
        file.set_len(size - kib as u64 * 1024).unwrap();
    }

    pub(crate) fn free(&self) {
        fs::remove_file(self.mount.join("filler")).unwrap();
    }

    pub(crate) fn remount(&self, how: &str) {
        assert!(run("mount", &["-o", &format!("remount,{how}")], &self.mount));
    }

    /// Lets an ext4 believe in an error, after which it takes no writes. `false` where the kernel has no such switch.
    pub(crate) fn fail(&self) -> bool {
        let found = Command::new("findmnt").args(["-n", "-o", "SOURCE"]).arg(&self.mount).output().unwrap();
        let device = String::from_utf8(found.stdout).unwrap();
        let name = device.trim().trim_start_matches("/dev/");
        let done = fs::write(format!("/sys/fs/ext4/{name}/trigger_fs_error"), "1").is_ok();
        if !done {
            eprintln!("SKIPPED: this kernel cannot be told that an ext4 has failed");
        }
        done
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.mount).status();
    }
}

fn run(program: &str, args: &[&str], path: &Path) -> bool {
    match Command::new(program).args(args).arg(path).output() {
        Ok(output) if output.status.success() => true,
        other => {
            eprintln!("SKIPPED: `{program}` cannot be used here: {other:?}");
            false
        }
    }
}
