//! Reads included files again in the markup of the pages that include them.

use pages::{FileKind, constructs};

use super::context::Judge;
use super::new_constructs::ParsedFile;
use crate::guard::additions::{Additions, Text};

/// Adds another reading of each changed file that pages of another kind include.
pub(super) fn read_as_included<'t>(
    judge: &Judge<'_, '_>,
    additions: &Additions<'_>,
    before: &mut Vec<ParsedFile<'t>>,
    after: &mut Vec<ParsedFile<'t>>,
) {
    let mut more = Vec::new();
    for ParsedFile { path, kind, .. } in after.iter() {
        let adds_other_markup = |(file, text): (&str, &Text<'_>)| {
            let mut lines = text.lines.iter().map(|(_, range)| &text.text[range.clone()]);
            file == *path && lines.any(|line| may_be_other_markup(*kind, line))
        };
        // This lists all files.
        let has_others = || judge.site().is_none_or(|site| site.has_other_markup(*kind));
        let is_needed = additions.files().any(adds_other_markup) && has_others();
        let Some(docs) = is_needed.then(|| judge.vocabulary()).flatten() else { continue };
        more.extend(docs.kinds_that_include(path).filter(|other| other != kind).map(|other| (*path, other)));
    }
    for (path, kind) in more {
        let old = judge.read_base(path).ok().flatten().unwrap_or_default();
        let new = judge.change.edits.get(path).and_then(Option::as_deref).unwrap_or_default();
        before.push(ParsedFile { path, kind, constructs: constructs(kind, &old) });
        after.push(ParsedFile { path, kind, constructs: constructs(kind, &String::from_utf8_lossy(new)) });
    }
}

/// Whether an include directive names a page that is judged by the rules of another markup.
pub(super) fn names_other_markup(kind: FileKind, directive: &str) -> bool {
    let is_markdown = |kind| matches!(kind, FileKind::Markdown | FileKind::Mdx | FileKind::Quarto);
    let names = directive.split(|c: char| c.is_whitespace() || "\"'`{}[]()<>:#=,".contains(c));
    names.map(FileKind::of).any(|other| {
        (other.is_page() || other == FileKind::Text)
            && other != kind
            && !(is_markdown(kind) && is_markdown(other))
    })
}

/// Whether text that is plain in its own markup can be active markup in a page of another kind that includes it.
fn may_be_other_markup(kind: FileKind, text: &str) -> bool {
    let has = |marks: &[&str]| marks.iter().any(|mark| text.contains(mark));
    match kind {
        // Macros, references and links of other markup need only a few special characters.
        FileKind::Markdown | FileKind::Mdx | FileKind::Quarto => {
            has(&[":", "{", "`", "|", "_", "+", "..", "<"])
        }
        FileKind::Rst | FileKind::AsciiDoc | FileKind::Text => {
            let is_tag = |(at, _): (usize, &str)| {
                text[at + 1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
            };
            text.match_indices('<').any(is_tag)
                || has(&["{{", "![", "](", "++++", "}`", "```", ":::", "import ", "export "])
        }
        _ => false,
    }
}
