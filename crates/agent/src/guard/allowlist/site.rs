//! The pages of a site after a change.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use pages::{FileKind, Kind, Tree};

use super::super::Change;
use super::local;

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
    /// The kinds of pages that there are.
    kinds: HashSet<FileKind>,
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
    pub(super) is_sphinx: bool,
    /// Whether the generator copies a file that a page links to.
    pub(super) copies_linked_files: bool,
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
        let is_named = |names: &[&str]| {
            let is_one = |file: &String| names.iter().any(|name| name_of(file).starts_with(name));
            files.iter().any(is_one)
        };
        let is_sphinx = is_named(&["conf.py", "myst.yml", "_toc.yml"]);
        let copies_linked_files = is_sphinx || is_named(&["docusaurus.config."]);
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
        let kinds = files.iter().map(|file| FileKind::of(file));
        let kinds = kinds.filter(|kind| kind.is_page() || *kind == FileKind::Text).map(as_markdown).collect();
        Some(Self {
            files,
            kinds,
            hasher,
            pages,
            filled_in,
            is_vitepress,
            is_commonmark,
            is_sphinx,
            copies_linked_files,
        })
    }

    /// Whether the generator fills in a mark that stands in code.
    pub(super) fn fills_in(&self, mark: &str, is_fenced: bool) -> bool {
        // mdBook takes blanks behind the braces.
        let solid = mark.replace(' ', "");
        self.filled_in.iter().any(|start| mark.contains(start) || solid.contains(start))
            || self.is_vitepress && !is_fenced && mark.starts_with("{{")
    }

    pub(super) fn has_file(&self, path: &str) -> bool {
        self.files.contains(path)
    }

    /// Whether there are pages that are read in another way than those of this kind.
    pub(super) fn has_other_markup(&self, kind: FileKind) -> bool {
        self.kinds.iter().any(|other| *other != as_markdown(kind))
    }

    /// Whether a file of the repository may be the Python module of this name.
    pub(super) fn has_module(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        let ends = [format!("{name}.py"), format!("{name}/__init__.py")];
        self.files.iter().any(|file| ends.iter().any(|end| is_below(&file.to_lowercase(), end)))
    }

    /// The files that a link in a page may stand for. One from the root of the site may be in any folder.
    pub(super) fn files_at(&self, page: &str, address: &str) -> Vec<&str> {
        let rooted = address.strip_prefix("@site/").or_else(|| address.strip_prefix('/'));
        let wanted = local::resolve(if rooted.is_some() { "" } else { page }, rooted.unwrap_or(address));
        // The root of the site may be a folder of the repository.
        let wanted = wanted.trim_start_matches("../");
        if rooted.is_none() {
            return self.files.get(wanted).map(String::as_str).into_iter().collect();
        }
        let is_wanted = |file: &&String| is_below(file, wanted) && !wanted.is_empty();
        self.files.iter().filter(is_wanted).map(String::as_str).collect()
    }

    /// The folder with the docs that a page is part of.
    pub(super) fn docs_folder<'p>(&self, page: &'p str) -> Option<&'p str> {
        local::docs_folder(page, |folder| {
            let settings = if folder.is_empty() { "conf.py".to_owned() } else { format!("{folder}/conf.py") };
            self.files.contains(&settings)
        })
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

fn as_markdown(kind: FileKind) -> FileKind {
    if kind == FileKind::Mdx { FileKind::Markdown } else { kind }
}

/// Whether a file is the page at a path of the site, below any folder that the site may begin at.
pub(super) fn is_at(file: &str, path: &str) -> bool {
    let wanted = page_path(path.split(['#', '?']).next().unwrap_or_default().trim_matches('/'));
    !wanted.is_empty() && is_below(page_path(file), wanted)
}

/// Whether `page` is `wanted` itself, or ends with it behind a folder.
fn is_below(page: &str, wanted: &str) -> bool {
    page == wanted || page.strip_suffix(wanted).is_some_and(|above| above.ends_with('/')) || wanted.is_empty()
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

fn name_of(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or_default()
}

/// Whether a file is the settings of a generator that fills in nothing in code spans.
fn is_settings(file: &str) -> bool {
    let name = name_of(file);
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
    let name = name_of(file);
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
