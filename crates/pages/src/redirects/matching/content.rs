//! Compares the title and the headings of a removed page with those of the pages.

use std::collections::HashSet;

use super::Matcher;
use crate::redirects::address::squash;
use crate::redirects::clue::{Clue, ClueKind};

const MIN_COMMON_HEADINGS: usize = 3;

pub(super) fn find(matcher: &Matcher<'_>, path: &str, clues: &mut Vec<Clue>) {
    let Some(old) = matcher.removed.get(path) else { return };
    let headings: HashSet<String> = old.headings.iter().map(|heading| squash(heading)).collect();
    let title = old.title.as_deref().map(squash).filter(|title| !title.is_empty());
    for page in &matcher.pages.pages {
        if !matcher.pages.editions.allow(path, &page.route) {
            continue;
        }
        if title.is_some() && page.title.as_deref().map(squash) == title {
            let reason = "it has the title of the removed page".to_owned();
            matcher.add(path, &page.route, ClueKind::SameTitle, reason, clues);
        }
        let common = page.headings.iter().filter(|heading| headings.contains(&squash(heading))).count();
        if common >= MIN_COMMON_HEADINGS && common * 2 >= headings.len() {
            let reason = "it has the headings of the removed page".to_owned();
            matcher.add(path, &page.route, ClueKind::SameHeadings, reason, clues);
        }
    }
}
