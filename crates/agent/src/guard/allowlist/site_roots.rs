//! Lists the addresses at which the pages of a site can be served.
//!
//! A redirect from such an address can hide a page. The root of the site is not always known: it can be the docs folder,
//! a folder with settings of a generator, or a folder below it with a name that generators use. Each of them counts.

use std::collections::HashSet;

use pages::{FileKind, FilesError, FrontMatter, MAX_TEXT_BYTES, WordList};

use super::site::{is_settings, name_of, page_path};
use crate::guard::change::Change;
use crate::guard::repo_files;

/// Folders with the pages of a site.
const PAGE_FOLDERS: WordList = WordList(
    "docs doc documentation content contents src source site pages website web book guide www public static",
);
/// Front matter keys that give a page another address.
const ADDRESS_KEYS: [&str; 4] = ["slug", "permalink", "url", "id"];

/// The addresses of all pages and HTML files, without slashes around them. `None` if one of them can't be read.
pub(super) fn served_addresses(
    files: &HashSet<String>,
    docs_path: Option<&str>,
    change: &Change<'_>,
) -> Option<HashSet<String>> {
    let roots = roots(files, docs_path, change);
    let mut addresses = HashSet::new();
    let pages: Vec<&str> = files.iter().map(String::as_str).filter(|file| is_served(file)).collect();
    change.base.prefetch(&pages).ok()?;
    for file in pages {
        let page = page_path(file);
        let own = own_address(change, file)?;
        for start in std::iter::once(0).chain(file.match_indices('/').map(|(at, _)| at + 1)) {
            if roots.contains(file[..start].trim_end_matches('/')) {
                let address = page.get(start..).unwrap_or_default();
                let folder = address.rsplit_once('/').map_or("", |(folder, _)| folder);
                addresses
                    .extend(own.iter().map(|own| format!("{folder}/{own}").trim_matches('/').to_owned()));
                addresses.insert(without_numbers(address));
                addresses.insert(address.to_owned());
            }
        }
        addresses.extend(own);
    }
    Some(addresses)
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

/// The address in the front matter of a page, in its current text. The outer `None`: the page can't be read.
fn own_address(change: &Change<'_>, file: &str) -> Option<Option<String>> {
    let text = match change.edits.get(file) {
        Some(Some(bytes)) => bytes.clone(),
        Some(None) => return Some(None),
        None => match change.base.read(file, MAX_TEXT_BYTES) {
            Ok(bytes) => bytes,
            // Nothing generates a site from such a page.
            Err(FilesError::TooLarge(_)) => return Some(None),
            Err(_) => return None,
        },
    };
    let Ok(text) = String::from_utf8(text) else { return Some(None) };
    let front = FrontMatter::parse(&text);
    let value = ADDRESS_KEYS.iter().find_map(|key| front.get(&text, key));
    Some(value.map(|value| value.trim_matches('/').to_owned()))
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
