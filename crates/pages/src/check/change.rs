//! What a change made worse, at the cost of what it touched.
//!
//! First only the changed pages are read. Pages that did not change are looked through for names that the
//! change took away, and parsed when they have one; that, and learning what pages call themselves, is left
//! out when nothing calls for it.

use std::collections::BTreeSet;

use regex::Regex;

use super::{Finding, FindingKind, nav, of_link, of_page, worse};
use crate::destination::Destination;
use crate::files::{self, Files, FilesError};
use crate::frontmatter::FrontMatter;
use crate::markdown::Page;
use crate::path;
use crate::route;
use crate::site::{Found, Site};

/// So many pages tell whether absolute links can be judged at all.
const SAMPLE: usize = 500;
/// Keys of the front matter that keep a page out of the navigation.
const HIDDEN: &[&str] =
    &["hidden", "draft", "unlisted", "sidebar", "nav_exclude", "published", "displayed_sidebar"];

/// Everything that is wrong now and was not before; see [`worse`].
pub fn made_worse(files: &dyn Files) -> Result<Vec<Finding>, FilesError> {
    let unchanged = files.before();
    let changed = files.changed();
    let before = Side::new(&*unchanged, Site::sketch(&*unchanged));
    let mut change = Change {
        before,
        after: Side::new(files, Site::sketch(files)),
        judged: changed.iter().filter(|path| route::is_page(path)).cloned().collect(),
        changed,
    };
    change.run()
}

struct Change<'a> {
    before: Side<'a>,
    after: Side<'a>,
    changed: Vec<String>,
    /// The pages whose links are judged.
    judged: BTreeSet<String>,
}

/// The tree before the change, or after it.
struct Side<'a> {
    files: &'a dyn Files,
    site: Site,
    /// What is wrong with the changed pages by themselves.
    own: Vec<Finding>,
}

impl<'a> Side<'a> {
    fn new(files: &'a dyn Files, site: Site) -> Self {
        Self { files, site, own: Vec::new() }
    }

    fn text(&self, path: &str) -> Result<Option<String>, FilesError> {
        if self.site.files().contains(path) { files::text(self.files, path) } else { Ok(None) }
    }

    /// Reads a changed page.
    fn open(&mut self, path: &str) -> Result<Option<Page>, FilesError> {
        let Some(text) = self.text(path)? else { return Ok(None) };
        let page = self.site.add(path, &text);
        self.own.extend(of_page(path, &text, &page));
        Ok(Some(page))
    }

    /// Reads the pages that the judged ones lead to, for their anchors.
    fn open_targets(&mut self, judged: &BTreeSet<String>) -> Result<(), FilesError> {
        let mut targets = BTreeSet::new();
        for page in judged {
            let links = self.site.pages.get(page).into_iter().flat_map(|page| &page.links);
            for to in
                links.filter_map(|link| Destination::parse(&link.raw)).filter(|to| to.fragment.is_some())
            {
                if let Found::Page(target) = self.site.follow(page, &to) {
                    targets.insert(target);
                }
            }
        }
        for target in
            targets.into_iter().filter(|target| !self.site.pages.contains_key(target)).collect::<Vec<_>>()
        {
            if let Some(text) = self.text(&target)? {
                self.site.add(&target, &text);
            }
        }
        Ok(())
    }

    fn findings(&self, judged: &BTreeSet<String>, navs: &[nav::Nav], trusted: &[&str]) -> Vec<Finding> {
        let links = judged.iter().flat_map(|page| self.site.broken_in(page)).map(of_link);
        self.own.iter().cloned().chain(links).chain(nav::findings(navs, &self.site, trusted)).collect()
    }
}

