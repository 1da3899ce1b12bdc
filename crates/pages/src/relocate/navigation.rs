//! Files that list the pages of a site: where in them a whole string may name a page.
//!
//! `SUMMARY.md` and its like are pages, and their entries are links.

use std::ops::Range;

use super::spots::{Spot, SpotKind};
use crate::path;
use crate::script;
use crate::site::lead::{Lead, Target, Way};
use crate::site::{self, Site};

/// Keys under which a single word is the name of a page.
const PAGE_KEYS: &[&str] = &["pages", "page", "root", "id", "file", "link", "href", "to"];
/// Lists in a sidebar that hold no pages.
const OTHER_LISTS: &[&str] = &["keywords", "tags", "themes", "exclude", "include"];
/// Keys of addresses that are to go on leading to where they are sent from.
const OLD_ADDRESSES: &[&str] = &["source", "from"];

/// A navigation file, by how it is written and where its names count from.
pub(super) struct Navigation {
    is_yaml: bool,
    is_sidebar: bool,
    folders: Vec<String>,
}

impl Navigation {
    /// Whether the file at `path` is one.
    pub(super) fn at(path: &str) -> Option<Self> {
        let (folder, name) = (path::parent(path), path::name(path));
        let (stem, extension) = name.rsplit_once('.')?;
        let is_script = matches!(extension, "js" | "ts" | "mjs" | "mts" | "cjs" | "cts" | "json");
        let is_sidebar = is_script && (stem == "sidebars" || stem.ends_with("-sidebars"));
        let is_yaml = matches!(name, "mkdocs.yml" | "mkdocs.yaml" | "_toc.yml" | "_quarto.yml");
        let folders = match name {
            "docs.json" | "mint.json" | "_toc.yml" | "_quarto.yml" => vec![folder.to_owned()],
            "mkdocs.yml" | "mkdocs.yaml" => vec![path::join(folder, "docs")],
            _ if is_sidebar => sidebar_folders(folder, stem),
            _ if is_script && stem == "config" && path::name(folder) == ".vitepress" => {
                let docs = path::parent(folder).to_owned();
                vec![path::join(&docs, "public"), docs]
            }
            _ => return None,
        };
        Some(Self { is_yaml, is_sidebar, folders })
    }

    /// The strings that may name a page. Where `docs_dir` says so, names count from another folder.
    pub(super) fn spots(&mut self, path: &str, text: &str) -> Vec<Spot> {
        if !self.is_yaml {
            return strings(text).into_iter().filter(|string| self.is_name(string)).map(|s| s.spot).collect();
        }
        let docs = text.lines().find_map(|line| line.strip_prefix("docs_dir:")).and_then(|value| {
            let value = value.split(" #").next()?.trim().trim_matches(['"', '\'']);
            site::normalise(path::parent(path), value)
        });
        self.folders = docs.map_or_else(|| self.folders.clone(), |docs| vec![docs]);
        values(text)
    }

    fn is_name(&self, string: &Literal<'_>) -> bool {
        let is_path = string.text.contains(['/', '.']);
        let in_sidebar = self.is_sidebar && string.in_list && !OTHER_LISTS.contains(&string.key);
        !OLD_ADDRESSES.contains(&string.key) && (is_path || in_sidebar || PAGE_KEYS.contains(&string.key))
    }

    /// The file that an entry names. Folders are left to the generator.
    pub(super) fn lead(&self, site: &Site, name: &str) -> Option<Lead> {
        let prefix = ["./", "/"].into_iter().find(|prefix| name.starts_with(prefix)).unwrap_or_default();
        self.folders.iter().find_map(|base| {
            let place = site::normalise(base, name)?;
            let target = site.target(&place).filter(|target| matches!(target, Target::File(_)))?;
            let way = Way::From { prefix: prefix.to_owned(), base: base.clone() };
            Some(Lead { target, place, way, is_guess: false })
        })
    }
}

/// Those of a version are beside the folder of all versions.
fn sidebar_folders(folder: &str, stem: &str) -> Vec<String> {
    if let Some(version) = stem.strip_suffix("-sidebars") {
        return vec![path::join(path::parent(folder), &format!("versioned_docs/{version}"))];
    }
    ["docs", "../docs", ""].into_iter().filter_map(|docs| site::normalise(folder, docs)).collect()
}

/// A string that is written out in a program or in JSON.
struct Literal<'a> {
    spot: Spot,
    text: &'a str,
    /// The key that it stands under, or that its list stands under.
    key: &'a str,
    in_list: bool,
}

