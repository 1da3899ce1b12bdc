//! Finds the problems that a change added, at a cost in proportion to the change.
//!
//! First only the changed pages are read. Unchanged pages are searched for names that the change removed, and parsed when
//! they contain one. This search, and the reading of the pages' own names, is skipped when it can't change the result.

use std::collections::BTreeSet;

use regex::Regex;

use super::nav;
use super::page::{check_page, link_problem};
use super::problem::{self, Problem, ProblemKind, added_problems};
use crate::destination::Destination;
use crate::files::{self, Files, FilesError};
use crate::frontmatter::FrontMatter;
use crate::markdown::Page;
use crate::path;
use crate::prefetch::prefetch;
use crate::route;
use crate::site::{LinkOutcome, Site};

/// How many pages are read to decide whether absolute links can be checked.
const MAX_SAMPLED_PAGES: usize = 500;
/// Front matter keys that keep a page out of the navigation.
const HIDDEN: &[&str] =
    &["hidden", "draft", "unlisted", "sidebar", "nav_exclude", "published", "displayed_sidebar"];

/// The problems that a change added. See [`added_problems`].
pub fn check_change(files: &dyn Files) -> Result<Vec<Problem>, FilesError> {
    let unchanged = files.before();
    let changed = files.changed();
    let before = Side::new(&*unchanged, Site::with_names(&*unchanged));
    let mut change = Change {
        before,
        after: Side::new(files, Site::with_names(files)),
        checked: changed.iter().filter(|path| route::is_page(path)).cloned().collect(),
        changed,
    };
    change.run()
}

struct Change<'a> {
    before: Side<'a>,
    after: Side<'a>,
    changed: Vec<String>,
    /// The pages whose links are checked.
    checked: BTreeSet<String>,
}

/// The tree before the change, or after it.
struct Side<'a> {
    files: &'a dyn Files,
    site: Site,
    /// The problems of the changed pages that don't depend on other files.
    page_problems: Vec<Problem>,
}

impl<'a> Side<'a> {
    fn new(files: &'a dyn Files, site: Site) -> Self {
        Self { files, site, page_problems: Vec::new() }
    }

    fn text(&self, path: &str) -> Result<Option<String>, FilesError> {
        if self.site.files().contains(path) { files::read_text(self.files, path) } else { Ok(None) }
    }

    /// Reads and checks a changed page.
    fn check_page(&mut self, path: &str) -> Result<Option<Page>, FilesError> {
        let Some(text) = self.text(path)? else { return Ok(None) };
        let page = self.site.add_page(path, &text);
        self.page_problems.extend(check_page(path, &text, &page));
        Ok(Some(page))
    }

    /// Reads the pages that the checked pages link to, for their anchors.
    fn read_targets(&mut self, checked: &BTreeSet<String>) -> Result<(), FilesError> {
        let mut targets = BTreeSet::new();
        for page in checked {
            let links = self.site.pages.get(page).into_iter().flat_map(|page| &page.links);
            for to in
                links.filter_map(|link| Destination::parse(&link.raw)).filter(|to| to.fragment.is_some())
            {
                if let LinkOutcome::Page(target) = self.site.follow(page, &to) {
                    targets.insert(target);
                }
            }
        }
        targets.retain(|target| !self.site.pages.contains_key(target));
        prefetch(self.files, &targets.iter().collect::<Vec<_>>())?;
        for target in targets {
            if let Some(text) = self.text(&target)? {
                self.site.add_page(&target, &text);
            }
        }
        Ok(())
    }

    fn problems(&self, checked: &BTreeSet<String>, navs: &[nav::Nav], trusted: &[&str]) -> Vec<Problem> {
        let links = checked.iter().flat_map(|page| self.site.broken_in(page)).map(link_problem);
        let navigation = nav::check(navs, &self.site, trusted);
        self.page_problems.iter().cloned().chain(links).chain(navigation).collect()
    }
}

