//! Where a broken link was meant to lead.
//!
//! A wrong repair is worse than none. One is certain only when there is exactly one answer, when what the
//! link asked for is still to be seen in it, and when the new destination is known to lead there. What a
//! link says to its reader is no more than a hint.

use crate::destination::{Destination, encode};
use crate::links::{BrokenLink, Why};
use crate::moved::{self, last_name};
use crate::path;
use crate::route;
use crate::site::{Found, Site};

const MAX_CANDIDATES: usize = 5;

/// What can be done about a broken link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repair {
    /// The destination to write in its place, in the style of the old one.
    Certain(String),
    /// Where it may have been meant to lead, best first; often nowhere.
    Unsure(Vec<String>),
}

/// Looks for the place that a broken link was meant for.
pub fn repair(site: &Site, broken: &BrokenLink) -> Repair {
    let Some(old) = Destination::parse(&broken.destination) else { return Repair::Unsure(Vec::new()) };
    match &broken.why {
        Why::NoSuchPage => repair_page(site, broken, &old),
        Why::NoSuchAnchor { page } => repair_anchor(site, broken, &old, page),
    }
}

fn repair_page(site: &Site, broken: &BrokenLink, old: &Destination) -> Repair {
    let found = page_meant(site, broken, old).and_then(|target| {
        let wanted = old.fragment.as_deref().unwrap_or_default();
        let fragment = match site.has_anchor(target, wanted) {
            true => old.fragment.clone(),
            false => Some(site.pages.get(target)?.anchor_meant(wanted)?.to_owned()),
        };
        certain(site, broken, old, target, fragment)
    });
    found.map_or_else(|| Repair::Unsure(like(site, broken, old)), Repair::Certain)
}

/// The one page that can have been meant: by its name, or by a title that the old name was made of.
fn page_meant<'a>(site: &'a Site, broken: &BrokenLink, old: &Destination) -> Option<&'a str> {
    let name = last_name(&old.path);
    let target = match site.index.named(name) {
        [one] if moved::is_meant(site, &broken.file, &old.path, one) => one,
        [] => match site.index.titled(name) {
            [one] if moved::is_in_the_folder(site, &broken.file, &old.path, one) => one,
            _ => return None,
        },
        _ => return None,
    };
    // A page rarely means to link to itself: if it is all that was found, a person had better look.
    (*target != broken.file && !site.is_perhaps_generated(&old.path)).then_some(target)
}

/// Pages that go by the name, or else by the title or the text of the link.
fn like(site: &Site, broken: &BrokenLink, old: &Destination) -> Vec<String> {
    let name = last_name(&old.path);
    let mut found = site.index.named(name).to_vec();
    if found.is_empty() {
        found = [site.index.titled(&broken.text), site.index.titled(name)].concat();
        found.sort_unstable();
        found.dedup();
    }
    found.truncate(MAX_CANDIDATES);
    found
}

fn repair_anchor(site: &Site, broken: &BrokenLink, old: &Destination, page: &str) -> Repair {
    let wanted = old.fragment.as_deref().unwrap_or_default();
    let Some(info) = site.pages.get(page) else { return Repair::Unsure(Vec::new()) };
    if let Some(anchor) = info.anchor_meant(wanted) {
        let kept = broken.destination.split('#').next().unwrap_or_default();
        return Repair::Certain(format!("{kept}#{}", encode(anchor)));
    }
    let here = info.anchors_like(wanted, &broken.text).map(|anchor| format!("{page}#{anchor}"));
    let elsewhere = site.index.with_anchor(wanted).iter().filter(|other| *other != page);
    let elsewhere = elsewhere.map(|other| format!("{other}#{wanted}"));
    Repair::Unsure(here.chain(elsewhere).take(MAX_CANDIDATES).collect())
}

/// The destination of `target` in the style of the old one, proven by following it.
fn certain(
    site: &Site,
    broken: &BrokenLink,
    old: &Destination,
    target: &str,
    fragment: Option<String>,
) -> Option<String> {
    let path = in_style(site, &broken.file, &old.path, target);
    let anchor = fragment.as_ref().map(|fragment| format!("#{}", encode(fragment))).unwrap_or_default();
    let new = Destination { path: path.clone(), query: old.query.clone(), fragment };
    let leads_there = match site.follow(&broken.file, &new) {
        Found::Page(page) => page == target && site.why_broken(&broken.file, &new).is_none(),
        Found::Other => !route::is_page(target),
        Found::Nothing => false,
    };
    (leads_there && !has_respelled_names(&old.path, &path, target))
        .then(|| format!("{}{}{anchor}", encode(&path), old.query))
}

/// Whether a name was put in that sites may serve otherwise than the file is called: many leave the number in
/// front of it out of the address, and some make capital letters small.
fn has_respelled_names(old: &str, new: &str, target: &str) -> bool {
    let is_address = route::is_page(target) && route::stem(new).is_none();
    let is_respelled = |name: &str| {
        route::without_numbers(name) != name || (is_address && name.contains(char::is_uppercase))
    };
    new.split('/').any(|name| is_respelled(name) && !old.split('/').any(|known| known == name))
}

/// Absolute stays absolute, relative relative; the extension and the slash at the end are there if they were.
fn in_style(site: &Site, from: &str, old: &str, target: &str) -> String {
    let styled = styled_name(old, target);
    if old.starts_with('/') {
        return absolute(site, old, &styled);
    }
    let mut new = relative(path::parent(from), &styled);
    if old.starts_with("./") && !new.starts_with('.') {
        new.insert_str(0, "./");
    }
    if new.is_empty() { "./".to_owned() } else { new }
}

/// The target with as much of its name as the old destination spelled out.
fn styled_name(old: &str, target: &str) -> String {
    if route::stem(old).is_some() || !route::is_page(target) {
        return target.to_owned();
    }
    let place = route::place(target).unwrap_or(target);
    if old.ends_with('/') { format!("{place}/") } else { place.to_owned() }
}

/// Sites are served from their root or from below the name of the docs folder; the old link shows which.
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

pub(crate) fn relative(folder: &str, target: &str) -> String {
    let from: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    let to: Vec<&str> = target.split('/').collect();
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count().min(to.len() - 1);
    let mut parts = vec![".."; from.len() - shared];
    parts.extend(&to[shared..]);
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths() {
        assert_eq!(relative("docs/a", "docs/b/c.md"), "../b/c.md");
        assert_eq!(relative("docs", "docs/c.md"), "c.md");
        assert_eq!(relative("", "docs/c.md"), "docs/c.md");
        assert_eq!(relative("docs/a", "docs"), "../../docs");
    }
}
