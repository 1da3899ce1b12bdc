//! What a process that was killed left in the caches: locks that nobody holds any more, and files that were never
//! finished. A lock that stays would keep its ref from being written for ever.

use std::ffi::OsStr;
use std::path::Path;
use std::{fs, io};

/// Clears it away in the folder of all caches. Only for whoever has them alone, before any of them is used: what
/// somebody alive holds looks the same.
pub fn clear_leavings(caches: &Path) -> io::Result<()> {
    for cache in entries(caches)? {
        match cache.file_name().as_encoded_bytes().starts_with(b".docwright-") {
            true => fs::remove_dir_all(cache.path())?,
            false if cache.file_type()?.is_dir() => clear(&cache.path())?,
            false => {}
        }
    }
    Ok(())
}

fn clear(dir: &Path) -> io::Result<()> {
    for entry in entries(dir)? {
        if entry.file_type()?.is_dir() {
            clear(&entry.path())?;
        } else if is_unfinished(&entry.file_name()) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// By the names that git and we give them. No ref, object or pack can have one.
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
    fn what_is_unfinished_goes_and_all_else_stays() {
        let caches = tempfile::tempdir().unwrap();
        let place = |path: &str| caches.path().join(path);
        let left = [
            "p.git/packed-refs.lock",
            "p.git/refs/docwright/pins/job.lock",
            "p.git/objects/pack/tmp_pack_x",
            "p.git/objects/.tmpAbCdEf",
            ".docwright-x/fresh/HEAD",
        ];
        let kept =
            ["p.git.lock", "p.git/HEAD", "p.git/refs/docwright/pins/job", "p.git/objects/pack/pack-1.pack"];
        for path in left.iter().chain(&kept) {
            fs::create_dir_all(place(path).parent().unwrap()).unwrap();
            fs::write(place(path), "").unwrap();
        }
        clear_leavings(caches.path()).unwrap();
        assert!(left.iter().all(|path| !place(path).exists()), "all that was left is gone");
        assert!(kept.iter().all(|path| place(path).exists()), "all else is there");
        clear_leavings(&place("nothing")).unwrap();
    }
}
