//! The pages of a site after a change.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use pages::{FileKind, Kind, Tree};

use super::super::Change;

/// The settings of generators, and the marks that they fill in wherever they stand, code included.
const FILLED_IN: &[(&str, &[&str])] = &[
    ("_config.yml", &["{{", "{%"]),
    ("_config.yaml", &["{{", "{%"]),
    (".eleventy.js", &["{{", "{%"]),
    ("eleventy.config.js", &["{{", "{%"]),
    ("eleventy.config.mjs", &["{{", "{%"]),
    ("eleventy.config.cjs", &["{{", "{%"]),
    ("book.toml", &["{{#"]),
    ("_quarto.yml", &["{{<"]),
    ("_quarto.yaml", &["{{<"]),
    ("hugo.toml", &["{{<", "{{%"]),
    ("hugo.yaml", &["{{<", "{{%"]),
    ("hugo.yml", &["{{<", "{{%"]),
    ("hugo.json", &["{{<", "{{%"]),
];

/// Marks that mdBook, which needs no settings, fills in.
const MDBOOK: [&str; 3] = ["{{#include", "{{#rustdoc_include", "{{#playground"];

pub(super) struct Site {
    files: HashSet<String>,
    hasher: RandomState,
    /// Hashes of the paths of pages without ending and without `index`, from every folder that they are in.
    pages: HashSet<u64>,
    /// Marks that are filled in in all code, and those in code without a fence.
    filled_in: Vec<&'static str>,
    /// Whether the generator is known, and reads Markdown by the standard: a backslash before an angle bracket makes it
    /// a character, and an empty line ends HTML.
    pub(super) is_commonmark: bool,
    /// Or not known to be anything else.
    is_vitepress: bool,
}

impl Site {
    pub(super) fn of(change: &Change<'_>) -> Option<Self> {
        let entries = change.base.list().ok()?;
        let base = entries.into_iter().filter(|entry| entry.kind == Kind::File).map(|entry| entry.path);
        let mut files: HashSet<String> = base.collect();
        let mut filled_in: Vec<_> =
            files.iter().flat_map(|file| filled_in(file, change.base)).copied().collect();
        let may_be_mdbook = |file: &String| file.ends_with("SUMMARY.md");
        if !files.iter().any(|file| is_settings(file)) || files.iter().any(may_be_mdbook) {
            filled_in.extend(MDBOOK);
        }
        // Python-Markdown and Jekyll's kramdown have standards of their own.
        let is_other = |file: &String| {
            FileKind::of(file) == FileKind::MkDocs
                || file.rsplit('/').next().is_some_and(|name| name.starts_with("_config.y"))
        };
        let is_commonmark = !files.iter().any(is_other)
            && files.iter().any(|file| is_settings(file) || file.contains(".vitepress/"));
        let is_vitepress =
            files.iter().any(|file| file.contains(".vitepress/") || file.contains(".vuepress/"))
                || !files.iter().any(|file| is_settings(file));
        for (path, bytes) in change.edits {
            match bytes {
                Some(_) => files.insert(path.clone()),
                None => files.remove(path),
            };
        }
        let hasher = RandomState::new();
        let pages = files
            .iter()
            .filter(|file| super::is_read(FileKind::of(file)) && !FileKind::of(file).is_data())
            .flat_map(|file| from_every_folder(page_path(file)))
            .map(|path| hasher.hash_one(path))
            .collect();
        Some(Self { files, hasher, pages, filled_in, is_vitepress, is_commonmark })
    }

    /// Whether the generator fills in a mark that stands in code.
    pub(super) fn fills_in(&self, mark: &str, is_fenced: bool) -> bool {
        // mdBook takes blanks behind the braces.
        let solid = mark.replace(' ', "");
        self.filled_in.iter().any(|start| mark.contains(start) || solid.contains(start))
            || self.is_vitepress && !is_fenced && mark.starts_with("{{")
    }

    /// Whether a path of the site or of the repository is a page, below any folder that a site may begin at.
    pub(super) fn is_page(&self, path: &str) -> bool {
        let path =
            path.split(['#', '?']).next().unwrap_or_default().trim_matches('/').trim_start_matches("./");
        let wanted = page_path(path);
        self.files.contains(path) && FileKind::of(path).is_page()
            || self.pages.contains(&self.hasher.hash_one(wanted))
            || wanted.is_empty() && !self.pages.is_empty()
    }
}

/// Whether a file is the page at a path of the site, below any folder that the site may begin at.
pub(super) fn is_at(file: &str, path: &str) -> bool {
    let wanted = page_path(path.split(['#', '?']).next().unwrap_or_default().trim_matches('/'));
    !wanted.is_empty() && from_every_folder(page_path(file)).any(|page| page == wanted)
}

/// The path of a page, and what is left of it behind each folder.
fn from_every_folder(page: &str) -> impl Iterator<Item = &str> {
    std::iter::once(page).chain(page.match_indices('/').map(|(at, _)| &page[at + 1..]))
}

/// A path without the ending of a page and without `index`.
fn page_path(path: &str) -> &str {
    let stem = match FileKind::of(path).is_page() {
        true => path.rsplit_once('.').map_or(path, |(stem, _)| stem),
        false => path.strip_suffix(".html").unwrap_or(path),
    };
    let (folder, name) = stem.rsplit_once('/').unwrap_or(("", stem));
    if ["index", "_index", "readme"].iter().any(|index| name.eq_ignore_ascii_case(index)) {
        folder
    } else {
        stem
    }
}

/// Whether a file is the settings of a generator that fills in nothing in code spans.
fn is_settings(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or_default();
    let starts = [
        "docusaurus.config.",
        "astro.config.",
        "next.config.",
        "antora",
        "_quarto.",
        "conf.py",
        "hugo.",
        "gatsby-config.",
        "package-docs",
    ];
    matches!(FileKind::of(file), FileKind::MkDocs | FileKind::Mintlify)
        || FILLED_IN.iter().any(|(settings, _)| *settings == name)
        || starts.iter().any(|start| name.starts_with(start))
}

fn filled_in(file: &str, base: &dyn Tree) -> &'static [&'static str] {
    let name = file.rsplit('/').next().unwrap_or_default();
    if FileKind::of(file) != FileKind::MkDocs {
        return FILLED_IN.iter().find(|(settings, _)| *settings == name).map_or(&[], |(_, marks)| marks);
    }
    let has_macros = match base.read(file, 1024 * 1024) {
        Ok(bytes) => ["macros", "jinja", "markdown-include"]
            .iter()
            .any(|word| String::from_utf8_lossy(&bytes).contains(word)),
        Err(_) => true,
    };
    if has_macros { &["{{", "{%", "{#", "{!"] } else { &[] }
}
