//! Parses a unified diff of git into rows for a page: with line numbers and signs, the changed words marked, and
//! truncated if it's large.

mod word_diff;

use std::ops::Range;

use super::{code_point, count};

/// The most lines of one file that are shown.
const MAX_FILE_LINES: usize = 400;
/// The most lines of all files that are shown. Files without lines are still listed.
const MAX_LINES: usize = 4_000;
/// The most characters of one line that are shown.
const MAX_LINE_CHARS: usize = 2_000;

/// The most bytes of lines on a page that isn't asked for the full diff.
const MAX_PAGE_BYTES: usize = 40_000;
/// The markup of a row, beside its text.
const ROW_MARKUP_BYTES: usize = 90;

/// The changes to one file.
#[derive(Debug, Default)]
pub(crate) struct DiffFile {
    pub(crate) path: String,
    /// "new file", "deleted", "renamed from …". `None` for an edit.
    pub(crate) note: Option<String>,
    pub(crate) added: usize,
    pub(crate) removed: usize,
    pub(crate) lines: Vec<DiffLine>,
    /// The number of lines that aren't in `lines`.
    pub(crate) hidden: usize,
}

impl DiffFile {
    pub(super) fn hidden_lines(&self) -> Option<String> {
        (self.hidden > 0).then(|| count(self.hidden as u64, "more line"))
    }
}

#[derive(Debug)]
pub(crate) struct DiffLine {
    pub(super) kind: LineKind,
    pub(super) old: Option<u32>,
    pub(super) new: Option<u32>,
    pub(super) text: String,
    /// The parts of `text` that differ from the line that it replaces, or that replaces it.
    marks: Vec<Range<usize>>,
}

impl DiffLine {
    fn new(kind: LineKind, text: &str) -> Self {
        Self { kind, old: None, new: None, text: escape_invisible(text), marks: Vec::new() }
    }

    /// The pieces of the text in order, and whether each is marked.
    pub(super) fn pieces(&self) -> Vec<(bool, &str)> {
        let mut pieces = Vec::new();
        let mut at = 0;
        for mark in &self.marks {
            pieces.push((false, self.text.get(at..mark.start).unwrap_or_default()));
            pieces.push((true, self.text.get(mark.clone()).unwrap_or_default()));
            at = mark.end;
        }
        pieces.push((false, self.text.get(at..).unwrap_or_default()));
        pieces
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineKind {
    Add,
    Del,
    Context,
    /// The header of a hunk.
    HunkHeader,
    /// A note of git about a line: that the file ends without a newline.
    Note,
}

impl LineKind {
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Del => "del",
            Self::Context => "ctx",
            Self::HunkHeader => "at",
            Self::Note => "aside",
        }
    }

    /// The sign beside the line, so that color isn't the only difference.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Del => "−",
            Self::Context | Self::HunkHeader | Self::Note => "",
        }
    }
}

/// Parses a diff of git, and ignores lines that aren't part of one.
pub(crate) fn diff_files(unified: &str) -> Vec<DiffFile> {
    let mut parser = Parser::default();
    for line in unified.lines() {
        parser.line(line);
    }
    for file in &mut parser.files {
        mark_changes(&mut file.lines);
    }
    parser.files
}

/// Removes lines beyond [`MAX_PAGE_BYTES`], and returns whether there were any. The files are still listed.
pub(crate) fn truncate_files(files: &mut [DiffFile]) -> bool {
    let (mut budget, mut is_truncated) = (MAX_PAGE_BYTES, false);
    for file in files {
        let fitting = file.lines.iter().take_while(|line| {
            budget = budget.saturating_sub(ROW_MARKUP_BYTES + line.text.len());
            budget > 0
        });
        let fitting = fitting.count();
        file.hidden += file.lines.len() - fitting;
        is_truncated |= file.lines.len() > fitting;
        file.lines.truncate(fitting);
    }
    is_truncated
}

