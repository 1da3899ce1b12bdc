//! Copies a sample repository while a server writes to it.
//!
//! git writes an object before the ref that names it. So refs are copied before objects: the objects that a
//! copied ref names existed by then, and are copied too.

use std::fs::{self, DirBuilder, DirEntry, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// How often packs are listed again because a repack removed one.
const MAX_LISTINGS: u32 = 10;

/// Copies the repository at `from` to a new folder. Only the owner can read the files. They aren't synced to
/// disk yet.
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    create_dir(to)?;
    // Loose refs come first: git packs a ref before it removes the loose one.
    copy_entry(from, to, "refs")?;
    for name in names(from)?.iter().filter(|name| !matches!(name.as_str(), "refs" | "objects")) {
        copy_entry(from, to, name)?;
    }
    copy_objects(&from.join("objects"), &to.join("objects"))
}

/// Loose objects come before packs, for the same reason as loose refs.
fn copy_objects(from: &Path, to: &Path) -> io::Result<()> {
    create_dir(to)?;
    for name in names(from)?.iter().filter(|name| *name != "pack") {
        copy_entry(from, to, name)?;
    }
    for _ in 0..MAX_LISTINGS {
        if copy_entry(from, to, "pack")? {
            return Ok(());
        }
    }
    Err(io::Error::other(format!("{} was repacked during every attempt to copy it", from.display())))
}

/// Copies a file or a folder. Returns whether every listed file still existed.
fn copy_entry(from: &Path, to: &Path, name: &str) -> io::Result<bool> {
    let (from, to) = (from.join(name), to.join(name));
    let found = match fs::symlink_metadata(&from) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        found => found?,
    };
    if found.is_dir() {
        create_dir(&to)?;
        let mut is_complete = true;
        for name in names(&from)? {
            is_complete &= copy_entry(&from, &to, &name)?;
        }
        return Ok(is_complete);
    }
    if found.is_file() { copy_file(&from, &to) } else { Ok(true) }
}

fn copy_file(from: &Path, to: &Path) -> io::Result<bool> {
    let mut source = match File::open(from) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        source => source?,
    };
    let mut copy = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(to)?;
    io::copy(&mut source, &mut copy).map(|_| true)
}

/// The names in a folder, without files that git is still writing.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = name(&entry?)?;
        if !is_unfinished(&name) {
            names.push(name);
        }
    }
    Ok(names)
}

fn name(entry: &DirEntry) -> io::Result<String> {
    entry.file_name().into_string().map_err(|_| {
        let path = entry.path();
        io::Error::other(format!("the name of {} is not UTF-8: rename that branch or tag", path.display()))
    })
}

fn is_unfinished(name: &str) -> bool {
    name.ends_with(".lock") || name.starts_with("tmp_") || name.starts_with("incoming-")
}

fn create_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[track_caller]
    fn git(repository: &Path, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.arg("-C").arg(repository).args(["-c", "user.name=K", "-c", "user.email=k@kettle.example"]);
        let output = command.args(args).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Commits a new version of a file to `main`, and repacks after every eighth commit.
    fn commit(repository: &Path, n: u32) {
        let file = repository.with_extension("txt");
        fs::write(&file, n.to_string()).unwrap();
        let blob = git(repository, &["hash-object", "-w", file.to_str().unwrap()]);
        fs::write(&file, format!("100644 blob {blob}\tpage.md\n")).unwrap();
        let input = File::open(&file).unwrap();
        let tree = Command::new("git").arg("-C").arg(repository).arg("mktree").stdin(input).output().unwrap();
        let tree = String::from_utf8(tree.stdout).unwrap();
        let commit = git(repository, &["commit-tree", tree.trim(), "-p", "main", "-m", &n.to_string()]);
        git(repository, &["update-ref", "refs/heads/main", &commit]);
        if n.is_multiple_of(8) {
            git(repository, &["gc", "--quiet", "--prune=now"]);
        }
    }

    #[test]
    fn a_copy_is_complete_whatever_is_committed_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let repository = folder.path().join("sample-1.git");
        crate::sample::create(&repository).unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in 1.. {
                    if done.load(Ordering::SeqCst) {
                        return;
                    }
                    commit(&repository, n);
                }
            });
            let mut tips = std::collections::HashSet::new();
            for round in 0..400 {
                let to = folder.path().join(format!("copy-{round}.git"));
                copy(&repository, &to).unwrap();
                let fsck =
                    Command::new("git").arg("-C").arg(&to).args(["fsck", "--connectivity-only"]).output();
                let fsck = fsck.unwrap();
                let is_complete = fsck.status.success();
                done.fetch_or(!is_complete, Ordering::SeqCst);
                assert!(is_complete, "round {round}: {}", String::from_utf8_lossy(&fsck.stderr));
                tips.insert(git(&to, &["rev-parse", "main"]));
                if tips.len() >= 25 {
                    break;
                }
            }
            done.store(true, Ordering::SeqCst);
            assert!(tips.len() >= 10, "too few commits meanwhile: {}", tips.len());
        });
    }

    #[test]
    fn locks_and_links_are_skipped_and_empty_folders_are_copied() {
        let folder = tempfile::tempdir().unwrap();
        let [repository, to] = ["sample-1.git", "copy.git"].map(|name| folder.path().join(name));
        crate::sample::create(&repository).unwrap();
        git(&repository, &["pack-refs", "--all"]);
        fs::write(repository.join("packed-refs.lock"), "").unwrap();
        fs::write(repository.join("refs/heads/main.lock"), "").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", repository.join("link")).unwrap();
        copy(&repository, &to).unwrap();
        assert_eq!(git(&to, &["rev-parse", "main"]), git(&repository, &["rev-parse", "main"]));
        assert!(to.join("refs/heads").is_dir());
        for skipped in ["packed-refs.lock", "refs/heads/main.lock", "link"] {
            assert!(fs::symlink_metadata(to.join(skipped)).is_err(), "{skipped}");
        }
    }
}
