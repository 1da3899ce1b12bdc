//! Recognizes navigation files, and finds the strings in them that can name a page.

use std::ops::Range;

use crate::constructs::{ConstructKind, constructs};
use crate::frontmatter::literal_range;
use crate::kind::FileKind;
use crate::path;
use crate::script;

/// A file that lists the pages of a site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NavigationFile {
    pub(crate) format: Format,
    /// The folders that its names can be relative to. The first one that exists contains the pages.
    pub(crate) folders: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// `docs.json` and `mint.json`.
    Mintlify,
    /// `mkdocs.yml`.
    MkDocs,
    /// `_toc.yml` of Jupyter Book and `_quarto.yml`.
    Contents,
    /// `sidebars.js` of Docusaurus.
    Sidebar,
    /// `.vitepress/config.ts`.
    VitePress,
    /// `SUMMARY.md` of mdBook and `_sidebar.md` of Docsify: pages whose links are the entries.
    Summary,
}

impl NavigationFile {
    /// The navigation file at `path`. `None` for other files, and for files of dependencies.
    pub(crate) fn at(path: &str) -> Option<Self> {
        let (folder, name) = (path::parent(path), path::name(path));
        if folder.split('/').any(|part| part == "node_modules") {
            return None;
        }
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        let is_sidebar = stem == "sidebars" || stem.ends_with("-sidebars");
        let (format, folders) = match FileKind::of(path) {
            FileKind::Mintlify => (Format::Mintlify, vec![folder.to_owned()]),
            FileKind::MkDocs => (Format::MkDocs, vec![path::join(folder, "docs")]),
            _ if is_sidebar && (FileKind::is_script(name) || name.ends_with(".json")) => {
                (Format::Sidebar, sidebar_folders(folder, stem))
            }
            _ if path::name(folder) == ".vitepress" && FileKind::is_script(name) => {
                let docs = path::parent(folder);
                (Format::VitePress, vec![docs.to_owned(), path::join(docs, "public")])
            }
            _ => match name {
                "_toc.yml" | "_quarto.yml" => (Format::Contents, vec![folder.to_owned()]),
                "SUMMARY.md" | "_sidebar.md" => (Format::Summary, vec![folder.to_owned()]),
                _ => return None,
            },
        };
        Some(Self { format, folders })
    }

    /// The same file with the folder that `docs_dir` in `mkdocs.yml` names.
    pub(crate) fn with_docs_dir(mut self, path: &str, values: &[Value<'_>]) -> Option<Self> {
        if let Some(docs) = values.iter().find(|value| value.key == "docs_dir") {
            self.folders = vec![path::normalize(path::parent(path), docs.text)?];
        }
        Some(self)
    }
}

/// The folders of a sidebar. The pages of a version are in `versioned_docs`, beside the folder of the sidebars.
fn sidebar_folders(folder: &str, stem: &str) -> Vec<String> {
    if let Some(version) = stem.strip_suffix("-sidebars") {
        return vec![path::join(path::parent(folder), &format!("versioned_docs/{version}"))];
    }
    ["docs", "../docs", ""].into_iter().filter_map(|docs| path::normalize(folder, docs)).collect()
}

/// A value of a YAML file that is written literally on one line.
pub(crate) struct Value<'a> {
    /// The keys from the top, joined by dots.
    pub(crate) key: String,
    pub(crate) text: &'a str,
    /// Without its quotes.
    pub(crate) range: Range<usize>,
    pub(crate) quote: Option<char>,
}

/// The values of a YAML file. Empty when it can't be parsed.
pub(crate) fn yaml_values(text: &str) -> Vec<Value<'_>> {
    let start = text.len() - text.trim_start_matches('\u{feff}').len();
    let value = |construct: crate::Construct| {
        let ConstructKind::Setting(entry) = construct.kind else { return None };
        let (range, quote) = literal_range(text, start + construct.span.start, &entry.value)?;
        Some(Value { key: entry.key, text: &text[range.clone()], range, quote })
    };
    constructs(FileKind::MkDocs, &text[start..]).into_iter().filter_map(value).collect()
}

/// A string literal in a script or in JSON that is not a key.
pub(crate) struct Literal<'a> {
    pub(crate) text: &'a str,
    /// Without its quotes.
    pub(crate) range: Range<usize>,
    pub(crate) quote: char,
    /// Its key, or the key of its list.
    pub(crate) key: &'a str,
    /// The bracket around it.
    opened_by: u8,
}

impl Literal<'_> {
    /// Whether it is in a list of pages. Lists in a sidebar under some keys contain no pages.
    pub(crate) fn is_in_page_list(&self) -> bool {
        self.opened_by == b'[' && !["keywords", "tags", "themes", "exclude", "include"].contains(&self.key)
    }

    pub(crate) fn is_in_object(&self) -> bool {
        self.opened_by == b'{'
    }
}

/// The string literals of a script or of JSON that are not keys.
pub(crate) fn literals(text: &str) -> Vec<Literal<'_>> {
    let bytes = text.as_bytes();
    let mut found: Vec<Literal<'_>> = Vec::new();
    // The open brackets with their keys, the current key, and the last word or string.
    let (mut open, mut key, mut last, mut at): (Vec<(u8, &str)>, &str, Range<usize>, usize) =
        (vec![], "", 0..0, 0);
    while let Some(byte) = bytes.get(at) {
        let end = token_end(bytes, at);
        match byte {
            b'{' | b'[' | b'(' => open.push((*byte, std::mem::take(&mut key))),
            b'}' | b']' | b')' => drop(open.pop()),
            b',' | b';' => key = "",
            b':' => {
                found.pop_if(|string| string.range == last);
                key = &text[last.clone()];
            }
            quote @ (b'"' | b'\'' | b'`') if end > at + 1 && bytes[end - 1] == *quote => {
                last = at + 1..end - 1;
                let (opened_by, list) = open.last().copied().unwrap_or((b' ', ""));
                let key = if opened_by == b'[' { list } else { key };
                let quote = char::from(*quote);
                found.push(Literal { text: &text[last.clone()], range: last.clone(), quote, key, opened_by });
            }
            byte if is_word(*byte) => last = at..end,
            _ => {}
        }
        at = end;
    }
    found
}

/// The end of the string, comment, word or other character at `at`.
fn token_end(bytes: &[u8], at: usize) -> usize {
    if let Some(end) = script::literal_end(bytes, at) {
        return end.max(at + 1);
    }
    let word = bytes[at..].iter().take_while(|byte| is_word(**byte)).count();
    at + word.max(1)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}
