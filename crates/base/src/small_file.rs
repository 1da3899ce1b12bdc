//! Reads small files that another program or a person provides.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// More than any file of keys, certificates or settings has.
const MAX_SMALL_FILE_BYTES: u64 = 1 << 20;

/// Reads a file of at most [`MAX_SMALL_FILE_BYTES`]. Refuses everything but regular files: to open a FIFO can take forever,
/// and a device has no end.
pub fn read_small_file(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut content = Vec::new();
    File::open(path)?.take(MAX_SMALL_FILE_BYTES + 1).read_to_end(&mut content)?;
    match content.len() as u64 > MAX_SMALL_FILE_BYTES {
        true => Err(io::Error::new(ErrorKind::FileTooLarge, "it is larger than 1 MiB")),
        false => Ok(content),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn only_small_regular_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, vec![7; MAX_SMALL_FILE_BYTES as usize]).unwrap();
        assert_eq!(read_small_file(&file).unwrap().len() as u64, MAX_SMALL_FILE_BYTES);
        fs::write(&file, vec![7; MAX_SMALL_FILE_BYTES as usize + 1]).unwrap();
        assert_eq!(read_small_file(&file).unwrap_err().kind(), ErrorKind::FileTooLarge);
        for path in [folder.path(), Path::new("/dev/zero")] {
            assert_eq!(read_small_file(path).unwrap_err().kind(), ErrorKind::InvalidInput, "{path:?}");
        }
    }
}
