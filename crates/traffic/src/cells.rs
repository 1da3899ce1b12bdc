//! Rollups: read counts by page and class for one hour or day. Rollups are kept forever, raw events are not.

use std::collections::BTreeMap;

use crate::classify::Class;
use crate::encoding::{DamagedData, Decoder, compress, decompress, put_slice, put_varint};

pub(crate) const CLASSES: usize = Class::ALL.len();
const COMPRESSION_LEVEL: i32 = 1;

/// The reads of one page by each class.
pub(crate) type Cell = [u64; CLASSES];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cells(BTreeMap<u32, Cell>);

impl Cells {
    pub(crate) fn add(&mut self, page: u32, class: Class, reads: u64) {
        self.0.entry(page).or_default()[usize::from(class.code())] += reads;
    }

    pub(crate) fn add_all(&mut self, page: u32, reads: &Cell) {
        let cell = self.0.entry(page).or_default();
        cell.iter_mut().zip(reads).for_each(|(sum, more)| *sum += more);
    }

    /// Removes pages and returns their number of reads.
    pub(crate) fn remove(&mut self, is_removed: impl Fn(u32) -> bool) -> u64 {
        let removed = self.0.extract_if(.., |page, _| is_removed(*page));
        removed.map(|(_, cell)| cell.iter().sum::<u64>()).sum()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Cell)> {
        self.0.iter().map(|(page, cell)| (*page, cell))
    }

    /// Pages are delta-encoded; a bit mask says which classes have a count.
    pub(crate) fn encode(&self) -> std::io::Result<Vec<u8>> {
        let mut columns: [Vec<u8>; 3] = Default::default();
        let [pages, masks, counts] = &mut columns;
        let mut before = 0;
        for (page, cell) in &self.0 {
            put_varint(pages, u64::from(page - before));
            before = *page;
            let some = cell.iter().enumerate().filter(|(_, count)| **count > 0);
            masks.push(some.clone().fold(0, |mask, (class, _)| mask | 1 << class));
            some.for_each(|(_, count)| put_varint(counts, *count));
        }
        let mut plain = Vec::new();
        columns.iter().for_each(|column| put_slice(&mut plain, column));
        compress(&plain, COMPRESSION_LEVEL)
    }

    /// Adds encoded cells.
    pub(crate) fn add_encoded(&mut self, packed: &[u8]) -> Result<(), DamagedData> {
        each_cell(packed, |page, cell| self.add_all(page, cell))
    }
}

/// Calls `with` for every page of encoded cells, in order of page number.
pub(crate) fn each_cell(packed: &[u8], mut with: impl FnMut(u32, &Cell)) -> Result<(), DamagedData> {
    let plain = decompress(packed)?;
    let mut bytes = Decoder(&plain);
    let (mut pages, masks, mut counts) = (Decoder(bytes.slice()?), bytes.slice()?, Decoder(bytes.slice()?));
    let mut page = 0_u32;
    for mask in masks {
        page = page.checked_add(pages.varint_u32()?).ok_or(DamagedData("number out of range"))?;
        let mut cell = [0; CLASSES];
        for (class, count) in cell.iter_mut().enumerate() {
            if mask >> class & 1 == 1 {
                *count = counts.varint()?;
            }
        }
        with(page, &cell);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn cells_round_trip_and_add_up(cells: BTreeMap<u32, [u32; CLASSES]>, junk: Vec<u8>) {
            let mut kept = Cells::default();
            for (page, cell) in &cells {
                kept.add_all(*page, &cell.map(u64::from));
            }
            let packed = kept.encode().unwrap();
            let mut twice = Cells::default();
            twice.add_encoded(&packed).unwrap();
            prop_assert_eq!(&twice, &kept);
            twice.add_encoded(&packed).unwrap();
            for ((page, cell), (_, sum)) in kept.iter().zip(twice.iter()) {
                prop_assert_eq!(cell.map(|count| count * 2), *sum, "page {}", page);
            }
            prop_assert!(each_cell(&junk, |_, _| ()).is_err());
            let _ = each_cell(&compress(&junk, 1).unwrap(), |_, _| ());
        }
    }
}
