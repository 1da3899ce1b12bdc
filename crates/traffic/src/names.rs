//! How often each class came by a name on one day: with a product, from a host, for a page that is
//! not there. Kept for ever, as cells are, and bounded, because some names are a stranger's choice.

use std::collections::BTreeMap;

use crate::bytes::{Bytes, Damaged, pack, put, put_slice, unpack};
use crate::cells::{CLASSES, Cell};

/// What is counted under it had a name of its own, but there were too many of them.
pub const OTHER_NAMES: &str = "(other)";

const LEVEL: i32 = 1;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Names {
    cells: BTreeMap<Box<str>, Cell>,
    most: usize,
}

impl Names {
    /// Room for as many, and one for all that find none.
    pub(crate) fn with_room(most: usize) -> Self {
        Self { cells: BTreeMap::new(), most }
    }

    /// A name that is known keeps its place, however many come after it.
    pub(crate) fn add(&mut self, name: &str, times: &Cell) {
        let full = self.cells.len() >= self.most && !self.cells.contains_key(name);
        let name = if full { OTHER_NAMES } else { name };
        let add = |cell: &mut Cell| cell.iter_mut().zip(times).for_each(|(sum, more)| *sum += more);
        match self.cells.get_mut(name) {
            Some(cell) => add(cell),
            None => add(self.cells.entry(name.into()).or_default()),
        }
    }

    /// Removes names; how often they were met.
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
            some.for_each(|(_, count)| put(counts, *count));
        }
        let mut plain = Vec::new();
        columns.iter().for_each(|column| put_slice(&mut plain, column));
        pack(&plain, LEVEL)
    }

    /// Adds what was encoded.
    pub(crate) fn add_encoded(&mut self, packed: &[u8]) -> Result<(), Damaged> {
        let plain = unpack(packed)?;
        let mut bytes = Bytes(&plain);
        let (mut names, masks, mut counts) = (Bytes(bytes.slice()?), bytes.slice()?, Bytes(bytes.slice()?));
        for mask in masks {
            let name = std::str::from_utf8(names.slice()?).map_err(|_| Damaged("a text is none"))?;
            let mut cell = [0; CLASSES];
            for (class, count) in cell.iter_mut().enumerate() {
                if mask >> class & 1 == 1 {
                    *count = counts.number()?;
                }
            }
            self.add(name, &cell);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn names_come_back_and_add_up(cells in prop::collection::btree_map("[a-z/é]{0,9}", any::<[u32; CLASSES]>(), 0..30), junk: Vec<u8>) {
            let mut kept = Names::with_room(1000);
            cells.iter().for_each(|(name, cell)| kept.add(name, &cell.map(u64::from)));
            let packed = kept.encode().unwrap();
            let mut twice = Names::with_room(1000);
            twice.add_encoded(&packed).unwrap();
            prop_assert_eq!(&twice, &kept);
            twice.add_encoded(&packed).unwrap();
            for ((name, cell), (_, sum)) in kept.iter().zip(twice.iter()) {
                prop_assert_eq!(cell.map(|count| count * 2), *sum, "{}", name);
            }
            prop_assert!(Names::with_room(9).add_encoded(&junk).is_err());
            let _ = Names::with_room(9).add_encoded(&pack(&junk, 1).unwrap());
        }
    }

    #[test]
    fn what_finds_no_room_is_counted_as_one() {
        let mut names = Names::with_room(2);
        let one = [1; CLASSES];
        ["a", "b", "c", "d", "a", "c"].iter().for_each(|name| names.add(name, &one));
        let kept: Vec<(&str, u64)> = names.iter().map(|(name, cell)| (name, cell[0])).collect();
        assert_eq!(kept, [(OTHER_NAMES, 3), ("a", 2), ("b", 1)]);
    }
}
