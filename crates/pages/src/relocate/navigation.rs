//! Finds and resolves the entries of navigation files.

use super::references::{Reference, ReferenceKind};
use crate::navigation::{Format, Literal, NavigationFile, literals, yaml_values};
use crate::path;
use crate::site::Site;
use crate::site::resolve::{LinkBase, ResolvedLink, Target};

/// Keys whose value is the name of a page, even if it is a single word.
const PAGE_KEYS: &[&str] = &["pages", "page", "root", "id", "file", "link", "href", "to"];
/// Keys of old addresses in redirects. These stay as they are.
const OLD_ADDRESSES: &[&str] = &["source", "from"];

pub(super) struct Navigation(NavigationFile);

impl Navigation {
    /// The navigation file at `path`. The entries of a summary are links, so it is read as a page.
    pub(super) fn at(path: &str) -> Option<Self> {
        NavigationFile::at(path).filter(|file| file.format != Format::Summary).map(Self)
    }

    /// The strings that can name a page. With `docs_dir`, names are relative to another folder.
    pub(super) fn references(&mut self, path: &str, text: &str) -> Vec<Reference> {
        if !matches!(self.0.format, Format::MkDocs | Format::Contents) {
            let names = literals(text).into_iter().filter(|string| self.is_name(string));
            let reference = |name: Literal<'_>| Reference {
                range: name.range,
                kind: ReferenceKind::Entry(Some(name.quote)),
            };
            return names.map(reference).collect();
        }
        let values = yaml_values(text);
        self.0 = self.0.clone().with_docs_dir(path, &values).unwrap_or_else(|| self.0.clone());
        let paths = values.into_iter().filter(|value| value.text.contains(['/', '.']));
        paths.map(|value| Reference { range: value.range, kind: ReferenceKind::Entry(value.quote) }).collect()
    }

    fn is_name(&self, string: &Literal<'_>) -> bool {
        let is_path = string.text.contains(['/', '.']);
        let in_sidebar = self.0.format == Format::Sidebar && string.is_in_page_list();
        !OLD_ADDRESSES.contains(&string.key) && (is_path || in_sidebar || PAGE_KEYS.contains(&string.key))
    }

    /// The file that an entry names. Folders are left to the generator.
    pub(super) fn resolve(&self, site: &Site, name: &str) -> Option<ResolvedLink> {
        let prefix = ["./", "/"].into_iter().find(|prefix| name.starts_with(prefix)).unwrap_or_default();
        self.0.folders.iter().find_map(|base| {
            let path = path::normalize(base, name)?;
            let target = site.target_at(&path).filter(|target| matches!(target, Target::File(_)))?;
            let base = LinkBase::Prefix { prefix: prefix.to_owned(), folder: base.clone() };
            Some(ResolvedLink { target, path, base, is_guess: false })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, expected: &[&str]) {
        let found = Navigation::at(path).unwrap().references(path, text);
        assert_eq!(found.into_iter().map(|reference| &text[reference.range]).collect::<Vec<_>>(), expected);
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
    fn names_in_scripts() {
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
