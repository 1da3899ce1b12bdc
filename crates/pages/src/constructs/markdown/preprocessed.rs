//! Finds what preprocessors read everywhere in a page, code included.

use super::super::overlaps::{NextMatch, Overlaps};
use super::super::{Construct, ConstructKind, lines, templates};

/// Includes and template marks.
pub(super) fn includes(text: &str) -> Vec<Construct> {
    let (mut found, mut is_raw, mut is_list) = (Vec::new(), false, false);
    let mut comments = IncludeComments::default();
    for (at, line) in lines(text, 0) {
        // Between two lines with only the mark, every line names a file.
        let is_mark = matches!(line.trim().trim_start_matches(';'), "--8<--" | "-8<-");
        is_list ^= is_mark;
        let has = |marks: [&str; 2]| line.contains("{%") && marks.iter().any(|mark| line.contains(mark));
        is_raw =
            (is_raw || has(["{% raw %}", "{% verbatim %}"])) && !has(["{% endraw %}", "{% endverbatim %}"]);
        if line.contains("-8<-") || is_list && !line.trim().is_empty() {
            let kind = ConstructKind::Include(line.trim().to_owned());
            found.push(Construct::standard(kind, at..at + line.trim_end().len()));
        }
        comments.read_line(text, at, line, &mut found);
        for range in templates::in_code(line).filter(|_| !is_raw) {
            let text = line[range.clone()].to_owned();
            let kind = ConstructKind::TemplateInCode { text, is_fenced: false };
            found.push(Construct::standard(kind, at + range.start..at + range.end));
        }
    }
    found
}

/// Reads comments such as `<!-- @include: x.md -->`. The mark can be on a line below the start of the comment.
#[derive(Default)]
struct IncludeComments {
    overlaps: Overlaps,
    ends: NextMatch,
}

impl IncludeComments {
    fn read_line(&mut self, text: &str, at: usize, line: &str, found: &mut Vec<Construct>) {
        let is_include = |start: &usize| {
            text[start + 4..]
                .trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
                .starts_with("@include")
        };
        let comments = line.match_indices("<!--").map(|(start, _)| at + start);
        for start in comments.filter(is_include) {
            let end = self.ends.find(text, start, |rest| rest.find("-->"));
            let mark = || text[start..end].split_whitespace().collect::<Vec<_>>().join(" ");
            // Comments inside of each other end at the same offset.
            let kind = match self.overlaps.is_full_at(start) {
                true => ConstructKind::Unknown("<!-- @include".to_owned()),
                false => ConstructKind::Include(mark()),
            };
            self.overlaps.push(end);
            found.push(Construct::standard(kind, start..start + 4));
        }
    }
}

/// What knitr and pandoc run or read everywhere: code in code spans, and further blocks of settings.
pub(super) fn quarto_code(text: &str, body: usize) -> Vec<Construct> {
    let runs = |line: &str| ["`r ", "`r#", "`{", "<%"].iter().any(|mark| line.contains(mark));
    let is_settings = |at: usize, line: &str| {
        line.trim_end() == "---"
            && text[at + line.len()..].lines().next().is_some_and(|next| next.contains(':'))
    };
    let is_cell = |line: &str| line.trim_start().starts_with("```");
    let lines = lines(text, 0).filter(|(at, line)| runs(line) || *at >= body && is_settings(*at, line));
    let (mut overlaps, mut paragraphs) = (Overlaps::default(), NextMatch::default());
    lines
        .map(|(at, line)| {
            let line_end = at + line.len();
            let paragraph = paragraphs.find(text, line_end, |rest| rest.find("\n\n"));
            // Lines above in the same paragraph already report its end.
            let is_alone = is_cell(line) || paragraph == text.len() || overlaps.is_full_at(at);
            let end = if is_alone { line_end } else { paragraph };
            overlaps.push(end);
            Construct::standard(ConstructKind::Unknown(text[at..end].trim().to_owned()), at..end)
        })
        .collect()
}
