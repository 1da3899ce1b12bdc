//! Maps indentation of the new text to that of the file.

use std::collections::BTreeMap;

/// A line of which the indentation in the file is known.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair<'a> {
    /// The index of the line in the old text.
    pub line: usize,
    pub words: &'a str,
    /// The indentation in the copy.
    pub from: &'a str,
    /// The indentation in the file.
    pub file: &'a str,
}

/// How the indentation of a copy differs from that of the file.
#[derive(Debug)]
pub(super) struct Indents<'a> {
    /// In order of lines.
    pairs: Vec<Pair<'a>>,
    /// The pairs with the same indentation in the copy: with a marker of a list, and all of them (`None`).
    groups: BTreeMap<(&'a str, Option<char>), Vec<Pair<'a>>>,
    is_same: bool,
}

impl<'a> Indents<'a> {
    pub(super) fn new(pairs: Vec<Pair<'a>>) -> Self {
        let mut groups: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for pair in &pairs {
            groups.entry((pair.from, None)).or_default().push(*pair);
            if let Some(marker) = marker(pair.words) {
                groups.entry((pair.from, Some(marker))).or_default().push(*pair);
            }
        }
        let is_same = pairs.iter().all(|pair| pair.from == pair.file);
        Self { pairs, groups, is_same }
    }

    /// Maps the indentation of a line next to the old line `near`. `None` if the pairs don't determine it.
    ///
    /// The lines of which the indentation has most in common determine it, first those with the same marker of a list.
    /// If they disagree, the nearest line before and the nearest line after must agree.
    pub(super) fn map(&self, indent: &str, words: &str, near: usize) -> Option<String> {
        if self.is_same {
            return Some(indent.to_owned());
        }
        let levels = || self.groups.keys().filter(|(_, marker)| marker.is_none()).map(|(from, _)| *from);
        let shallower = levels().filter(|from| indent.starts_with(from)).max_by_key(|from| from.len());
        let level = shallower.or_else(|| levels().min_by_key(|from| from.len()))?;
        let alike = marker(words).and_then(|marker| self.nearest((level, Some(marker)), near));
        self.shift(indent, alike.or_else(|| self.nearest((level, None), near))?)
    }

    /// The nearest pair of a group, if those around `near` agree.
    fn nearest(&self, group: (&'a str, Option<char>), near: usize) -> Option<Pair<'a>> {
        let (before, after) = {
            let pairs = self.groups.get(&group)?;
            pairs.split_at(pairs.partition_point(|pair| pair.line < near))
        };
        match (before.last(), after.first()) {
            (Some(before), Some(after)) if before.file != after.file => None,
            (before, after) => before.or(after).copied(),
        }
    }

    /// Gives an indentation the same distance from the file's indentation of a line as it has from the line itself.
    fn shift(&self, indent: &str, Pair { from, file, .. }: Pair) -> Option<String> {
        match indent.strip_prefix(from) {
            Some(deeper) => Some(format!("{file}{}", self.convert(deeper))),
            None => Some(file.strip_suffix(self.convert(from.strip_prefix(indent)?).as_str())?.to_owned()),
        }
    }

    /// Converts between spaces and tabs, or between widths of a level, as the pairs imply.
    fn convert(&self, indent: &str) -> String {
        let known = self.pairs.iter().rev().find(|pair| !pair.from.is_empty() && !pair.file.is_empty());
        let Some(Pair { from, file, .. }) = known else { return indent.to_owned() };
        let all = |text: &str, ch| text.bytes().all(|byte| byte == ch);
        let has_tabs =
            [(b' ', b'\t'), (b'\t', b' ')].iter().any(|(one, other)| all(from, *one) && all(file, *other));
        let length = indent.len() * file.len();
        let is_convertible = length.is_multiple_of(from.len()) && all(indent, from.as_bytes()[0]);
        match is_convertible && (has_tabs || self.is_scaled()) {
            true => file[..1].repeat(length / from.len()),
            false => indent.to_owned(),
        }
    }

    /// Whether every level is wider or narrower by the same factor.
    fn is_scaled(&self) -> bool {
        let lengths = || self.pairs.iter().map(|pair| (pair.from.len(), pair.file.len()));
        let Some((from, file)) = lengths().max() else { return false };
        lengths().any(|(other, _)| other != from)
            && lengths().all(|(other_from, other_file)| other_from * file == other_file * from)
    }
}

/// The first character of a line, if it is a marker such as `-`.
fn marker(words: &str) -> Option<char> {
    words.chars().next().filter(|ch| !ch.is_alphanumeric())
}
