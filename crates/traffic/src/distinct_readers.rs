//! Counts the distinct readers of one day: for the site by class, and for each page.

use std::collections::BTreeMap;

use crate::block::Read;
use crate::cells::CLASSES;
use crate::classify::Class;
use crate::encoding::{DamagedData, Decoder, compress, decompress, put_slice, put_varint};
use crate::views::Readers;

/// A visitor's read of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Visit {
    page: u32,
    pub(crate) visitor: u64,
    class: Class,
}

impl Visit {
    pub(crate) fn new(read: Read, visitor: u64) -> Self {
        Self { page: read.page, visitor, class: read.class }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct DistinctReaders {
    /// Readers of the site, by class.
    classes: [u64; CLASSES],
    /// Readers of the site that are human or AI. A reader that is both counts once.
    union: u64,
    pages: BTreeMap<u32, Readers>,
}

impl DistinctReaders {
    pub(crate) fn from_visits(mut visits: Vec<Visit>) -> Self {
        visits.sort_unstable();
        visits.dedup();
        let mut distinct = Self::default();
        for page in visits.chunk_by(|one, next| one.page == next.page) {
            let readers = readers(page);
            if readers.total > 0 {
                distinct.pages.insert(page[0].page, readers);
            }
        }
        visits.iter_mut().for_each(|visit| visit.page = 0);
        visits.sort_unstable();
        visits.dedup();
        visits.iter().for_each(|visit| distinct.classes[usize::from(visit.class.code())] += 1);
        distinct.union = readers(&visits).total;
        distinct
    }

    /// Adds other readers. They must not be counted here already.
    pub(crate) fn add(&mut self, others: &DistinctReaders) {
        self.classes.iter_mut().zip(others.classes).for_each(|(sum, more)| *sum += more);
        self.union += others.union;
        for (page, readers) in &others.pages {
            self.pages.entry(*page).or_default().add(readers);
        }
    }

    /// Removes pages. The readers of the site stay, because it is not stored who read only these pages.
    pub(crate) fn remove(&mut self, is_removed: impl Fn(u32) -> bool) {
        self.pages.retain(|page, _| !is_removed(*page));
    }

    pub(crate) fn site(&self) -> Readers {
        Readers { human: self.classes[0], ai: self.classes[1], total: self.union }
    }

    pub(crate) fn pages(&self) -> impl Iterator<Item = (u32, &Readers)> {
        self.pages.iter().map(|(page, readers)| (*page, readers))
    }

    pub(crate) fn encode(&self) -> std::io::Result<Vec<u8>> {
        let mut columns: [Vec<u8>; 4] = Default::default();
        let [pages, humans, ais, totals] = &mut columns;
        let mut before = 0;
        for (page, readers) in &self.pages {
            put_varint(pages, u64::from(page - before));
            before = *page;
            put_varint(humans, readers.human);
            put_varint(ais, readers.ai);
            put_varint(totals, readers.total);
        }
        let mut plain = Vec::new();
        self.classes.iter().for_each(|count| put_varint(&mut plain, *count));
        put_varint(&mut plain, self.union);
        put_varint(&mut plain, self.pages.len() as u64);
        columns.iter().for_each(|column| put_slice(&mut plain, column));
        compress(&plain, 3)
    }

    /// Decodes only the counts of the site, because there may be many pages.
    pub(crate) fn decode_site(packed: &[u8]) -> Result<Self, DamagedData> {
        Self::read_site(&mut Decoder(&decompress(packed)?))
    }

    fn read_site(bytes: &mut Decoder<'_>) -> Result<Self, DamagedData> {
        let mut distinct = Self::default();
        for count in &mut distinct.classes {
            *count = bytes.varint()?;
        }
        distinct.union = bytes.varint()?;
        Ok(distinct)
    }

    pub(crate) fn decode(packed: &[u8]) -> Result<Self, DamagedData> {
        let plain = decompress(packed)?;
        let mut bytes = Decoder(&plain);
        let mut distinct = Self::read_site(&mut bytes)?;
        let pages = bytes.varint()?;
        let [mut numbers, mut humans, mut ais, mut totals] = [Decoder(&[]); 4];
        for column in [&mut numbers, &mut humans, &mut ais, &mut totals] {
            *column = Decoder(bytes.slice()?);
        }
        let mut page = 0_u32;
        for _ in 0..pages {
            page = page.checked_add(numbers.varint_u32()?).ok_or(DamagedData("number out of range"))?;
            let readers = Readers { human: humans.varint()?, ai: ais.varint()?, total: totals.varint()? };
            distinct.pages.insert(page, readers);
        }
        Ok(distinct)
    }
}

/// Counts readers by class. The visits must be sorted by visitor.
fn readers(visits: &[Visit]) -> Readers {
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

    fn visit(page: u32, visitor: u64, class: Class) -> Visit {
        Visit { page, visitor, class }
    }

    #[test]
    fn a_reader_counts_once() {
        use Class::{Assistant, Bot, Human};
        let visits = vec![
            visit(1, 7, Human),
            visit(1, 7, Human),
            visit(2, 7, Human),
            visit(2, 7, Assistant),
            visit(2, 8, Assistant),
            visit(3, 9, Bot),
        ];
        let distinct = DistinctReaders::from_visits(visits);
        assert_eq!(distinct.site(), Readers { human: 1, ai: 2, total: 2 });
        assert_eq!(distinct.classes, [1, 2, 0, 0, 0, 0, 1]);
        let pages: Vec<_> = distinct.pages().map(|(page, readers)| (page, *readers)).collect();
        let second = Readers { human: 1, ai: 2, total: 2 };
        assert_eq!(pages, [(1, Readers { human: 1, ai: 0, total: 1 }), (2, second)]);
        let site = DistinctReaders::decode_site(&distinct.encode().unwrap()).unwrap();
        assert_eq!((site.site(), site.pages().count()), (distinct.site(), 0));
        assert_eq!(DistinctReaders::decode(&distinct.encode().unwrap()), Ok(distinct));
    }

    #[test]
    fn damaged_data_is_refused() {
        assert!(DistinctReaders::decode(b"junk").is_err());
        let many = compress(&[0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0x7f, 0, 0, 0, 0], 1).unwrap();
        assert!(DistinctReaders::decode(&many).is_err());
    }
}
