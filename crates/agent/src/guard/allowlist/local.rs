//! Files of the repository that a page publishes by naming them: those it links to, shows or takes in.
//!
//! Sphinx and Docusaurus copy a file that a page links to or shows to the site, wherever it is in the repository. So a
//! page may name pages, files of the docs folder that are made to be published, and what the docs name already.

use std::collections::HashSet;

use pages::{AttributeValue, Construct, ConstructKind, Element, FileKind, Reading, WordList};

use super::super::url;
use super::site::Site;
use super::{Judge, Verdict, refused, strictest};

/// Endings of files that are made for readers of a site.
const ASSETS: WordList = WordList(
    "pdf zip gz tgz tar xz 7z csv tsv xls xlsx doc docx ppt pptx odt ods odp rtf epub txt mp3 mp4 m4a webm ogg wav \
     mov woff woff2 ttf stl bib drawio",
);
/// Folders that generators publish as they are.
const PUBLIC_FOLDERS: WordList = WordList("static _static public");
/// Folders that docs are in.
const DOCS_FOLDERS: WordList = WordList("docs doc documentation content site website book guide guides");

/// A folder that docs take so many files in from is there for that.
const MANY_FILES: usize = 5;

/// The files that pages of the base name.
#[derive(Default)]
pub(super) struct NamedFiles {
    linked: HashSet<String>,
    included: HashSet<String>,
    /// The attributes that conditions of AsciiDoc ask for.
    conditions: HashSet<String>,
    image_folders: HashSet<String>,
}

impl NamedFiles {
    pub(super) fn learn(&mut self, page: &str, construct: &Construct) {
        match &construct.kind {
            // A mark in a comment takes nothing in.
            _ if matches!(construct.reading, Reading::Doubtful(_)) => {}
            ConstructKind::Link(address) => drop(self.linked.insert(resolve(page, address))),
            ConstructKind::Image(address) => {
                self.image_folders.insert(folder_of(&resolve(page, address)).to_owned());
            }
            ConstructKind::Html(element) if element.name == "img" => {
                let values = element.attributes.iter().filter_map(|attribute| match &attribute.value {
                    AttributeValue::Text(address) if attribute.name == "src" => Some(address),
                    _ => None,
                });
                self.image_folders
                    .extend(values.map(|address| folder_of(&resolve(page, address)).to_owned()));
            }
            // Nor does one that is shown as it is written.
            ConstructKind::Include(mark) if mark.starts_with(';') => {}
            ConstructKind::Include(mark) if is_condition(mark) => {
                self.conditions.extend(condition(mark).map(str::to_owned));
            }
            ConstructKind::Include(mark) => self.included.extend(included_file(page, mark)),
            _ => {}
        }
    }
}

impl NamedFiles {
    /// Whether the docs take in this file, or so many of its folder that it is one of examples.
    fn takes_in(&self, file: &str) -> bool {
        let first = |path: &str| path.split_once('/').map(|(first, _)| first.to_owned());
        let folder = first(file).filter(|folder| folder != ".." && !is_hidden(file));
        let of_folder = || self.included.iter().filter(|known| first(known) == folder).count();
        self.included.contains(file) || folder.is_some() && of_folder() >= MANY_FILES
    }

    /// Whether other conditions of AsciiDoc ask for all that this one does, and its text is in lines of their own.
    fn asks(&self, mark: &str) -> bool {
        let names = condition(mark);
        mark.ends_with("[]")
            && (mark.starts_with("endif::") || names.clone().next().is_some())
            && names.into_iter().all(|name| name.is_empty() || self.conditions.contains(name))
    }
}

/// The attributes that a condition of AsciiDoc asks for.
fn condition(mark: &str) -> impl Iterator<Item = &str> + Clone {
    let names = ["ifdef::", "ifndef::", "endif::"].iter().find_map(|start| mark.strip_prefix(start));
    names.unwrap_or_default().split('[').next().unwrap_or_default().split([',', '+'])
}

impl Judge<'_, '_> {
    /// A link of Markdown; those of other markup copy nothing.
    pub(super) fn linked_file(&self, page: &str, kind: FileKind, address: &str) -> Verdict {
        let is_markdown = matches!(kind, FileKind::Markdown | FileKind::Mdx | FileKind::Notebook);
        if !is_markdown || pages::is_external(address) {
            return Verdict::Passes;
        }
        match self.publishes(page, address) {
            true => refused("links to a file that is no page, which publishes it"),
            false => Verdict::Passes,
        }
    }

    /// Whether the generator copies a file of the repository for this address that nobody made for readers.
    fn publishes(&self, page: &str, address: &str) -> bool {
        let Some(site) = self.site().filter(|site| site.copies_linked_files) else { return false };
        let is_private = |file: &str| {
            !is_public(site, page, file)
                && !self.vocabulary().is_some_and(|docs| docs.files.linked.contains(file))
        };
        site.files_at(page, address).into_iter().any(is_private)
    }

    /// An image, which Sphinx copies to the site.
    pub(super) fn shown_file(&self, page: &str, kind: FileKind, address: &str) -> Verdict {
        if !pages::is_external(address) && self.publishes(page, address) {
            return refused("shows a file that is no image, which publishes it");
        }
        let is_copied = kind == FileKind::Rst || self.site().is_some_and(|site| site.is_sphinx);
        let root = self.site().and_then(|site| site.docs_folder(page));
        let (Some(root), true, false) = (root, is_copied, pages::is_external(address)) else {
            return Verdict::Passes;
        };
        let file = resolve(page, address);
        let is_used =
            || self.vocabulary().is_some_and(|docs| docs.files.image_folders.contains(folder_of(&file)));
        match address.starts_with('/') || is_inside(&file, root) && !is_hidden(&file) || is_used() {
            true => Verdict::Passes,
            false => refused("shows an image from a folder outside the docs that no page shows images from"),
        }
    }

