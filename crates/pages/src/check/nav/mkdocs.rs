//! `nav:` of `mkdocs.yml`, as far as it is a plain list.

use super::{Entry, Nav};
use crate::destination;
use crate::path;
use crate::route;
use crate::site;

/// Plugins and keys that make, move or gather pages while the site is built.
const MAKERS: &[&str] = &[
    "gen-files",
    "gen_files",
    "literate-nav",
    "awesome",
    "monorepo",
    "multirepo",
    "i18n",
    "hooks:",
    "autonav",
    "autoapi",
    "!include",
    "!ENV",
    "not_in_nav",
    "exclude_docs",
    "INHERIT",
    "section-index",
    "redirects",
    "macros",
    "blog",
    "mike",
];

/// Nothing when the pages are found without a list.
pub(super) fn read(path: &str, text: &str) -> Option<Nav> {
    let folder = path::parent(path);
    let docs = top_value(text, "docs_dir").unwrap_or("docs");
    let docs = site::normalise(folder, docs)?;
    let entries = entries(text)?;
    let mut nav = Nav::new(path, vec![docs], entries);
    let is_made = MAKERS.iter().any(|maker| text.contains(maker));
    (nav.open, nav.judged) = (is_made, !is_made);
    Some(nav)
}

fn top_value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    let value = line.split(" #").next()?.trim().trim_matches(['"', '\'']);
    (!value.is_empty()).then_some(value)
}

/// The pages between `nav:` and the next key at the margin.
fn entries(text: &str) -> Option<Vec<Entry>> {
    let mut lines = text.lines().enumerate().skip_while(|(_, line)| line.trim_end() != "nav:");
    lines.next()?;
    let is_inside = |line: &str| line.trim().is_empty() || line.starts_with([' ', '\t', '-', '#']);
    let inside = lines.take_while(|(_, line)| is_inside(line));
    let entry = |(index, line): (usize, &str)| {
        let name = page_of(line)?.to_owned();
        Some(Entry { line: index + 1, name })
    };
    Some(inside.filter_map(entry).collect())
}

/// `- page.md`, `- Title: page.md`, `- 'Title: more': "page.md"`
fn page_of(line: &str) -> Option<&str> {
    let item = line.trim().strip_prefix("- ")?.split(" #").next()?.trim();
    let value = item.rsplit_once(": ").map_or(item, |(_, value)| value).trim();
    let value = value.trim_matches(['"', '\'']);
    let is_page =
        route::stem(value).is_some() && !destination::is_external(value) && !value.contains(['*', '{', '$']);
    is_page.then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_a_list() {
        let text = "site_name: A\nnav:\n  - index.md # home\n  - 'Set: up': \"setup/a.md\"\n  - More:\n    - B: b.md\n\n    - https://a.b/c.md\n    - \"d e.md\"\ntheme:\n  - x.md\n";
        let found = entries(text).unwrap();
        let found: Vec<_> = found.iter().map(|entry| (entry.line, entry.name.as_str())).collect();
        assert_eq!(found, [(3, "index.md"), (4, "setup/a.md"), (6, "b.md"), (9, "d e.md")]);
        assert!(entries("site_name: A\n").is_none());
        assert_eq!(top_value("docs_dir: 'src' # x\n", "docs_dir"), Some("src"));
    }
}
