//! Known data files: entries of the navigation that point at pages, redirects, and descriptions. Nothing else of them
//! may change.

use std::collections::{HashMap, HashSet};

use pages::{ConstructKind, DataEntry, FileKind, constructs};

use super::super::added::Place;
use super::super::{Finding, Rule};
use super::{Judge, Verdict, attributes, front, moves, redirects, script};

const MORE: &str = "changes more of this file than its navigation and its redirects; change the rest by hand";
const WRONG_PAGE: &str = "adds an entry to the navigation that is no page of the repository";
const WRONG_REDIRECT: &str =
    "adds a redirect that does not lead from an empty place of this site to one of its pages";

pub(super) fn judge<'a>(
    path: &'a str,
    kind: FileKind,
    before: &str,
    after: &str,
    judge: &Judge<'_, 'a>,
    found: &mut Vec<Finding<'a>>,
) {
    if !kind.is_data() || !before.is_empty() && moves::follows(judge.change, before, after) {
        return;
    }
    let what = if kind == FileKind::NavigationScript {
        (!script::is_data(before, after, &|slug| front::is_free(judge, slug))).then_some(MORE)
    } else {
        wrong(kind, before, after, judge)
    };
    found.extend(what.map(|what| Finding {
        rule: Rule::Path,
        place: Place::File(path),
        line: None,
        what: what.to_owned(),
        fatal: true,
    }));
}

fn wrong(kind: FileKind, before: &str, after: &str, judge: &Judge<'_, '_>) -> Option<&'static str> {
    let new_redirects = match (redirects::split(kind, after), redirects::split(kind, before)) {
        (Some((new, _)), Some((old, _))) => {
            let old: HashSet<_> = old.into_iter().collect();
            new.into_iter().filter(|pair| !old.contains(pair)).collect()
        }
        (Some((new, _)), None) if before.trim().is_empty() => new,
        _ => return Some(MORE),
    };
    let sources: HashSet<&str> = new_redirects.iter().map(|(from, _)| from.trim_matches('/')).collect();
    let is_wrong = |(from, to): &(String, String)| {
        !redirects::is_fine(judge, from, to) || sources.contains(to.trim_matches('/'))
    };
    if new_redirects.iter().any(is_wrong) {
        return Some(WRONG_REDIRECT);
    }
    if kind == FileKind::RedirectsFile {
        return None;
    }
    let (Some(old), Some(new)) = (entries(kind, before), entries(kind, after)) else { return Some(MORE) };
    let keys: HashSet<&str> = old.iter().map(|entry| entry.key.as_str()).collect();
    changed(&old, &new).find_map(|(entry, is_added)| match kind {
        // A description of something new may be of another host.
        FileKind::OpenApi if !keys.contains(entry.key.as_str()) => Some(MORE),
        _ => change(kind, entry, is_added, judge),
    })
}

/// The entries of a file; nothing where it holds more than plain data.
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

/// The entries that one of the two has more of, and whether it is the new one.
fn changed<'e>(old: &'e [DataEntry], new: &'e [DataEntry]) -> impl Iterator<Item = (&'e DataEntry, bool)> {
    let mut counts: HashMap<&DataEntry, isize> = HashMap::new();
    new.iter().for_each(|entry| *counts.entry(entry).or_default() += 1);
    old.iter().for_each(|entry| *counts.entry(entry).or_default() -= 1);
    counts.into_iter().filter(|(_, count)| *count != 0).map(|(entry, count)| (entry, count > 0))
}

/// What is wrong with an entry that was added or removed.
fn change(kind: FileKind, entry: &DataEntry, is_added: bool, judge: &Judge<'_, '_>) -> Option<&'static str> {
    let mut keys = entry.key.split('.');
    let (first, last) = (keys.next().unwrap_or_default(), entry.key.rsplit('.').next().unwrap_or_default());
    let value = entry.value.as_str();
    let words = || (!attributes::is_words(value) || !attributes::is_words(&entry.key)).then_some(MORE);
    let page = || is_added.then(|| wrong_page(judge, value)).flatten();
    match kind {
        FileKind::Mintlify | FileKind::Vercel | FileKind::Netlify if first == "redirects" => None,
        FileKind::Mintlify if first == "navigation" => match last {
            "pages" | "navigation" => page(),
            "group" | "tab" | "anchor" | "dropdown" | "version" | "language" | "icon" | "tag" | "root"
            | "expanded" | "menu" | "item" | "description" | "product" => words(),
            "href" => is_link(judge, value, is_added),
            _ => Some(MORE),
        },
        FileKind::MkDocs if first == "nav" => match attributes::is_words(&entry.key) {
            true if value.starts_with("http") => is_link(judge, value, is_added),
            true => page(),
            false => Some(MORE),
        },
        FileKind::MkDocs if entry.key.starts_with("plugins.redirects.redirect_maps.") => {
            let from = &entry.key["plugins.redirects.redirect_maps.".len()..];
            (is_added && !redirects::is_fine(judge, from, value)).then_some(WRONG_REDIRECT)
        }
        FileKind::NavigationData => match last {
            "href" => is_link(judge, value, is_added),
            "slug" => (is_added && !front::is_free(judge, value)).then_some(WRONG_PAGE),
            "html" | "defaultStyle" | "customProps" | "image" => Some(MORE),
            _ => words(),
        },
        FileKind::OpenApi if matches!(last, "description" | "summary" | "title") => {
            let plain = constructs(FileKind::Mdx, value).into_iter().all(|construct| {
                matches!(construct.kind, ConstructKind::Heading) || matches!(&construct.kind, ConstructKind::Link(address) if matches!(judge.link(address), Verdict::Passes))
            });
            (!plain).then_some(MORE)
        }
        _ => Some(MORE),
    }
}

fn is_link(judge: &Judge<'_, '_>, value: &str, is_added: bool) -> Option<&'static str> {
    let is_fine = !is_added || matches!(judge.link(value), Verdict::Passes | Verdict::Noted(..));
    (!is_fine).then_some(MORE)
}

fn wrong_page(judge: &Judge<'_, '_>, value: &str) -> Option<&'static str> {
    let is_page = !pages::is_external(value)
        && !value.contains(['<', '*'])
        && judge.site().is_some_and(|site| site.is_page(value));
    let is_folder_index = value == "..." || value == "index" || value == ".";
    (!is_page && !is_folder_index).then_some(WRONG_PAGE)
}
