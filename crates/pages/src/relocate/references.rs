//! Finds the texts of a page that can name another file: its links, paths in its front matter, and its imports.

use std::ops::Range;

use crate::frontmatter::ADDRESS_KEYS;
use crate::markdown::Page;

/// A range of a text that can name a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reference {
    pub(super) range: Range<usize>,
    pub(super) kind: ReferenceKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReferenceKind {
    Link,
    /// A value of the attribute `to`, or a path in front matter. Its replacement must begin with a slash or a dot.
    ExplicitPath,
    Import,
    /// An entry of a navigation file, in these quotes. It is a name and not an address, so it is not percent-encoded.
    Entry(Option<char>),
}

/// The references of a page, in order.
pub(super) fn page_references(page: &Page, text: &str) -> Vec<Reference> {
    let links = page.links.iter().map(|link| {
        let kind =
            if is_route(text, link.range.start) { ReferenceKind::ExplicitPath } else { ReferenceKind::Link };
        Reference { range: link.range.clone(), kind }
    });
    let paths = page.front.values.iter().filter(|value| {
        let is_path = ["/", "./", "../"].iter().any(|start| text[value.range.clone()].starts_with(start));
        is_path && !ADDRESS_KEYS.contains(&value.key)
    });
    let paths =
        paths.map(|value| Reference { range: value.range.clone(), kind: ReferenceKind::ExplicitPath });
    let imports = page.code.iter().flat_map(|code| imports(text, code.clone()));
    let mut references: Vec<Reference> = links.chain(paths).chain(imports).collect();
    references.sort_by_key(|reference| reference.range.start);
    references
}

/// Whether the value at `start` belongs to the attribute `to`.
fn is_route(text: &str, start: usize) -> bool {
    text[..start].trim_end_matches(['"', '\'']).trim_end().ends_with("to=")
}

/// The imported paths of a statement: the string at the end of each line that begins with `import` or contains ` from `.
fn imports(text: &str, code: Range<usize>) -> Vec<Reference> {
    let statement = &text[code.clone()];
    if !statement.starts_with("import ") && !statement.starts_with("export ") {
        return Vec::new();
    }
    let mut at = code.start;
    let mut references = Vec::new();
    for line in statement.split_inclusive('\n') {
        let is_import = line.starts_with("import") || line.contains(" from ");
        let found = last_string(line).filter(|_| is_import);
        references.extend(
            found.map(|found| Reference {
                range: at + found.start..at + found.end,
                kind: ReferenceKind::Import,
            }),
        );
        at += line.len();
    }
    references
}

fn last_string(line: &str) -> Option<Range<usize>> {
    let line = line.trim_end().trim_end_matches(';').trim_end();
    let quote = line.chars().last().filter(|last| matches!(last, '"' | '\''))?;
    let end = line.len() - 1;
    Some(line[..end].rfind(quote)? + 1..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_of_a_page() {
        #[track_caller]
        fn check(text: &str, expected: &[(&str, ReferenceKind)]) {
            let found = page_references(&Page::parse("a.mdx", text), text);
            let found: Vec<_> =
                found.into_iter().map(|reference| (&text[reference.range], reference.kind)).collect();
            assert_eq!(found, expected);
        }
        use ReferenceKind::{ExplicitPath, Import, Link};
        check("[a](b.md) <A to=\"/c\" href='d' />\n", &[("b.md", Link), ("/c", ExplicitPath), ("d", Link)]);
        check("---\nimage: ./a.png\nslug: /b\ntitle: c\n---\n# x\n", &[("./a.png", ExplicitPath)]);
        check(
            "import A from './a';\nimport B from \"../b.mdx\"\nexport { c } from './c'\n\n`import d from './d'`\n",
            &[("./a", Import), ("../b.mdx", Import), ("./c", Import)],
        );
        check("export const a = './a'\n\ntext\n", &[]);
    }
}
