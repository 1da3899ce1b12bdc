//! Judges changes of known data files. Only entries of the navigation that lead to pages, redirects, and descriptions
//! can change.

use std::collections::{HashMap, HashSet};

use pages::redirects::rules;
use pages::{ConstructKind, DataEntry, FileKind, constructs};

use super::context::Judge;
use super::plain_text::is_plain_words;
use super::verdict::Verdict;
use super::{front_matter, moves, nav_script, redirects};
use crate::guard::refusal::Violation;

const OTHER_CHANGE: &str =
    "changes more of this file than its navigation and its redirects; make the other changes by hand";
const INVALID_PAGE: &str = "adds an entry to the navigation that is not a page of the repository";
const INVALID_REDIRECT: &str =
    "adds a redirect that does not lead from an unused address of this site to one of its pages";

/// Why jobs can't make this change of a data file by themselves.
pub(super) fn judge(
    kind: FileKind,
    before: &str,
    after: &str,
    judge: &Judge<'_, '_>,
) -> Option<&'static str> {
    if !kind.is_data() || !before.is_empty() && moves::only_updates_paths(judge.change, before, after) {
        return None;
    }
    match kind {
        FileKind::NavigationScript => {
            let is_unused = |slug: &str| front_matter::is_unused(judge, slug);
            (!nav_script::changes_only_data(before, after, &is_unused)).then_some(OTHER_CHANGE)
        }
        _ => find_violation(kind, before, after, judge),
    }
}

/// The note about a file that the operator allows: the glob can be meant for its redirects only.
pub(super) fn note_of_allowed<'a>(path: &'a str, what: &str) -> Violation<'a> {
    let what = what.split("; ").next().unwrap_or_default();
    let what = format!("{what}, which jobs can do only because the project allows this file");
    Violation { fatal: false, ..Violation::of_path(path, what) }
}

fn find_violation(kind: FileKind, before: &str, after: &str, judge: &Judge<'_, '_>) -> Option<&'static str> {
    let is_new = before.trim().is_empty();
    let rules_before = if is_new { Some(Vec::new()) } else { rules(kind, before) };
    let (Some(rules_before), Some(rules_after)) = (rules_before, rules(kind, after)) else {
        return Some(OTHER_CHANGE);
    };
    if redirects::has_invalid(judge, kind, &rules_before, &rules_after) {
        return Some(INVALID_REDIRECT);
    }
    if kind == FileKind::RedirectsFile {
        return None;
    }
    let (Some(old), Some(new)) = (entries(kind, before), entries(kind, after)) else {
        return Some(OTHER_CHANGE);
    };
    let keys: HashSet<&str> = old.iter().map(|entry| entry.key.as_str()).collect();
    changed_entries(&old, &new).find_map(|(entry, is_added)| match kind {
        // A new key can describe an API of another host.
        FileKind::OpenApi if !keys.contains(entry.key.as_str()) => Some(OTHER_CHANGE),
        // The plugin without redirects becomes the plugin with some.
        FileKind::MkDocs if is_empty_map(entry) && !rules_after.is_empty() => None,
        _ => judge_entry(kind, entry, is_added, judge),
    })
}

/// The entries of a file. `None` if the file contains more than plain data.
fn entries(kind: FileKind, text: &str) -> Option<Vec<DataEntry>> {
    let text = if text.trim().is_empty() { "{}" } else { text };
    constructs(kind, text)
        .into_iter()
        .map(|construct| match construct.kind {
            ConstructKind::Setting(entry) => Some(entry),
            _ => None,
        })
        .collect()
}

/// Whether an entry belongs to a redirect, which is judged as a whole.
fn is_redirect(kind: FileKind, key: &str) -> bool {
    match kind {
        FileKind::Mintlify | FileKind::Vercel | FileKind::Netlify => {
            key.split('.').next() == Some("redirects")
        }
        FileKind::MkDocs => key.starts_with("plugins.redirects.redirect_maps."),
        _ => false,
    }
}

/// Whether this is the plugin for redirects of MkDocs without any.
fn is_empty_map(entry: &DataEntry) -> bool {
    match entry.key.as_str() {
        "plugins" => entry.value == "redirects",
        "plugins.redirects" | "plugins.redirects.redirect_maps" => entry.value.is_empty(),
        _ => false,
    }
}

/// The entries that were added or removed, and whether they were added.
fn changed_entries<'e>(
    old: &'e [DataEntry],
    new: &'e [DataEntry],
) -> impl Iterator<Item = (&'e DataEntry, bool)> {
    let mut counts: HashMap<&DataEntry, isize> = HashMap::new();
    new.iter().for_each(|entry| *counts.entry(entry).or_default() += 1);
    old.iter().for_each(|entry| *counts.entry(entry).or_default() -= 1);
    counts.into_iter().filter(|(_, count)| *count != 0).map(|(entry, count)| (entry, count > 0))
}

/// Returns the violation of an entry that was added or removed.
fn judge_entry(
    kind: FileKind,
    entry: &DataEntry,
    is_added: bool,
    judge: &Judge<'_, '_>,
) -> Option<&'static str> {
    let mut keys = entry.key.split('.');
    let (first, last) = (keys.next().unwrap_or_default(), entry.key.rsplit('.').next().unwrap_or_default());
    let value = entry.value.as_str();
    let words = || (!is_plain_words(value) || !is_plain_words(&entry.key)).then_some(OTHER_CHANGE);
    let page = || is_added.then(|| judge_page(judge, value)).flatten();
    match kind {
        _ if is_redirect(kind, &entry.key) => None,
        FileKind::Mintlify if first == "navigation" => match last {
            "pages" | "navigation" => page(),
            "group" | "tab" | "anchor" | "dropdown" | "version" | "language" | "icon" | "tag" | "root"
            | "expanded" | "menu" | "item" | "description" | "product" => words(),
            "href" => judge_href(judge, value, is_added),
            _ => Some(OTHER_CHANGE),
        },
        FileKind::MkDocs if first == "nav" => match is_plain_words(&entry.key) {
            true if value.starts_with("http") => judge_href(judge, value, is_added),
            true => page(),
            false => Some(OTHER_CHANGE),
        },
        FileKind::NavigationData => match last {
            "href" => judge_href(judge, value, is_added),
            "slug" => (is_added && !front_matter::is_unused(judge, value)).then_some(INVALID_PAGE),
            "html" | "defaultStyle" | "customProps" | "image" => Some(OTHER_CHANGE),
            _ => words(),
        },
        FileKind::OpenApi if matches!(last, "description" | "summary" | "title") => {
            let plain = constructs(FileKind::Mdx, value).into_iter().all(|construct| {
                matches!(construct.kind, ConstructKind::Heading) || matches!(&construct.kind, ConstructKind::Link(address) if matches!(judge.judge_link(address), Verdict::Passes))
            });
            (!plain).then_some(OTHER_CHANGE)
        }
        _ => Some(OTHER_CHANGE),
    }
}

fn judge_href(judge: &Judge<'_, '_>, value: &str, is_added: bool) -> Option<&'static str> {
    let is_valid = !is_added || matches!(judge.judge_link(value), Verdict::Passes | Verdict::Noted(..));
    (!is_valid).then_some(OTHER_CHANGE)
}

fn judge_page(judge: &Judge<'_, '_>, value: &str) -> Option<&'static str> {
    let is_page = !pages::is_external(value)
        && !value.contains(['<', '*'])
        && judge.site().is_some_and(|site| site.is_page(value));
    let is_folder_index = value == "..." || value == "index" || value == ".";
    (!is_page && !is_folder_index).then_some(INVALID_PAGE)
}
