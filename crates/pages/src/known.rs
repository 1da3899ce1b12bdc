//! What is remembered of a page: its links, and what links can refer to in it.

use std::collections::{HashMap, HashSet};

use crate::anchors::{Heading, Slugs, normalised, spellings};
use crate::close::is_misspelled;
use crate::markdown::{Link, Page};
use crate::splice::LineIndex;

/// A page with more headings than this is no page for people, and is not searched for each link to it.
const MAX_SEARCHED: usize = 400;

/// A page of which the text is no longer needed.
pub(crate) struct PageInfo {
    headings: Vec<Heading>,
    anchors: HashSet<String>,
    /// Anchors by their lower case; nothing where several share one.
    folded: HashMap<String, Option<String>>,
    /// Headings, by what they say and by their anchors without punctuation.
    alike: HashMap<String, Vec<usize>>,
    includes_pages: bool,
    pub(crate) links: Vec<PageLink>,
}

/// A link with its place in the file.
pub(crate) struct PageLink {
    pub(crate) link: Link,
    pub(crate) raw: String,
    pub(crate) line: usize,
}

impl PageInfo {
    pub(crate) fn new(page: &Page, text: &str) -> Self {
        let anchors: HashSet<String> =
            page.headings.iter().map(|heading| &heading.anchor).chain(&page.ids).cloned().collect();
        let mut folded = HashMap::new();
        for anchor in &anchors {
            let one = folded.entry(anchor.to_lowercase()).or_insert_with(|| Some(anchor.clone()));
            *one = one.take().filter(|one| one == anchor);
        }
        let mut alike: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, heading) in page.headings.iter().enumerate() {
            let (anchor, said) = (normalised(&heading.anchor), Slugs::slug(&heading.text));
            if said != anchor {
                alike.entry(said).or_default().push(index);
            }
            alike.entry(anchor).or_default().push(index);
        }
        let (headings, includes_pages) = (page.headings.clone(), page.includes_pages);
        Self { headings, anchors, folded, alike, includes_pages, links: page_links(page, text) }
    }

    pub(crate) fn has_anchor(&self, anchor: &str) -> bool {
        self.includes_pages || self.anchors.contains(anchor)
    }

    /// The one anchor that a wrong one can have meant: in another case, or with one word misspelled. For the
    /// second, all generators must agree on how the heading is spelled.
    pub(crate) fn anchor_meant(&self, wanted: &str) -> Option<&str> {
        let wanted = wanted.to_lowercase();
        if let Some(in_other_case) = self.folded.get(&wanted) {
            return in_other_case.as_deref();
        }
        if self.headings.len() > MAX_SEARCHED {
            return None;
        }
        let mut close = self.headings.iter().filter(|heading| is_misspelled(&wanted, &heading.anchor));
        let heading = close.next().filter(|heading| spellings(&heading.text).len() == 1)?;
        close.next().is_none().then_some(heading.anchor.as_str())
    }

    /// Anchors that a person may think of: with other punctuation, or of a heading that reads like the link.
    pub(crate) fn anchors_like(&self, wanted: &str, text: &str) -> impl Iterator<Item = &str> {
        let mut keys = vec![normalised(wanted), Slugs::slug(text)];
        keys.dedup();
        let found = keys.into_iter().filter(|key| !key.is_empty()).filter_map(|key| self.alike.get(&key));
        found.flatten().map(|index| self.headings[*index].anchor.as_str())
    }
}

fn page_links(page: &Page, text: &str) -> Vec<PageLink> {
    let lines = LineIndex::new(text);
    let place = |link: &Link| PageLink {
        raw: text[link.range.clone()].to_owned(),
        line: lines.line(link.range.start),
        link: link.clone(),
    };
    page.links.iter().map(place).collect()
}

/// Anchors that need nothing on the page: its top, a line of a source, a footnote, a piece of its text,
/// a state of a program that runs in it.
pub(crate) fn is_made_by_the_viewer(anchor: &str) -> bool {
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
