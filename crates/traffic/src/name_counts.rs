//! Rollups by name: counts by class for products, referring hosts, missing and redirected paths on one day.
//!
//! They are kept forever, like cells. Their number is bounded, because untrusted senders choose some of the
//! names.

use std::collections::BTreeMap;

use crate::cells::{CLASSES, Cell};
use crate::encoding::{DamagedData, Decoder, compress, decompress, put_slice, put_varint};

/// Counts the names beyond the maximum.
pub const OTHER_NAMES: &str = "(other)";

const COMPRESSION_LEVEL: i32 = 1;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NameCounts {
    cells: BTreeMap<Box<str>, Cell>,
    max_names: usize,
}

impl NameCounts {
    /// At most `max_names`; further names count as [`OTHER_NAMES`].
    pub(crate) fn with_capacity(max_names: usize) -> Self {
        Self { cells: BTreeMap::new(), max_names }
    }

    /// A known name keeps its own count, however many names follow.
    pub(crate) fn add(&mut self, name: &str, times: &Cell) {
        let full = self.cells.len() >= self.max_names && !self.cells.contains_key(name);
        let name = if full { OTHER_NAMES } else { name };
        let add = |cell: &mut Cell| cell.iter_mut().zip(times).for_each(|(sum, more)| *sum += more);
        match self.cells.get_mut(name) {
            Some(cell) => add(cell),
            None => add(self.cells.entry(name.into()).or_default()),
        }
    }

    /// Adds what is missing to a total as [`OTHER_NAMES`].
    pub(crate) fn add_rest(&mut self, total: &Cell) {
        let mut rest = *total;
        for cell in self.cells.values() {
            rest.iter_mut().zip(cell).for_each(|(rest, count)| *rest = rest.saturating_sub(*count));
        }
        if rest.iter().any(|count| *count > 0) {
            self.add(OTHER_NAMES, &rest);
        }
    }

    /// Removes names and returns their total count.
    pub(crate) fn remove(&mut self, is_removed: impl Fn(&str) -> bool) -> u64 {
        let removed = self.cells.extract_if(.., |name, _| is_removed(name));
        removed.map(|(_, cell)| cell.iter().sum::<u64>()).sum()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Cell)> {
        self.cells.iter().map(|(name, cell)| (&**name, cell))
    }

    pub(crate) fn encode(&self) -> std::io::Result<Vec<u8>> {
        let mut columns: [Vec<u8>; 3] = Default::default();
        let [names, masks, counts] = &mut columns;
        for (name, cell) in &self.cells {
            put_slice(names, name.as_bytes());
            let some = cell.iter().enumerate().filter(|(_, count)| **count > 0);
            masks.push(some.clone().fold(0, |mask, (class, _)| mask | 1 << class));
            some.for_each(|(_, count)| put_varint(counts, *count));
        }
        let mut plain = Vec::new();
        columns.iter().for_each(|column| put_slice(&mut plain, column));
        compress(&plain, COMPRESSION_LEVEL)
    }

    /// Adds encoded counts.
    pub(crate) fn add_encoded(&mut self, packed: &[u8]) -> Result<(), DamagedData> {
        each_name(packed, |name, cell| self.add(name, cell))
    }
}

/// Calls `with` for every name of encoded counts, in byte order.
pub(crate) fn each_name(packed: &[u8], mut with: impl FnMut(&str, &Cell)) -> Result<(), DamagedData> {
    let plain = decompress(packed)?;
    let mut bytes = Decoder(&plain);
    let (mut names, masks, mut counts) = (Decoder(bytes.slice()?), bytes.slice()?, Decoder(bytes.slice()?));
    for mask in masks {
        let name = std::str::from_utf8(names.slice()?).map_err(|_| DamagedData("invalid UTF-8"))?;
        let mut cell = [0; CLASSES];
        for (class, count) in cell.iter_mut().enumerate() {
            if mask >> class & 1 == 1 {
                *count = counts.varint()?;
            }
        }
        with(name, &cell);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn names_round_trip_and_add_up(cells in prop::collection::btree_map("[a-z/é]{0,9}", any::<[u32; CLASSES]>(), 0..30), junk: Vec<u8>) {
            let mut kept = NameCounts::with_capacity(1000);
            cells.iter().for_each(|(name, cell)| kept.add(name, &cell.map(u64::from)));
            let packed = kept.encode().unwrap();
            let mut twice = NameCounts::with_capacity(1000);
            twice.add_encoded(&packed).unwrap();
            prop_assert_eq!(&twice, &kept);
            twice.add_encoded(&packed).unwrap();
            for ((name, cell), (_, sum)) in kept.iter().zip(twice.iter()) {
                prop_assert_eq!(cell.map(|count| count * 2), *sum, "{}", name);
            }
            prop_assert!(NameCounts::with_capacity(9).add_encoded(&junk).is_err());
            let _ = NameCounts::with_capacity(9).add_encoded(&compress(&junk, 1).unwrap());
        }
    }

    #[test]
    fn names_beyond_the_maximum_count_as_other() {
        let mut names = NameCounts::with_capacity(2);
        let one = [1; CLASSES];
        ["a", "b", "c", "d", "a", "c"].iter().for_each(|name| names.add(name, &one));
        let kept: Vec<(&str, u64)> = names.iter().map(|(name, cell)| (name, cell[0])).collect();
        assert_eq!(kept, [(OTHER_NAMES, 3), ("a", 2), ("b", 1)]);
        names.add_rest(&[9; CLASSES]);
        assert_eq!(names.iter().map(|(_, cell)| cell[0]).collect::<Vec<_>>(), [6, 2, 1]);
    }
}
