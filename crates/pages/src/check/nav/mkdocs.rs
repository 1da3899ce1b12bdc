//! Reads `nav:` of `mkdocs.yml`, if it is plain data.

use super::{Entry, Nav};
use crate::WordList;
use crate::destination;
use crate::navigation::{NavigationFile, yaml_values};
use crate::route;
use crate::splice::LineIndex;

/// Plugins and keys that generate, move or collect pages when the site is built.
const GENERATORS: WordList = WordList(
    "gen-files gen_files literate-nav awesome monorepo multirepo i18n hooks: autonav autoapi !include !ENV \
     not_in_nav exclude_docs INHERIT section-index redirects macros blog mike",
);

/// Reads a navigation file. `None` when it has no list of pages.
pub(super) fn read(file: NavigationFile, path: &str, text: &str) -> Option<Nav> {
    let (values, lines) = (yaml_values(text), LineIndex::new(text));
    let mut entries =
        values.iter().filter(|value| value.key == "nav" || value.key.starts_with("nav.")).peekable();
    entries.peek()?;
    let entries = entries.filter(|value| is_page(value.text));
    let entry = |value: &crate::navigation::Value<'_>| Entry {
        line: lines.line(value.range.start),
        name: value.text.to_owned(),
    };
    let nav = Nav::new(file.with_docs_dir(path, &values)?, path, entries.map(entry).collect());
    let is_generated = GENERATORS.iter().any(|word| text.contains(word));
    Some(Nav { is_open: is_generated, checks_entries: !is_generated, ..nav })
}

fn is_page(value: &str) -> bool {
    route::stem(value).is_some() && !destination::is_external(value) && !value.contains(['*', '{', '$'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nav(text: &str) -> Option<Nav> {
        read(NavigationFile::at("mkdocs.yml").unwrap(), "mkdocs.yml", text)
    }

    #[test]
    fn entries_of_a_list() {
        let text = "site_name: A\nnav:\n  - index.md # home\n  - 'Set: up': \"setup/a.md\"\n  - More:\n    - B: b.md\n\n    - https://a.b/c.md\n    - \"d e.md\"\ntheme:\n  - x.md\n";
        let found = nav(text).unwrap();
        let found: Vec<_> = found.entries.iter().map(|entry| (entry.line, entry.name.as_str())).collect();
        assert_eq!(found, [(3, "index.md"), (4, "setup/a.md"), (6, "b.md"), (9, "d e.md")]);
        assert!(nav("site_name: A\n").is_none());
        assert_eq!(nav("docs_dir: 'src' # x\nnav: [a.md]\n").unwrap().folders, ["src"]);
    }
}
