//! Compares the site before and after a move, and decides what to do about each link.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::link_path;
use super::navigation::Navigation;
use super::prefixes::SitePrefixes;
use super::references::{Reference, ReferenceKind, page_references};
use crate::destination::Destination;
use crate::frontmatter::FrontMatter;
use crate::markdown::Page;
use crate::path;
use crate::route;
use crate::served_paths::component_path;
use crate::site::Site;
use crate::site::resolve::{LinkBase, ResolvedLink, Target};

pub(super) struct Plan<'a> {
    from: &'a str,
    to: &'a str,
    before: Site,
    after: Site,
}

/// What to do about a link.
pub(super) enum LinkAction {
    /// Replace its destination.
    Rewrite(String),
    /// Replace its destination if the site is served below `prefix`.
    Guess { prefix: String, new: String },
    /// Leave it, and report the reason.
    Report(String),
}

/// A link before the move.
struct OldLink<'a> {
    raw: &'a str,
    kind: ReferenceKind,
    /// The new path of the file that contains it.
    page: &'a str,
    path: &'a str,
    resolved: ResolvedLink,
}

impl<'a> Plan<'a> {
    /// Plans a move. `paths` and `texts` are those after the move.
    pub(super) fn new(
        root: &str,
        from: &'a str,
        to: &'a str,
        paths: BTreeSet<String>,
        texts: &BTreeMap<String, String>,
    ) -> Self {
        let mut earlier = paths.clone();
        earlier.remove(to);
        earlier.insert(from.to_owned());
        let pages: Vec<_> = texts
            .iter()
            .filter(|(path, _)| route::is_page(path) || *path == to)
            .map(|(path, text)| (path.as_str(), FrontMatter::addresses_in(text)))
            .collect();
        let site = |paths: BTreeSet<String>, moved: &'a str| {
            let named =
                pages.iter().map(|(path, addresses)| (if *path == to { moved } else { path }, addresses));
            Site::from_names(root, paths, named.filter(|(path, _)| route::is_page(path)))
        };
        let (before, after) = (site(earlier, from), site(paths, to));
        Self { from, to, before, after }
    }

    /// What to do about the links of a file, by its new path. Good links are left out.
    pub(super) fn actions(
        &self,
        page: &str,
        text: &str,
        prefixes: &mut SitePrefixes,
    ) -> Vec<(Range<usize>, LinkAction)> {
        let old_page = if page == self.to { self.from } else { page };
        let (references, navigation) = match Navigation::at(page) {
            Some(mut navigation) => (navigation.references(page, text), Some(navigation)),
            None if route::stem(old_page).is_none() => return Vec::new(),
            None => (page_references(&Page::parse(old_page, text), text), None),
        };
        let plan_link = |reference: Reference| {
            let resolve = |site: &Site, page: &str, path: &str| match (&navigation, reference.kind) {
                (Some(navigation), _) => navigation.resolve(site, path),
                (None, ReferenceKind::Import) => site.resolve_import(page, path),
                (None, _) => site.resolve(page, path),
            };
            let raw = text[reference.range.clone()].trim();
            let Some(old) = Destination::parse(raw) else {
                return Some((reference.range, self.plan_address(raw)?));
            };
            let resolved = resolve(&self.before, old_page, &old.path);
            prefixes.record(&old.path, resolved.as_ref());
            let old = OldLink { raw, kind: reference.kind, page, path: &old.path, resolved: resolved? };
            Some((reference.range, self.plan_link(&old, &|path| resolve(&self.after, page, path))?))
        };
        references.into_iter().filter_map(plan_link).collect()
    }

    /// Plans a link within the site. `resolve` resolves a path after the move.
    fn plan_link(
        &self,
        old: &OldLink<'_>,
        resolve: &dyn Fn(&str) -> Option<ResolvedLink>,
    ) -> Option<LinkAction> {
        let wanted = self.target_after_move(&old.resolved.target);
        let now = resolve(old.path).filter(|resolved| leads_to(resolved, &wanted));
        // If it still leads there with another base, that is chance.
        let is_page_address = |resolved: &ResolvedLink| resolved.base == LinkBase::PageAddress;
        if now.as_ref().is_some_and(|now| is_page_address(now) == is_page_address(&old.resolved)) {
            return None;
        }
        let is_right = |path: &str| resolve(path).is_some_and(|resolved| leads_to(&resolved, &wanted));
        match self.rewrite(old, &wanted, &is_right) {
            Some(new) => Some(match &old.resolved.base {
                LinkBase::Prefix { prefix, .. } if old.resolved.is_guess => {
                    LinkAction::Guess { prefix: prefix.clone(), new }
                }
                _ => LinkAction::Rewrite(new),
            }),
            None if now.is_some() => None,
            None if old.resolved.is_guess => Some(LinkAction::Report(may_refer_to(self.from))),
            None => {
                let path = &old.resolved.path;
                Some(LinkAction::Report(format!("led to {path:?}, and no new path leads there")))
            }
        }
    }

    /// The first spelling of the link that leads to the right target.
    fn rewrite(&self, old: &OldLink<'_>, wanted: &Target, is_right: &dyn Fn(&str) -> bool) -> Option<String> {
        let raw_path = old.raw.split(['?', '#']).next().unwrap_or_default();
        let rest = &old.raw[raw_path.len()..];
        let bases = self.candidate_bases(&old.resolved);
        let targets = link_path::candidate_targets(&old.resolved, wanted);
        let paths = targets.iter().flat_map(|target| {
            bases.iter().filter_map(move |base| link_path::path_to(target, base, old.page))
        });
        let mut candidates = paths.map(|path| link_path::in_old_style(raw_path, &path, old.kind));
        let is_valid = |path: &String| {
            let parsed = Destination::parse(path).filter(|_| link_path::fits(path, old.kind));
            parsed.is_some_and(|new| is_right(&new.path))
        };
        candidates.find(is_valid).map(|path| format!("{path}{rest}"))
    }

    /// Plans an address of another site, or one that the generator fills in. It can be the address of the moved file.
    fn plan_address(&self, raw: &str) -> Option<LinkAction> {
        let path = raw.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
        let path = path.strip_suffix(".html").unwrap_or(path);
        let file = path::below(self.from, &self.before.root).unwrap_or(self.from);
        // Too many addresses end with a single word.
        let page = route::page_path(file).filter(|page| page.contains('/'));
        let ends_with = |name: &str| path.strip_suffix(name).is_some_and(|before| before.ends_with('/'));
        (ends_with(file) || page.is_some_and(ends_with)).then(|| LinkAction::Report(may_refer_to(self.from)))
    }

    /// The target of a link after the move. A folder that no longer exists moved with its only file.
    fn target_after_move(&self, target: &Target) -> Target {
        match target {
            Target::File(file) if file == self.from => Target::File(self.to.to_owned()),
            Target::Folder(path) if self.after.target_at(path).is_none() => {
                let is_component = component_path(self.from).is_some_and(|component| component == path);
                let component = component_path(self.to).filter(|_| is_component);
                Target::Folder(component.unwrap_or(path::parent(self.to)).to_owned())
            }
            other => other.clone(),
        }
    }

    /// The bases that the new path can be relative to. The old one is first.
    fn candidate_bases(&self, old: &ResolvedLink) -> Vec<LinkBase> {
        let mut bases = vec![old.base.clone()];
        match &old.base {
            LinkBase::PageAddress => bases.push(LinkBase::PageFolder),
            LinkBase::Prefix { prefix, .. } if prefix.starts_with('/') && !old.is_guess => {
                let from_root =
                    |folder: &String| LinkBase::Prefix { prefix: "/".to_owned(), folder: folder.clone() };
                bases.extend(self.after.bases.iter().rev().map(from_root));
            }
            LinkBase::PageFolder | LinkBase::Prefix { .. } => {}
        }
        bases
    }
}

/// Whether a link leads to a target. A folder is compared by its path, and a file by its identity.
fn leads_to(resolved: &ResolvedLink, wanted: &Target) -> bool {
    match wanted {
        Target::Folder(path) => resolved.path == *path,
        file => resolved.target == *file,
    }
}

pub(super) fn may_refer_to(file: &str) -> String {
    format!("may refer to {file:?}")
}
