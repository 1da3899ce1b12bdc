//! Removes stale files of killed processes from the repository caches: lock files and unfinished temporary
//! files.
//!
//! A stale lock file would block writes to its ref forever.

use std::ffi::OsStr;
use std::path::Path;
use std::{fs, io};

/// Removes stale files from all caches. Call it only with exclusive access, before any cache is used: the
/// lock files of a live process look the same.
pub fn remove_stale_files(caches: &Path) -> io::Result<()> {
    for cache in entries(caches)? {
        match cache.file_name().as_encoded_bytes().starts_with(b".docwright-") {
            true => fs::remove_dir_all(cache.path())?,
            false if cache.file_type()?.is_dir() => remove_unfinished(&cache.path())?,
            false => {}
        }
    }
    Ok(())
}

fn remove_unfinished(dir: &Path) -> io::Result<()> {
    for entry in entries(dir)? {
        if entry.file_type()?.is_dir() {
            remove_unfinished(&entry.path())?;
        } else if is_unfinished(&entry.file_name()) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Recognizes temporary files by name. No ref, object or packfile can have such a name.
fn is_unfinished(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.ends_with(b".lock") || name.starts_with(b"tmp_") || name.starts_with(b".tmp")
}

fn entries(dir: &Path) -> io::Result<Vec<fs::DirEntry>> {
    match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries?.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unfinished_files_are_removed() {
        let caches = tempfile::tempdir().unwrap();
        let path_of = |path: &str| caches.path().join(path);
        let stale = [
            "p.git/packed-refs.lock",
            "p.git/refs/docwright/pins/job.lock",
            "p.git/objects/pack/tmp_pack_x",
            "p.git/objects/.tmpAbCdEf",
            ".docwright-x/fresh/HEAD",
        ];
        let kept =
            ["p.git.lock", "p.git/HEAD", "p.git/refs/docwright/pins/job", "p.git/objects/pack/pack-1.pack"];
        for path in stale.iter().chain(&kept) {
            fs::create_dir_all(path_of(path).parent().unwrap()).unwrap();
            fs::write(path_of(path), "").unwrap();
        }
        remove_stale_files(caches.path()).unwrap();
        assert!(stale.iter().all(|path| !path_of(path).exists()), "stale files are removed");
        assert!(kept.iter().all(|path| path_of(path).exists()), "all other files stay");
        remove_stale_files(&path_of("nothing")).unwrap();
    }
}
