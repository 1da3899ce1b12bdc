//! Learns from the redirects of a site where the pages of a folder went.

use std::collections::BTreeMap;

use super::Matcher;
use crate::redirects::address::{common_end, segments};
use crate::redirects::clue::{Clue, ClueKind};
use crate::redirects::existing::Redirect;

/// Fewer redirects of a folder to one page can be a coincidence.
const MIN_COLLAPSED: usize = 3;

/// How often the redirects of a site follow a rule from folder to folder.
#[derive(Debug, Default)]
struct Rule {
    followed: usize,
    /// Redirects that lead elsewhere although the rule leads to a page.
    broken: usize,
}

pub(super) fn find(matcher: &Matcher<'_>, path: &str, clues: &mut Vec<Clue>) {
    let others: Vec<&Redirect> =
        matcher.existing.exact.iter().filter(|redirect| redirect.from != path).collect();
    for (from, to) in rules(&others, path) {
        let Some(target) = apply(path, &from, &to).filter(|target| matcher.pages.has(target)) else {
            continue;
        };
        let rule = count(matcher, &others, &from, &to);
        let kind = match rule {
            Rule { followed: 2.., broken: 0 } => ClueKind::FolderRule,
            Rule { followed: 1, broken: 0 } => ClueKind::FolderRuleOnce,
            Rule { followed, broken } if followed >= 4 * broken => ClueKind::FolderRuleOnce,
            _ => ClueKind::FolderRuleMixed,
        };
        let reason = format!("other redirects lead from `{from}/` to `{to}/`");
        matcher.add(path, &target, kind, reason, clues);
    }
    find_collapsed(matcher, path, &others, clues);
}

/// The rules of redirects that apply to `path`: from a folder above it to another folder.
fn rules(others: &[&Redirect], path: &str) -> Vec<(String, String)> {
    let mut rules: Vec<(String, String)> = others.iter().filter_map(|redirect| rule_of(redirect)).collect();
    rules.retain(|(from, _)| path.strip_prefix(from.as_str()).is_some_and(|rest| rest.starts_with('/')));
    rules.sort();
    rules.dedup();
    rules
}

/// A redirect without the names at the end that both addresses have.
fn rule_of(redirect: &Redirect) -> Option<(String, String)> {
    let common = common_end(&redirect.from, &redirect.to);
    let without = |address: &str| {
        let names: Vec<&str> = segments(address).collect();
        names[..names.len() - common].iter().map(|name| format!("/{name}")).collect::<String>()
    };
    (common > 0).then(|| (without(&redirect.from), without(&redirect.to)))
}

fn apply(path: &str, from: &str, to: &str) -> Option<String> {
    let rest = path.strip_prefix(from).filter(|rest| rest.starts_with('/'))?;
    Some(format!("{to}{rest}"))
}

fn count(matcher: &Matcher<'_>, others: &[&Redirect], from: &str, to: &str) -> Rule {
    let mut rule = Rule::default();
    for redirect in others {
        match apply(&redirect.from, from, to) {
            Some(target) if target == redirect.to => rule.followed += 1,
            Some(target) if matcher.pages.has(&target) => rule.broken += 1,
            _ => {}
        }
    }
    rule
}

/// A folder of which all redirects lead to one page.
fn find_collapsed(matcher: &Matcher<'_>, path: &str, others: &[&Redirect], clues: &mut Vec<Clue>) {
    let Some((folder, _)) = path.rsplit_once('/').filter(|(folder, _)| !folder.is_empty()) else { return };
    let mut targets: BTreeMap<&str, usize> = BTreeMap::new();
    for redirect in others {
        if redirect.from.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')) {
            *targets.entry(&redirect.to).or_default() += 1;
        }
    }
    if let (1, Some((target, count))) = (targets.len(), targets.first_key_value())
        && *count >= MIN_COLLAPSED
    {
        let reason = format!("all other redirects from `{folder}/` lead there");
        matcher.add(path, target, ClueKind::FolderToPage, reason, clues);
    }
}
