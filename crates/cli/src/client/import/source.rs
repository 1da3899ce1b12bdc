//! Where lines come from: a file or standard input, unpacked on the way.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::read::MultiGzDecoder;

/// How much of the beginning is looked at before anything is read in earnest.
const HEAD: u64 = 64 * 1024;
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// How much of a file was read, as it is on disk; for whoever shows that.
#[derive(Clone)]
pub(super) struct Meter {
    read: Arc<AtomicU64>,
    /// Nobody knows how much is to come on standard input.
    pub(super) size: Option<u64>,
}

impl Meter {
    pub(super) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }
}

/// Bytes of a file, unpacked.
pub(super) struct Source {
    pub(super) head: Vec<u8>,
    given: usize,
    /// What went wrong while the head was read, told where it happened.
    broken: Option<io::Error>,
    rest: Box<dyn Read + Send>,
    pub(super) meter: Meter,
}

impl Source {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let (file, size): (Box<dyn Read + Send>, _) = match is_stdin(path) {
            true => (Box::new(io::stdin()), None),
            false => {
                let file = File::open(path)?;
                let about = file.metadata()?;
                if about.is_dir() {
                    return Err(io::Error::other("it is a directory: name the files in it"));
                }
                (Box::new(file), Some(about.len()).filter(|_| about.is_file()))
            }
        };
        let meter = Meter { read: Arc::default(), size };
        let mut rest = unpacked(Metered { file, meter: meter.clone() })?;
        let mut head = Vec::new();
        let broken = rest.by_ref().take(HEAD).read_to_end(&mut head).err();
        Ok(Self { head, given: 0, broken, rest, meter })
    }
}

pub(super) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// By its first bytes: a log's name says little once it was rotated.
fn unpacked(mut file: Metered) -> io::Result<Box<dyn Read + Send>> {
    let mut magic = Vec::new();
    file.by_ref().take(4).read_to_end(&mut magic)?;
    let whole = BufReader::with_capacity(64 * 1024, Cursor::new(magic.clone()).chain(file));
    Ok(match magic.as_slice() {
        magic if magic.starts_with(GZIP) => Box::new(MultiGzDecoder::new(whole)),
        ZSTD => Box::new(zstd::Decoder::with_buffer(whole)?),
        _ => Box::new(whole),
    })
}

struct Metered {
    file: Box<dyn Read + Send>,
    meter: Meter,
}

impl Read for Metered {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read(into)?;
        self.meter.read.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

impl Read for Source {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let head = &self.head[self.given..];
        if !head.is_empty() {
            let bytes = head.len().min(into.len());
            into[..bytes].copy_from_slice(&head[..bytes]);
            self.given += bytes;
            return Ok(bytes);
        }
        match self.broken.take() {
            Some(error) => Err(error),
            None => self.rest.read(into),
        }
    }
}
