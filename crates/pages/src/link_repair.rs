//! Repairs broken links.
//!
//! A wrong repair is worse than none. A repair is certain only when there is exactly one candidate, when the new
//! destination resembles the old one, and when it provably leads to the candidate. The text of the link is only a hint.

use crate::destination::{Destination, encode};
use crate::links::{BrokenLink, LinkFault};
use crate::moved_pages::{is_in_linked_folder, is_moved_target, last_name};
use crate::path;
use crate::route;
use crate::site::{LinkOutcome, Site};

/// How many candidates are suggested.
const MAX_CANDIDATES: usize = 5;

/// The repair of a broken link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repair {
    /// The new destination, in the style of the old one.
    Certain(String),
    /// Possible targets, the best first. Often empty.
    Unsure(Vec<String>),
}

/// Searches for the intended target of a broken link.
pub fn repair(site: &Site, broken: &BrokenLink) -> Repair {
    let Some(old) = Destination::parse(&broken.destination) else { return Repair::Unsure(Vec::new()) };
    match &broken.fault {
        LinkFault::NoSuchPage => repair_page(site, broken, &old),
        LinkFault::NoSuchAnchor { page } => repair_anchor(site, broken, &old, page),
    }
}

fn repair_page(site: &Site, broken: &BrokenLink, old: &Destination) -> Repair {
    let found = intended_page(site, broken, old).and_then(|target| {
        let wanted = old.fragment.as_deref().unwrap_or_default();
        let fragment = match site.has_anchor(target, wanted) {
            true => old.fragment.clone(),
            false => Some(site.pages.get(target)?.intended_anchor(wanted)?.to_owned()),
        };
        verified_destination(site, broken, old, target, fragment)
    });
    found.map_or_else(|| Repair::Unsure(similar_pages(site, broken, old)), Repair::Certain)
}

/// The only page that can be the target: by its name, or by its title if the old name matches that.
fn intended_page<'a>(site: &'a Site, broken: &BrokenLink, old: &Destination) -> Option<&'a str> {
    let name = last_name(&old.path);
    let target = match site.index.files_named(name) {
        [file] if is_moved_target(site, &broken.file, &old.path, file) => file,
        [] => match site.index.pages_titled(name) {
            [page] if is_in_linked_folder(site, &broken.file, &old.path, page) => page,
            _ => return None,
        },
        _ => return None,
    };
    // A page rarely links to itself, so a person must decide.
    (*target != broken.file && !site.may_be_generated(&old.path)).then_some(target)
}

/// Pages with the same name, or with a title like the name or the text of the link.
fn similar_pages(site: &Site, broken: &BrokenLink, old: &Destination) -> Vec<String> {
    let name = last_name(&old.path);
    let mut found = site.index.files_named(name).to_vec();
    if found.is_empty() {
        found = [site.index.pages_titled(&broken.text), site.index.pages_titled(name)].concat();
        found.sort_unstable();
        found.dedup();
    }
    found.truncate(MAX_CANDIDATES);
    found
}

fn repair_anchor(site: &Site, broken: &BrokenLink, old: &Destination, page: &str) -> Repair {
    let wanted = old.fragment.as_deref().unwrap_or_default();
    let Some(info) = site.pages.get(page) else { return Repair::Unsure(Vec::new()) };
    if let Some(anchor) = info.intended_anchor(wanted) {
        let path = broken.destination.split('#').next().unwrap_or_default();
        return Repair::Certain(format!("{path}#{}", encode(anchor)));
    }
    let here = info.similar_anchors(wanted, &broken.text).map(|anchor| format!("{page}#{anchor}"));
    let elsewhere = site.index.pages_with_anchor(wanted).iter().filter(|other| *other != page);
    let elsewhere = elsewhere.map(|other| format!("{other}#{wanted}"));
    Repair::Unsure(here.chain(elsewhere).take(MAX_CANDIDATES).collect())
}

/// The destination of `target` in the style of the old one. `None` unless following it leads to `target`.
fn verified_destination(
    site: &Site,
    broken: &BrokenLink,
    old: &Destination,
    target: &str,
    fragment: Option<String>,
) -> Option<String> {
    let path = in_style(site, &broken.file, &old.path, target);
    let anchor = fragment.as_ref().map(|fragment| format!("#{}", encode(fragment))).unwrap_or_default();
    let new = Destination { path: path.clone(), query: old.query.clone(), fragment };
    let is_right = match site.follow(&broken.file, &new) {
        LinkOutcome::Page(page) => page == target && site.link_fault(&broken.file, &new).is_none(),
        LinkOutcome::Other => !route::is_page(target),
        LinkOutcome::Missing => false,
    };
    (is_right && !has_respelled_names(&old.path, &path, target))
        .then(|| format!("{}{}{anchor}", encode(&path), old.query))
}

/// Whether the new path has a name that a site can serve differently: many drop the number in front of it, and some
/// convert it to lower case.
fn has_respelled_names(old: &str, new: &str, target: &str) -> bool {
    let is_address = route::is_page(target) && route::stem(new).is_none();
    let is_respelled = |name: &str| {
        route::without_numbers(name) != name || (is_address && name.contains(char::is_uppercase))
    };
    new.split('/').any(|name| is_respelled(name) && !old.split('/').any(|known| known == name))
}

/// The path to `target` in the style of the old one: absolute or relative, with or without an extension and a slash.
fn in_style(site: &Site, from: &str, old: &str, target: &str) -> String {
    let styled = styled_name(old, target);
    if old.starts_with('/') {
        return absolute(site, old, &styled);
    }
    let mut new = path::relative(path::parent(from), &styled);
    if old.starts_with("./") && !new.starts_with('.') {
        new.insert_str(0, "./");
    }
    if new.is_empty() { "./".to_owned() } else { new }
}

/// The path of the target, with an extension or a slash only if the old destination has one.
fn styled_name(old: &str, target: &str) -> String {
    if route::stem(old).is_some() || !route::is_page(target) {
        return target.to_owned();
    }
    let page = route::page_path(target).unwrap_or(target);
    if old.ends_with('/') { format!("{page}/") } else { page.to_owned() }
}

/// The absolute path of a target. A site is served at its root, or below the name of the docs folder. The old link shows
/// which.
fn absolute(site: &Site, old: &str, target: &str) -> String {
    let first = |path: &str| path.trim_start_matches('/').split('/').next().unwrap_or_default().to_owned();
    let base =
        site.bases.iter().filter(|base| path::below(target, base).is_some()).max_by_key(|base| base.len());
    let below = base.and_then(|base| path::below(target, base)).unwrap_or(target);
    let served = path::name(&site.root);
    if !served.is_empty() && first(old) == served && first(below) != served {
        return format!("/{served}/{below}");
    }
    if site.root.is_empty() && first(old) == first(target) {
        format!("/{target}")
    } else {
        format!("/{below}")
    }
}
