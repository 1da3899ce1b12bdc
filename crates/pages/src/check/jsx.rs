//! MDX that would not compile: tags that do not match, braces that do not close, imports that are none.

use std::ops::Range;

use super::finding::{MAX_ON_A_PAGE, Sheet};
use super::{Finding, FindingKind};
use crate::WordList;
use crate::html::{self, Tag};
use crate::markdown::Page;
use crate::script;

/// Elements that have no closing tag; many write them without the slash.
const VOID: WordList = WordList("area base br col embed hr img input link meta source track wbr");
/// More tags than this are open at once on no page.
const MAX_OPEN: usize = 200;
/// What an export can begin with, beside brackets.
const EXPORTS: WordList =
    WordList("const let var function async class default type interface enum abstract declare");

pub(super) fn check(sheet: &Sheet<'_>, page: &Page) -> Vec<Finding> {
    let Some(mut found) = tags(sheet, &page.elements) else { return Vec::new() };
    found.extend(page.open_brace.map(|at| {
        let message = "the brace does not close; a brace that is text is written \\{".to_owned();
        sheet.finding(at, FindingKind::Brace, "{", message)
    }));
    // What is read behind a statement that is none may be misread.
    found.extend(page.statements.iter().find_map(|code| statement(sheet, code)));
    found
}

fn statement(sheet: &Sheet<'_>, code: &Range<usize>) -> Option<Finding> {
    let piece = &sheet.text[code.clone()];
    let why = statement_fault(sheet.text, code.start, piece)?;
    let what = piece.lines().next().unwrap_or_default().trim_end();
    let message = format!("{what:?} cannot be read: {why}");
    Some(sheet.finding(code.start, FindingKind::Statement, what, message))
}

/// What is wrong with an `import` or `export`.
fn statement_fault(text: &str, at: usize, piece: &str) -> Option<&'static str> {
    let is_import = piece.starts_with("import ");
    let export = piece.strip_prefix("export ").map(str::trim_start);
    if !is_import && export.is_none() {
        return None;
    }
    if is_import && !piece.contains(['"', '\'']) {
        return Some("it does not say in quotes what it imports from");
    }
    let begins_well = |export: &str| {
        let word = &export[..export.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(export.len())];
        export.starts_with(['{', '*']) || EXPORTS.contains(word)
    };
    if export.is_some_and(|export| !begins_well(export)) {
        return Some("it does not say what it exports");
    }
    script::statement_end(text, at).is_none().then_some("its brackets do not close")
}

/// Follows the tags of a page as they open and close. Nothing when one is so long that the page was not read
/// as it is meant.
fn tags(sheet: &Sheet<'_>, tags: &[Tag]) -> Option<Vec<Finding>> {
    let (mut open, mut found): (Vec<&Tag>, Vec<Finding>) = (Vec::new(), Vec::new());
    let report = |tag: &Tag, why: &str| {
        let shown = sheet.text[tag.range.clone()].lines().next().unwrap_or_default();
        let what = format!("{}{}", if tag.closing { "/" } else { "" }, tag.name);
        let message = format!("the tag {shown} {why}");
        sheet.finding(tag.range.start, FindingKind::Tag, &what, message)
    };
    for tag in tags.iter().filter(|tag| !VOID.contains(&tag.name)) {
        if found.len() >= MAX_ON_A_PAGE {
            break;
        }
        if tag.closing {
            match open.iter().rposition(|other| other.name == tag.name) {
                Some(at) => {
                    found.extend(open.drain(at..).skip(1).map(|inner| report(inner, "is not closed")))
                }
                None => found.push(report(tag, "closes what is not open")),
            }
        } else if !tag.self_closing && open.len() < MAX_OPEN {
            open.push(tag);
        } else if tag.name.is_empty() && tag.self_closing {
            // What stands behind it may be a part of it.
            let is_open = html::tag_within(sheet.text, tag.range.start).is_none();
            return is_open.then(|| vec![report(tag, "does not end")]);
        }
    }
    found.extend(open.into_iter().map(|tag| report(tag, "is not closed")));
    found.truncate(MAX_ON_A_PAGE);
    Some(found)
}
