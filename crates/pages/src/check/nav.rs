//! Checks the navigation files, which list the pages of a site.
//!
//! Some are data and some are scripts. In scripts, only string literals are read. Entries that can't be understood are
//! ignored.

mod literals;
mod mintlify;
mod mkdocs;

use std::collections::BTreeSet;

use super::problem::{Problem, ProblemKind};
use crate::explicit_ids;
use crate::files::{self, Files, FilesError};
use crate::markdown::Page;
use crate::navigation::{Format, NavigationFile};
use crate::path;
use crate::prefetch::prefetch;
use crate::route;
use crate::site::{LinkOutcome, Site};
use crate::splice::LineIndex;

/// A navigation file.
pub(super) struct Nav {
    pub(super) path: String,
    /// The folders that entries can be relative to. The first one that exists contains the pages.
    folders: Vec<String>,
    entries: Vec<Entry>,
    /// Whether entries without a page are reported. Some are checked as links, and some pages are generated.
    checks_entries: bool,
    /// Whether the site can have pages that no entry names.
    is_open: bool,
    /// The line and the message of a syntax error.
    error: Option<(usize, String)>,
}

/// An entry for a page.
struct Entry {
    line: usize,
    name: String,
}

impl Nav {
    fn new(file: NavigationFile, path: &str, entries: Vec<Entry>) -> Self {
        let path = path.to_owned();
        Self { path, folders: file.folders, entries, checks_entries: true, is_open: false, error: None }
    }

    /// Follows an entry, relative to any of the folders.
    fn follow(&self, site: &Site, entry: &Entry) -> LinkOutcome {
        let paths = self.folders.iter().filter_map(|folder| path::normalize(folder, &entry.name));
        let mut outcomes = paths.map(|path| site.outcome_at(&path));
        outcomes.find(|outcome| *outcome != LinkOutcome::Missing).unwrap_or(LinkOutcome::Missing)
    }

    /// The entries without a page.
    fn missing<'a>(&'a self, site: &'a Site) -> impl Iterator<Item = &'a Entry> {
        let checked = self.entries.iter().filter(|_| self.checks_entries);
        checked.filter(|entry| self.follow(site, entry) == LinkOutcome::Missing)
    }

    /// Whether most entries lead to a page. Otherwise the file was probably misread.
    pub(super) fn is_understood(&self, site: &Site) -> bool {
        self.missing(site).count() * 2 < self.entries.len()
    }

    fn pages(&self, site: &Site) -> BTreeSet<String> {
        let page = |entry| match self.follow(site, entry) {
            LinkOutcome::Page(page) => Some(page),
            LinkOutcome::Other | LinkOutcome::Missing => None,
        };
        self.entries.iter().filter_map(page).collect()
    }

    /// The pages that belong in it.
    fn expected_pages<'a>(&'a self, site: &'a Site) -> impl Iterator<Item = &'a String> {
        let exists = |folder: &&String| folder.is_empty() || site.has_folder(folder);
        let folder = self.folders.iter().find(exists).map(String::as_str).unwrap_or_default();
        let files = site.files().iter().filter(move |file| path::below(file, folder).is_some());
        files.filter(|file| route::is_page(file) && !needs_no_entry(file))
    }
}

/// Pages that need no entry: included files, index pages, and pages of a repository.
fn needs_no_entry(file: &str) -> bool {
    let name = path::name(route::stem(file).unwrap_or(file)).to_ascii_lowercase();
    route::is_index(&name)
        || ["summary", "404", "license", "changelog", "contributing", "code_of_conduct"]
            .contains(&name.as_str())
        || explicit_ids::uses_includes(file, "")
        || file.contains('[')
}

/// Reads the navigation files of a tree.
pub(super) fn read(files: &dyn Files, site: &Site) -> Result<Vec<Nav>, FilesError> {
    let read = |path: &str| NavigationFile::at(path).filter(|file| file.format != Format::Contents);
    let paths: Vec<_> = site.navigation_files().iter().filter(|path| read(path).is_some()).collect();
    prefetch(files, &paths)?;
    let mut navs = Vec::new();
    for path in paths {
        let Some(file) = read(path) else { continue };
        if let Some(text) = files::read_text(files, path)? {
            navs.extend(read_file(file, path, &text));
        }
    }
    Ok(navs)
}

fn read_file(file: NavigationFile, path: &str, text: &str) -> Option<Nav> {
    match file.format {
        Format::Mintlify => mintlify::read(file, path, text),
        Format::MkDocs => mkdocs::read(file, path, text),
        Format::Sidebar => literals::read_docusaurus(file, path, text),
        Format::VitePress => literals::read_vitepress(file, path, text),
        Format::Summary if path::name(path) == "SUMMARY.md" => Some(read_summary(file, path, text)),
        Format::Summary | Format::Contents => None,
    }
}

/// Reads the list of chapters of a book. Its entries are also checked as links.
fn read_summary(file: NavigationFile, path: &str, text: &str) -> Nav {
    let links = Page::parse(path, text).links;
    let entry = |link: &crate::Link| {
        let name = text[link.range.clone()].split('#').next().unwrap_or_default();
        Entry { line: 1, name: name.replace("%20", " ") }
    };
    Nav { checks_entries: false, ..Nav::new(file, path, links.iter().map(entry).collect()) }
}

/// The problems of the navigation. `trusted` are files whose entries were understood before the change.
pub(super) fn check(navs: &[Nav], site: &Site, trusted: &[&str]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for nav in navs {
        problems.extend(nav.error.as_ref().map(|(line, error)| {
            let message = format!("the navigation cannot be read: {error}");
            Problem::new(&nav.path, *line, ProblemKind::Navigation, "", message)
        }));
        if trusted.contains(&nav.path.as_str()) || nav.is_understood(site) {
            problems.extend(nav.missing(site).map(|entry| {
                let message = format!("the entry {:?} names no page", entry.name);
                Problem::new(&nav.path, entry.line, ProblemKind::NavigationEntry, &entry.name, message)
            }));
        }
    }
    problems.extend(missing_pages(navs, site));
    problems
}

/// Pages that are in no navigation file, although one file lists most of the pages beside them.
fn missing_pages(navs: &[Nav], site: &Site) -> Vec<Problem> {
    let named: BTreeSet<String> = navs.iter().flat_map(|nav| nav.pages(site)).collect();
    let mut problems: Vec<Problem> = Vec::new();
    for nav in navs.iter().filter(|nav| !nav.is_open) {
        let (listed, missing): (Vec<_>, Vec<_>) =
            nav.expected_pages(site).partition(|page| named.contains(*page));
        if listed.len() > missing.len() {
            problems.extend(missing.into_iter().map(|page| {
                let message = format!("the page is not in the navigation; {} lists the others", nav.path);
                Problem::new(page, 1, ProblemKind::NotInNavigation, "", message)
            }));
        }
    }
    problems.sort_by(|a, b| a.path.cmp(&b.path));
    problems.dedup_by(|a, b| a.path == b.path);
    problems
}

/// Entries for `names`, which are in the file in this order and in quotes.
fn entries_in(text: &str, names: Vec<String>) -> Vec<Entry> {
    let (lines, mut at) = (LineIndex::new(text), 0);
    let entry = |name: String| {
        at += text[at..].find(&format!("\"{name}\"")).unwrap_or_default();
        Entry { line: lines.line(at), name }
    };
    names.into_iter().map(entry).collect()
}
