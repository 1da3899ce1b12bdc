//! Files that list the pages of a site: where in them a whole string may name a page.

use super::spots::{Spot, SpotKind};
use crate::navigation::{Format, Literal, NavigationFile, literals, yaml_values};
use crate::site::lead::{Lead, Target, Way};
use crate::site::{self, Site};

/// Keys under which a single word is the name of a page.
const PAGE_KEYS: &[&str] = &["pages", "page", "root", "id", "file", "link", "href", "to"];
/// Keys of addresses that are to go on leading to where they are sent from.
const OLD_ADDRESSES: &[&str] = &["source", "from"];

pub(super) struct Navigation(NavigationFile);

impl Navigation {
    /// Whether the file at `path` is one. The entries of a summary are links, and it is read as a page.
    pub(super) fn at(path: &str) -> Option<Self> {
        NavigationFile::at(path).filter(|file| file.format != Format::Summary).map(Self)
    }

    /// The strings that may name a page. Where `docs_dir` says so, names count from another folder.
    pub(super) fn spots(&mut self, path: &str, text: &str) -> Vec<Spot> {
        if !matches!(self.0.format, Format::MkDocs | Format::Contents) {
            let names = literals(text).into_iter().filter(|string| self.is_name(string));
            let spot =
                |name: Literal<'_>| Spot { range: name.range, kind: SpotKind::Entry(Some(name.quote)) };
            return names.map(spot).collect();
        }
        let values = yaml_values(text);
        self.0 = self.0.clone().with_docs_dir(path, &values).unwrap_or_else(|| self.0.clone());
        let paths = values.into_iter().filter(|value| value.text.contains(['/', '.']));
        paths.map(|value| Spot { range: value.range, kind: SpotKind::Entry(value.quote) }).collect()
    }

    fn is_name(&self, string: &Literal<'_>) -> bool {
        let is_path = string.text.contains(['/', '.']);
        let in_sidebar = self.0.format == Format::Sidebar && string.is_in_page_list();
        !OLD_ADDRESSES.contains(&string.key) && (is_path || in_sidebar || PAGE_KEYS.contains(&string.key))
    }

    /// The file that an entry names. Folders are left to the generator.
    pub(super) fn lead(&self, site: &Site, name: &str) -> Option<Lead> {
        let prefix = ["./", "/"].into_iter().find(|prefix| name.starts_with(prefix)).unwrap_or_default();
        self.0.folders.iter().find_map(|base| {
            let place = site::normalise(base, name)?;
            let target = site.target(&place).filter(|target| matches!(target, Target::File(_)))?;
            let way = Way::From { prefix: prefix.to_owned(), base: base.clone() };
            Some(Lead { target, place, way, is_guess: false })
        })
    }
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
