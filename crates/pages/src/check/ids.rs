//! Anchors that are set by hand twice on a page: a link to the second leads to the first.

use std::collections::HashMap;
use std::ops::Range;

use super::finding::Sheet;
use super::{Finding, FindingKind};
use crate::markdown::Page;

pub(super) fn check(sheet: &Sheet<'_>, page: &Page) -> Vec<Finding> {
    // The `id` of a component is whatever the component makes of it.
    let is_element = |name: &str| name.starts_with(|c: char| c.is_ascii_lowercase());
    let elements = page.elements.iter().filter(|tag| is_element(&tag.name)).flat_map(|tag| &tag.attributes);
    let plain = |id: &Range<usize>| !sheet.text[id.clone()].contains([' ', '\n', '{', '}']) && !id.is_empty();
    let set = elements.filter(|attribute| attribute.name == "id").map(|id| id.value.clone()).filter(plain);
    let headings = page.headings.iter().filter(|heading| heading.is_set).filter_map(|heading| {
        let (start, id) = (heading.range.start, &heading.anchor);
        let at = start + sheet.text[heading.range.clone()].rfind(&format!("#{id}"))? + 1;
        Some(at..at + id.len())
    });
    let mut ids: Vec<Range<usize>> = set.chain(headings).collect();
    ids.sort_by_key(|id| id.start);
    repeated(sheet, &ids)
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
