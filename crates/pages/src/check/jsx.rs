//! Finds MDX that doesn't compile: unmatched tags, unclosed braces, malformed imports and exports.

use std::ops::Range;

use super::problem::{MAX_PER_PAGE, PageSource, Problem, ProblemKind};
use crate::WordList;
use crate::html::{self, Tag};
use crate::markdown::Page;
use crate::script;

/// Elements without a closing tag. They are often written without the slash.
const VOID: WordList = WordList("area base br col embed hr img input link meta source track wbr");
/// How many open tags are followed.
const MAX_OPEN: usize = 200;
/// The words that an export can begin with. It can also begin with a bracket.
const EXPORTS: WordList =
    WordList("const let var function async class default type interface enum abstract declare");

pub(super) fn check(source: &PageSource<'_>, page: &Page) -> Vec<Problem> {
    let Some(mut problems) = check_tags(source, &page.elements) else { return Vec::new() };
    problems.extend(page.open_brace.map(|at| {
        let message = "the brace is never closed; to show a brace, write \\{".to_owned();
        source.problem(at, ProblemKind::Brace, "{", message)
    }));
    // After a malformed statement, the rest of the page can be misread.
    problems.extend(page.statements.iter().find_map(|code| check_statement(source, code)));
    problems
}

fn check_statement(source: &PageSource<'_>, code: &Range<usize>) -> Option<Problem> {
    let piece = &source.text[code.clone()];
    let reason = statement_error(source.text, code.start, piece)?;
    let what = piece.lines().next().unwrap_or_default().trim_end();
    let message = format!("{what:?} cannot be read: {reason}");
    Some(source.problem(code.start, ProblemKind::Statement, what, message))
}

/// The error of an `import` or `export`.
fn statement_error(text: &str, at: usize, piece: &str) -> Option<&'static str> {
    let is_import = piece.starts_with("import ");
    let export = piece.strip_prefix("export ").map(str::trim_start);
    if !is_import && export.is_none() {
        return None;
    }
    if is_import && !piece.contains(['"', '\'']) {
        return Some("put what it imports from in quotes");
    }
    let is_valid = |export: &str| {
        let word = &export[..export.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(export.len())];
        export.starts_with(['{', '*']) || EXPORTS.contains(word)
    };
    if export.is_some_and(|export| !is_valid(export)) {
        return Some("it does not name what it exports");
    }
    script::statement_end(text, at).is_none().then_some("its brackets are never closed")
}

/// Matches opening and closing tags. `None` when a tag is so long that the page was misread.
fn check_tags(source: &PageSource<'_>, tags: &[Tag]) -> Option<Vec<Problem>> {
    let (mut open, mut problems): (Vec<&Tag>, Vec<Problem>) = (Vec::new(), Vec::new());
    let report = |tag: &Tag, reason: &str| {
        let quoted = source.text[tag.range.clone()].lines().next().unwrap_or_default();
        let what = format!("{}{}", if tag.closing { "/" } else { "" }, tag.name);
        let message = format!("the tag {quoted} {reason}");
        source.problem(tag.range.start, ProblemKind::Tag, &what, message)
    };
    for tag in tags.iter().filter(|tag| !VOID.contains(&tag.name)) {
        if problems.len() >= MAX_PER_PAGE {
            break;
        }
        if tag.closing {
            match open.iter().rposition(|other| other.name == tag.name) {
                Some(at) => {
                    problems.extend(open.drain(at..).skip(1).map(|inner| report(inner, "is not closed")))
                }
                None => problems.push(report(tag, "has no opening tag")),
            }
        } else if !tag.self_closing && open.len() < MAX_OPEN {
            open.push(tag);
        } else if tag.name.is_empty() && tag.self_closing {
            // The rest of the page can be part of it.
            let is_open = html::tag_of_any_length(source.text, tag.range.start).is_none();
            return is_open.then(|| vec![report(tag, "does not end")]);
        }
    }
    problems.extend(open.into_iter().map(|tag| report(tag, "is not closed")));
    problems.truncate(MAX_PER_PAGE);
    Some(problems)
}
