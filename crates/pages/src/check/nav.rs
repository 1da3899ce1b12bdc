//! The files that say which pages a site shows, and in what order.
//!
//! Some are data and some are programs; of the programs only what is written out is read. An entry that
//! cannot be understood is no entry.

mod literals;
mod mintlify;
mod mkdocs;

use std::collections::BTreeSet;

use super::{Finding, FindingKind};
use crate::explicit;
use crate::files::{self, Files, FilesError};
use crate::markdown::Page;
use crate::navigation::{Format, NavigationFile};
use crate::path;
use crate::route;
use crate::site::{self, Found, Site};
use crate::splice::LineIndex;

/// A navigation file.
pub(super) struct Nav {
    pub(super) path: String,
    /// The folders that entries may count from; the first that is there holds the pages.
    folders: Vec<String>,
    entries: Vec<Entry>,
    /// Whether entries that name no page are wrong. Some are judged as links, some may be made while building.
    judged: bool,
    /// Whether pages come in that no entry names.
    open: bool,
    /// Why it cannot be read, and on which line.
    fault: Option<(usize, String)>,
}

/// One page that is named.
struct Entry {
    line: usize,
    name: String,
}

impl Nav {
    fn new(file: NavigationFile, path: &str, entries: Vec<Entry>) -> Self {
        let path = path.to_owned();
        Self { path, folders: file.folders, entries, judged: true, open: false, fault: None }
    }

    /// What the entry leads to, counted from any of the folders.
    fn find(&self, site: &Site, entry: &Entry) -> Found {
        let places = self.folders.iter().filter_map(|folder| site::normalise(folder, &entry.name));
        let found = places.map(|place| site.at(&place)).find(|found| *found != Found::Nothing);
        found.unwrap_or(Found::Nothing)
    }

    fn missing<'a>(&'a self, site: &'a Site) -> impl Iterator<Item = &'a Entry> {
        let judged = self.entries.iter().filter(|_| self.judged);
        judged.filter(|entry| self.find(site, entry) == Found::Nothing)
    }

    /// Whether most entries lead to a page: else it is the reading that is wrong, and not so many entries.
    pub(super) fn is_understood(&self, site: &Site) -> bool {
        self.missing(site).count() * 2 < self.entries.len()
    }

    fn pages(&self, site: &Site) -> BTreeSet<String> {
        let page = |entry| match self.find(site, entry) {
            Found::Page(page) => Some(page),
            Found::Other | Found::Nothing => None,
        };
        self.entries.iter().filter_map(page).collect()
    }

    /// The pages that it could name.
    fn within<'a>(&'a self, site: &'a Site) -> impl Iterator<Item = &'a String> {
        let is_there = |folder: &&String| folder.is_empty() || site.has_folder(folder);
        let folder = self.folders.iter().find(is_there).map(String::as_str).unwrap_or_default();
        let files = site.files().iter().filter(move |file| path::below(file, folder).is_some());
        files.filter(|file| route::is_page(file) && !is_no_entry(file))
    }
}

/// Pages that a navigation need not name: parts of others, and those that stand for a folder.
fn is_no_entry(file: &str) -> bool {
    let name = path::name(route::stem(file).unwrap_or(file)).to_ascii_lowercase();
    route::is_index(&name)
        || ["summary", "404", "license", "changelog", "contributing", "code_of_conduct"]
            .contains(&name.as_str())
        || explicit::is_made_of_parts(file, "")
        || file.contains('[')
}

/// Every navigation file of a tree.
pub(super) fn read(files: &dyn Files, site: &Site) -> Result<Vec<Nav>, FilesError> {
    let mut navs = Vec::new();
    for path in site.navigation() {
        let Some(file) = NavigationFile::at(path).filter(|file| file.format != Format::Contents) else {
            continue;
        };
        if let Some(text) = files::text(files, path)? {
            navs.extend(nav(file, path, &text));
        }
    }
    Ok(navs)
}

fn nav(file: NavigationFile, path: &str, text: &str) -> Option<Nav> {
    match file.format {
        Format::Mintlify => mintlify::read(file, path, text),
        Format::MkDocs => mkdocs::read(file, path, text),
        Format::Sidebar => literals::docusaurus(file, path, text),
        Format::VitePress => literals::vitepress(file, path, text),
        Format::Summary if path::name(path) == "SUMMARY.md" => Some(summary(file, path, text)),
        Format::Summary | Format::Contents => None,
    }
}

/// The list of chapters of a book. Where its entries lead is judged as of any link.
fn summary(file: NavigationFile, path: &str, text: &str) -> Nav {
    let links = Page::parse(path, text).links;
    let entry = |link: &crate::Link| {
        let name = text[link.range.clone()].split('#').next().unwrap_or_default();
        Entry { line: 1, name: name.replace("%20", " ") }
    };
    Nav { judged: false, ..Nav::new(file, path, links.iter().map(entry).collect()) }
}

/// What is wrong with the navigation. `trusted` are files whose entries were understood before.
pub(super) fn findings(navs: &[Nav], site: &Site, trusted: &[&str]) -> Vec<Finding> {
    let mut found = Vec::new();
    for nav in navs {
        found.extend(nav.fault.as_ref().map(|(line, why)| {
            let message = format!("the navigation cannot be read: {why}");
            Finding::new(&nav.path, *line, FindingKind::Navigation, "", message)
        }));
        if trusted.contains(&nav.path.as_str()) || nav.is_understood(site) {
            found.extend(nav.missing(site).map(|entry| {
                let message = format!("the entry {:?} names no page", entry.name);
                Finding::new(&nav.path, entry.line, FindingKind::NavigationEntry, &entry.name, message)
            }));
        }
    }
    found.extend(left_out(navs, site));
    found
}

/// Pages that no navigation names, where one of them names most of those around.
fn left_out(navs: &[Nav], site: &Site) -> Vec<Finding> {
    let named: BTreeSet<String> = navs.iter().flat_map(|nav| nav.pages(site)).collect();
    let mut found: Vec<Finding> = Vec::new();
    for nav in navs.iter().filter(|nav| !nav.open) {
        let (listed, left): (Vec<_>, Vec<_>) = nav.within(site).partition(|page| named.contains(*page));
        if listed.len() > left.len() {
            found.extend(left.into_iter().map(|page| {
                let message = format!("the page is in no navigation; {} names the others", nav.path);
                Finding::new(page, 1, FindingKind::NotInNavigation, "", message)
            }));
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found.dedup_by(|a, b| a.path == b.path);
    found
}

/// The line of each of `names` in a file that has them in this order, in quotes.
fn entries_in(text: &str, names: Vec<String>) -> Vec<Entry> {
    let (lines, mut at) = (LineIndex::new(text), 0);
    let place = |name: String| {
        at += text[at..].find(&format!("\"{name}\"")).unwrap_or_default();
        Entry { line: lines.line(at), name }
    };
    names.into_iter().map(place).collect()
}
