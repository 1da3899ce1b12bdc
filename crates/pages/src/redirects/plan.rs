//! Decides which redirects are certain enough to be written.

use std::collections::BTreeSet;

use crate::kind::FileKind;
use crate::served_paths;

use super::address::{bare, plain, segments, split_name};
use super::existing::Redirect;
use super::history::History;
use super::matching::{Candidate, Matcher};
use super::site::SiteRedirects;

/// From this confidence on, a redirect is written. Chosen on the two sites whose figures are in `docs/redirects.md`.
pub const CERTAIN: f64 = 0.95;
/// More candidates help nobody to decide.
const MAX_CANDIDATES: usize = 3;
/// A longer address is not a page that people look for.
const MAX_ADDRESS_BYTES: usize = 512;
const OUTSIDE: &str = "it's not below the prefix that the site is served at";

/// What to do about missing addresses.
#[derive(Debug, Default, PartialEq)]
pub struct Plan {
    pub certain: Vec<Redirect>,
    pub uncertain: Vec<Uncertain>,
    /// Addresses that need no redirect or can't have one, with the reason as a clause.
    pub skipped: Vec<(String, &'static str)>,
}

/// A missing address that a person has to decide on.
#[derive(Debug, Clone, PartialEq)]
pub struct Uncertain {
    pub path: String,
    /// At most three, with the most probable one first.
    pub candidates: Vec<Candidate>,
}

/// Plans the redirects for missing addresses, as readers request them. Those that are certain are without the prefix.
pub fn plan(site: &SiteRedirects, history: &History, paths: &[String]) -> Plan {
    let matcher = Matcher::new(&site.pages, &site.redirects, history, &site.root);
    let mut plan = Plan::default();
    let mut seen = BTreeSet::new();
    for path in paths.iter().map(|path| plain(path)) {
        if !seen.insert(path.clone()) {
            continue;
        }
        let Some(path) = site.prefix.strip(&path) else {
            plan.skipped.push((path, OUTSIDE));
            continue;
        };
        if let Some(why) = needs_none(&matcher, &path) {
            plan.skipped.push((site.prefix.add(&path), why));
            continue;
        }
        let mut candidates = matcher.candidates(&path);
        candidates.truncate(MAX_CANDIDATES);
        match candidates.first().filter(|best| best.confidence >= CERTAIN && can_be_written(&matcher, &path))
        {
            Some(best) => plan.certain.push(Redirect::new(path, &*best.target)),
            None => plan.uncertain.push(as_requested(site, path, candidates)),
        }
    }
    plan
}

/// The address and its candidates with the prefix.
fn as_requested(site: &SiteRedirects, path: String, mut candidates: Vec<Candidate>) -> Uncertain {
    candidates.iter_mut().for_each(|candidate| candidate.target = site.prefix.add(&candidate.target));
    Uncertain { path: site.prefix.add(&path), candidates }
}

/// Why an address needs no redirect, or can't have one.
fn needs_none(matcher: &Matcher<'_>, path: &str) -> Option<&'static str> {
    if matcher.pages.has(path) {
        return Some("a page has this address");
    }
    if matcher.existing.target_of(path).is_some() || matcher.existing.pattern_target(path).is_some() {
        return Some("a redirect leads from it already");
    }
    is_of_no_page(path)
}

/// Why an address can't be that of a page.
pub(super) fn is_of_no_page(path: &str) -> Option<&'static str> {
    if path.len() > MAX_ADDRESS_BYTES || !is_plain(path) {
        return Some("its form is not that of a page's address");
    }
    (served_paths::is_generated(path) || is_file(path)).then_some("it's the address of a file, not of a page")
}

/// Letters, digits and a few signs. Other characters mean something in some format.
fn is_plain(path: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '-' | '_' | '.' | '~');
    path.len() > 1
        && path.chars().all(is_plain)
        && segments(path).all(|name| !name.trim_matches('.').is_empty())
}

/// Whether an address is that of a file for tools, such as `/robots.txt`.
pub fn is_file(path: &str) -> bool {
    let name = split_name(path).1;
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let is_ending = ending.len() <= 5 && ending.starts_with(|c: char| c.is_ascii_alphabetic());
    let is_page = matches!(ending, "html" | "htm" | "php" | "aspx") || FileKind::of(path).is_page();
    stem == "404" || is_ending && !is_page
}

/// Another form of a page's address, such as `/a.html`, can be the one that the server uses.
pub(super) fn can_be_written(matcher: &Matcher<'_>, path: &str) -> bool {
    let bare = plain(bare(path));
    bare == path || !matcher.pages.has(&bare)
}

/// The uncertain addresses with their candidates, as a quotation for a model.
pub fn quotation_text(uncertain: &[Uncertain]) -> String {
    let candidate =
        |candidate: &Candidate| format!("Candidate: {} ({})\n", candidate.target, candidate.reason);
    let path = |uncertain: &Uncertain| {
        format!("Path: {}\n", uncertain.path)
            + &uncertain.candidates.iter().map(candidate).collect::<String>()
    };
    uncertain.iter().map(path).collect::<Vec<_>>().join("\n")
}
