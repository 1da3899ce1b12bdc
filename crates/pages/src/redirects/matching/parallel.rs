//! Finds redirects of the same page in another language, version or folder: `/es/a -> /es/b` says where `/fr/a` leads.

use super::Matcher;
use crate::redirects::address::segments;
use crate::redirects::clue::{Clue, ClueKind};

pub(super) fn find(matcher: &Matcher<'_>, path: &str, clues: &mut Vec<Clue>) {
    let editions = &matcher.pages.editions;
    let rest = editions.rest(path);
    let edition: Vec<&str> = segments(path).filter(|name| editions.is_edition(name)).collect();
    for redirect in matcher.existing.exact.iter().filter(|redirect| redirect.from != path) {
        if editions.rest(&redirect.from) != rest {
            continue;
        }
        let reason = format!("the redirect from `{}` leads to `{}`", redirect.from, redirect.to);
        let from: Vec<&str> = segments(&redirect.from).filter(|name| editions.is_edition(name)).collect();
        let target = translate(&redirect.to, &from, &edition);
        let page = matcher.page(path, &target).or_else(|| matcher.page(path, &redirect.to));
        if let Some(page) = page.filter(|page| editions.allow(path, page)) {
            matcher.add(path, &page, ClueKind::ParallelEdition, reason, clues);
        }
    }
    find_below_prefix(matcher, path, clues);
}

/// `/old/a` is `/a` if the folder `old` is gone, and the other way around.
fn find_below_prefix(matcher: &Matcher<'_>, path: &str, clues: &mut Vec<Clue>) {
    for redirect in &matcher.existing.exact {
        let is_longer = |long: &str, short: &str| {
            long.strip_suffix(short).is_some_and(|prefix| segments(prefix).count() == 1)
        };
        // A single name below a folder that is gone can be anything: every product has its `/quickstart`.
        let is_without = is_longer(path, &redirect.from) && segments(&redirect.from).count() > 1;
        if is_longer(&redirect.from, path) || is_without {
            let is_one_name = segments(path).count() == 1;
            let kind = if is_one_name { ClueKind::ParallelName } else { ClueKind::ParallelPrefix };
            let reason = format!("the redirect from `{}` leads there", redirect.from);
            if matcher.pages.editions.allow(path, &redirect.to) {
                matcher.add(path, &redirect.to, kind, reason, clues);
            }
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
