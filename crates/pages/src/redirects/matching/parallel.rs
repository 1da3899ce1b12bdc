//! Finds redirects of the same page in another language, version or folder: `/es/a -> /es/b` says where `/fr/a` leads.

use super::Matcher;
use super::lookup::shorter;
use crate::redirects::address::segments;
use crate::redirects::clue::{Clue, ClueKind};

pub(super) fn find(matcher: &Matcher<'_>, path: &str, clues: &mut Vec<Clue>) {
    let editions = &matcher.pages.editions;
    let rest = editions.rest(path);
    let edition: Vec<&str> = segments(path).filter(|name| editions.is_edition(name)).collect();
    let mut found: Vec<(String, String)> = Vec::new();
    for redirect in matcher.others(path, matcher.lookup.with_rest(&rest)) {
        let reason = format!("the redirect from `{}` leads to `{}`", redirect.from, redirect.to);
        let from: Vec<&str> = segments(&redirect.from).filter(|name| editions.is_edition(name)).collect();
        let target = translate(&redirect.to, &from, &edition);
        let page = matcher.page(path, &target).or_else(|| matcher.page(path, &redirect.to));
        found.extend(page.filter(|page| editions.allow(path, page)).map(|page| (page, reason)));
    }
    let is_mixed = found.iter().any(|(page, _)| *page != found[0].0);
    let kind = if is_mixed { ClueKind::ParallelMixed } else { ClueKind::ParallelEdition };
    found.into_iter().for_each(|(page, reason)| matcher.add(path, &page, kind, reason, clues));
    find_below_prefix(matcher, path, clues);
}

/// `/old/a` is `/a` if the folder `old` is gone, and the other way around.
fn find_below_prefix(matcher: &Matcher<'_>, path: &str, clues: &mut Vec<Clue>) {
    let names = segments(path).count();
    // A single name below a folder that is gone can be anything: every product has its `/quickstart`.
    let without = (names > 2).then(|| matcher.existing.index_of(shorter(path))).flatten();
    let longer = matcher.lookup.one_longer(path).iter().copied();
    for redirect in longer.chain(without).map(|index| &matcher.existing.exact[index]) {
        let kind = if names == 1 { ClueKind::ParallelName } else { ClueKind::ParallelPrefix };
        let reason = format!("the redirect from `{}` leads there", redirect.from);
        if matcher.pages.editions.allow(path, &redirect.to) {
            matcher.add(path, &redirect.to, kind, reason, clues);
        }
    }
}

/// The target in another edition.
fn translate(target: &str, from: &[&str], to: &[&str]) -> String {
    let mut names: Vec<&str> = segments(target).collect();
    match (from, to) {
        ([], to) => drop(names.splice(0..0, to.iter().copied())),
        (from, to) if from.len() == to.len() => {
            for name in &mut names {
                if let Some(at) = from.iter().position(|other| other == name) {
                    *name = to[at];
                }
            }
        }
        (from, _) => {
            names.retain(|name| !from.contains(name));
            names.splice(0..0, to.iter().copied());
        }
    }
    format!("/{}", names.join("/"))
}
