//! Puts one text in the place of another, in prose and only there unless code is asked for.

use std::ops::Range;

use pages::Page;

use super::command::Replace;
use super::matcher::{self, Places};

/// What a replacement finds in one page.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) places: Vec<Range<usize>>,
    pub(super) left: Left,
}

/// Places that look like the text and were left.
#[derive(Debug, Default)]
pub(super) struct Left {
    pub(super) in_code: usize,
    pub(super) within_words: usize,
    pub(super) other_case: usize,
    /// Values of front matter that the new text would break.
    pub(super) in_front_matter: usize,
}

/// The places of a page to change.
pub(super) fn find(page: &Page, text: &str, replace: &Replace) -> Found {
    let mut found = Found::default();
    if replace.old == replace.new {
        return found;
    }
    let look = |range: &Range<usize>| matcher::places(text, range.clone(), &replace.old, &replace.new);
    for value in page.front.values.iter().filter(|value| value.is_prose(text)) {
        let places = look(&value.range);
        match value.can_hold(&replace.new) {
            true => found.add(places),
            false => found.left.in_front_matter += places.whole.len(),
        }
    }
    for range in &page.prose {
        found.add(look(range));
    }
    for range in &page.code {
        match replace.code {
            true => found.add(look(range)),
            false => found.left.in_code += look(range).whole.len(),
        }
    }
    found
}

impl Found {
    fn add(&mut self, places: Places) {
        self.places.extend(places.whole);
        self.left.within_words += places.within_words;
        self.left.other_case += places.other_case;
    }
}

impl Left {
    pub(super) fn add(&mut self, other: &Self) {
        self.in_code += other.in_code;
        self.within_words += other.within_words;
        self.other_case += other.other_case;
        self.in_front_matter += other.in_front_matter;
    }

    /// One sentence for each kind of place that was left.
    pub(super) fn notes(&self, replace: &Replace) -> Vec<String> {
        let old = super::report::quote(&replace.old);
        let places = |count| super::report::count(count, "place", "places");
        let were = |count| if count == 1 { "was" } else { "were" };
        let sentence = |count: usize, rest: String| (count > 0).then(|| format!("{} {rest}", places(count)));
        [
            sentence(
                self.in_code,
                format!("in code {} left; say \"including code\" to change them.", were(self.in_code)),
            ),
            sentence(
                self.within_words,
                format!("where {old} is part of a longer word {} left.", were(self.within_words)),
            ),
            sentence(
                self.other_case,
                format!(
                    "that {} from {old} by case {} left.",
                    if self.other_case == 1 { "differs" } else { "differ" },
                    were(self.other_case)
                ),
            ),
            sentence(
                self.in_front_matter,
                format!(
                    "in front matter {} left: the new text would break it there.",
                    were(self.in_front_matter)
                ),
            ),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}
