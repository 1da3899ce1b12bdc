//! Probes whether a folder can be read or written now.
//!
//! A library may report a file that it could not open as missing; a probe tells the two cases apart.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::StatVfsMountFlags;

use crate::{Cause, Trouble};

/// File descriptors that must be free. A single free one would say little.
const MIN_FREE_DESCRIPTORS: usize = 16;
/// Bounds the cost of probing a large folder.
const MAX_FILES: usize = 1_000;
const PROBE_BYTES: usize = 64 * 1024;

/// Trouble with reading the first bytes of the files in `folder`. A missing folder or file is not trouble.
///
/// Never call this for a folder with a database that this process has open: closing any descriptor of a file
/// releases all locks of the process on it, including SQLite's.
pub fn read_trouble(folder: &Path) -> Option<Trouble> {
    let entries = match entries(folder) {
        Ok(entries) => entries,
        Err(error) => return Trouble::find(&error),
    };
    let unread = || entries.iter().filter(|entry| entry.is_file()).find_map(|file| read_start(file).err());
    open_files_trouble().or_else(|| Trouble::find(&unread()?))
}

/// Trouble with opening a few more files.
pub fn open_files_trouble() -> Option<Trouble> {
    let spare = (0..MIN_FREE_DESCRIPTORS).map(|_| File::open("/dev/null")).collect::<io::Result<Vec<_>>>();
    Trouble::find(&spare.err()?)
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?.take(MAX_FILES).map(|entry| Ok(entry?.path())).collect()
}

fn read_start(file: &Path) -> io::Result<()> {
    File::open(file)?.read(&mut [0; 512]).map(drop)
}

/// Trouble with the disk of `path` that shows without a write: for disks that the server must not write to.
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
    cause.map(|cause| Trouble::new(cause, "reported by statvfs"))
}

/// Writes an unnamed temporary file to `folder` and syncs it. A new file needs free space; an existing one
/// might not.
pub fn probe_write(folder: &Path) -> io::Result<()> {
    let mut file = tempfile::tempfile_in(folder)?;
    file.write_all(&[0x5a; PROBE_BYTES])?;
    file.sync_all()
}
