//! Follows the renames of a page in the history.

use super::Matcher;
use crate::redirects::address::{bare, plain};
use crate::redirects::clue::{Clue, ClueKind};

/// Pages are rarely renamed more often.
const MAX_RENAMES: usize = 20;

pub(super) fn find(matcher: &Matcher<'_>, path: &str, clues: &mut Vec<Clue>) {
    let bare = plain(bare(path));
    let start = if matcher.renames.contains_key(path) { path } else { &bare };
    let Some(last) = last_name(matcher, start) else { return };
    let reason = format!("the page was renamed to `{last}`");
    if matcher.page(path, &last).is_some() {
        // The first page of a folder that became one of its pages is perhaps only a part of what it was.
        let is_part = last.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
        let kind = if is_part { ClueKind::RenamedIntoFolder } else { ClueKind::Renamed };
        matcher.add(path, &last, kind, reason, clues);
        return;
    }
    // The page is gone under its last name, too. That name can say more than the first one.
    for clue in matcher.clues_of_name(&last) {
        let reason = format!("{reason}, and {}", clue.reason);
        matcher.add(path, &clue.target, ClueKind::RenamedThenNamed, reason, clues);
    }
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
