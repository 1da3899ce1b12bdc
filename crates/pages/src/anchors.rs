//! Computes the anchors of headings, as GitHub and other generators do.
//!
//! A tree doesn't say for certain which generator builds it. So a link is good when it matches any common spelling of a
//! heading's anchor.

use std::collections::HashMap;
use std::ops::Range;

use crate::WordList;

/// ASCII letters, each with the letters that become it without their diacritics.
const DIACRITICS: WordList = WordList(
    "aàáâãäåāăą cçćĉċč dď eèéêëēĕėęě gĝğġģ iìíîïĩīĭį lĺļľ nñńņň oòóôõöōŏő rŕŗř sśŝşš tţť uùúûüũūŭůűų yýÿŷ zźżž",
);

/// A heading and its anchor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    pub text: String,
    pub anchor: String,
    /// Whether the anchor is set explicitly, and is not made from the text.
    pub is_explicit: bool,
    /// Its range in the file.
    pub range: Range<usize>,
}

/// Assigns the anchors of a page in GitHub's spelling, in the order of its headings.
#[derive(Debug, Default)]
pub(crate) struct Slugs {
    used: HashMap<String, usize>,
}

impl Slugs {
    /// The anchor of the next heading. An explicit `{#id}` is used unchanged. A slug that is already used gets `-1`, `-2` and
    /// so on.
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

    /// The text in lower case, with hyphens for spaces, and without other punctuation than hyphens and underscores.
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

/// Assigns the anchors of a page in the spellings of other generators.
#[derive(Debug, Default)]
pub(crate) struct Spellings {
    used: HashMap<String, usize>,
}

impl Spellings {
    /// The further anchors of the next heading. Python-Markdown adds `_1` to a repeated slug, and the others add `-1`.
    pub(crate) fn anchors(&mut self, text: &str) -> Vec<String> {
        let mut anchors = Vec::new();
        for slug in spellings(text) {
            let used = self.used.entry(slug.clone()).or_default();
            match *used {
                0 => anchors.push(slug),
                count => anchors.extend([format!("{slug}-{count}"), format!("{slug}_{count}")]),
            }
            *used += 1;
        }
        anchors
    }
}

/// Every common spelling of a heading's anchor, GitHub's first. A single one means that the generators agree.
pub(crate) fn spellings(text: &str) -> Vec<String> {
    let github = Slugs::slug(text);
    let vitepress = vitepress(text);
    let unnumbered = |slug: &str| slug.trim_start_matches(|c: char| !c.is_alphabetic()).to_owned();
    // Jekyll drops everything before the first letter. So does Sphinx, with hyphens for punctuation.
    let all = [
        collapse_hyphens(&github),
        python_markdown(text),
        unnumbered(&github),
        unnumbered(&vitepress),
        vitepress,
    ];
    let mut distinct = vec![github];
    for slug in all {
        if !slug.is_empty() && !distinct.contains(&slug) {
            distinct.push(slug);
        }
    }
    distinct
}

/// Without diacritics and other letters outside of ASCII, and with one hyphen for runs of hyphens and spaces.
fn python_markdown(text: &str) -> String {
    let plain: String = without_diacritics(text)
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || c.is_whitespace() || matches!(c, '_' | '-'))
        .map(|c| if c.is_whitespace() { ' ' } else { c })
        .collect();
    collapse_hyphens(&plain.trim().replace(' ', "-"))
}

/// With a hyphen for punctuation, and an underscore before a digit at the beginning.
fn vitepress(text: &str) -> String {
    let special = |c: char| c.is_whitespace() || c.is_ascii_punctuation() || "“”‘’".contains(c);
    let plain = without_diacritics(text);
    let words = plain.split(special).filter(|word| !word.is_empty());
    let slug = words.collect::<Vec<_>>().join("-");
    if slug.starts_with(|c: char| c.is_ascii_digit()) { format!("_{slug}") } else { slug }
}

fn collapse_hyphens(slug: &str) -> String {
    let mut short = String::with_capacity(slug.len());
    for c in slug.chars() {
        if c != '-' || !short.ends_with('-') {
            short.push(c);
        }
    }
    short
}

/// The text in lower case without diacritics.
fn without_diacritics(text: &str) -> String {
    let bare = |c: char| DIACRITICS.iter().find(|row| row.contains(c)).and_then(|row| row.chars().next());
    text.chars()
        .flat_map(char::to_lowercase)
        .map(|c| if c.is_ascii() { c } else { bare(c).unwrap_or(c) })
        .collect()
}

/// An anchor without what people often get wrong: case, punctuation, runs of hyphens.
pub(crate) fn normalize_anchor(anchor: &str) -> String {
    let words = anchor.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalized_anchors() {
        assert_eq!(normalize_anchor("A--b_c."), "a-b-c");
        assert_eq!(normalize_anchor("a-b-c"), "a-b-c");
    }
}
