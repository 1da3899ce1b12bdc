//! The anchors of a page's headings: as GitHub makes them, and as other generators do.
//!
//! Nothing in a tree says for certain which generator builds it, so a link is good when any of the
//! usual spellings of a heading answers to it.

use std::collections::HashMap;
use std::ops::Range;

use crate::WordList;

/// Letters, each with those that are left as it when their marks are taken off.
const MARKED: WordList = WordList(
    "aàáâãäåāăą cçćĉċč dď eèéêëēĕėęě gĝğġģ iìíîïĩīĭį lĺļľ nñńņň oòóôõöōŏő rŕŗř sśŝşš tţť uùúûüũūŭůűų yýÿŷ zźżž",
);

/// A heading and the anchor that leads to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    pub text: String,
    pub anchor: String,
    /// Whether the anchor is set by hand, and is not made of the words.
    pub is_set: bool,
    /// Where it stands in the file.
    pub range: Range<usize>,
}

/// Hands out the anchors of one page, in the order of its headings.
#[derive(Debug, Default)]
pub(crate) struct Slugs {
    used: HashMap<String, usize>,
}

impl Slugs {
    /// The anchor of the next heading. An explicit `{#id}` is taken as it is; a slug that is
    /// taken already gets `-1`, `-2` and so on.
    pub(crate) fn anchor(&mut self, text: &str, explicit: Option<&str>) -> String {
        if let Some(id) = explicit {
            return id.to_owned();
        }
        let slug = Self::slug(text);
        let mut anchor = slug.clone();
        let mut count = self.used.get(&slug).copied().unwrap_or(0);
        if self.used.contains_key(&slug) {
            loop {
                count += 1;
                anchor = format!("{slug}-{count}");
                if !self.used.contains_key(&anchor) {
                    break;
                }
            }
        }
        self.used.insert(slug, count);
        self.used.entry(anchor.clone()).or_insert(0);
        anchor
    }

    /// Lower case, spaces to hyphens, and nothing but letters, digits, hyphens and underscores.
    pub(crate) fn slug(text: &str) -> String {
        let lower = text.trim().chars().flat_map(char::to_lowercase);
        lower
            .filter_map(|c| match c {
                ' ' => Some('-'),
                c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
                _ => None,
            })
            .collect()
    }
}

/// Hands out the anchors of one page as generators other than GitHub spell them.
#[derive(Debug, Default)]
pub(crate) struct Spellings {
    seen: HashMap<String, usize>,
}

impl Spellings {
    /// The further anchors of the next heading. What is repeated gets `_1` by Python-Markdown and `-1` by the others.
    pub(crate) fn anchors(&mut self, text: &str) -> Vec<String> {
        let mut anchors = Vec::new();
        for slug in spellings(text) {
            let seen = self.seen.entry(slug.clone()).or_default();
            match *seen {
                0 => anchors.push(slug),
                count => anchors.extend([format!("{slug}-{count}"), format!("{slug}_{count}")]),
            }
            *seen += 1;
        }
        anchors
    }
}

/// Every usual spelling of a heading, GitHub's first. One alone means that the generators agree.
pub(crate) fn spellings(text: &str) -> Vec<String> {
    let github = Slugs::slug(text);
    let vitepress = vitepress(text);
    let unnumbered = |slug: &str| slug.trim_start_matches(|c: char| !c.is_alphabetic()).to_owned();
    // Jekyll drops what stands before the first letter, Sphinx does so with hyphens for punctuation.
    let all =
        [one_hyphen(&github), python_markdown(text), unnumbered(&github), unnumbered(&vitepress), vitepress];
    let mut distinct = vec![github];
    for slug in all {
        if !slug.is_empty() && !distinct.contains(&slug) {
            distinct.push(slug);
        }
    }
    distinct
}

/// Marks come off, other letters outside of ASCII are dropped, and runs of hyphens and spaces become one hyphen.
fn python_markdown(text: &str) -> String {
    let plain: String = unmarked(text)
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || c.is_whitespace() || matches!(c, '_' | '-'))
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .collect();
    one_hyphen(&plain.trim().replace(' ', "-"))
}

/// Punctuation becomes a hyphen rather than nothing, and a digit in front gets an underscore.
fn vitepress(text: &str) -> String {
    let special = |c: char| c.is_whitespace() || c.is_ascii_punctuation() || "“”‘’".contains(c);
    let plain = unmarked(text);
    let words = plain.split(special).filter(|word| !word.is_empty());
    let slug = words.collect::<Vec<_>>().join("-");
    if slug.starts_with(|c: char| c.is_ascii_digit()) { format!("_{slug}") } else { slug }
}

fn one_hyphen(slug: &str) -> String {
    let mut short = String::with_capacity(slug.len());
    for c in slug.chars() {
        if c != '-' || !short.ends_with('-') {
            short.push(c);
        }
    }
    short
}

/// Lower case, without accents and the like.
fn unmarked(text: &str) -> String {
    let bare =
        |c: char| MARKED.iter().find(|marked| marked.contains(c)).and_then(|marked| marked.chars().next());
    text.chars()
        .flat_map(char::to_lowercase)
        .map(|c| if c.is_ascii() { c } else { bare(c).unwrap_or(c) })
        .collect()
}

/// An anchor with everything taken off that people get wrong: case, punctuation, runs of hyphens.
pub(crate) fn normalised(anchor: &str) -> String {
    let words = anchor.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalised_anchors() {
        assert_eq!(normalised("A--b_c."), "a-b-c");
        assert_eq!(normalised("a-b-c"), "a-b-c");
    }
}
