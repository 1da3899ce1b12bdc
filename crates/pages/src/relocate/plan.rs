//! The site before and after a move, and what is to be done about a link between the two.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::may_mean;
use super::navigation::Navigation;
use super::served::Served;
use super::spelling;
use super::spots::{self, Spot, SpotKind};
use crate::destination::Destination;
use crate::frontmatter::FrontMatter;
use crate::markdown::Page;
use crate::path;
use crate::places;
use crate::route;
use crate::site::Site;
use crate::site::lead::{Lead, Target, Way};

pub(super) struct Plan<'a> {
    from: &'a str,
    to: &'a str,
    before: Site,
    after: Site,
}

/// What is to be done about a link.
pub(super) enum Verdict {
    Changed(String),
    /// To be changed if the site is served below `prefix`.
    Guess {
        prefix: String,
        new: String,
    },
    /// With the reason.
    Left(String),
}

/// A link as it was.
struct Old<'a> {
    raw: &'a str,
    kind: SpotKind,
    /// The file that it stands in, by its new path.
    page: &'a str,
    path: &'a str,
    lead: Lead,
}

impl<'a> Plan<'a> {
    /// `paths` and `texts` are those after the move.
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
            let named = pages.iter().map(|(path, given)| (if *path == to { moved } else { path }, given));
            Site::of_names(root, paths, named.filter(|(path, _)| route::is_page(path)))
        };
        let (before, after) = (site(earlier, from), site(paths, to));
        Self { from, to, before, after }
    }

    /// What is to be done about the links of a file, which goes by its new path. Good ones are left out.
    pub(super) fn verdicts(
        &self,
        page: &str,
        text: &str,
        served: &mut Served,
    ) -> Vec<(Range<usize>, Verdict)> {
        let was = if page == self.to { self.from } else { page };
        let (spots, navigation) = match Navigation::at(page) {
            Some(mut navigation) => (navigation.spots(page, text), Some(navigation)),
            None if route::stem(was).is_none() => return Vec::new(),
            None => (spots::of_page(&Page::parse(was, text), text), None),
        };
        let judge = |spot: Spot| {
            let follow = |site: &Site, page: &str, path: &str| match (&navigation, spot.kind) {
                (Some(navigation), _) => navigation.lead(site, path),
                (None, SpotKind::Import) => site.import(page, path),
                (None, _) => site.lead(page, path),
            };
            let raw = text[spot.range.clone()].trim();
            let Some(old) = Destination::parse(raw) else {
                return Some((spot.range, self.judge_address(raw)?));
            };
            let lead = follow(&self.before, was, &old.path);
            served.note(&old.path, lead.as_ref());
            let old = Old { raw, kind: spot.kind, page, path: &old.path, lead: lead? };
            Some((spot.range, self.judge(&old, &|path| follow(&self.after, page, path))?))
        };
        spots.into_iter().filter_map(judge).collect()
    }

    /// `follow` says where a path leads after the move.
    fn judge(&self, old: &Old<'_>, follow: &dyn Fn(&str) -> Option<Lead>) -> Option<Verdict> {
        let wanted = self.wanted(&old.lead.target);
        let now = follow(old.path).filter(|lead| is_at(lead, &wanted));
        // That it still leads there by another reading is no more than luck.
        if now.as_ref().is_some_and(|now| (now.way == Way::Address) == (old.lead.way == Way::Address)) {
            return None;
        }
        let leads = |path: &str| follow(path).is_some_and(|lead| is_at(&lead, &wanted));
        match self.rewritten(old, &wanted, &leads) {
            Some(new) => Some(match &old.lead.way {
                Way::From { prefix, .. } if old.lead.is_guess => {
                    Verdict::Guess { prefix: prefix.clone(), new }
                }
                _ => Verdict::Changed(new),
            }),
            None if now.is_some() => None,
            None if old.lead.is_guess => Some(Verdict::Left(may_mean(self.from))),
            None => {
                let place = &old.lead.place;
                Some(Verdict::Left(format!("led to {place:?} and cannot be written so that it still does")))
            }
        }
    }

    /// The first way to write the link that leads where it is to lead.
    fn rewritten(&self, old: &Old<'_>, wanted: &Target, leads: &dyn Fn(&str) -> bool) -> Option<String> {
        let raw_path = old.raw.split(['?', '#']).next().unwrap_or_default();
        let rest = &old.raw[raw_path.len()..];
        let ways = self.ways(&old.lead);
        let names = spelling::names(&old.lead, wanted);
        let paths = names
            .iter()
            .flat_map(|name| ways.iter().filter_map(move |way| spelling::path_to(name, way, old.page)));
        let mut written = paths.map(|path| spelling::written(raw_path, &path, old.kind));
        let good = |path: &String| {
            let parsed = Destination::parse(path).filter(|_| spelling::fits(path, old.kind));
            parsed.is_some_and(|new| leads(&new.path))
        };
        written.find(good).map(|path| format!("{path}{rest}"))
    }

    /// An address of another site, or one that the generator fills in, may be that of the file.
    fn judge_address(&self, raw: &str) -> Option<Verdict> {
        let path = raw.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
        let path = path.strip_suffix(".html").unwrap_or(path);
        let file = path::below(self.from, &self.before.root).unwrap_or(self.from);
        // A single word ends too many addresses.
        let place = route::place(file).filter(|place| place.contains('/'));
        let ends = |name: &str| path.strip_suffix(name).is_some_and(|before| before.ends_with('/'));
        (ends(file) || place.is_some_and(ends)).then(|| Verdict::Left(may_mean(self.from)))
    }

    /// What a link is to lead to after the move. A folder that is no longer there went with its only file.
    fn wanted(&self, target: &Target) -> Target {
        match target {
            Target::File(file) if file == self.from => Target::File(self.to.to_owned()),
            Target::Folder(place) if self.after.target(place).is_none() => {
                let is_program = places::component(self.from).is_some_and(|program| program == place);
                let program = places::component(self.to).filter(|_| is_program);
                Target::Folder(program.unwrap_or(path::parent(self.to)).to_owned())
            }
            other => other.clone(),
        }
    }

    /// The ways to write a link, that of the old one first.
    fn ways(&self, old: &Lead) -> Vec<Way> {
        let mut ways = vec![old.way.clone()];
        match &old.way {
            Way::Address => ways.push(Way::Beside),
            Way::From { prefix, .. } if prefix.starts_with('/') && !old.is_guess => {
                let from = |base: &String| Way::From { prefix: "/".to_owned(), base: base.clone() };
                ways.extend(self.after.bases.iter().rev().map(from));
            }
            Way::Beside | Way::From { .. } => {}
        }
        ways
    }
}

/// A folder is a place, whatever is there by now; a file is itself, wherever it is named from.
fn is_at(lead: &Lead, wanted: &Target) -> bool {
    match wanted {
        Target::Folder(place) => lead.place == *place,
        file => lead.target == *file,
    }
}
