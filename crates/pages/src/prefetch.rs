//! Announces reads of many files, so that a tree that fetches its files can fetch many at once.

use crate::files::{Files, FilesError};

/// A reader that stops after a few files announces few in vain.
const FIRST_CHUNK: usize = 512;
const CHUNK_GROWTH: usize = 16;
/// A chunk of pages stays below 100 MB in most repositories.
const MAX_CHUNK: usize = 8_192;

/// The ends of names of files that are never text.
const BINARY_EXTENSIONS: &[&str] = &[
    "png", "jpg", "jpeg", "gif", "webp", "avif", "ico", "bmp", "tiff", "woff", "woff2", "ttf", "otf", "eot",
    "pdf", "zip", "gz", "mp3", "mp4", "webm", "mov",
];

/// Splits a list into chunks that grow, for readers that may stop early.
pub fn growing_chunks<T>(all: &[T]) -> impl Iterator<Item = &[T]> {
    let (mut rest, mut size) = (all, FIRST_CHUNK);
    std::iter::from_fn(move || {
        let (chunk, next) = rest.split_at(size.min(rest.len()));
        rest = next;
        size = (size * CHUNK_GROWTH).min(MAX_CHUNK);
        (!chunk.is_empty()).then_some(chunk)
    })
}

/// Announces that all these files will be read.
pub fn prefetch<P: AsRef<str>>(files: &dyn Files, paths: &[P]) -> Result<(), FilesError> {
    files.prefetch(&paths.iter().map(AsRef::as_ref).collect::<Vec<_>>())
}

/// Whether the name of a file says that it is an image, a font or the like.
pub(crate) fn has_binary_name(path: &str) -> bool {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    BINARY_EXTENSIONS.iter().any(|binary| extension.eq_ignore_ascii_case(binary))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_grow_and_contain_everything_once() {
        let all: Vec<_> = (0..40_000).collect();
        let sizes: Vec<_> = growing_chunks(&all).map(<[_]>::len).collect();
        assert_eq!(sizes, [512, 8_192, 8_192, 8_192, 8_192, 6_720]);
        assert_eq!(growing_chunks(&all).flatten().copied().collect::<Vec<_>>(), all);
        assert_eq!(growing_chunks::<u8>(&[]).count(), 0);
    }

    #[test]
    fn images_and_fonts_have_binary_names() {
        for path in ["a.png", "b/c.JPG", "fonts/x.woff2"] {
            assert!(has_binary_name(path), "{path}");
        }
        for path in ["png", "a.md", "a.png.md", "a.svg", "png/index"] {
            assert!(!has_binary_name(path), "{path}");
        }
    }
}
