//! Judges redirects: they must lead from an unused address of this site to a page of this site.

use std::collections::HashSet;

use pages::FileKind;
use pages::redirects::{Redirect, Rule, is_file, served_address, strip_prefix};

use super::context::Judge;
use super::verdict::{Verdict, refuse_remote};
use crate::guard::repo_files::folder_of;

pub(super) fn is_front_matter_key(key: &str) -> bool {
    matches!(key, "aliases" | "redirect_from" | "redirectfrom" | "redirects_from")
}

/// Judges a redirect in the front matter of its target.
pub(super) fn judge_alias(judge: &Judge<'_, '_>, path: &str, key: &str, from: &str) -> Verdict {
    match is_valid_alias(judge, path, key, from) {
        Some(true) => Verdict::Passes,
        _ => refuse_remote(
            "adds a redirect in the front matter that does not come from an unused address of this site",
        ),
    }
}

/// `None` if a file of the site can't be read.
fn is_valid_alias(judge: &Judge<'_, '_>, path: &str, key: &str, from: &str) -> Option<bool> {
    let addresses = judge.addresses()?;
    let targets = addresses.of(path);
    // Jekyll reads a relative address from the root of the site, and Hugo from the folder of the page.
    let folders = targets.iter().map(String::as_str).chain([path]).map(folder_of);
    let folders: Vec<&str> = folders.filter(|_| !from.starts_with('/')).chain([""]).collect();
    for folder in folders {
        let from = served_address(&format!("{folder}/{from}"))?;
        // Hugo lists the pages of a folder at its address.
        if addresses.contains(&from) || key == "aliases" && addresses.is_folder(&from) {
            return Some(false);
        }
    }
    Some(!targets.iter().any(|target| leads_on(judge, target)) && is_valid(judge, from, path))
}

/// Whether a redirect can lead from `from` to the page `to`.
pub(super) fn is_valid(judge: &Judge<'_, '_>, from: &str, to: &str) -> bool {
    let Some(site) = judge.site() else { return false };
    is_path(from)
        && !is_file(from)
        && is_path(to)
        && served_address(from) != served_address(to)
        && site.is_page(to)
        && judge.is_served(from) == Some(false)
        && !leads_on(judge, to)
}

/// Whether the file with the redirects has an invalid new one.
pub(super) fn has_invalid(judge: &Judge<'_, '_>, kind: FileKind, before: &[Rule], after: &[Rule]) -> bool {
    let old: HashSet<&Rule> = before.iter().collect();
    after.iter().filter(|rule| !old.contains(rule)).any(|Rule { redirect, is_plain, .. }| {
        // MkDocs drops any extension of a file name, so others can be those of a page.
        let is_file_name = kind != FileKind::MkDocs || FileKind::of(&redirect.from).is_page();
        !is_plain || !is_file_name || !is_valid_in(judge, kind, redirect)
    })
}

/// Whether a redirect is valid as it is, or below the prefix that the site is served at. A host compares its redirects
/// with whole requests. The address with the prefix must be unused, too, because the settings can be out of date.
fn is_valid_in(judge: &Judge<'_, '_>, kind: FileKind, Redirect { from, to }: &Redirect) -> bool {
    let is_below_prefix = |prefix: &String| {
        let inside = strip_prefix(prefix, from).zip(strip_prefix(prefix, to));
        inside.is_some_and(|(from, to)| is_valid(judge, from, to))
    };
    let has_prefix = || {
        let is_unused = judge.is_served(from) == Some(false) && !leads_on(judge, to);
        kind != FileKind::MkDocs
            && is_path(from)
            && is_path(to)
            && is_unused
            && judge.prefixes().iter().any(is_below_prefix)
    };
    is_valid(judge, from, to) || has_prefix()
}

/// Whether a redirect of the site leads on from an address, or this can't be known.
fn leads_on(judge: &Judge<'_, '_>, address: &str) -> bool {
    judge.redirect_sources().is_none_or(|sources| sources.contain(address))
}

pub(super) fn is_path(path: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '-' | '_' | '.' | '#' | '~');
    !path.trim_matches('/').is_empty()
        && path.chars().all(plain)
        && !path.starts_with("//")
        && !path.contains("..")
        && !path.contains("/./")
        && !path.contains("//")
}

/// Whether a page can have this address.
pub(super) fn is_page_address(path: &str) -> bool {
    path.starts_with('/') && is_path(path) && !is_file(path)
}
