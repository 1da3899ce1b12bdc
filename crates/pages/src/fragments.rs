//! Collects the anchors that the links of a tree name, so that an editor can leave these headings alone.

use std::collections::HashSet;

use percent_encoding::percent_decode_str;

use crate::anchors::Heading;
use crate::markdown::Page;

/// The anchors that links name, on any page. Their generator is unknown, so they are compared by their letters and digits
/// only, without the number after a repeated heading.
#[derive(Debug, Default)]
pub struct LinkedFragments(HashSet<String>);

impl LinkedFragments {
    /// Adds the anchors that the links of a page name.
    pub fn add_page(&mut self, page: &Page, text: &str) {
        let links = page.links.iter().filter_map(|link| text.get(link.range.clone()));
        let anchors = links
            .filter_map(|link| link.rsplit_once('#'))
            .map(|(_, fragment)| letters(&percent_decode_str(fragment).decode_utf8_lossy()));
        self.0.extend(anchors);
    }

    /// Whether a link names the anchor that is made from the text of a heading.
    pub fn contains(&self, heading: &Heading) -> bool {
        !heading.is_explicit && self.0.contains(&letters(&heading.text))
    }
}

fn letters(text: &str) -> String {
    let letters: String = text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    letters.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned()
}
