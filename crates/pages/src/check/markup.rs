//! Markdown that is not shown as it was meant: code and comments that do not end, tables that are none.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

use super::finding::Sheet;
use super::{Finding, FindingKind};
use crate::markdown::{self, Page};

/// Blocks of code and comments that run to the end of the page for want of an end of their own.
pub(super) fn blocks(sheet: &Sheet<'_>, body: usize) -> Vec<Finding> {
    let content = &sheet.text[body..];
    if !["```", "~~~", "<!--"].iter().any(|mark| content.contains(mark)) {
        return Vec::new();
    }
    let (mut found, end) = (Vec::new(), content.trim_end().len());
    for (event, range) in Parser::new_ext(content, markdown::options()).into_offset_iter() {
        if range.end < end {
            continue;
        }
        let block = &content[range.clone()];
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) if !is_closed(block) => {
                found.push(open_fence(sheet, body + range.start));
            }
            Event::Start(Tag::HtmlBlock) if is_open_comment(block) => {
                let message = "the comment does not end".to_owned();
                found.push(sheet.finding(body + range.start, FindingKind::Comment, "<!--", message));
            }
            _ => {}
        }
    }
    found
}

pub(super) fn open_fence(sheet: &Sheet<'_>, at: usize) -> Finding {
    sheet.finding(at, FindingKind::Fence, "fence", "the block of code does not end".to_owned())
}

/// Whether a block of code has a fence at its end that is as long as the one at its head.
pub(super) fn is_closed(block: &str) -> bool {
    let bare = |line: &str| line.trim_matches([' ', '\t', '>', '\r']).to_owned();
    let mut lines = block.trim_end().lines();
    let opening = lines.next().map(bare).unwrap_or_default();
    let opening = opening.trim_start_matches(['-', '*', '+', ' ']);
    let Some(mark) = opening.chars().next() else { return true };
    let length = opening.chars().take_while(|c| *c == mark).count();
    let last = lines.next_back().map(bare).unwrap_or_default();
    last.len() >= length && last.chars().all(|c| c == mark)
}

fn is_open_comment(block: &str) -> bool {
    let block = block.trim_start();
    block.starts_with("<!--") && !block.contains("-->")
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

pub(super) fn in_code(page: &Page, at: usize) -> bool {
    let next = page.code.partition_point(|code| code.end <= at);
    page.code.get(next).is_some_and(|code| code.start <= at)
}
