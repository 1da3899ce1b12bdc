//! Classifies lines of a page, and describes the paragraph around a line.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::super::{code, lines};
use crate::WordList;

/// Tags that begin a block of HTML in CommonMark.
const HTML_BLOCKS: WordList = WordList(
    "address article aside base basefont blockquote body caption center col colgroup dd details dialog dir div dl dt \
     fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html iframe legend li link \
     main menu menuitem nav noframes ol optgroup option p param pre script search section style summary table tbody td \
     textarea tfoot th thead title tr track ul",
);

/// Lines up to an empty one.
#[derive(Default)]
pub(super) struct Paragraph {
    pub(super) end: usize,
    pub(super) is_table: bool,
    /// A hash of its punctuation, whose meaning doesn't depend on the words in between.
    pub(super) punctuation_hash: u64,
    pub(super) text_hash: u64,
    pub(super) has_code_and_quotes: bool,
    pub(super) begins_with_tag: bool,
}

impl Paragraph {
    pub(super) fn at(file: &str, at: usize) -> Self {
        let (mut end, mut is_table) = (at, false);
        for (start, line) in lines(file, at) {
            if line.trim().is_empty() && start > at {
                break;
            }
            end = start + line.len();
            is_table |= code::is_table_delimiter_row(line);
        }
        let text = &file[at..end];
        let begins_with_tag =
            text.trim_start_matches([' ', '\t', '\r', '\n', '>', '-', '*']).starts_with('<');
        Self {
            end: end.max(at + 1),
            is_table,
            punctuation_hash: punctuation_hash(text),
            text_hash: code::hash_text(text),
            has_code_and_quotes: text.contains('`') && text.contains('"'),
            begins_with_tag,
        }
    }
}

fn punctuation_hash(text: &str) -> u64 {
    let mut hash = DefaultHasher::new();
    for line in text.split_inclusive('\n') {
        let content = line.trim_start_matches([' ', '\t', '>']);
        (&line[..line.len() - content.len()], code::is_list_item(content)).hash(&mut hash);
        let signs = content.chars().filter(|c| !c.is_alphanumeric() && !matches!(c, ' ' | ',' | '.'));
        signs.for_each(|c| c.hash(&mut hash));
    }
    hash.finish()
}

/// `# Title`, with a blank that all renderers recognize.
pub(super) fn is_heading(line: &str) -> bool {
    line.starts_with('#') && line.trim_start_matches('#').starts_with([' ', '\t', '\r', '\n'])
}

/// A thematic break, or the underline of a heading.
pub(super) fn is_rule(line: &str) -> bool {
    let solid = line.chars().filter(|c| !c.is_whitespace());
    line.trim().len() > 2 && solid.into_iter().all(|c| matches!(c, '-' | '*' | '_' | '='))
}

/// The end of a container such as `:::note`.
pub(super) fn is_container_end(line: &str) -> bool {
    line.len() > 2 && line.bytes().all(|byte| byte == b':')
}

/// Whether a paragraph can end above a line.
pub(super) fn ends_paragraph(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with(['>', '#', '`', '~', '=', '_', '|', ':']) || code::is_list_item(line)
}

/// Whether a line begins HTML that continues up to an empty line: with a block tag, or with a tag that is the whole line.
pub(super) fn begins_html(line: &str) -> bool {
    let Some(tag) = line.trim().strip_prefix('<') else { return false };
    let name = tag.strip_prefix('/').unwrap_or(tag);
    let (name, rest) = name.split_at(name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len()));
    let is_tag = !name.is_empty() && (rest.is_empty() || rest.starts_with([' ', '\t', '>', '/']));
    let is_whole = tag.ends_with('>') && !tag.contains('<');
    is_tag && (HTML_BLOCKS.contains(&name.to_ascii_lowercase()) || is_whole)
}

pub(super) fn line_above(file: &str, at: usize) -> &str {
    file[..at].lines().next_back().unwrap_or_default()
}

/// Whether the line above the one at `line` is empty, or there is none.
pub(super) fn is_below_blank(file: &str, line: usize) -> bool {
    let above = file[..line].trim_end_matches([' ', '\t', '\r']).strip_suffix('\n');
    above.is_none_or(|above| above.trim_end_matches([' ', '\t', '\r']).ends_with('\n'))
}

/// Whether all renderers take the line above for part of a paragraph.
pub(super) fn is_below_text(file: &str, at: usize) -> bool {
    line_above(file, at).starts_with(char::is_alphabetic)
}