/// Every string that is no key.
fn strings(text: &str) -> Vec<Literal<'_>> {
    let bytes = text.as_bytes();
    let mut found: Vec<Literal<'_>> = Vec::new();
    // The brackets that are open with the keys that they stand under, the key here, and what was last read.
    let (mut open, mut key, mut last, mut at): (Vec<(u8, &str)>, &str, Range<usize>, usize) =
        (vec![], "", 0..0, 0);
    while let Some(byte) = bytes.get(at) {
        let end = token_end(bytes, at);
        match byte {
            b'{' | b'[' | b'(' => open.push((*byte, std::mem::take(&mut key))),
            b'}' | b']' | b')' => drop(open.pop()),
            b',' | b';' => key = "",
            b':' => {
                found.pop_if(|string| string.spot.range == last);
                key = &text[last.clone()];
            }
            b'"' | b'\'' | b'`' if end > at + 1 => {
                last = at + 1..end - 1;
                let (in_list, key) = match open.last() {
                    Some((b'[', list)) => (true, *list),
                    _ => (false, key),
                };
                let spot = Spot { range: last.clone(), kind: SpotKind::Entry(Some(char::from(*byte))) };
                found.push(Literal { spot, text: &text[last.clone()], key, in_list });
            }
            byte if is_word(*byte) => last = at..end,
            _ => {}
        }
        at = end;
    }
    found
}

/// The end of the string, comment, word or sign at `at`.
fn token_end(bytes: &[u8], at: usize) -> usize {
    if let Some(end) = script::quiet_end(bytes, at) {
        return end.max(at + 1);
    }
    let word = bytes[at..].iter().take_while(|byte| is_word(**byte)).count();
    at + word.max(1)
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}

/// The value of each line of YAML that looks like a path: `- a.md`, `- Title: a/b.md`, `file: "a/b"`.
fn values(text: &str) -> Vec<Spot> {
    let mut at = 0;
    let mut spots = Vec::new();
    for line in text.split_inclusive('\n') {
        let found = value(line).filter(|(range, _)| line[range.clone()].contains(['/', '.']));
        spots.extend(found.map(|(range, quote)| Spot {
            range: at + range.start..at + range.end,
            kind: SpotKind::Entry(quote),
        }));
        at += line.len();
    }
    spots
}

fn value(line: &str) -> Option<(Range<usize>, Option<char>)> {
    let line = line.split(" #").next()?.trim_end();
    let body = line.len() - line.trim_start_matches([' ', '\t', '-']).len();
    if let Some(quote) = line.chars().last().filter(|last| matches!(last, '"' | '\'')) {
        let end = line.len() - 1;
        return Some((line.get(..end)?.rfind(quote)? + 1..end, Some(quote)));
    }
    let start = line.rfind(": ").map_or(body, |colon| colon + 2);
    let start = start + line[start..].len() - line[start..].trim_start().len();
    (!line[body..].starts_with('#')).then_some((start..line.len(), None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, expected: &[&str]) {
        let found = Navigation::at(path).unwrap().spots(path, text);
        assert_eq!(found.into_iter().map(|spot| &text[spot.range]).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn names_in_data() {
        check(
            "docs.json",
            r#"{"name": "setup", "a/b": 1, "navigation": {"groups": [{"group": "setup", "pages": ["setup", "é/a", {"group": "x", "pages": ["y"]}]}]}, "redirects": [{"source": "/old", "destination": "/setup"}], "options": ["copy"]}"#,
            &["setup", "é/a", "y", "/setup"],
        );
        check(
            "mkdocs.yml",
            "site_name: setup\nplugins:\n  - search\nnav:\n  - setup.md # home\n  - 'A: b': \"c d.md\"\n  - Set up: a/b.md\n  # - no.md\n",
            &["setup.md", "c d.md", "a/b.md"],
        );
        check("_toc.yml", "root: index\nchapters:\n- file: guides/setup\n", &["guides/setup"]);
    }

    #[test]
    fn names_in_programs() {
        check(
            "sidebars.js",
            "// it's 'no' id\nmodule.exports = {\n  docs: ['intro', {type: 'doc', id: \"a\", label: 'b'}, {'Old way': ['c']}],\n  tags: ['d'],\n};\n",
            &["intro", "a", "c"],
        );
        check(
            "docs/.vitepress/config.ts",
            "export default { title: 'x', themeConfig: { sidebar: { '/g/': [{ text: 'A', link: '/g/a' }] } } }",
            &["/g/a"],
        );
        assert!(Navigation::at("config.ts").is_none() && Navigation::at("Makefile").is_none());
    }
}
