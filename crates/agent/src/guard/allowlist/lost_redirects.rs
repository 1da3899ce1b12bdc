//! Notes for the reviewer which redirects a change removes, leads elsewhere or puts in another order.

use std::collections::HashSet;

use pages::redirects::{Redirect, rules, split_docusaurus};
use pages::{ConstructKind, FileKind, FrontMatter, MAX_TEXT_BYTES, constructs};

use super::context::Judge;
use super::moves;
use super::redirects::is_front_matter_key;
use super::site::name_of;
use crate::guard::refusal::Violation;

/// Addresses that a note names.
const MAX_SHOWN: usize = 5;
const MAX_SHOWN_CHARS: usize = 100;

/// The redirects of a touched file, before and after the change.
struct TouchedFile<'a> {
    path: &'a str,
    before: Vec<Redirect>,
    after: Vec<Redirect>,
    /// Whether the change only follows pages that it moves.
    follows_pages: bool,
}

pub(super) fn judge<'a>(judge: &Judge<'_, 'a>, violations: &mut Vec<Violation<'a>>) {
    let files: Vec<TouchedFile<'a>> =
        judge.change.edits.iter().filter_map(|(path, bytes)| read(judge, path, bytes.as_deref())).collect();
    let kept: HashSet<&str> = sources(files.iter().flat_map(|file| &file.after));
    for file in &files {
        let lost = file.before.iter().map(|redirect| redirect.from.as_str());
        let lost = unique(lost.filter(|from| !kept.contains(from)));
        let changed = if file.follows_pages { Vec::new() } else { changed_targets(file) };
        let lost = (!lost.is_empty()).then(|| format!("removes {}", list(&lost)));
        let changed = (!changed.is_empty()).then(|| format!("changes the targets of {}", list(&changed)));
        let order = is_reordered(file).then(|| {
            "changes the order of redirects, and the first one that matches a request counts".to_owned()
        });
        for what in [lost, changed, order].into_iter().flatten() {
            violations.push(Violation { fatal: false, ..Violation::of_path(file.path, what) });
        }
    }
}

/// `None` if the file has redirects neither before nor after the change.
fn read<'a>(judge: &Judge<'_, 'a>, path: &'a str, bytes: Option<&[u8]>) -> Option<TouchedFile<'a>> {
    let kind = FileKind::of(path);
    if !kind.is_page() && !kind.is_data() && !is_docusaurus(path) {
        return None;
    }
    let base = judge.change.base.read(path, MAX_TEXT_BYTES).unwrap_or_default();
    let (base, text) = (String::from_utf8_lossy(&base), String::from_utf8_lossy(bytes.unwrap_or_default()));
    let (before, after) = (redirects_of(path, &base), redirects_of(path, &text));
    let is_changed = before != after;
    let follows_pages = is_changed && moves::only_updates_paths(judge.change, &base, &text);
    (!before.is_empty() || !after.is_empty()).then_some(TouchedFile { path, before, after, follows_pages })
}

fn redirects_of(path: &str, text: &str) -> Vec<Redirect> {
    let kind = FileKind::of(path);
    if kind.is_page() {
        return aliases(text);
    }
    if is_docusaurus(path) {
        return split_docusaurus(text).map(|(redirects, _)| redirects).unwrap_or_default();
    }
    rules(kind, text).unwrap_or_default().into_iter().map(|rule| rule.redirect).collect()
}

fn is_docusaurus(path: &str) -> bool {
    name_of(path).starts_with("docusaurus.config.")
}

/// The redirects in the front matter of a page, which lead to the page itself.
fn aliases(text: &str) -> Vec<Redirect> {
    let block = &text[..FrontMatter::parse(text).body_start];
    let entries = constructs(FileKind::Markdown, block).into_iter().filter_map(|construct| {
        let ConstructKind::FrontMatter(entry) = construct.kind else { return None };
        is_front_matter_key(&entry.key.to_lowercase()).then(|| Redirect::new(entry.value, ""))
    });
    entries.collect()
}

fn sources<'r>(redirects: impl Iterator<Item = &'r Redirect>) -> HashSet<&'r str> {
    redirects.map(|redirect| redirect.from.as_str()).collect()
}

fn unique<'r>(values: impl Iterator<Item = &'r str>) -> Vec<&'r str> {
    let mut seen = HashSet::new();
    values.filter(|value| seen.insert(*value)).collect()
}

/// The addresses that a file still redirects, but not to any of the places that it did.
fn changed_targets<'f>(file: &'f TouchedFile<'_>) -> Vec<&'f str> {
    let after: HashSet<&Redirect> = file.after.iter().collect();
    let kept = sources(file.after.iter());
    let is_changed =
        |redirect: &&Redirect| !after.contains(redirect) && kept.contains(redirect.from.as_str());
    unique(file.before.iter().filter(is_changed).map(|redirect| redirect.from.as_str()))
}

/// Whether redirects that a file had and still has are in another order. In `mkdocs.yml` and in pages, it means nothing.
fn is_reordered(file: &TouchedFile<'_>) -> bool {
    let is_ordered = matches!(
        FileKind::of(file.path),
        FileKind::RedirectsFile | FileKind::Netlify | FileKind::Vercel | FileKind::Mintlify
    );
    let common = |redirects: &'_ [Redirect], others: &[Redirect]| -> Vec<String> {
        let others = sources(others.iter());
        let own = redirects.iter().map(|redirect| redirect.from.as_str());
        unique(own.filter(|from| others.contains(from))).into_iter().map(str::to_owned).collect()
    };
    is_ordered && common(&file.before, &file.after) != common(&file.after, &file.before)
}

/// "2 redirects, from `/a` and `/b`".
fn list(addresses: &[&str]) -> String {
    let mut shown: Vec<String> = addresses.iter().take(MAX_SHOWN).map(|from| quote_address(from)).collect();
    let more = addresses.len() - shown.len();
    shown.extend((more > 0).then(|| format!("{more} more")));
    let last = shown.pop().unwrap_or_default();
    let names = match shown.as_slice() {
        [] => last,
        [first] => format!("{first} and {last}"),
        several => format!("{}, and {last}", several.join(", ")),
    };
    let noun = if addresses.len() == 1 { "redirect" } else { "redirects" };
    format!("{} {noun}, from {names}", addresses.len())
}

/// An address of the base, without characters that could become markup of the pull request.
fn quote_address(address: &str) -> String {
    let is_plain =
        |c: &char| c.is_alphanumeric() || c.is_ascii_graphic() && !matches!(c, '`' | '<' | '>' | '@');
    format!("`{}`", address.chars().filter(is_plain).take(MAX_SHOWN_CHARS).collect::<String>())
}
