//! Finds pages and redirects whose address is the same but for its spelling: `/Guide/install.html` is `/guide/install`.

use super::Matcher;
use crate::redirects::address::{bare, plain};
use crate::redirects::clue::{Clue, ClueKind};

pub(super) fn find(matcher: &Matcher<'_>, path: &str, clues: &mut Vec<Clue>) {
    let decoded = percent_encoding::percent_decode_str(path).decode_utf8_lossy();
    let bare = plain(bare(&decoded));
    let same = matcher.pages.get(&bare).filter(|_| bare != path);
    if let Some(page) = same {
        let reason = "it is the address of the page in another form".to_owned();
        matcher.add(path, &page.route, ClueKind::SamePage, reason, clues);
        return;
    }
    let mut alike = matcher.pages.spelled_like(&bare);
    if let (Some(page), None) = (alike.next(), alike.next()) {
        let reason = "the address differs only in case and punctuation".to_owned();
        matcher.add(path, &page.route, ClueKind::SpelledAlike, reason, clues);
    }
    for redirect in matcher.others(path, matcher.lookup.spelled_like(&bare)) {
        let reason = format!("the redirect from `{}` leads there", redirect.from);
        matcher.add(path, &redirect.to, ClueKind::RedirectTwin, reason, clues);
    }
}
