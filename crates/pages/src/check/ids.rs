//! Finds explicit anchors that are set twice on a page. A link to the second one leads to the first.

use std::collections::HashMap;
use std::ops::Range;

use super::problem::{PageSource, Problem, ProblemKind};
use crate::markdown::Page;

pub(super) fn check(source: &PageSource<'_>, page: &Page) -> Vec<Problem> {
    // A component can use its `id` for anything.
    let is_element = |name: &str| name.starts_with(|c: char| c.is_ascii_lowercase());
    let elements = page.elements.iter().filter(|tag| is_element(&tag.name)).flat_map(|tag| &tag.attributes);
    let is_plain =
        |id: &Range<usize>| !source.text[id.clone()].contains([' ', '\n', '{', '}']) && !id.is_empty();
    let attributes = elements.filter(|attribute| attribute.name == "id");
    let attributes = attributes.map(|id| id.value.clone()).filter(is_plain);
    let headings = page.headings.iter().filter(|heading| heading.is_explicit).filter_map(|heading| {
        let (start, id) = (heading.range.start, &heading.anchor);
        let at = start + source.text[heading.range.clone()].rfind(&format!("#{id}"))? + 1;
        Some(at..at + id.len())
    });
    let mut ids: Vec<Range<usize>> = attributes.chain(headings).collect();
    ids.sort_by_key(|id| id.start);
    report_duplicates(source, &ids)
}

fn report_duplicates(source: &PageSource<'_>, ids: &[Range<usize>]) -> Vec<Problem> {
    let mut first: HashMap<&str, usize> = HashMap::new();
    let mut problems = Vec::new();
    for id in ids {
        let name = &source.text[id.clone()];
        match first.get(name) {
            Some(other) => {
                let message = format!("the anchor {name:?} is already set on line {}", source.line(*other));
                problems.push(source.problem(id.start, ProblemKind::DuplicateId, name, message));
            }
            None => drop(first.insert(name, id.start)),
        }
    }
    problems
}
