//! Reads by page and class, of an hour or a day: what is kept of events for ever.

use std::collections::BTreeMap;

use crate::bytes::{Bytes, Damaged, pack, put, put_slice, unpack};
use crate::classify::Class;

pub(crate) const CLASSES: usize = Class::ALL.len();
const LEVEL: i32 = 1;

/// How often each class read a page.
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

    /// Removes pages; how often they were read.
    pub(crate) fn remove(&mut self, is_removed: impl Fn(u32) -> bool) -> u64 {
        let removed = self.0.extract_if(.., |page, _| is_removed(*page));
        removed.map(|(_, cell)| cell.iter().sum::<u64>()).sum()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Cell)> {
        self.0.iter().map(|(page, cell)| (*page, cell))
    }

    /// Pages rise; a mask tells which classes have a number.
    pub(crate) fn encode(&self) -> std::io::Result<Vec<u8>> {
        let mut columns: [Vec<u8>; 3] = Default::default();
        let [pages, masks, counts] = &mut columns;
        let mut before = 0;
        for (page, cell) in &self.0 {
            put(pages, u64::from(page - before));
            before = *page;
            let some = cell.iter().enumerate().filter(|(_, count)| **count > 0);
            masks.push(some.clone().fold(0, |mask, (class, _)| mask | 1 << class));
            some.for_each(|(_, count)| put(counts, *count));
        }
        let mut plain = Vec::new();
        columns.iter().for_each(|column| put_slice(&mut plain, column));
        pack(&plain, LEVEL)
    }

    /// Adds what was encoded.
    pub(crate) fn add_encoded(&mut self, packed: &[u8]) -> Result<(), Damaged> {
        each_cell(packed, |page, cell| self.add_all(page, cell))
    }
}

/// Calls `with` for every page of encoded cells, in the order of their numbers.
pub(crate) fn each_cell(packed: &[u8], mut with: impl FnMut(u32, &Cell)) -> Result<(), Damaged> {
    let plain = unpack(packed)?;
    let mut bytes = Bytes(&plain);
    let (mut pages, masks, mut counts) = (Bytes(bytes.slice()?), bytes.slice()?, Bytes(bytes.slice()?));
    let mut page = 0_u32;
    for mask in masks {
        page = page.checked_add(pages.small()?).ok_or(Damaged("a number is too large"))?;
        let mut cell = [0; CLASSES];
        for (class, count) in cell.iter_mut().enumerate() {
            if mask >> class & 1 == 1 {
                *count = counts.number()?;
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
        fn cells_come_back_and_add_up(cells: BTreeMap<u32, [u32; CLASSES]>, junk: Vec<u8>) {
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
            let _ = each_cell(&pack(&junk, 1).unwrap(), |_, _| ());
        }
    }
}
