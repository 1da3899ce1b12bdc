//! The pages of a project and their numbers.

use std::collections::HashMap;
use std::sync::Arc;

/// What is counted under it had a path of its own, but there were too many new ones that day. No
/// page has this name, because those begin with a slash.
pub const OTHER_PAGES: &str = "(other pages)";

#[derive(Debug)]
pub(crate) struct Pages {
    paths: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
    bytes: usize,
    /// The day on which pages came last, and how many came on it.
    day: i64,
    came: u32,
}

impl Pages {
    pub(crate) fn new() -> Self {
        let mut pages = Self { paths: Vec::new(), numbers: HashMap::new(), bytes: 0, day: i64::MIN, came: 0 };
        pages.push(OTHER_PAGES.into());
        pages
    }

    pub(crate) fn len(&self) -> usize {
        self.paths.len()
    }

    pub(crate) fn path(&self, number: u32) -> &str {
        self.paths.get(number as usize).map_or(OTHER_PAGES, |path| path)
    }

    /// Those from a number on.
    pub(crate) fn since(&self, number: usize) -> impl Iterator<Item = (u32, &Arc<str>)> {
        (0..).zip(&self.paths).skip(number)
    }

    /// The number of a page. A new one gets its own while fewer than `most` came that day and its sender
    /// `may_add` one: a page that is known keeps its name, however many are guessed at.
    pub(crate) fn number(&mut self, path: &str, day: i64, most: u32, may_add: impl FnOnce() -> bool) -> u32 {
        if let Some(number) = self.numbers.get(path) {
            return *number;
        }
        if day != self.day {
            (self.day, self.came) = (day, 0);
        }
        if self.came >= most || !may_add() {
            return 0;
        }
        self.add(path.into(), day)
    }

    pub(crate) fn add(&mut self, path: Arc<str>, day: i64) -> u32 {
        self.came = if day == self.day { self.came + 1 } else { 1 };
        self.day = day;
        self.push(path)
    }

    /// Keeps the number of a page whose name was removed, so that no other page gets it.
    pub(crate) fn add_removed(&mut self) {
        self.bytes += weight("");
        self.paths.push("".into());
    }

    /// Forgets those that came last, which were not written.
    pub(crate) fn truncate(&mut self, length: usize) {
        for path in self.paths.drain(length..) {
            self.numbers.remove(&path);
            self.bytes -= weight(&path);
            self.came = self.came.saturating_sub(1);
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    fn push(&mut self, path: Arc<str>) -> u32 {
        let number = self.paths.len() as u32;
        self.bytes += weight(&path);
        self.numbers.insert(path.clone(), number);
        self.paths.push(path);
        number
    }
}

/// A path in memory: its text with two counters, and a place in the list and in the map.
fn weight(path: &str) -> usize {
    path.len() + 80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_pages_are_bounded_by_the_day() {
        let mut pages = Pages::new();
        let mut number = |path: &str, day| pages.number(path, day, 2, || true);
        assert_eq!([number("/a", 1), number("/b", 1), number("/c", 1)], [1, 2, 0]);
        assert_eq!([number("/a", 1), number("/b", 1)], [1, 2], "what is known keeps its name");
        assert_eq!([number("/c", 2), number("/d", 2), number("/e", 2)], [3, 4, 0]);
        assert_eq!((pages.path(3), pages.path(0), pages.path(99)), ("/c", OTHER_PAGES, OTHER_PAGES));
    }

    #[test]
    fn what_was_not_written_is_forgotten() {
        let mut pages = Pages::new();
        pages.number("/a", 1, 2, || true);
        let (length, bytes) = (pages.len(), pages.bytes());
        pages.number("/b", 1, 2, || true);
        pages.truncate(length);
        assert_eq!((pages.len(), pages.bytes()), (length, bytes));
        assert_eq!(pages.number("/c", 1, 2, || true), 2);
    }

    #[test]
    fn a_sender_that_may_not_add_pages_uses_none_up() {
        let mut pages = Pages::new();
        assert_eq!(pages.number("/junk", 1, 1, || false), 0);
        assert_eq!(pages.number("/a", 1, 1, || true), 1);
        assert_eq!(pages.number("/a", 1, 1, || false), 1, "what is known keeps its name");
    }

    #[test]
    fn the_number_of_a_removed_page_is_not_given_away() {
        let mut pages = Pages::new();
        pages.add_removed();
        assert_eq!((pages.number("/a", 1, 1, || true), pages.path(1)), (2, ""));
        assert_eq!(pages.number("", 1, 1, || true), 0, "a name that was removed is no name");
    }
}
