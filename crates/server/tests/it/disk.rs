//! Mounts a small disk for a test, which can be filled, made read-only, and freed. Only root can mount a
//! disk; tests of other users print that they were skipped.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

pub(crate) struct Disk {
    mount: PathBuf,
    /// The folder of the image and the mount point, if this disk created it.
    _dir: Option<TempDir>,
}

impl Disk {
    /// A tmpfs of this size.
    pub(crate) fn new(kib: u32) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mount = dir.path().join("disk");
        let mut disk = Self::at(&mount, kib)?;
        disk._dir = Some(dir);
        Some(disk)
    }

    /// A tmpfs at an existing folder.
    pub(crate) fn at(mount: &Path, kib: u32) -> Option<Self> {
        fs::create_dir_all(mount).unwrap();
        let size = format!("size={kib}k");
        let mounted = run("mount", &["-t", "tmpfs", "-o", &size, "docwright-test"], mount);
        mounted.then(|| Self { mount: mount.to_owned(), _dir: None })
    }

    /// An ext4 file system in a file. It can become read-only while files on it are open.
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

    /// Fills the disk completely.
    pub(crate) fn fill(&self) {
        self.fill_up_to(0);
    }

    /// Fills the disk, except for so many KiB.
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

    pub(crate) fn remount(&self, option: &str) {
        assert!(run("mount", &["-o", &format!("remount,{option}")], &self.mount));
    }

    /// Triggers an error of the ext4 file system, so that it becomes read-only. Returns false if the kernel
    /// can't do that.
    pub(crate) fn fail(&self) -> bool {
        let found = Command::new("findmnt").args(["-n", "-o", "SOURCE"]).arg(&self.mount).output().unwrap();
        let device = String::from_utf8(found.stdout).unwrap();
        let name = device.trim().trim_start_matches("/dev/");
        let is_triggered = fs::write(format!("/sys/fs/ext4/{name}/trigger_fs_error"), "1").is_ok();
        if !is_triggered {
            eprintln!("SKIPPED: this kernel cannot trigger an error of an ext4 file system");
        }
        is_triggered
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
