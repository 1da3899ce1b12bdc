//! The anchors of a page's headings, as GitHub makes them.

use std::collections::HashMap;

/// A heading and the anchor that leads to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    pub text: String,
    pub anchor: String,
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

/// An anchor with everything taken off that people get wrong: case, punctuation, runs of hyphens.
pub(crate) fn normalised(anchor: &str) -> String {
    let words = anchor.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join("-").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            assert_eq!(Slugs::slug(text), expected);
        }
        check("Getting started", "getting-started");
        check("What's new in v1.5?", "whats-new-in-v15");
        check("A & B", "a--b");
        check("snake_case --flag", "snake_case---flag");
        check("Größe 日本", "größe-日本");
        check("🚀 Launch", "-launch");
        check("", "");
    }

    #[test]
    fn repeated_headings_are_numbered() {
        let mut slugs = Slugs::default();
        let anchors = ["Usage", "Usage", "Usage 1", "Usage"].map(|text| slugs.anchor(text, None));
        assert_eq!(anchors, ["usage", "usage-1", "usage-1-1", "usage-2"]);
        assert_eq!(slugs.anchor("Usage", Some("how")), "how");
    }

    #[test]
    fn normalised_anchors() {
        assert_eq!(normalised("A--b_c."), "a-b-c");
        assert_eq!(normalised("a-b-c"), "a-b-c");
    }
}