impl Change<'_> {
    fn run(&mut self) -> Result<Vec<Finding>, FilesError> {
        let lost = self.open_changed()?;
        if !lost.is_empty() {
            self.look_through(Some(&lost))?;
        }
        let mut found = self.compare()?;
        if !found.is_empty() && lost.is_empty() {
            // A page may be known by a name of its own, which stands in the page and is not read yet.
            self.look_through(None)?;
            found = self.compare()?;
        }
        self.drop_unjudged(&mut found)?;
        found.sort_by(|a, b| (&a.path, a.line, a.kind).cmp(&(&b.path, b.line, b.kind)));
        Ok(found)
    }

    /// Reads the changed pages on both sides; answers the names under which something is no longer found.
    fn open_changed(&mut self) -> Result<BTreeSet<String>, FilesError> {
        let mut lost = BTreeSet::new();
        for path in self.changed.clone() {
            if !self.after.site.files().contains(&path) {
                lost.extend(names(&path));
                let gone = path::ancestors(&path).filter(|folder| !self.after.site.has_folder(folder));
                lost.extend(gone.map(|folder| path::name(folder).to_owned()));
            }
            if !route::is_page(&path) {
                continue;
            }
            let old = self.before.open(&path)?;
            let new = self.after.open(&path)?;
            lost.extend(old.into_iter().flat_map(|old| self.lost_names(&path, &old, new.as_ref())));
        }
        Ok(lost)
    }

    /// The names of a page of which an anchor or an address went away.
    fn lost_names(&self, path: &str, old: &Page, new: Option<&Page>) -> Vec<String> {
        let anchors = |page: &Page| -> BTreeSet<String> {
            page.headings.iter().map(|heading| &heading.anchor).chain(&page.ids).cloned().collect()
        };
        let kept = new.map(anchors).unwrap_or_default();
        let lost: Vec<String> = anchors(old).difference(&kept).cloned().collect();
        let addresses = |page: &Page| -> BTreeSet<String> {
            let names = page.front.addresses.iter().map(|address| path::name(address.trim_end_matches('/')));
            names.map(str::to_owned).collect()
        };
        let known = new.map(addresses).unwrap_or_default();
        let mut found: Vec<String> = addresses(old).difference(&known).cloned().collect();
        if !lost.is_empty() {
            found.extend(names(path));
            // An anchor may lead to its page from all others without its name.
            found.extend(lost.into_iter().filter(|anchor| self.before.site.targets.contains(anchor)));
        }
        found
    }

    /// Learns what the unchanged pages call themselves; those that say one of the lost names are judged too.
    fn look_through(&mut self, lost: Option<&BTreeSet<String>>) -> Result<(), FilesError> {
        let changed: BTreeSet<&String> = self.changed.iter().collect();
        let pattern = lost.and_then(pattern);
        let unchanged = |file: &&String| route::is_page(file) && !changed.contains(file);
        let pages: Vec<String> = self.before.site.files().iter().filter(unchanged).cloned().collect();
        for page in pages {
            let Some(text) = self.before.text(&page)? else { continue };
            let is_told = lost.is_some() && pattern.as_ref().is_none_or(|pattern| pattern.is_match(&text));
            let addresses = FrontMatter::addresses_in(&text);
            for side in [&mut self.before, &mut self.after] {
                if is_told {
                    side.site.add(&page, &text);
                } else {
                    side.site.add_names(&page, &text, &addresses);
                }
            }
            if is_told {
                self.judged.insert(page);
            }
        }
        Ok(())
    }

    fn compare(&mut self) -> Result<Vec<Finding>, FilesError> {
        self.before.open_targets(&self.judged)?;
        self.after.open_targets(&self.judged)?;
        let old = nav::read(self.before.files, &self.before.site)?;
        let new = nav::read(self.after.files, &self.after.site)?;
        let understood = old.iter().filter(|nav| nav.is_understood(&self.before.site));
        let trusted: Vec<&str> = understood.map(|nav| nav.path.as_str()).collect();
        let before = self.before.findings(&self.judged, &old, &trusted);
        let mut found = worse(&before, &self.after.findings(&self.judged, &new, &trusted));
        let mut hidden = BTreeSet::new();
        for page in found.iter().filter(|found| found.kind == FindingKind::NotInNavigation) {
            let text = self.after.text(&page.path)?.unwrap_or_default();
            let front = FrontMatter::parse(&text);
            if HIDDEN.iter().any(|key| front.get(&text, key).is_some()) {
                hidden.insert(page.path.clone());
            }
        }
        found.retain(|found| found.kind != FindingKind::NotInNavigation || !hidden.contains(&found.path));
        Ok(found)
    }

    /// Leaves absolute links out when those of the site mostly lead nowhere, as it is read here.
    fn drop_unjudged(&mut self, found: &mut Vec<Finding>) -> Result<(), FilesError> {
        let is_absolute = |found: &Finding| {
            matches!(found.kind, FindingKind::Link | FindingKind::Image) && found.what.starts_with('/')
        };
        if !found.iter().any(is_absolute) {
            return Ok(());
        }
        let pages: Vec<String> =
            self.before.site.files().iter().filter(|file| route::is_page(file)).cloned().collect();
        let step = pages.len().div_ceil(SAMPLE).max(1);
        for page in pages.into_iter().step_by(step) {
            if let (false, Some(text)) =
                (self.before.site.pages.contains_key(&page), self.before.text(&page)?)
            {
                self.before.site.add(&page, &text);
            }
        }
        self.before.site.judge();
        if self.before.site.unjudged > 0 {
            found.retain(|found| !is_absolute(found));
        }
        Ok(())
    }
}

/// What a link to the file must have in it.
fn names(file: &str) -> Vec<String> {
    let place = if route::is_page(file) { route::stem(file).unwrap_or(file) } else { file };
    let mut names = vec![path::name(place).to_owned(), route::without_numbers(path::name(place))];
    if route::is_index(place) {
        names.push(path::name(path::parent(place)).to_owned());
    }
    // The root has no name, and a link to it leads somewhere whatever becomes of its page.
    names.retain(|name| !name.is_empty());
    names
}

/// Matches a page that may link to one of the names. Links spell some letters otherwise than names do, so
/// the longest part is looked for that all spell alike; nothing when a name has none, and any page may.
fn pattern(names: &BTreeSet<String>) -> Option<Regex> {
    let plain = |name: &str| {
        let parts = name.split(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c));
        parts.max_by_key(|part| part.len()).unwrap_or_default().to_owned()
    };
    let parts: BTreeSet<String> = names.iter().map(|name| plain(name)).collect();
    if parts.is_empty() || parts.contains("") {
        return None;
    }
    Regex::new(&format!("(?i){}", parts.iter().map(|part| regex::escape(part)).collect::<Vec<_>>().join("|")))
        .ok()
}
