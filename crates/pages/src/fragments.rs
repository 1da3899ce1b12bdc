//! Which headings the links of a tree lead to, so that an editor can leave their words alone.

use std::collections::HashSet;

use percent_encoding::percent_decode_str;

use crate::anchors::Heading;
use crate::markdown::Page;

/// The anchors that links name, on whatever page. What generator makes them is not known, so they are
/// compared by their letters and digits alone, without the number behind a repeated heading.
#[derive(Debug, Default)]
pub struct Fragments(HashSet<String>);

impl Fragments {
    /// Learns where the links of a page lead.
    pub fn learn(&mut self, page: &Page, text: &str) {
        let links = page.links.iter().filter_map(|link| text.get(link.range.clone()));
        let named = links
            .filter_map(|link| link.rsplit_once('#'))
            .map(|(_, fragment)| letters(&percent_decode_str(fragment).decode_utf8_lossy()));
        self.0.extend(named);
    }

    /// Whether a link names the words of a heading.
    pub fn lead_to(&self, heading: &Heading) -> bool {
        !heading.is_set && self.0.contains(&letters(&heading.text))
    }
}

fn letters(text: &str) -> String {
    let kept: String = text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    kept.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned()
}
