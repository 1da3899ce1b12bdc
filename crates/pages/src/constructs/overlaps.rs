//! Keeps reading linear: limits how often the same text is read, and caches searches.

/// How many ranges can contain the same offset. Each of them reads and copies the same text once more.
const MAX_OVERLAPS: usize = 16;

/// The ends of the ranges that were read so far. Offsets must not decrease between calls.
#[derive(Default)]
pub(super) struct Overlaps(Vec<usize>);

impl Overlaps {
    /// Whether the limit is reached at `offset`. The caller then reads no range that begins there.
    pub(super) fn is_full_at(&mut self, offset: usize) -> bool {
        self.0.retain(|end| *end > offset);
        self.0.len() >= MAX_OVERLAPS
    }

    /// Records the end of a range, unless the limit is reached.
    pub(super) fn push(&mut self, end: usize) {
        if self.0.len() < MAX_OVERLAPS {
            self.0.push(end);
        }
    }
}

/// Caches the next match of a search. Searches begin at growing offsets, so together they read the text about once.
#[derive(Default)]
pub(super) struct NextMatch(Option<(usize, usize)>);

impl NextMatch {
    /// The first match of `search` at or after `from`, or the length of the text.
    pub(super) fn find(
        &mut self,
        text: &str,
        from: usize,
        search: impl FnOnce(&str) -> Option<usize>,
    ) -> usize {
        match self.0 {
            Some((start, found)) if start <= from && from <= found => found,
            _ => {
                let found = search(&text[from..]).map_or(text.len(), |length| from + length);
                self.0 = Some((from, found));
                found
            }
        }
    }
}

/// Caches the last match of a search before an offset. Offsets grow here too.
#[derive(Default)]
pub(super) struct LastMatch {
    searched: usize,
    found: Option<usize>,
}

impl LastMatch {
    /// The last match of `search` before `end`.
    pub(super) fn find(
        &mut self,
        text: &str,
        end: usize,
        search: impl FnOnce(&str) -> Option<usize>,
    ) -> Option<usize> {
        if end < self.searched {
            *self = Self::default();
        }
        let last = search(&text[self.searched..end]).map(|at| self.searched + at);
        *self = Self { searched: end, found: last.or(self.found) };
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_matches_equal_fresh_searches() {
        let text = "a [b [c ] d ] e";
        let (mut next, mut last) = (NextMatch::default(), LastMatch::default());
        for from in [0, 3, 8, 9, 12, 13, 15] {
            let expected = text[from..].find(']').map_or(text.len(), |at| from + at);
            assert_eq!(next.find(text, from, |rest| rest.find(']')), expected, "{from}");
            let expected = text[..from].rfind('[');
            assert_eq!(last.find(text, from, |part| part.rfind('[')), expected, "{from}");
        }
    }

    #[test]
    fn ranges_that_ended_do_not_count() {
        let mut overlaps = Overlaps::default();
        for offset in 0..MAX_OVERLAPS {
            assert!(!overlaps.is_full_at(offset));
            overlaps.push(100);
        }
        assert!(overlaps.is_full_at(99));
        assert!(!overlaps.is_full_at(100));
    }
}
