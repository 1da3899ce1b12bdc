//! Keeps reading linear: a bound on how often the same text is read, and searches that remember their answer.

/// As many ranges may hold one place. Each of them costs another walk over the same text, and another copy of it.
const MAX_OVERLAPS: usize = 16;

/// The ends of the ranges that were read so far, while the reader goes forward.
#[derive(Default)]
pub(super) struct Overlaps(Vec<usize>);

impl Overlaps {
    /// Whether as many ranges hold `place` as may. What begins there is refused, or left to the ranges around it.
    pub(super) fn is_full_at(&mut self, place: usize) -> bool {
        self.0.retain(|end| *end > place);
        self.0.len() >= MAX_OVERLAPS
    }

    /// Notes a range that was read, unless there was no room for it.
    pub(super) fn push(&mut self, end: usize) {
        if self.0.len() < MAX_OVERLAPS {
            self.0.push(end);
        }
    }
}

/// The next place of something. The places to search from only grow, so that all searches read the text about once.
#[derive(Default)]
pub(super) struct NextPlace(Option<(usize, usize)>);

impl NextPlace {
    /// The first match of `search` at or behind `from`, or the length of the text.
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

/// The last place of something before another place. These only grow as well.
#[derive(Default)]
pub(super) struct LastPlace {
    searched: usize,
    found: Option<usize>,
}

impl LastPlace {
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
    fn answers_are_remembered_and_right() {
        let text = "a [b [c ] d ] e";
        let (mut next, mut last) = (NextPlace::default(), LastPlace::default());
        for from in [0, 3, 8, 9, 12, 13, 15] {
            let expected = text[from..].find(']').map_or(text.len(), |at| from + at);
            assert_eq!(next.find(text, from, |rest| rest.find(']')), expected, "{from}");
            let expected = text[..from].rfind('[');
            assert_eq!(last.find(text, from, |part| part.rfind('[')), expected, "{from}");
        }
    }

    #[test]
    fn ranges_that_ended_count_no_more() {
        let mut overlaps = Overlaps::default();
        for place in 0..MAX_OVERLAPS {
            assert!(!overlaps.is_full_at(place));
            overlaps.push(100);
        }
        assert!(overlaps.is_full_at(99));
        assert!(!overlaps.is_full_at(100));
    }
}