impl Change<'_> {
    fn run(&mut self) -> Result<Vec<Problem>, FilesError> {
        let removed = self.check_changed_pages()?;
        if !removed.is_empty() {
            self.read_unchanged_pages(Some(&removed))?;
        }
        let mut problems = self.compare()?;
        if !problems.is_empty() && removed.is_empty() {
            // A page can have a name of its own in its front matter, which is not read yet.
            self.read_unchanged_pages(None)?;
            problems = self.compare()?;
        }
        self.drop_unchecked_links(&mut problems)?;
        problem::sort(&mut problems);
        Ok(problems)
    }

    /// Reads the changed pages on both sides. Returns the names that no longer lead to anything.
    fn check_changed_pages(&mut self) -> Result<BTreeSet<String>, FilesError> {
        let mut removed = BTreeSet::new();
        for path in self.changed.clone() {
            if !self.after.site.files().contains(&path) {
                removed.extend(link_names(&path));
                let folders = path::ancestors(&path).filter(|folder| !self.after.site.has_folder(folder));
                removed.extend(folders.map(|folder| path::name(folder).to_owned()));
            }
            if !route::is_page(&path) {
                continue;
            }
            let old = self.before.check_page(&path)?;
            let new = self.after.check_page(&path)?;
            removed.extend(old.into_iter().flat_map(|old| self.removed_names(&path, &old, new.as_ref())));
        }
        Ok(removed)
    }

    /// The names in links to a page that lost an anchor or an address.
    fn removed_names(&self, path: &str, old: &Page, new: Option<&Page>) -> Vec<String> {
        let anchors = |page: &Page| -> BTreeSet<String> {
            page.headings.iter().map(|heading| &heading.anchor).chain(&page.ids).cloned().collect()
        };
        let new_anchors = new.map(anchors).unwrap_or_default();
        let removed_anchors: Vec<String> = anchors(old).difference(&new_anchors).cloned().collect();
        let addresses = |page: &Page| -> BTreeSet<String> {
            let names = page.front.addresses.iter().map(|address| path::name(address.trim_end_matches('/')));
            names.map(str::to_owned).collect()
        };
        let new_addresses = new.map(addresses).unwrap_or_default();
        let mut names: Vec<String> = addresses(old).difference(&new_addresses).cloned().collect();
        if !removed_anchors.is_empty() {
            names.extend(link_names(path));
            // All pages can link to some anchors without the name of their page.
            names.extend(
                removed_anchors.into_iter().filter(|anchor| self.before.site.targets.contains(anchor)),
            );
        }
        names
    }

    /// Reads the names that unchanged pages give themselves. Pages that contain one of the removed names are checked too.
    fn read_unchanged_pages(&mut self, removed: Option<&BTreeSet<String>>) -> Result<(), FilesError> {
        let changed: BTreeSet<&String> = self.changed.iter().collect();
        let pattern = removed.and_then(pattern);
        let unchanged = |file: &&String| route::is_page(file) && !changed.contains(file);
        let pages: Vec<String> = self.before.site.files().iter().filter(unchanged).cloned().collect();
        prefetch(self.before.files, &pages)?;
        for page in pages {
            let Some(text) = self.before.text(&page)? else { continue };
            let is_checked =
                removed.is_some() && pattern.as_ref().is_none_or(|pattern| pattern.is_match(&text));
            let addresses = FrontMatter::addresses_in(&text);
            for side in [&mut self.before, &mut self.after] {
                if is_checked {
                    side.site.add_page(&page, &text);
                } else {
                    side.site.add_names(&page, &text, &addresses);
                }
            }
            if is_checked {
                self.checked.insert(page);
            }
        }
        Ok(())
    }

    fn compare(&mut self) -> Result<Vec<Problem>, FilesError> {
        self.before.read_targets(&self.checked)?;
        self.after.read_targets(&self.checked)?;
        let old = nav::read(self.before.files, &self.before.site)?;
        let new = nav::read(self.after.files, &self.after.site)?;
        let understood = old.iter().filter(|nav| nav.is_understood(&self.before.site));
        let trusted: Vec<&str> = understood.map(|nav| nav.path.as_str()).collect();
        let before = self.before.problems(&self.checked, &old, &trusted);
        let after = self.after.problems(&self.checked, &new, &trusted);
        let mut problems = added_problems(&before, &after);
        let mut hidden = BTreeSet::new();
        for page in problems.iter().filter(|problem| problem.kind == ProblemKind::NotInNavigation) {
            let text = self.after.text(&page.path)?.unwrap_or_default();
            let front = FrontMatter::parse(&text);
            if HIDDEN.iter().any(|key| front.get(&text, key).is_some()) {
                hidden.insert(page.path.clone());
            }
        }
        problems.retain(|problem| {
            problem.kind != ProblemKind::NotInNavigation || !hidden.contains(&problem.path)
        });
        Ok(problems)
    }

    /// Drops absolute links when too many of the site's absolute links are broken.
    fn drop_unchecked_links(&mut self, problems: &mut Vec<Problem>) -> Result<(), FilesError> {
        let is_absolute = |problem: &Problem| {
            matches!(problem.kind, ProblemKind::Link | ProblemKind::Image) && problem.what.starts_with('/')
        };
        if !problems.iter().any(is_absolute) {
            return Ok(());
        }
        let pages: Vec<String> =
            self.before.site.files().iter().filter(|file| route::is_page(file)).cloned().collect();
        let step = pages.len().div_ceil(MAX_SAMPLED_PAGES).max(1);
        let sampled: Vec<String> = pages.into_iter().step_by(step).collect();
        prefetch(self.before.files, &sampled)?;
        for page in sampled {
            if let (false, Some(text)) =
                (self.before.site.pages.contains_key(&page), self.before.text(&page)?)
            {
                self.before.site.add_page(&page, &text);
            }
        }
        self.before.site.decide_unchecked();
        if self.before.site.unchecked > 0 {
            problems.retain(|problem| !is_absolute(problem));
        }
        Ok(())
    }
}

/// Names of which every link to the file contains one.
fn link_names(file: &str) -> Vec<String> {
    let path = if route::is_page(file) { route::stem(file).unwrap_or(file) } else { file };
    let mut names = vec![path::name(path).to_owned(), route::without_numbers(path::name(path))];
    if route::is_index(path) {
        names.push(path::name(path::parent(path)).to_owned());
    }
    // The root has no name. A link to it is always good, with or without its page.
    names.retain(|name| !name.is_empty());
    names
}

/// Matches pages that can link to one of the names. Links can encode some characters, so the longest part without such
/// characters is matched. `None` when a name has no such part: any page can then link to it.
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
