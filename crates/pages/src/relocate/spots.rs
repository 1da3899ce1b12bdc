//! The places of a page that may name another file: its links, paths in its front matter, what it imports.

use std::ops::Range;

use crate::frontmatter::ADDRESS_KEYS;
use crate::markdown::Page;

/// A part of a text that may name a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) range: Range<usize>,
    pub(super) kind: SpotKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpotKind {
    Link,
    /// A link that must begin with a slash or a dot to be one.
    Dotted,
    Import,
    /// An entry of a navigation file, in these quotes. It is a name and no address: nothing in it is encoded.
    Entry(Option<char>),
}

/// Every spot of a page, in order.
pub(super) fn of_page(page: &Page, text: &str) -> Vec<Spot> {
    let links = page.links.iter().map(|link| {
        let kind = if is_route(text, link.range.start) { SpotKind::Dotted } else { SpotKind::Link };
        Spot { range: link.range.clone(), kind }
    });
    let head = page.front.values.iter().filter(|value| {
        let is_path = ["/", "./", "../"].iter().any(|start| text[value.range.clone()].starts_with(start));
        is_path && !ADDRESS_KEYS.contains(&value.key)
    });
    let head = head.map(|value| Spot { range: value.range.clone(), kind: SpotKind::Dotted });
    let imports = page.code.iter().filter_map(|code| import(text, code.clone()));
    let mut spots: Vec<Spot> = links.chain(head).chain(imports.flatten()).collect();
    spots.sort_by_key(|spot| spot.range.start);
    spots
}

/// Whether the value at `start` is that of the attribute `to`.
fn is_route(text: &str, start: usize) -> bool {
    text[..start].trim_end_matches(['"', '\'']).trim_end().ends_with("to=")
}

/// What the lines of a statement import: the last string of each that has one.
fn import(text: &str, code: Range<usize>) -> Option<Vec<Spot>> {
    let statement = &text[code.clone()];
    if !statement.starts_with("import ") && !statement.starts_with("export ") {
        return None;
    }
    let mut at = code.start;
    let mut spots = Vec::new();
    for line in statement.split_inclusive('\n') {
        let is_import = line.starts_with("import") || line.contains(" from ");
        let found = quoted(line).filter(|_| is_import);
        spots.extend(
            found.map(|found| Spot { range: at + found.start..at + found.end, kind: SpotKind::Import }),
        );
        at += line.len();
    }
    Some(spots)
}

fn quoted(line: &str) -> Option<Range<usize>> {
    let line = line.trim_end().trim_end_matches(';').trim_end();
    let quote = line.chars().last().filter(|last| matches!(last, '"' | '\''))?;
    let end = line.len() - 1;
    Some(line[..end].rfind(quote)? + 1..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spots_of_a_page() {
        #[track_caller]
        fn check(text: &str, expected: &[(&str, SpotKind)]) {
            let found = of_page(&Page::parse("a.mdx", text), text);
            let found: Vec<_> = found.into_iter().map(|spot| (&text[spot.range], spot.kind)).collect();
            assert_eq!(found, expected);
        }
        use SpotKind::{Dotted, Import, Link};
        check("[a](b.md) <A to=\"/c\" href='d' />\n", &[("b.md", Link), ("/c", Dotted), ("d", Link)]);
        check("---\nimage: ./a.png\nslug: /b\ntitle: c\n---\n# x\n", &[("./a.png", Dotted)]);
        check(
            "import A from './a';\nimport B from \"../b.mdx\"\nexport { c } from './c'\n\n`import d from './d'`\n",
            &[("./a", Import), ("../b.mdx", Import), ("./c", Import)],
        );
        check("export const a = './a'\n\ntext\n", &[]);
    }
}
