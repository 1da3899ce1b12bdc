//! Decides which newlines around a match change.
//!
//! Copies often have one newline more or less at their ends than the text they replace. So a difference of one newline
//! changes nothing: the file keeps its blank lines. A difference is meant if it is larger, or if nothing else changes.

use std::ops::Range;

use super::alignment::Splice;
use super::layout::Layout;
use super::lines::{is_space, lines};

/// A text, split into the blank lines around it and the rest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Borders<'a> {
    before: &'a str,
    /// From the first line that isn't blank to the last one, without the last line ending. Empty if all lines are blank.
    pub core: &'a str,
    after: &'a str,
}

impl<'a> Borders<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut full = lines(text).filter(|line| !line.is_blank());
        let Some(first) = full.next() else { return Self { before: text, core: "", after: "" } };
        let end = full.last().map_or(first.stop, |last| last.stop);
        Self { before: &text[..first.start], core: &text[first.start..end], after: &text[end..] }
    }

    /// Where the core begins.
    pub(super) fn start(&self) -> usize {
        self.before.len()
    }
}

/// How many newlines the old text has at one end, how many the new one has, and how many the file has.
struct Newlines {
    old: usize,
    new: usize,
    file: usize,
}

impl Newlines {
    /// How many newlines the file has afterwards.
    fn merged(&self, is_only_change: bool) -> usize {
        if !is_only_change && self.old.abs_diff(self.new) <= 1 {
            return self.file;
        }
        match self.file.checked_sub(self.old) {
            Some(others) => others + self.new,
            // The old text has newlines that the file doesn't have.
            None => self.file.min(self.new),
        }
    }
}

fn count_newlines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// Returns the changes of newlines before and after the match.
pub(super) fn border_splices(
    text: &str,
    layout: &Layout,
    (old, new): (&Borders, &Borders),
    ending: &str,
) -> (Splice, Splice) {
    let is_only_change = old.core == new.core;
    let Range { start, end } = layout.range;
    let before = if layout.begins_line() {
        let file = newlines_before(&text[..start]);
        let [old, new] = [old, new].map(|borders| count_newlines(borders.before));
        let newlines = Newlines { old, new, file: file.len() };
        let least = usize::from(file.last().is_some_and(|end| *end > 0));
        let wanted = newlines.merged(is_only_change).max(least);
        match file.len().checked_sub(wanted + 1) {
            Some(last) => (file[last]..start, String::new()),
            None => (start..start, ending.repeat(wanted - file.len())),
        }
    } else {
        (start..start, new.before.replace('\n', ending))
    };
    let after = if layout.ends_line() {
        let file = newlines_after(&text[end..]);
        // The first newline ends the last line. It may be missing.
        let least = usize::from(!is_only_change);
        let [old, new] = [old, new].map(|borders| count_newlines(borders.after).max(least));
        let newlines = Newlines { old, new, file: file.len() };
        let wanted = newlines.merged(is_only_change).max(file.len().min(1));
        match file.len().checked_sub(wanted + 1) {
            Some(last) => (end..end + file[last], String::new()),
            None => (end..end, ending.repeat(wanted - file.len())),
        }
    } else {
        (end..end, new.after.replace('\n', ending))
    };
    (before, after)
}

/// The starts of the blank lines at the end of `text`, last one first, and of the line ending before them.
fn newlines_before(text: &str) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut rest = text;
    while let Some(line) = rest.strip_suffix('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let blank = line.trim_end_matches(is_space);
        let is_blank = blank.is_empty() || blank.ends_with('\n');
        rest = if is_blank { blank } else { line };
        starts.push(rest.len());
        if !is_blank {
            break;
        }
    }
    starts
}

/// Where the newlines at the start of `text` end, with the spaces of the blank line after each.
fn newlines_after(text: &str) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut rest = text;
    while let Some(after) = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n')) {
        let blank = after.trim_start_matches(is_space);
        rest = if blank.starts_with(['\r', '\n']) { blank } else { after };
        ends.push(text.len() - rest.len());
    }
    ends
}

/// Replaces whole lines with blank lines, or with nothing.
pub(super) fn deletion(text: &str, layout: &Layout, old: &Borders, new: &str, ending: &str) -> Splice {
    let Range { start, end } = layout.range;
    let (before, after) = (newlines_before(&text[..start]), newlines_after(&text[end..]));
    let [in_old_before, in_old_after] = [old.before, old.after].map(count_newlines);
    let (removed_before, removed_after) = (in_old_before.min(before.len()), in_old_after.min(after.len()));
    let surplus = in_old_before + in_old_after - removed_before - removed_after;
    let start = removed_before.checked_sub(1).map_or(start, |last| before[last]);
    let end = removed_after.checked_sub(1).map_or(end, |last| end + after[last]);
    let (rest_before, rest_after) = (&text[..start], &text[end..]);
    let joins_lines = !(rest_before.is_empty()
        || rest_before.ends_with('\n')
        || rest_after.is_empty()
        || rest_after.starts_with(['\n', '\r']));
    let newlines = count_newlines(new).saturating_sub(surplus).max(usize::from(joins_lines));
    (start..end, ending.repeat(newlines))
}