    /// An image in a tag, which MyST can be told to copy as well.
    pub(super) fn shown_by_tag(&self, page: &str, kind: FileKind, element: &Element) -> Verdict {
        let sources =
            element.attributes.iter().filter(|attribute| attribute.name.eq_ignore_ascii_case("src"));
        strictest(sources.map(|source| match &source.value {
            AttributeValue::Text(address) if element.name == "img" => self.shown_file(page, kind, address),
            _ => Verdict::Passes,
        }))
    }

    /// Whether a page may take in a file: one that the docs take in already, or a page of the docs.
    pub(super) fn may_include(&self, page: &str, kind: FileKind, mark: &str) -> bool {
        if is_condition(mark) {
            return self.vocabulary().is_some_and(|docs| docs.files.asks(mark));
        }
        let Some(file) = included_file(page, mark) else { return false };
        let is_known = || self.vocabulary().is_some_and(|docs| docs.files.takes_in(&file));
        let is_page = || {
            let site = self.site()?;
            let is_inside = is_inside(&file, site.docs_folder(page)?) && !is_hidden(&file);
            Some(is_inside && FileKind::of(&file) == kind && site.has_file(&file))
        };
        is_known() || is_page() == Some(true)
    }
}

/// Whether a file is one of those for readers.
fn is_public(site: &Site, page: &str, file: &str) -> bool {
    let kind = FileKind::of(file);
    let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending).to_lowercase();
    let is_of_docs = site.docs_folder(page).is_some_and(|root| is_inside(file, root));
    let is_served = folder_of(file).split('/').any(|part| PUBLIC_FOLDERS.contains(part));
    let is_asset = is_of_docs && (ASSETS.contains(&ending) || kind == FileKind::OpenApi);
    !is_hidden(file) && (kind.is_page() || kind.is_image() || kind == FileKind::Html || is_served || is_asset)
}

/// The path of the repository that an address in a page stands for. A path that leads out of it begins with `../`.
pub(super) fn resolve(page: &str, address: &str) -> String {
    let path = address.split(['#', '?']).next().unwrap_or_default();
    let path = url::decoded(path).trim().replace('\\', "/");
    let folder = if path.starts_with('/') { "" } else { folder_of(page) };
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// The one file that a mark takes in. Nothing for an address, and for what is put together from attributes.
fn included_file(page: &str, mark: &str) -> Option<String> {
    // With another parser the file is another page.
    if mark.contains(":parser:") || is_condition(mark) {
        return None;
    }
    let target = match mark.split_once("::") {
        Some((_, target)) => target.split('[').next()?,
        None => {
            let words = mark.split(|c: char| c.is_whitespace() || "\"'{}[]*<>()".contains(c));
            let mut paths = words.filter(|word| !word.starts_with(['#', '@']) && word.contains(['/', '.']));
            paths.next().filter(|_| paths.next().is_none())?
        }
    };
    // mdBook and snippets name a part of a file behind a colon.
    let path = target.trim().split(':').next().filter(|path| !path.is_empty())?;
    let is_plain = !pages::is_external(target.trim()) || !target.contains("//");
    (is_plain && !path.contains(['{', '*', '\\', '%', '&'])).then(|| resolve(page, path))
}

/// `ifdef::x[]` and the like: the preprocessor of AsciiDoc knows more than files.
fn is_condition(mark: &str) -> bool {
    let mark = mark.trim_start_matches('\\');
    ["ifdef::", "ifndef::", "ifeval::", "endif::"].iter().any(|start| mark.starts_with(start))
}

/// The folder with the docs that a page belongs to: that of the settings of Sphinx, or the first with a usual name.
pub(super) fn docs_folder(page: &str, is_root: impl Fn(&str) -> bool) -> Option<&str> {
    let folder = folder_of(page);
    let above = || {
        let ends = folder.match_indices('/').map(|(at, _)| at).chain(std::iter::once(folder.len()));
        ends.map(|end| &folder[..end])
    };
    let named = |folder: &&str| folder.rsplit('/').next().is_some_and(|name| DOCS_FOLDERS.contains(name));
    std::iter::once("").chain(above()).filter(|folder| is_root(folder)).last().or_else(|| above().find(named))
}

pub(super) fn is_inside(file: &str, folder: &str) -> bool {
    let is_out = file == ".." || file.starts_with("../");
    !is_out && (folder.is_empty() || file.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
}

fn is_hidden(file: &str) -> bool {
    file.split('/').any(|part| part.starts_with('.'))
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_repository() {
        for (address, expected) in [
            ("../.env", ".env"),
            ("./b.md#part", "docs/b.md"),
            ("%2e%2e/x?y", "x"),
            ("..\\x", "x"),
            ("/x.png", "x.png"),
            ("../../x", "../x"),
        ] {
            assert_eq!(resolve("docs/a.md", address), expected, "{address}");
        }
    }

    #[test]
    fn what_marks_take_in() {
        for (mark, expected) in [
            ("include::../src/x.py[tag=a]", Some("src/x.py")),
            ("literalinclude::../src/x.py", Some("src/x.py")),
            ("--8<-- \"b.md\"", Some("docs/b.md")),
            ("{{#include ../x.rs:1:3}}", Some("x.rs")),
            ("include::https://e.example/x[]", None),
            ("include::{dir}/x[]", None),
            ("include::x.md :parser: myst", None),
        ] {
            assert_eq!(included_file("docs/a.md", mark).as_deref(), expected, "{mark}");
        }
    }
}