#[derive(Default)]
struct Parser {
    files: Vec<DiffFile>,
    /// The lines of the current hunk that are still to come, on either side. While there are any, a line such as
    /// `--- x` is the deletion of `-- x`.
    old_left: u32,
    new_left: u32,
    old: u32,
    new: u32,
    line_count: usize,
}

impl Parser {
    fn line(&mut self, line: &str) {
        if self.take_hunk_line(line) {
            return;
        }
        (self.old_left, self.new_left) = (0, 0);
        if let Some(paths) = line.strip_prefix("diff --git ") {
            self.files.push(DiffFile { path: git_path(paths), ..DiffFile::default() });
        } else if let Some(from) = line.strip_prefix("--- ") {
            self.header(from, "new file");
        } else if let Some(to) = line.strip_prefix("+++ ") {
            self.header(to, "deleted");
        } else if let Some(file) = self.files.last_mut() {
            if let Some(hunk) = Hunk::parse(line) {
                (self.old, self.old_left) = hunk.old;
                (self.new, self.new_left) = hunk.new;
                self.push(DiffLine::new(LineKind::HunkHeader, line));
            } else if line.starts_with('\\') {
                self.push(DiffLine::new(LineKind::Note, line.trim_start_matches(['\\', ' '])));
            } else {
                describe(file, line);
            }
        }
    }

    /// Takes the line if it belongs to the current hunk.
    fn take_hunk_line(&mut self, line: &str) -> bool {
        // Some programs strip the space of an empty context line.
        let line = if line.is_empty() { " " } else { line };
        let Some((sign, text)) = line.split_at_checked(1) else { return false };
        match sign {
            "+" if self.new_left > 0 => self.change(LineKind::Add, text),
            "-" if self.old_left > 0 => self.change(LineKind::Del, text),
            " " if self.old_left > 0 && self.new_left > 0 => self.change(LineKind::Context, text),
            "\\" if self.old_left > 0 || self.new_left > 0 => {
                self.push(DiffLine::new(LineKind::Note, text.trim_start()));
            }
            _ => return false,
        }
        true
    }

    fn change(&mut self, kind: LineKind, text: &str) {
        let mut line = DiffLine::new(kind, text);
        if kind != LineKind::Add {
            line.old = Some(self.old);
            self.old = self.old.saturating_add(1);
            self.old_left -= 1;
        }
        if kind != LineKind::Del {
            line.new = Some(self.new);
            self.new = self.new.saturating_add(1);
            self.new_left -= 1;
        }
        if let Some(file) = self.files.last_mut() {
            file.added += usize::from(kind == LineKind::Add);
            file.removed += usize::from(kind == LineKind::Del);
        }
        self.push(line);
    }

    fn push(&mut self, line: DiffLine) {
        let Some(file) = self.files.last_mut() else { return };
        if file.lines.len() < MAX_FILE_LINES && self.line_count < MAX_LINES {
            file.lines.push(line);
            self.line_count += 1;
        } else {
            file.hidden += 1;
        }
    }

    /// `--- a/x` or `+++ b/x`. The path `/dev/null` means that the file is new or deleted. If there is no line
    /// `diff --git` before them, the first of the two begins a file.
    fn header(&mut self, path: &str, when_null: &str) {
        let has_begun = self.files.last().is_some_and(|file| file.lines.is_empty() && file.hidden == 0);
        if !has_begun {
            self.files.push(DiffFile::default());
        }
        let Some(file) = self.files.last_mut() else { return };
        match path.trim_end() {
            "/dev/null" => file.note = Some(when_null.to_owned()),
            path => file.path = side_path(path),
        }
    }
}

