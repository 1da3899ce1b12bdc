//! Learns from the redirects of a site where the pages of a folder went.

use std::collections::BTreeMap;

use super::Matcher;
use super::names::GENERIC;
use crate::redirects::address::{plain, split_name, squash};
use crate::redirects::clue::{Clue, ClueKind};
use crate::redirects::existing::Redirect;

/// Fewer redirects of a folder to one page can be a coincidence.
const MIN_COLLAPSED: usize = 3;
const OFTEN_COLLAPSED: usize = 5;
/// Rules that more redirects follow have almost no exceptions.
const OFTEN_FOLLOWED: usize = 6;

/// How often the redirects of a site follow a rule from folder to folder.
#[derive(Debug, Default)]
struct Rule {
    followed: usize,
    /// Redirects that lead elsewhere although the rule leads to a page.
    broken: usize,
}

pub(super) fn find(matcher: &Matcher<'_>, path: &str, clues: &mut Vec<Clue>) {
    let is_generic_name = GENERIC.contains(&squash(split_name(path).1));
    for (from, to) in matcher.lookup.rules(path, matcher.existing.index_of(path)) {
        let Some(target) = apply(path, from, to).filter(|target| matcher.pages.has(target)) else {
            continue;
        };
        let kind = match count(matcher, path, from, to) {
            Rule { followed: OFTEN_FOLLOWED.., broken: 0 } => ClueKind::FolderRuleOften,
            Rule { followed: 2.., broken: 0 } => ClueKind::FolderRule,
            // A page with such a name is easily there by chance.
            _ if is_generic_name => ClueKind::FolderRuleMixed,
            Rule { followed, broken } if followed >= 4 * broken => ClueKind::FolderRuleOnce,
            _ => ClueKind::FolderRuleMixed,
        };
        let reason = format!("other redirects lead from `{from}/` to `{to}/`");
        matcher.add(path, &target, kind, reason, clues);
    }
    find_collapsed(matcher, path, clues);
}

fn apply(path: &str, from: &str, to: &str) -> Option<String> {
    let rest = path.strip_prefix(from).filter(|rest| rest.starts_with('/'))?;
    Some(format!("{to}{rest}"))
}

fn count(matcher: &Matcher<'_>, path: &str, from: &str, to: &str) -> Rule {
    let mut rule = Rule::default();
    let mut add = |redirect: &Redirect| match apply(&redirect.from, from, to) {
        Some(target) if target == plain(&redirect.to) => rule.followed += 1,
        Some(target) if matcher.pages.has(&target) => rule.broken += 1,
        _ => {}
    };
    match from {
        "" => matcher.existing.exact.iter().filter(|redirect| redirect.from != path).for_each(add),
        folder => matcher.others(path, matcher.lookup.below(folder)).for_each(&mut add),
    }
    rule
}

/// A folder of which all redirects lead to one page.
fn find_collapsed(matcher: &Matcher<'_>, path: &str, clues: &mut Vec<Clue>) {
    let Some((folder, _)) = path.rsplit_once('/').filter(|(folder, _)| !folder.is_empty()) else { return };
    let mut targets: BTreeMap<String, usize> = BTreeMap::new();
    for redirect in matcher.others(path, matcher.lookup.below(folder)) {
        *targets.entry(plain(&redirect.to)).or_default() += 1;
    }
    if let (1, Some((target, count))) = (targets.len(), targets.first_key_value())
        && *count >= MIN_COLLAPSED
    {
        let reason = format!("all other redirects from `{folder}/` lead there");
        let kind =
            if *count >= OFTEN_COLLAPSED { ClueKind::FolderToPageOften } else { ClueKind::FolderToPage };
        matcher.add(path, target, kind, reason, clues);
    }
}
