//! Follows the blocks of a page from line to line: paragraphs, lists, HTML and containers.

use super::super::{code, columns};
use super::Scanner;
use super::lines::Line;
use super::paragraph::{
    Paragraph, begins_html, is_below_blank, is_container_end, is_heading, is_rule, line_above,
};

/// What begins an indented block in Python-Markdown, as a list does.
const INDENTED_BLOCKS: [&str; 5] = ["[^", "!!!", "???", "===", ":::"];

impl Scanner<'_> {
    /// Updates the state for a new line. Returns whether a fence on this line can be text to some renderer.
    pub(super) fn enter_line(&mut self, line: &Line<'_>) -> bool {
        let file = self.file;
        if self.paragraph.end <= line.start {
            self.paragraph = Paragraph::at(file, line.start);
        }
        self.text_start = line.start + line.text.len() - line.text.trim_start_matches([' ', '\t']).len();
        let content = &file[self.text_start..line.end.max(self.text_start)];
        // Some numbers begin no list in a paragraph, and HTML continues up to an empty line.
        let is_number = |line: &str| line.trim_start().starts_with(|c: char| c.is_ascii_digit());
        let fence_may_be_text = !self.begins_block
            && !is_number(line_above(file, line.start))
            && is_number(content)
            && !content.starts_with("1.")
            || self.is_below_tag;
        self.is_below_tag = !self.is_mdx()
            && !content.trim().is_empty()
            && (self.is_below_tag || begins_html(code::strip_block_markers(line.text)));
        // A line without indentation below an empty line ends all lists.
        self.has_list_above = code::is_list_item(content)
            || content.starts_with(['>', '['])
            || self.has_list_above && !(self.begins_block && self.text_start == line.start);
        self.is_below_blank = is_below_blank(file, line.start);
        self.update_list(line.text);
        self.has_uncertain_code &= !line.text.trim().is_empty();
        fence_may_be_text
    }

    fn update_list(&mut self, line: &str) {
        if line.trim().is_empty() || columns(line, 4) >= 4 {
            return;
        }
        // Python-Markdown removes comments first.
        let comment = line.trim_start().strip_prefix("<!--").and_then(|rest| rest.split_once("-->"));
        // A line below a quote, without an empty line in between, belongs to the quote.
        let content = comment
            .map_or(line, |(_, rest)| rest)
            .trim_start_matches(|c: char| c == '>' || c.is_whitespace());
        self.is_list = content.is_empty()
            || code::is_list_item(content)
            || INDENTED_BLOCKS.iter().any(|mark| content.starts_with(mark))
            || content.starts_with(": ")
            || content.starts_with(":\t")
            || self.is_list && !self.begins_block;
    }

    /// Updates the state for the line below. Returns whether this line begins a block.
    pub(super) fn leave_blocks(&mut self, line: &Line<'_>) -> bool {
        let text = line.text;
        let is_in_quote = columns(text, 4) < 4 && text.trim_start().starts_with('>');
        let ends_block = text.trim().is_empty()
            || is_in_quote && text.trim_matches(|c: char| c == '>' || c.is_whitespace()).is_empty()
            || is_heading(text)
            || is_rule(text)
            // In MDX a tag on a line of its own is not text.
            || text.trim_start().starts_with('<') && text.trim_end().ends_with('>');
        match text.trim() {
            "::: v-pre" => (self.is_raw, self.open_containers) = (true, self.open_containers + 1),
            line if is_container_end(line) => {
                (self.is_raw, self.open_containers) = (false, self.open_containers.saturating_sub(1))
            }
            _ if code::strip_block_markers(text).starts_with(":::") => self.open_containers += 1,
            _ => {}
        }
        std::mem::replace(&mut self.begins_block, ends_block)
    }
}
