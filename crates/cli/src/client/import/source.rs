//! Opens a file or standard input, and decompresses it.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::read::MultiGzDecoder;

/// How much of the file is read to detect its format.
const HEAD_BYTES: u64 = 64 * 1024;
const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b];
const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// Counts the compressed bytes that were read, for the progress bar.
#[derive(Clone)]
pub(super) struct Meter {
    read: Arc<AtomicU64>,
    /// `None` for standard input.
    pub(super) size: Option<u64>,
}

impl Meter {
    pub(super) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }
}

/// The decompressed bytes of a file.
pub(super) struct Source {
    pub(super) head: Vec<u8>,
    /// How much of the head has been read from this source.
    head_position: usize,
    /// An error after the head, which is returned when the head has been read.
    head_error: Option<io::Error>,
    rest: Box<dyn Read + Send>,
    pub(super) meter: Meter,
}

impl Source {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let (file, size): (Box<dyn Read + Send>, _) = match is_stdin(path) {
            true => (Box::new(io::stdin()), None),
            false => {
                let file = File::open(path)?;
                let metadata = file.metadata()?;
                if metadata.is_dir() {
                    return Err(io::Error::other("it is a directory: name the files in it"));
                }
                (Box::new(file), Some(metadata.len()).filter(|_| metadata.is_file()))
            }
        };
        let meter = Meter { read: Arc::default(), size };
        let mut rest = decompress(MeteredReader { file, meter: meter.clone() })?;
        let mut head = Vec::new();
        let head_error = rest.by_ref().take(HEAD_BYTES).read_to_end(&mut head).err();
        Ok(Self { head, head_position: 0, head_error, rest, meter })
    }
}

pub(super) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Detects the compression by the first bytes, because a rotated log can have any name.
fn decompress(mut file: MeteredReader) -> io::Result<Box<dyn Read + Send>> {
    let mut magic = Vec::new();
    file.by_ref().take(4).read_to_end(&mut magic)?;
    let whole = BufReader::with_capacity(64 * 1024, Cursor::new(magic.clone()).chain(file));
    Ok(match magic.as_slice() {
        magic if magic.starts_with(GZIP_MAGIC) => Box::new(MultiGzDecoder::new(whole)),
        ZSTD_MAGIC => Box::new(zstd::Decoder::with_buffer(whole)?),
        _ => Box::new(whole),
    })
}

struct MeteredReader {
    file: Box<dyn Read + Send>,
    meter: Meter,
}

impl Read for MeteredReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read(into)?;
        self.meter.read.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

impl Read for Source {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let head = &self.head[self.head_position..];
        if !head.is_empty() {
            let bytes = head.len().min(into.len());
            into[..bytes].copy_from_slice(&head[..bytes]);
            self.head_position += bytes;
            return Ok(bytes);
        }
        match self.head_error.take() {
            Some(error) => Err(error),
            None => self.rest.read(into),
        }
    }
}
