//! Looks whether a folder can be read or written just now. A library may report a file that it could not open as one
//! that is not there; this tells the two apart.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::StatVfsMountFlags;

use crate::{Cause, Trouble};

/// Descriptors that have to be free: one that is free for a moment says little.
const SPARE_FILES: usize = 16;
/// Of a folder, so that a large one costs little.
const MAX_FILES: usize = 1_000;
const BLOCK: usize = 64 * 1024;

/// Trouble with reading the files in `folder`, each from its beginning. What is not there is no trouble.
///
/// Never for a folder with a database that this process has open: closing any descriptor of a file ends all locks that
/// the process has on it, and SQLite's with them.
pub fn read_trouble(folder: &Path) -> Option<Trouble> {
    let entries = match entries(folder) {
        Ok(entries) => entries,
        Err(error) => return Trouble::find(&error),
    };
    let unread = || entries.iter().filter(|entry| entry.is_file()).find_map(|file| begin(file).err());
    open_files_trouble().or_else(|| Trouble::find(&unread()?))
}

/// Whether this process can open a few more files.
pub fn open_files_trouble() -> Option<Trouble> {
    let spare = (0..SPARE_FILES).map(|_| File::open("/dev/null")).collect::<io::Result<Vec<_>>>();
    Trouble::find(&spare.err()?)
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?.take(MAX_FILES).map(|entry| Ok(entry?.path())).collect()
}

fn begin(file: &Path) -> io::Result<()> {
    File::open(file)?.read(&mut [0; 512]).map(drop)
}

/// Trouble with writing to the disk that `path` is on, as far as it shows without a write: for disks that are not ours.
pub fn disk_trouble(path: &Path) -> Option<Trouble> {
    let disk = match rustix::fs::statvfs(path) {
        Ok(disk) => disk,
        Err(error) => return Trouble::find(&io::Error::from(error)),
    };
    let no_files = disk.f_files > 0 && disk.f_favail == 0;
    let cause = match disk.f_flag.contains(StatVfsMountFlags::RDONLY) {
        true => Some(Cause::ReadOnly),
        false => (no_files || disk.f_bavail == 0).then_some(Cause::DiskFull),
    };
    cause.map(|cause| Trouble::new(cause, "the disk says so"))
}

/// Writes a file without a name to `folder` and waits until it is on the disk. It is new, so it takes room that a file
/// which is there already might still have.
pub fn prove_write(folder: &Path) -> io::Result<()> {
    let mut file = tempfile::tempfile_in(folder)?;
    file.write_all(&[0x5a; BLOCK])?;
    file.sync_all()
}
