//! Lists the addresses at which the pages of a site can be served.
//!
//! A redirect from such an address can hide a page. The root of the site is not always known: it can be the docs folder,
//! a folder with settings of a generator, or a folder below it with a name that generators use. Each of them counts.

use std::collections::{HashMap, HashSet};

use pages::redirects::served_address;
use pages::{FileKind, FilesError, FrontMatter, MAX_TEXT_BYTES, WordList};

use super::site::{is_settings, name_of};
use crate::guard::change::Change;
use crate::guard::repo_files::{self, folder_of};

/// Folders with the pages of a site.
const PAGE_FOLDERS: WordList = WordList(
    "docs doc documentation content contents src source site pages website web book guide www public static",
);
/// Front matter keys that give a page another address.
const ADDRESS_KEYS: [&str; 4] = ["slug", "permalink", "url", "id"];

/// The addresses of all pages, HTML files and other files, in the form of [`served_address`].
pub(super) struct SiteAddresses {
    roots: HashSet<String>,
    served: HashSet<String>,
    /// The folders of these addresses.
    folders: HashSet<String>,
    /// The addresses that pages have by their front matter.
    own: HashMap<String, Vec<String>>,
}

impl SiteAddresses {
    /// `None` if a page can't be read.
    pub(super) fn read(
        files: &HashSet<String>,
        docs_path: Option<&str>,
        change: &Change<'_>,
    ) -> Option<Self> {
        let served = files.iter().filter_map(|file| served_address(file)).collect();
        let roots = roots(files, docs_path, change);
        let mut addresses = Self { roots, served, folders: HashSet::new(), own: HashMap::new() };
        let pages: Vec<&str> = files.iter().map(String::as_str).filter(|file| is_served(file)).collect();
        change.base.prefetch(&pages).ok()?;
        for file in pages {
            let values = own_addresses(change, file)?;
            let found = addresses.of_page(file);
            let folders = found.iter().map(|address| folder_of(address)).chain([""]);
            let own = folders.flat_map(|folder| values.iter().map(move |own| format!("{folder}/{own}")));
            let own: Vec<String> = own.filter_map(|own| served_address(&own)).collect();
            for address in found.into_iter().chain(own.iter().cloned()) {
                let above = address.match_indices('/').map(|(at, _)| address[..at].to_owned());
                addresses.folders.extend(above);
                addresses.served.insert(without_numbers(&address));
                addresses.served.insert(address);
            }
            if !own.is_empty() {
                addresses.own.insert(file.to_owned(), own);
            }
        }
        Some(addresses)
    }

    pub(super) fn contains(&self, address: &str) -> bool {
        self.served.contains(address)
    }

    /// Whether pages are below an address. Some generators list them there.
    pub(super) fn is_folder(&self, address: &str) -> bool {
        self.folders.contains(address)
    }

    /// The addresses of a page, from each root that it's below and by its front matter.
    pub(super) fn of(&self, file: &str) -> Vec<String> {
        let own = self.own.get(file).into_iter().flatten().cloned();
        self.of_page(file).into_iter().chain(own).collect()
    }

    fn of_page(&self, file: &str) -> Vec<String> {
        let starts = std::iter::once(0).chain(file.match_indices('/').map(|(at, _)| at + 1));
        let is_root = |start: &usize| self.roots.contains(file[..*start].trim_end_matches('/'));
        starts.filter(is_root).filter_map(|start| served_address(&file[start..])).collect()
    }
}

fn is_served(file: &str) -> bool {
    let kind = FileKind::of(file);
    repo_files::is_judged(kind) && !kind.is_data() || kind == FileKind::Html
}

/// The folders that `/` of the site can stand for.
fn roots<'f>(files: &'f HashSet<String>, docs_path: Option<&'f str>, change: &Change<'_>) -> HashSet<String> {
    let folder = |file: &'f str| file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let is_marker = |file: &&String| {
        is_settings(file)
            || FileKind::of(file).is_data()
            || matches!(name_of(file), "package.json" | "_toc.yml" | "Gemfile" | "config.toml" | "SUMMARY.md")
    };
    let mut roots: HashSet<String> =
        files.iter().filter(is_marker).map(|file| folder(file).to_owned()).collect();
    roots.extend(["", docs_path.unwrap_or_default()].map(|root| root.trim_matches('/').to_owned()));
    roots.extend(files.iter().filter_map(|file| Some(file.split_once("/.vitepress/")?.0.to_owned())));
    let settings = files.iter().filter(|file| FileKind::of(file) == FileKind::MkDocs);
    roots.extend(settings.filter_map(|file| docs_dir(change, file, folder(file))));
    // `website/src/content` is below a root, by folders that generators use.
    let mut folders: Vec<&str> =
        files.iter().flat_map(|file| file.match_indices('/').map(|(at, _)| &file[..at])).collect();
    folders.sort_unstable();
    folders.dedup();
    for path in folders {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        if PAGE_FOLDERS.contains(&name.to_lowercase()) && roots.contains(above) {
            roots.insert(path.to_owned());
        }
    }
    roots
}

fn docs_dir(change: &Change<'_>, file: &str, folder: &str) -> Option<String> {
    let text = String::from_utf8(change.base.read(file, MAX_TEXT_BYTES).ok()?).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix("docs_dir:"))?;
    let name = value.split('#').next().unwrap_or_default().trim().trim_matches(['"', '\'', '/']);
    Some(format!("{folder}/{name}").trim_matches('/').to_owned())
}

/// The addresses in the front matter of a page, in its current text. `None` if the page can't be read.
fn own_addresses(change: &Change<'_>, file: &str) -> Option<Vec<String>> {
    let text = match change.edits.get(file) {
        Some(Some(bytes)) => bytes.clone(),
        Some(None) => return Some(Vec::new()),
        None => match change.base.read(file, MAX_TEXT_BYTES) {
            Ok(bytes) => bytes,
            // Nothing generates a site from such a page.
            Err(FilesError::TooLarge(_)) => return Some(Vec::new()),
            Err(_) => return None,
        },
    };
    let Ok(text) = String::from_utf8(text) else { return Some(Vec::new()) };
    let front = FrontMatter::parse(&text);
    let values = ADDRESS_KEYS.iter().filter_map(|key| front.get(&text, key));
    Some(values.map(str::to_owned).collect())
}

/// Several generators serve `01-intro` as `intro`.
fn without_numbers(address: &str) -> String {
    let bare = |name: &str| {
        let rest = name.trim_start_matches(|c: char| c.is_ascii_digit());
        match rest.strip_prefix(['-', '_', '.']) {
            Some(word) if rest.len() < name.len() && !word.is_empty() => word.to_owned(),
            _ => name.to_owned(),
        }
    };
    address.split('/').map(bare).collect::<Vec<_>>().join("/")
}
