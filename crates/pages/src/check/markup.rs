//! Finds Markdown that is not shown as intended: unclosed code and comments, and tables with mismatched rows.

use super::problem::{PageSource, Problem, ProblemKind};
use crate::markdown::Page;

/// Finds code or a comment that is never closed, and so extends to the end of the page.
pub(super) fn check_open_block(source: &PageSource<'_>, page: &Page) -> Option<Problem> {
    let at = page.open_block?;
    Some(match source.text[at..].trim_start().starts_with("<!--") {
        true => source.problem(at, ProblemKind::Comment, "<!--", "the comment is never closed".to_owned()),
        false => source.problem(at, ProblemKind::Fence, "fence", "the code block is never closed".to_owned()),
    })
}

/// Finds tables whose header row and delimiter row don't match. They are shown as text.
pub(super) fn check_tables(source: &PageSource<'_>, page: &Page) -> Vec<Problem> {
    let (mut problems, mut at) = (Vec::new(), page.front.body_start);
    let (mut above, mut header) = ("", "");
    for line in source.text[page.front.body_start..].split_inclusive('\n') {
        let row = line.trim_matches([' ', '\t', '>', '\r', '\n']);
        let is_header = header.starts_with('|') && !above.starts_with('|') && !is_delimiter_row(header);
        if is_header && is_delimiter_row(row) && !is_in_code(page, at) && has_mismatch(header, row) {
            let message = format!(
                "the header row of the table has {}, but the delimiter row has {}",
                cells(header),
                cells(row)
            );
            problems.push(source.problem(at, ProblemKind::Table, header, message));
        }
        (above, header) = (header, row);
        at += line.len();
    }
    problems
}

/// Whether two rows have different numbers of cells. Parsers disagree about a bar in code, so such rows never mismatch.
fn has_mismatch(header: &str, delimiter: &str) -> bool {
    !header.contains('`') && count_cells(header) != count_cells(delimiter)
}

/// `|---|:--:|`
fn is_delimiter_row(row: &str) -> bool {
    let is_line = row.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ' | '\t'));
    let mut cells = row.trim_matches('|').split('|');
    is_line && row.starts_with('|') && cells.all(|cell| cell.contains('-'))
}

fn cells(row: &str) -> String {
    match count_cells(row) {
        1 => "1 cell".to_owned(),
        count => format!("{count} cells"),
    }
}

fn count_cells(row: &str) -> usize {
    let inner = row.strip_prefix('|').unwrap_or(row);
    let bars = inner.match_indices('|').filter(|(at, _)| !inner[..*at].ends_with('\\'));
    let last_is_border = inner.ends_with('|') && !inner.ends_with("\\|");
    bars.count() + usize::from(!last_is_border)
}

fn is_in_code(page: &Page, at: usize) -> bool {
    let next = page.code.partition_point(|code| code.end <= at);
    page.code.get(next).is_some_and(|code| code.start <= at)
}
