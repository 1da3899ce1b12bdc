//! A two-generation cache with text keys, bounded in entries and bytes.
//!
//! When the young generation is full, it replaces the old one. A hit in the old generation moves the entry to
//! the young one. So a flood of keys that are used once does not evict keys that are used often.

use std::collections::HashMap;

#[derive(Debug)]
pub(crate) struct Cache<T> {
    young: Generation<T>,
    old: Generation<T>,
    max_entries: usize,
    max_bytes: usize,
}

#[derive(Debug)]
struct Generation<T> {
    entries: HashMap<Box<str>, T>,
    bytes: usize,
}

impl<T> Default for Generation<T> {
    fn default() -> Self {
        Self { entries: HashMap::new(), bytes: 0 }
    }
}

impl<T: Copy> Cache<T> {
    /// The bounds apply to each of the two generations.
    pub(crate) fn new(max_entries: usize, max_bytes: usize) -> Self {
        Self { young: Generation::default(), old: Generation::default(), max_entries, max_bytes }
    }

    pub(crate) fn get(&mut self, text: &str) -> Option<T> {
        if let Some(found) = self.young.entries.get(text) {
            return Some(*found);
        }
        let found = *self.old.entries.get(text)?;
        self.insert(text, found);
        Some(found)
    }

    pub(crate) fn insert(&mut self, text: &str, found: T) {
        let full = self.young.entries.len() >= self.max_entries;
        if full || self.young.bytes + text.len() > self.max_bytes {
            self.old = std::mem::take(&mut self.young);
        }
        if self.young.entries.insert(text.into(), found).is_none() {
            self.young.bytes += text.len();
        }
    }

    #[cfg(test)]
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.young.entries.len() + self.old.entries.len(), self.young.bytes + self.old.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_keys_stay_and_the_size_is_bounded() {
        let mut cache = Cache::new(4, 100);
        cache.insert("often", 7);
        for n in 0..1000 {
            cache.insert(&format!("once {n}"), n);
            assert_eq!(cache.get("often"), Some(7), "after {n}");
            assert!(cache.size().0 <= 8);
        }
        assert_eq!(cache.get("once 0"), None);
        for _ in 0..10 {
            cache.insert(&"x".repeat(90), 1);
            cache.insert(&"y".repeat(90), 1);
            assert!(cache.size().1 <= 200, "{:?}", cache.size());
        }
    }
}
