//! The distinct readers of one day, of the site and of each page, as the ledger keeps them.

use std::collections::BTreeMap;

use crate::classify::Class;
use crate::encoding::{DamagedData, Decoder, compress, decompress, put_slice, put_varint};
use crate::views::Readers;

const COMPRESSION_LEVEL: i32 = 3;

/// A visitor's read of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Visit<'p> {
    pub(super) path: &'p str,
    pub(super) visitor: u64,
    pub(super) class: Class,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct DayReaders {
    pub(super) site: Readers,
    pub(super) pages: BTreeMap<String, Readers>,
}

impl DayReaders {
    pub(super) fn from_visits(mut visits: Vec<Visit<'_>>) -> Self {
        visits.retain(|visit| matches!(visit.class, Class::Human | Class::Assistant));
        visits.sort_unstable();
        visits.dedup();
        let mut all = Self::default();
        for page in visits.chunk_by(|one, next| one.path == next.path) {
            all.pages.insert(page[0].path.to_owned(), readers(page));
        }
        visits.iter_mut().for_each(|visit| visit.path = "");
        visits.sort_unstable();
        visits.dedup();
        all.site = readers(&visits);
        all
    }

    /// Adds other readers. They must not be counted here already.
    pub(super) fn add(&mut self, others: &Self) {
        self.site.add(&others.site);
        for (path, readers) in &others.pages {
            self.pages.entry(path.clone()).or_default().add(readers);
        }
    }

    /// Removes pages. The readers of the site stay, because it is not stored who read only these pages.
    pub(super) fn remove(&mut self, is_removed: impl Fn(&str) -> bool) {
        self.pages.retain(|path, _| !is_removed(path));
    }

    pub(super) fn encode(&self) -> std::io::Result<Vec<u8>> {
        let mut plain = Vec::new();
        put_readers(&mut plain, &self.site);
        put_varint(&mut plain, self.pages.len() as u64);
        for (path, readers) in &self.pages {
            put_slice(&mut plain, path.as_bytes());
            put_readers(&mut plain, readers);
        }
        compress(&plain, COMPRESSION_LEVEL)
    }

    /// Decodes only the readers of the site, because there may be many pages.
    pub(super) fn decode_site(packed: &[u8]) -> Result<Self, DamagedData> {
        let plain = decompress(packed)?;
        Ok(Self { site: read_readers(&mut Decoder(&plain))?, pages: BTreeMap::new() })
    }

    pub(super) fn decode(packed: &[u8]) -> Result<Self, DamagedData> {
        let plain = decompress(packed)?;
        let mut bytes = Decoder(&plain);
        let mut all = Self { site: read_readers(&mut bytes)?, pages: BTreeMap::new() };
        for _ in 0..bytes.varint()? {
            let path = std::str::from_utf8(bytes.slice()?).map_err(|_| DamagedData("invalid UTF-8"))?;
            all.pages.insert(path.to_owned(), read_readers(&mut bytes)?);
        }
        Ok(all)
    }
}

fn put_readers(out: &mut Vec<u8>, readers: &Readers) {
    [readers.human, readers.ai, readers.total].into_iter().for_each(|number| put_varint(out, number));
}

fn read_readers(bytes: &mut Decoder<'_>) -> Result<Readers, DamagedData> {
    Ok(Readers { human: bytes.varint()?, ai: bytes.varint()?, total: bytes.varint()? })
}

/// Counts readers by class. The visits must be sorted by visitor.
fn readers(visits: &[Visit<'_>]) -> Readers {
    let mut sum = Readers::default();
    for reader in visits.chunk_by(|one, next| one.visitor == next.visitor) {
        let is = |class| u64::from(reader.iter().any(|visit| visit.class == class));
        let (human, ai) = (is(Class::Human), is(Class::Assistant));
        sum.add(&Readers { human, ai, total: human | ai });
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_counts_once() {
        use Class::{Assistant, Bot, Human};
        let visit = |path, visitor, class| Visit { path, visitor, class };
        let all = DayReaders::from_visits(vec![
            visit("/a", 7, Human),
            visit("/a", 7, Human),
            visit("/b", 7, Assistant),
            visit("/b", 8, Assistant),
            visit("/c", 9, Bot),
        ]);
        assert_eq!(all.site, Readers { human: 1, ai: 2, total: 2 });
        assert_eq!(all.pages.keys().collect::<Vec<_>>(), ["/a", "/b"]);
        assert_eq!(all.pages["/b"], Readers { human: 0, ai: 2, total: 2 });
        let packed = all.encode().unwrap();
        let site = DayReaders { site: all.site, pages: BTreeMap::new() };
        assert_eq!(DayReaders::decode_site(&packed), Ok(site));
        assert_eq!(DayReaders::decode(&packed), Ok(all));
        assert!(DayReaders::decode(b"junk").is_err());
    }
}
