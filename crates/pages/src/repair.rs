//! Where a broken link was meant to lead.
//!
//! A repair is certain only when there is exactly one answer and the new destination is known to lead there.

use crate::anchors::{Slugs, normalised};
use crate::destination::{Destination, encode};
use crate::links::{BrokenLink, Why};
use crate::path;
use crate::route;
use crate::site::{Found, Site};

/// An anchor this far from the one wanted, in single letters, is still taken for it.
const MAX_DISTANCE: usize = 2;
/// An anchor longer than this is not compared letter by letter.
const MAX_COMPARED: usize = 100;
/// A page with more headings than this is no page for people, and is not searched for each link to it.
const MAX_HEADINGS: usize = 2_000;
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
    let mut targets = site.index.named(last_name(&old.path)).to_vec();
    if targets.is_empty() {
        targets = by_title(site, &old.path, &broken.text);
    }
    // A page rarely means to link to itself: if it is all that was found, a person had better look.
    let [target] = targets.as_slice() else { return Repair::Unsure(some(targets)) };
    if *target == broken.file {
        return Repair::Unsure(targets);
    }
    let wanted = old.fragment.as_deref().unwrap_or_default();
    let fragment = match site.has_anchor(target, wanted) {
        true => old.fragment.clone(),
        false => match anchor_in(site, target, wanted, &broken.text) {
            Some(anchor) => Some(anchor),
            None => return Repair::Unsure(targets),
        },
    };
    certain(site, broken, old, target, fragment)
}

fn repair_anchor(site: &Site, broken: &BrokenLink, old: &Destination, page: &str) -> Repair {
    let wanted = old.fragment.as_deref().unwrap_or_default();
    if let Some(anchor) = anchor_in(site, page, wanted, &broken.text) {
        let kept = broken.destination.split('#').next().unwrap_or_default();
        return Repair::Certain(format!("{kept}#{}", encode(&anchor)));
    }
    let elsewhere = site.index.with_anchor(wanted).iter().filter(|other| *other != page);
    Repair::Unsure(elsewhere.take(MAX_CANDIDATES).map(|other| format!("{other}#{wanted}")).collect())
}

fn some(mut candidates: Vec<String>) -> Vec<String> {
    candidates.truncate(MAX_CANDIDATES);
    candidates
}

/// The name that a path ends in, without the extension of a page; of an index page, its folder's.
fn last_name(wanted: &str) -> &str {
    let wanted = wanted.trim_end_matches('/');
    let bare = route::stem(wanted).or_else(|| wanted.strip_suffix(".html")).unwrap_or(wanted);
    path::name(if route::is_index(bare) { path::parent(bare) } else { bare }).trim_matches('.')
}

fn by_title(site: &Site, wanted: &str, text: &str) -> Vec<String> {
    let mut found = [site.index.titled(text), site.index.titled(last_name(wanted))].concat();
    found.sort_unstable();
    found.dedup();
    found
}

/// The one heading that a wrong anchor can have meant: spelled a little otherwise, called what the
/// link says, or a letter or two away.
fn anchor_in(site: &Site, page: &str, wanted: &str, text: &str) -> Option<String> {
    let headings = &site.pages.get(page)?.headings;
    if headings.len() > MAX_HEADINGS {
        return None;
    }
    let anchors = || headings.iter().map(|heading| heading.anchor.as_str());
    let same = normalised(wanted);
    let slug = Slugs::slug(text);
    only(anchors().filter(|anchor| normalised(anchor) == same))
        .or_else(|| {
            only(
                headings
                    .iter()
                    .filter(|h| !slug.is_empty() && Slugs::slug(&h.text) == slug)
                    .map(|h| h.anchor.as_str()),
            )
        })
        .or_else(|| only(anchors().filter(|anchor| is_close(anchor, wanted))))
        .map(str::to_owned)
}

fn only<'a>(mut found: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// Numbers must agree: `step-1` is no misspelling of `step-2`. Short anchors must be closer.
fn is_close(a: &str, b: &str) -> bool {
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    let (a, b): (Vec<char>, Vec<char>) =
        (a.to_lowercase().chars().collect(), b.to_lowercase().chars().collect());
    let allowed = MAX_DISTANCE.min(a.len().min(b.len()) / 4);
    let comparable = a.len().max(b.len()) <= MAX_COMPARED && a.len().abs_diff(b.len()) <= allowed;
    comparable
        && digits(&a.iter().collect::<String>()) == digits(&b.iter().collect::<String>())
        && distance(&a, &b) <= allowed
}

/// The number of letters to put in, take out or exchange.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let exchange = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = exchange.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// The destination of `target` in the style of the old one, proven by following it.
fn certain(
    site: &Site,
    broken: &BrokenLink,
    old: &Destination,
    target: &str,
    fragment: Option<String>,
) -> Repair {
    let path = in_style(site, &broken.file, &old.path, target);
    let anchor = fragment.as_ref().map(|fragment| format!("#{}", encode(fragment))).unwrap_or_default();
    let new = Destination { path: path.clone(), query: old.query.clone(), fragment };
    let leads_there = match site.follow(&broken.file, &new) {
        Found::Page(page) => page == target && site.why_broken(&broken.file, &new).is_none(),
        Found::Other => !route::is_page(target),
        Found::Nothing => false,
    };
    match leads_there {
        true => Repair::Certain(format!("{}{}{anchor}", encode(&path), old.query)),
        false => Repair::Unsure(vec![target.to_owned()]),
    }
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
    let Some(stem) = route::stem(target).filter(|_| route::is_page(target)) else { return target.to_owned() };
    if route::stem(old).is_some() {
        return target.to_owned();
    }
    if old.ends_with(".html") {
        let name =
            if route::is_index(stem) { path::join(path::parent(stem), "index") } else { stem.to_owned() };
        return format!("{name}.html");
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

fn relative(folder: &str, target: &str) -> String {
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

    #[test]
    fn close_anchors() {
        assert!(is_close("instalation", "installation"));
        assert!(is_close("getting-started", "geting-startd"));
        assert!(!is_close("step-1", "step-2"));
        assert!(!is_close("api", "app"));
        assert!(!is_close("install", "uninstall-all"));
    }
}
