//! Describes the site after a change: its files, its pages, and what its generator does.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use pages::{FileKind, Kind, Tree};

use crate::guard::change::Change;
use crate::guard::repo_files;

/// The settings files of generators, and the template tags that they fill in everywhere, including code.
const TEMPLATE_TAGS: &[(&str, &[&str])] = &[
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

/// Template tags of mdBook, which needs no settings.
const MDBOOK_TAGS: [&str; 3] = ["{{#include", "{{#rustdoc_include", "{{#playground"];

pub(super) struct Site {
    files: HashSet<String>,
    /// The kinds of pages. MDX counts as Markdown.
    kinds: HashSet<FileKind>,
    hasher: RandomState,
    /// Hashes of the paths of pages, without extension and `index`, relative to every folder above them.
    pages: OnceCell<HashSet<u64>>,
    /// Template tags that are filled in everywhere, including code.
    template_tags: Vec<&'static str>,
    /// Whether the generator is known, and follows CommonMark: a backslash escapes an angle bracket, and an empty line
    /// ends HTML.
    pub(super) is_commonmark: bool,
    /// Whether the generator is VitePress or VuePress, or unknown.
    may_be_vitepress: bool,
    pub(super) is_sphinx: bool,
    /// Whether the generator copies a file that a page links to.
    pub(super) copies_linked_files: bool,
}

/// The generators that the files of a repository are for.
#[derive(Default)]
struct Generators {
    template_tags: Vec<&'static str>,
    has_settings: bool,
    has_summary: bool,
    is_vue: bool,
    has_vitepress: bool,
    /// Python-Markdown and Jekyll's kramdown don't follow CommonMark.
    is_other_markdown: bool,
    is_sphinx: bool,
    is_docusaurus: bool,
}

impl Generators {
    /// Looks at a file once: a repository can have many.
    fn add(&mut self, file: &str, kind: FileKind, base: &dyn Tree) {
        self.has_vitepress |= file.contains(".vitepress/");
        self.is_vue |= self.has_vitepress || file.contains(".vuepress/");
        self.has_summary |= file.ends_with("SUMMARY.md");
        if kind.is_page() || kind.is_image() {
            return;
        }
        let name = name_of(file);
        let starts = |names: &[&str]| names.iter().any(|start| name.starts_with(start));
        self.template_tags.extend(template_tags(file, kind, base));
        self.has_settings |= is_settings(file);
        self.is_other_markdown |= kind == FileKind::MkDocs || starts(&["_config.y"]);
        self.is_sphinx |= starts(&["conf.py", "myst.yml", "_toc.yml"]);
        self.is_docusaurus |= starts(&["docusaurus.config."]);
    }
}

impl Site {
    pub(super) fn new(change: &Change<'_>) -> Option<Self> {
        let (mut files, mut kinds, mut found) = (HashSet::new(), HashSet::new(), Generators::default());
        let mut add_kind = |kind: FileKind| {
            if kind.is_page() || kind == FileKind::Text {
                kinds.insert(as_markdown(kind));
            }
        };
        for entry in change.base.list().ok()?.into_iter().filter(|entry| entry.kind == Kind::File) {
            let kind = FileKind::of(&entry.path);
            found.add(&entry.path, kind, change.base);
            if !matches!(change.edits.get(&entry.path), Some(None)) {
                add_kind(kind);
                files.insert(entry.path);
            }
        }
        for (path, _) in change.edits.iter().filter(|(_, bytes)| bytes.is_some()) {
            add_kind(FileKind::of(path));
            files.insert(path.clone());
        }
        if !found.has_settings || found.has_summary {
            found.template_tags.extend(MDBOOK_TAGS);
        }
        Some(Self {
            files,
            kinds,
            hasher: RandomState::new(),
            pages: OnceCell::new(),
            is_commonmark: !found.is_other_markdown && (found.has_settings || found.has_vitepress),
            may_be_vitepress: found.is_vue || !found.has_settings,
            is_sphinx: found.is_sphinx,
            copies_linked_files: found.is_sphinx || found.is_docusaurus,
            template_tags: found.template_tags,
        })
    }

    fn pages(&self) -> &HashSet<u64> {
        let is_page = |file: &&String| {
            let kind = FileKind::of(file);
            repo_files::is_judged(kind) && !kind.is_data()
        };
        self.pages.get_or_init(|| {
            let paths = self.files.iter().filter(is_page).flat_map(|file| relative_paths(page_path(file)));
            paths.map(|path| self.hasher.hash_one(path)).collect()
        })
    }

    /// Whether the generator fills in a template tag in code.
    pub(super) fn fills_in(&self, tag: &str, is_fenced: bool) -> bool {
        // mdBook accepts spaces after the braces.
        let without_spaces = tag.replace(' ', "");
        self.template_tags.iter().any(|start| tag.contains(start) || without_spaces.contains(start))
            || self.may_be_vitepress && !is_fenced && tag.starts_with("{{")
    }

    pub(super) fn has_file(&self, path: &str) -> bool {
        self.files.contains(path)
    }

    /// Whether there are pages of another markup.
    pub(super) fn has_other_markup(&self, kind: FileKind) -> bool {
        self.kinds.iter().any(|other| *other != as_markdown(kind))
    }

    /// Whether a file of the repository can be the Python module with this name.
    pub(super) fn has_module(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        let ends = [format!("{name}.py"), format!("{name}/__init__.py")];
        self.files.iter().any(|file| ends.iter().any(|end| is_below(&file.to_lowercase(), end)))
    }

    /// The files that a link in a page can lead to. For a link from the root of the site, they can be in any folder.
    pub(super) fn files_at(&self, page: &str, address: &str) -> Vec<&str> {
        let rooted = address.strip_prefix("@site/").or_else(|| address.strip_prefix('/'));
        let wanted = repo_files::resolve(if rooted.is_some() { "" } else { page }, rooted.unwrap_or(address));
        // The root of the site can be a folder of the repository.
        let wanted = wanted.trim_start_matches("../");
        if rooted.is_none() {
            return self.files.get(wanted).map(String::as_str).into_iter().collect();
        }
        let is_wanted = |file: &&String| is_below(file, wanted) && !wanted.is_empty();
        self.files.iter().filter(is_wanted).map(String::as_str).collect()
    }

    /// The docs folder of a page.
    pub(super) fn docs_folder<'p>(&self, page: &'p str) -> Option<&'p str> {
        repo_files::docs_folder(page, |folder| {
            let settings = if folder.is_empty() { "conf.py".to_owned() } else { format!("{folder}/conf.py") };
            self.files.contains(&settings)
        })
    }

    /// Whether a path of the site or of the repository is a page. The root of the site can be any folder.
    pub(super) fn is_page(&self, path: &str) -> bool {
        let path =
            path.split(['#', '?']).next().unwrap_or_default().trim_matches('/').trim_start_matches("./");
        let wanted = page_path(path);
        self.files.contains(path) && FileKind::of(path).is_page()
            || self.pages().contains(&self.hasher.hash_one(wanted))
            || wanted.is_empty() && !self.pages().is_empty()
    }

    pub(super) fn files(&self) -> &HashSet<String> {
        &self.files
    }
}

