//! Numbers the pages of a project.

use std::collections::HashMap;
use std::sync::Arc;

/// Page 0: collects views of pages that got no number. No page has this name, because paths begin with a slash.
pub const OTHER_PAGES: &str = "(other pages)";

#[derive(Debug)]
pub(crate) struct Pages {
    paths: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
    bytes: usize,
    /// The last day with new pages, and how many were added.
    day: i64,
    added_today: u32,
}

impl Pages {
    pub(crate) fn new() -> Self {
        let mut pages =
            Self { paths: Vec::new(), numbers: HashMap::new(), bytes: 0, day: i64::MIN, added_today: 0 };
        pages.push(OTHER_PAGES.into());
        pages
    }

    pub(crate) fn len(&self) -> usize {
        self.paths.len()
    }

    pub(crate) fn path(&self, number: u32) -> &str {
        self.paths.get(number as usize).map_or(OTHER_PAGES, |path| path)
    }

    /// The number of a known page.
    pub(crate) fn find(&self, path: &str) -> Option<u32> {
        self.numbers.get(path).copied()
    }

    /// The pages from a number on.
    pub(crate) fn since(&self, number: usize) -> impl Iterator<Item = (u32, &Arc<str>)> {
        (0..).zip(&self.paths).skip(number)
    }

    /// The number of a page. A new page gets its own number while fewer than `max_new` were added that day
    /// and its sender `may_add` one. A known page keeps its number, however many URLs are guessed.
    pub(crate) fn number(
        &mut self,
        path: &str,
        day: i64,
        max_new: u32,
        may_add: impl FnOnce() -> bool,
    ) -> u32 {
        if let Some(number) = self.numbers.get(path) {
            return *number;
        }
        if day != self.day {
            (self.day, self.added_today) = (day, 0);
        }
        if self.added_today >= max_new || !may_add() {
            return 0;
        }
        self.add(path.into(), day)
    }

    pub(crate) fn add(&mut self, path: Arc<str>, day: i64) -> u32 {
        self.added_today = if day == self.day { self.added_today + 1 } else { 1 };
        self.day = day;
        self.push(path)
    }

    /// Reserves the number of a removed page, so that no other page gets it.
    pub(crate) fn add_removed(&mut self) {
        self.bytes += path_memory_bytes("");
        self.paths.push("".into());
    }

    /// Removes the last pages, because their write failed.
    pub(crate) fn truncate(&mut self, length: usize) {
        for path in self.paths.drain(length..) {
            self.numbers.remove(&path);
            self.bytes -= path_memory_bytes(&path);
            self.added_today = self.added_today.saturating_sub(1);
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.bytes
    }

    fn push(&mut self, path: Arc<str>) -> u32 {
        let number = self.paths.len() as u32;
        self.bytes += path_memory_bytes(&path);
        self.numbers.insert(path.clone(), number);
        self.paths.push(path);
        number
    }
}

/// The memory of a path: its text with two counters, and its entries in the list and in the map.
fn path_memory_bytes(path: &str) -> usize {
    path.len() + 80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_pages_per_day_are_bounded() {
        let mut pages = Pages::new();
        let mut number = |path: &str, day| pages.number(path, day, 2, || true);
        assert_eq!([number("/a", 1), number("/b", 1), number("/c", 1)], [1, 2, 0]);
        assert_eq!([number("/a", 1), number("/b", 1)], [1, 2], "a known page keeps its number");
        assert_eq!([number("/c", 2), number("/d", 2), number("/e", 2)], [3, 4, 0]);
        assert_eq!((pages.path(3), pages.path(0), pages.path(99)), ("/c", OTHER_PAGES, OTHER_PAGES));
    }

    #[test]
    fn pages_whose_write_failed_are_removed() {
        let mut pages = Pages::new();
        pages.number("/a", 1, 2, || true);
        let (length, bytes) = (pages.len(), pages.memory_bytes());
        pages.number("/b", 1, 2, || true);
        pages.truncate(length);
        assert_eq!((pages.len(), pages.memory_bytes()), (length, bytes));
        assert_eq!(pages.number("/c", 1, 2, || true), 2);
    }

    #[test]
    fn a_sender_over_its_quota_adds_no_pages() {
        let mut pages = Pages::new();
        assert_eq!(pages.number("/junk", 1, 1, || false), 0);
        assert_eq!(pages.number("/a", 1, 1, || true), 1);
        assert_eq!(pages.number("/a", 1, 1, || false), 1, "a known page keeps its number");
    }

    #[test]
    fn the_number_of_a_removed_page_is_not_reused() {
        let mut pages = Pages::new();
        pages.add_removed();
        assert_eq!((pages.number("/a", 1, 1, || true), pages.path(1)), (2, ""));
        assert_eq!(pages.number("", 1, 1, || true), 0, "a removed page has no name");
    }
}
