//! Anchors that are set by hand twice on a page: a link to the second leads to the first.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;

use super::finding::Sheet;
use super::{Finding, FindingKind, markup};
use crate::markdown::Page;

/// The id of an element, and of a heading that has one behind it.
fn patterns() -> Option<&'static (Regex, Regex)> {
    static PATTERNS: OnceLock<Option<(Regex, Regex)>> = OnceLock::new();
    let build = || {
        let element = Regex::new(r#"\sid\s*=\s*(?:"([^"\s{}]+)"|'([^'\s{}]+)')"#).ok()?;
        let heading = Regex::new(r"(?m)^#{1,6}[ \t].*\{[ \t]*#([\w:-]+)[ \t]*\}[ \t]*\r?$").ok()?;
        Some((element, heading))
    };
    PATTERNS.get_or_init(build).as_ref()
}

pub(super) fn check(sheet: &Sheet<'_>, page: &Page) -> Vec<Finding> {
    let text = sheet.text;
    let Some((element, heading)) = patterns() else { return Vec::new() };
    let mut ids: Vec<Range<usize>> = Vec::new();
    for tag in &page.tags {
        let found = element.captures_iter(&text[tag.clone()]).filter_map(|id| id.get(1).or(id.get(2)));
        let found = found.map(|id| tag.start + id.start()..tag.start + id.end());
        ids.extend(found.filter(|id| is_of_an_element(&text[tag.start..id.start])));
    }
    let headings = heading.captures_iter(&text[page.front.body..]).filter_map(|id| id.get(1));
    let headings = headings.map(|id| page.front.body + id.start()..page.front.body + id.end());
    ids.extend(headings.filter(|id| !markup::in_code(page, id.start)));
    ids.sort_by_key(|id| id.start);
    repeated(sheet, &ids)
}

/// The `id` of a component is whatever the component makes of it.
fn is_of_an_element(before: &str) -> bool {
    let name = before.rsplit('<').next().unwrap_or_default();
    name.starts_with(|c: char| c.is_ascii_lowercase())
}

fn repeated(sheet: &Sheet<'_>, ids: &[Range<usize>]) -> Vec<Finding> {
    let mut first: HashMap<&str, usize> = HashMap::new();
    let mut found = Vec::new();
    for id in ids {
        let name = &sheet.text[id.clone()];
        match first.get(name) {
            Some(other) => {
                let message = format!("the anchor {name:?} is set already on line {}", sheet.line(*other));
                found.push(sheet.finding(id.start, FindingKind::DuplicateId, name, message));
            }
            None => drop(first.insert(name, id.start)),
        }
    }
    found
}