fn as_markdown(kind: FileKind) -> FileKind {
    if kind == FileKind::Mdx { FileKind::Markdown } else { kind }
}

/// Whether a file is the page at a path of the site. The root of the site can be any folder.
pub(super) fn is_at(file: &str, path: &str) -> bool {
    let wanted = page_path(path.split(['#', '?']).next().unwrap_or_default().trim_matches('/'));
    !wanted.is_empty() && is_below(page_path(file), wanted)
}

/// Whether `page` is `wanted`, or is in a folder and then `wanted`.
fn is_below(page: &str, wanted: &str) -> bool {
    page == wanted || page.strip_suffix(wanted).is_some_and(|above| above.ends_with('/')) || wanted.is_empty()
}

/// The path of a page, relative to the repository and to each folder above it.
fn relative_paths(page: &str) -> impl Iterator<Item = &str> {
    std::iter::once(page).chain(page.match_indices('/').map(|(at, _)| &page[at + 1..]))
}

/// A path without the extension of a page and without `index`.
pub(super) fn page_path(path: &str) -> &str {
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

pub(super) fn name_of(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or_default()
}

/// Whether a file has the settings of a generator that doesn't fill in code spans.
pub(super) fn is_settings(file: &str) -> bool {
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
        || TEMPLATE_TAGS.iter().any(|(settings, _)| *settings == name)
        || starts.iter().any(|start| name.starts_with(start))
}

fn template_tags(file: &str, kind: FileKind, base: &dyn Tree) -> &'static [&'static str] {
    let name = name_of(file);
    if kind != FileKind::MkDocs {
        return TEMPLATE_TAGS.iter().find(|(settings, _)| *settings == name).map_or(&[], |(_, marks)| marks);
    }
    let has_macros = match base.read(file, 1024 * 1024) {
        Ok(bytes) => ["macros", "jinja", "markdown-include"]
            .iter()
            .any(|word| String::from_utf8_lossy(&bytes).contains(word)),
        Err(_) => true,
    };
    if has_macros { &["{{", "{%", "{#", "{!"] } else { &[] }
}
