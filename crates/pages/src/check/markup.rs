//! Markdown that is not shown as it was meant: code and comments that do not end, tables that are none.

use super::finding::Sheet;
use super::{Finding, FindingKind};
use crate::markdown::Page;

/// Code or a comment that runs to the end of the page for want of an end of its own.
pub(super) fn open_block(sheet: &Sheet<'_>, page: &Page) -> Option<Finding> {
    let at = page.open_block?;
    Some(match sheet.text[at..].trim_start().starts_with("<!--") {
        true => sheet.finding(at, FindingKind::Comment, "<!--", "the comment does not end".to_owned()),
        false => sheet.finding(at, FindingKind::Fence, "fence", "the block of code does not end".to_owned()),
    })
}

/// Rules of tables that do not fit the row above them: what follows is then no table.
pub(super) fn tables(sheet: &Sheet<'_>, page: &Page) -> Vec<Finding> {
    let (mut found, mut at) = (Vec::new(), page.front.body);
    let (mut above, mut head) = ("", "");
    for line in sheet.text[page.front.body..].split_inclusive('\n') {
        let row = line.trim_matches([' ', '\t', '>', '\r', '\n']);
        let is_head = head.starts_with('|') && !above.starts_with('|') && !is_rule(head);
        if is_head && is_rule(row) && !in_code(page, at) && differ(head, row) {
            let message =
                format!("the table has {} columns in its head and {} in its rule", cells(head), cells(row));
            found.push(sheet.finding(at, FindingKind::Table, head, message));
        }
        (above, head) = (head, row);
        at += line.len();
    }
    found
}

/// A bar within code is a border to some readers of Markdown and a letter to others.
fn differ(head: &str, rule: &str) -> bool {
    !head.contains('`') && cells(head) != cells(rule)
}

/// `|---|:--:|`
fn is_rule(row: &str) -> bool {
    let is_line = row.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ' | '\t'));
    let mut cells = row.trim_matches('|').split('|');
    is_line && row.starts_with('|') && cells.all(|cell| cell.contains('-'))
}

fn cells(row: &str) -> usize {
    let inner = row.strip_prefix('|').unwrap_or(row);
    let bars = inner.match_indices('|').filter(|(at, _)| !inner[..*at].ends_with('\\'));
    let last_is_border = inner.ends_with('|') && !inner.ends_with("\\|");
    bars.count() + usize::from(!last_is_border)
}

fn in_code(page: &Page, at: usize) -> bool {
    let next = page.code.partition_point(|code| code.end <= at);
    page.code.get(next).is_some_and(|code| code.start <= at)
}