/// Reads a line between `diff --git` and the first hunk.
fn describe(file: &mut DiffFile, line: &str) {
    if let Some(from) = line.strip_prefix("rename from ") {
        file.note = Some(format!("renamed from {}", unquote(from)));
    } else if let Some(to) = line.strip_prefix("rename to ") {
        file.path = unquote(to);
    } else if line.starts_with("new file mode") {
        file.note = Some("new file".to_owned());
    } else if line.starts_with("deleted file mode") {
        file.note = Some("deleted".to_owned());
    } else if line.starts_with("Binary files ") || line == "GIT binary patch" {
        file.note = Some("binary".to_owned());
    }
}

/// `@@ -8,7 +8,9 @@`: the first line and the number of lines, on either side.
struct Hunk {
    old: (u32, u32),
    new: (u32, u32),
}

impl Hunk {
    fn parse(line: &str) -> Option<Self> {
        let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
        let (old, new) = ranges.split_once(" +")?;
        Some(Self { old: Self::range(old)?, new: Self::range(new)? })
    }

    fn range(text: &str) -> Option<(u32, u32)> {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    }
}

/// The path in `a/x b/x`: the second half, because both halves are the same path unless the file was renamed. Then
/// later lines have the path.
fn git_path(paths: &str) -> String {
    let to = match paths.rfind(" \"b/") {
        Some(quoted) => paths.get(quoted + 1..),
        None => paths.get(paths.len() / 2 + 1..),
    };
    side_path(to.unwrap_or(paths))
}

fn side_path(path: &str) -> String {
    let path = unquote(path);
    match path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")) {
        Some(inside) => inside.to_owned(),
        None => path,
    }
}

/// Decodes git's quoting of unusual paths: `"b/caf\303\251.md"`.
fn unquote(path: &str) -> String {
    let path = path.trim_end_matches('\t');
    let Some(inner) = path.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return escape_invisible(path);
    };
    let mut bytes = Vec::new();
    let mut rest = inner.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let (value, used) = if byte == b'\\' { decode_escape(tail) } else { (byte, 0) };
        bytes.push(value);
        rest = tail.get(used..).unwrap_or_default();
    }
    escape_invisible(&String::from_utf8_lossy(&bytes))
}

/// The byte that an escape sequence stands for, and the length of the sequence after the backslash.
fn decode_escape(tail: &[u8]) -> (u8, usize) {
    let octal = tail.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
    if let Some(value) = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
        return (value, 3);
    }
    match tail.first() {
        Some(b'n') => (b'\n', 1),
        Some(b't') => (b'\t', 1),
        Some(&other) => (other, 1),
        None => (b'\\', 0),
    }
}

/// Replaces invisible and bidirectional characters with their code points, and truncates long lines. Otherwise, a
/// diff could look different from what it is.
fn escape_invisible(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len().min(MAX_LINE_CHARS));
    for (position, c) in text.chars().enumerate() {
        if position == MAX_LINE_CHARS {
            escaped.push('…');
            break;
        }
        match c {
            '\t' => escaped.push(c),
            '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' => {
                escaped.push_str(&code_point(c));
            }
            c if c.is_control() => escaped.push_str(&code_point(c)),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Marks the words that differ between a deleted line and the added line that replaces it. Lines are paired if a run
/// of deletions is followed by as many additions.
fn mark_changes(lines: &mut [DiffLine]) {
    let mut start = 0;
    while start < lines.len() {
        let deleted = run_length(lines, start, LineKind::Del);
        let added = run_length(lines, start + deleted, LineKind::Add);
        if deleted > 0 && deleted == added {
            let (olds, news) = lines[start..start + deleted + added].split_at_mut(deleted);
            for (old, new) in olds.iter_mut().zip(news) {
                (old.marks, new.marks) = word_diff::changed_ranges(&old.text, &new.text);
            }
        }
        start += (deleted + added).max(1);
    }
}

fn run_length(lines: &[DiffLine], start: usize, kind: LineKind) -> usize {
    lines.iter().skip(start).take_while(|line| line.kind == kind).count()
}

#[cfg(test)]
mod tests;
