//! Follows the delimited blocks of AsciiDoc, and skips those whose content is shown as it is written.

use super::super::{Construct, ConstructKind};
use super::lines::{is_preprocessed, stripped};
use super::styles::{block_styles, is_listing_style, is_style_line};
use super::{Line, Reader};

/// Delimiters of blocks whose content is shown as it is written.
const LISTINGS: &[&str] = &["----", "...."];

impl<'t> Reader<'t> {
    /// Updates the state of the blocks around a line.
    pub(super) fn update_blocks(&mut self, line: &Line<'t>) {
        let (content, above) = (line.content, line.above);
        // Some readers take a line below another for the underline of a title, and lines below the title for the header.
        let is_underline = content.len().abs_diff(above.chars().count()) < 2
            && above.contains(char::is_alphanumeric)
            && !above.starts_with(['[', '.']);
        self.is_header &= !content.is_empty() || self.title.is_some_and(|title| self.index < title);
        self.is_below_indented =
            !content.is_empty() && (self.is_below_indented || content.starts_with([' ', '\t']));
        if contains_blocks(content) && !self.open_blocks.remove(content) {
            self.open_blocks.insert(content);
        }
        self.has_uncertain_listing |= self.is_uncertain_delimiter(content, above, is_underline);
    }

    /// Whether only some readers take a line for the delimiter of a block.
    fn is_uncertain_delimiter(&self, content: &str, above: &str, is_underline: bool) -> bool {
        let inside = content.trim_start();
        content.starts_with("```") && !is_listing(content)
            || is_listing(content) && (is_underline || self.is_header || is_table(above))
            // A paragraph that is shown as it is written continues over such a line.
            || is_listing(content) && !above.is_empty() && !is_style_line(above) && !above.starts_with('.')
                && self.is_below_style
            || is_listing(content) && self.is_below_indented
            // Only some readers recognize tables of other formats, and indented delimiters.
            || is_table(content) && !content.starts_with('|')
            || (self.is_header || is_underline) && contains_blocks(content)
            || inside.len() < content.len() && (contains_blocks(inside) || is_listing(inside))
    }

    /// Skips a listing that all readers recognize. Returns whether there was one.
    pub(super) fn skip_listing(&mut self, line: &Line<'t>) -> bool {
        if self.in_comment || !is_listing(line.content) || self.has_uncertain_listing {
            return false;
        }
        let length = self.listing_length(line.content);
        self.has_uncertain_listing |= length.is_none();
        let Some(length) = length else { return false };
        let lines = self.lines;
        // A style that is not understood can render or run the block.
        if line.above.starts_with('[') && !is_listing_style(line.above) {
            let (start, end) = (line.at, lines[self.index + 1 + length].0);
            let kind = ConstructKind::Unknown(self.text[start..end].to_owned());
            self.found.push(Construct::standard(kind, start..end));
        }
        let inside = &lines[self.index + 1..self.index + 1 + length];
        for (at, line) in inside.iter().filter(|(_, line)| is_preprocessed(line)) {
            let kind = ConstructKind::Include(line.trim().to_owned());
            self.found.push(Construct::standard(kind, *at..*at + stripped(line).len()));
        }
        self.index += length + 2;
        true
    }

    /// The number of lines in the listing that begins on the current line. `None` when it has no end, or when a reader
    /// can end it earlier.
    fn listing_length(&self, delimiter: &str) -> Option<usize> {
        let below = &self.lines[self.index + 1..];
        let end = if delimiter.starts_with('`') { "```" } else { delimiter };
        let length = below.iter().position(|(_, line)| stripped(line) == end)?;
        // A block around it ends it, and so does the cell of a table.
        let is_cut = |(_, line): &(usize, &str)| {
            is_comment_delimiter(stripped(line)) || self.open_blocks.contains(stripped(line))
        };
        let is_certain =
            !self.open_blocks.iter().any(|block| is_table(block)) && !below[..length].iter().any(is_cut);
        is_certain.then_some(length)
    }

    /// Skips a passthrough block, which is reported as a whole. Returns whether there was one.
    pub(super) fn skip_passthrough(&mut self, line: &Line<'t>) -> bool {
        let is_closed = line.content.starts_with("++++")
            && self.passthroughs.get(line.content).is_some_and(|last| *last > self.index);
        let below = &self.lines[self.index + 1..];
        let length = is_closed.then(|| below.iter().position(|(_, below)| stripped(below) == line.content));
        let Some(length) = length.flatten() else { return false };
        let end = below[length].0;
        let block = format!("{}{}", block_styles(&self.lines[..self.index]), &self.text[line.at..end]);
        self.found.push(Construct::standard(ConstructKind::Unknown(block), line.at..end));
        self.index += length + 2;
        true
    }
}

/// The delimiter of a block comment.
pub(super) fn is_comment_delimiter(line: &str) -> bool {
    line.len() >= 4 && line.trim_start_matches('/').is_empty()
}

fn is_listing(content: &str) -> bool {
    let is_line =
        |mark: &&str| content.starts_with(*mark) && content.trim_start_matches(&mark[..1]).is_empty();
    let language = content.strip_prefix("```");
    let is_fence = language
        .is_some_and(|language| language.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '+'));
    is_fence || LISTINGS.iter().any(is_line)
}

/// The line that begins or ends a table, in any format.
fn is_table(line: &str) -> bool {
    line.strip_prefix(['|', ',', ':', '!'])
        .is_some_and(|rest| rest.len() >= 3 && rest.bytes().all(|byte| byte == b'='))
}

/// Whether a line is the delimiter of a block that contains other blocks.
pub(super) fn contains_blocks(line: &str) -> bool {
    let line = stripped(line);
    line == "--"
        || is_table(line)
        || ["====", "****", "____"]
            .iter()
            .any(|mark| line.starts_with(mark) && line.trim_start_matches(&mark[..1]).is_empty())
}
