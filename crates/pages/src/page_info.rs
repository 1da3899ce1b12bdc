//! Keeps what link checks need from a page after its text is dropped: its links, headings and anchors.

use std::collections::{HashMap, HashSet};

use crate::anchor_typos::is_misspelling;
use crate::anchors::{Heading, Slugs, normalize_anchor, spellings};
use crate::markdown::{Link, Page};
use crate::splice::LineIndex;

/// A page with more headings is generated, and is not searched for misspelled anchors.
const MAX_SEARCHED_HEADINGS: usize = 400;

/// The links, headings and anchors of a page.
pub(crate) struct PageInfo {
    headings: Vec<Heading>,
    anchors: HashSet<String>,
    /// Anchors by their lower case. `None` where several anchors share one.
    by_lower_case: HashMap<String, Option<String>>,
    /// Headings by the slug of their text, and by their anchor without punctuation.
    by_slug: HashMap<String, Vec<usize>>,
    includes_pages: bool,
    pub(crate) links: Vec<PageLink>,
}

/// A link with its destination and its line.
pub(crate) struct PageLink {
    pub(crate) link: Link,
    pub(crate) raw: String,
    pub(crate) line: usize,
}

impl PageInfo {
    pub(crate) fn new(page: &Page, text: &str) -> Self {
        let anchors: HashSet<String> =
            page.headings.iter().map(|heading| &heading.anchor).chain(&page.ids).cloned().collect();
        let mut by_lower_case = HashMap::new();
        for anchor in &anchors {
            let unique = by_lower_case.entry(anchor.to_lowercase()).or_insert_with(|| Some(anchor.clone()));
            *unique = unique.take().filter(|other| other == anchor);
        }
        let mut by_slug: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, heading) in page.headings.iter().enumerate() {
            let (anchor, slug) = (normalize_anchor(&heading.anchor), Slugs::slug(&heading.text));
            if slug != anchor {
                by_slug.entry(slug).or_default().push(index);
            }
            by_slug.entry(anchor).or_default().push(index);
        }
        let (headings, includes_pages) = (page.headings.clone(), page.includes_pages);
        Self { headings, anchors, by_lower_case, by_slug, includes_pages, links: page_links(page, text) }
    }

    pub(crate) fn has_anchor(&self, anchor: &str) -> bool {
        self.includes_pages || self.anchors.contains(anchor)
    }

    /// The only anchor that a wrong one can stand for: in another case, or with one word misspelled. For a misspelling, all
    /// generators must agree on the anchor of the heading.
    pub(crate) fn intended_anchor(&self, wanted: &str) -> Option<&str> {
        let wanted = wanted.to_lowercase();
        if let Some(unique) = self.by_lower_case.get(&wanted) {
            return unique.as_deref();
        }
        if self.headings.len() > MAX_SEARCHED_HEADINGS {
            return None;
        }
        let mut similar = self.headings.iter().filter(|heading| is_misspelling(&wanted, &heading.anchor));
        let heading = similar.next().filter(|heading| spellings(&heading.text).len() == 1)?;
        similar.next().is_none().then_some(heading.anchor.as_str())
    }

    /// Anchors to suggest: with other punctuation, or of a heading with the same text as the link.
    pub(crate) fn similar_anchors(&self, wanted: &str, text: &str) -> impl Iterator<Item = &str> {
        let mut keys = vec![normalize_anchor(wanted), Slugs::slug(text)];
        keys.dedup();
        let found = keys.into_iter().filter(|key| !key.is_empty()).filter_map(|key| self.by_slug.get(&key));
        found.flatten().map(|index| self.headings[*index].anchor.as_str())
    }
}

fn page_links(page: &Page, text: &str) -> Vec<PageLink> {
    let lines = LineIndex::new(text);
    let with_line = |link: &Link| PageLink {
        raw: text[link.range.clone()].to_owned(),
        line: lines.line(link.range.start),
        link: link.clone(),
    };
    page.links.iter().map(with_line).collect()
}

/// Whether an anchor needs no heading or id on the page: its top, a line of source code, a footnote, a text fragment, or
/// the state of a script.
pub(crate) fn is_implicit_anchor(anchor: &str) -> bool {
    let numbered = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    let is_line = anchor.strip_prefix('L').is_some_and(numbered);
    let is_footnote = anchor
        .strip_prefix("fn")
        .is_some_and(|rest| rest.starts_with("ref") || rest.starts_with([':', '-']) || numbered(rest));
    anchor.is_empty()
        || anchor == "top"
        || is_line
        || is_footnote
        || anchor.starts_with([':', '^', '!'])
        || anchor.starts_with("__")
        || anchor.contains(['/', '='])
}
