//! Follows the renames of a page in the history.

use std::collections::HashSet;

use super::Matcher;
use super::names::FIRST_PAGES;
use crate::redirects::address::{bare, plain, split_name, squash, words};
use crate::redirects::clue::{Clue, ClueKind};

/// Pages are rarely renamed more often.
const MAX_RENAMES: usize = 20;

pub(super) fn find(matcher: &Matcher<'_>, path: &str, clues: &mut Vec<Clue>) {
    let bare = plain(bare(path));
    let start = if matcher.renames.contains_key(path) { path } else { &bare };
    let Some(last) = last_name(matcher, start) else { return };
    let reason = format!("the page was renamed to `{last}`");
    if let Some(page) = matcher.page(path, &last) {
        // The first page of a folder that became one of its pages is perhaps only a part of what it was.
        let is_part = last.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
        let kind = match is_part {
            true => ClueKind::RenamedIntoFolder,
            // Whoever redirected the later name perhaps chose another page for the part that had the first one.
            false if !matcher.pages.has(&last) => ClueKind::RenamedThenRedirected,
            false if has_landing_page(matcher, &page) && !is_related(matcher, &bare, &last, &page) => {
                ClueKind::RenamedOtherwise
            }
            false => ClueKind::Renamed,
        };
        matcher.add(path, &last, kind, reason, clues);
        return;
    }
    // The page is gone under its last name, too. That name can say more than the first one.
    for clue in matcher.clues_of_name(&last) {
        let reason = format!("{reason}, and {}", clue.reason);
        matcher.add(path, &clue.target, ClueKind::RenamedThenNamed, reason, clues);
    }
}

/// Whether the folder of a page has a first page. If an old page was split, people often choose that one.
fn has_landing_page(matcher: &Matcher<'_>, page: &str) -> bool {
    let folder = split_name(page).0;
    let mut firsts = FIRST_PAGES.iter().map(|first| format!("{folder}/{first}"));
    !folder.is_empty() && (matcher.pages.has(folder) || firsts.any(|first| matcher.pages.has(&first)))
}

/// Whether the new name or the title has most of the words of the old name.
fn is_related(matcher: &Matcher<'_>, old: &str, new: &str, page: &str) -> bool {
    let (old, new) = (split_name(old).1, split_name(new).1);
    let title = matcher.pages.get(page).and_then(|page| page.title.as_deref()).unwrap_or_default();
    let found: HashSet<String> = words(new).chain(words(title)).collect();
    let weight = |words: &mut dyn Iterator<Item = String>| -> f64 {
        words.map(|word| matcher.pages.weight(&word)).sum()
    };
    let kept = weight(&mut words(old).filter(|word| found.contains(word)));
    squash(old) == squash(new) || 2.0 * kept >= weight(&mut words(old))
}

/// The last name that the page got. A rename back is followed once.
fn last_name(matcher: &Matcher<'_>, start: &str) -> Option<String> {
    let (mut at, mut since) = (start.to_owned(), i64::MIN);
    for _ in 0..MAX_RENAMES {
        // A page that exists now is where a chain ends.
        let next =
            matcher.renames.get(&at).and_then(|renames| renames.iter().find(|(date, _)| *date >= since));
        match next.filter(|_| at == start || !matcher.pages.has(&at)) {
            Some((date, to)) => (at, since) = (to.clone(), *date),
            None => break,
        }
    }
    (at != start).then_some(at)
}
