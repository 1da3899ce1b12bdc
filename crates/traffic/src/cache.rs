//! What was found out about texts, as long as they come again. Bounded in entries and bytes: when the
//! young generation is full it becomes the old one, and who is asked for in the old one is young again.
//! So a flood of texts that come once pushes out others like them, and not those that come often.

use std::collections::HashMap;

#[derive(Debug)]
pub(crate) struct Cache<T> {
    young: Generation<T>,
    old: Generation<T>,
    most_entries: usize,
    most_bytes: usize,
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
    /// The bounds are those of one generation, and there are two.
    pub(crate) fn new(most_entries: usize, most_bytes: usize) -> Self {
        Self { young: Generation::default(), old: Generation::default(), most_entries, most_bytes }
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
        let full = self.young.entries.len() >= self.most_entries;
        if full || self.young.bytes + text.len() > self.most_bytes {
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
    fn what_comes_often_stays_and_the_rest_is_bounded() {
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
