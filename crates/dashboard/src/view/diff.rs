//! Reads a git-style unified diff into rows that a page can show: numbered, signed, the changed
//! part of a changed line marked, and bounded however large the change is.

mod words;

use std::ops::Range;

use super::code_point;

/// More lines than this of one file are not shown.
const MAX_FILE_LINES: usize = 400;
/// More lines than this of all files together are not shown; the files are still listed.
const MAX_LINES: usize = 4_000;
/// More characters than this of one line are not shown.
const MAX_LINE_CHARS: usize = 2_000;

/// What the lines of a light page may take, and what a row takes beside its text, which a preview repeats.
const LIGHT: usize = 40_000;
const ROW: usize = 90;

/// What a change does to one file.
#[derive(Debug, Default)]
pub(crate) struct DiffFile {
    pub(crate) path: String,
    /// "new file", "deleted", "renamed from …", when it is more than an edit.
    pub(crate) note: Option<String>,
    pub(crate) added: usize,
    pub(crate) removed: usize,
    pub(crate) lines: Vec<DiffLine>,
    /// How many further lines the change has that are not among `lines`.
    pub(crate) hidden: usize,
}

impl DiffFile {
    pub(super) fn cut(&self) -> bool {
        self.hidden > 0
    }
}

#[derive(Debug)]
pub(crate) struct DiffLine {
    pub(super) kind: LineKind,
    pub(super) old: Option<u32>,
    pub(super) new: Option<u32>,
    pub(super) text: String,
    /// The parts of `text` in which it differs from the line it replaces or is replaced by.
    marks: Vec<Range<usize>>,
}

impl DiffLine {
    fn new(kind: LineKind, text: &str) -> Self {
        Self { kind, old: None, new: None, text: visible(text), marks: Vec::new() }
    }

    /// The text in order, piece by piece, and whether the piece is marked.
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
    /// The head of a hunk.
    At,
    /// What git says about a line: that the file ends without a newline.
    Aside,
}

impl LineKind {
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Del => "del",
            Self::Context => "ctx",
            Self::At => "at",
            Self::Aside => "aside",
        }
    }

    /// The sign beside the line, so that colour is not all there is to tell by.
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Del => "−",
            Self::Context | Self::At | Self::Aside => "",
        }
    }
}

/// Reads a diff as git writes it. What is not part of one is passed over.
pub(crate) fn diff_files(unified: &str) -> Vec<DiffFile> {
    let mut reader = Reader::default();
    for line in unified.lines() {
        reader.line(line);
    }
    for file in &mut reader.files {
        mark_changes(&mut file.lines);
    }
    reader.files
}

/// Leaves out lines until the page is light; answers whether any had to be. The files are still listed.
pub(crate) fn fit(files: &mut [DiffFile]) -> bool {
    let (mut room, mut cut) = (LIGHT, false);
    for file in files {
        let fits = file.lines.iter().take_while(|line| {
            room = room.saturating_sub(ROW + line.text.len());
            room > 0
        });
        let fits = fits.count();
        file.hidden += file.lines.len() - fits;
        cut |= file.lines.len() > fits;
        file.lines.truncate(fits);
    }
    cut
}

#[derive(Default)]
struct Reader {
    files: Vec<DiffFile>,
    /// Lines of the hunk that are still to come, on either side; a line such as `--- x` is the
    /// deletion of `-- x` as long as there are any.
    old_left: u32,
    new_left: u32,
    old: u32,
    new: u32,
    shown: usize,
}

impl Reader {
    fn line(&mut self, line: &str) {
        if self.in_hunk(line) {
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
                self.show(DiffLine::new(LineKind::At, line));
            } else if line.starts_with('\\') {
                self.show(DiffLine::new(LineKind::Aside, line.trim_start_matches(['\\', ' '])));
            } else {
                describe(file, line);
            }
        }
    }

    /// Takes the line if it belongs to the hunk that is being read.
    fn in_hunk(&mut self, line: &str) -> bool {
        // Some programs strip the space off an empty line.
        let line = if line.is_empty() { " " } else { line };
        let Some((sign, text)) = line.split_at_checked(1) else { return false };
        match sign {
            "+" if self.new_left > 0 => self.change(LineKind::Add, text),
            "-" if self.old_left > 0 => self.change(LineKind::Del, text),
            " " if self.old_left > 0 && self.new_left > 0 => self.change(LineKind::Context, text),
            "\\" if self.old_left > 0 || self.new_left > 0 => {
                self.show(DiffLine::new(LineKind::Aside, text.trim_start()));
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
        self.show(line);
    }

    fn show(&mut self, line: DiffLine) {
        let Some(file) = self.files.last_mut() else { return };
        if file.lines.len() < MAX_FILE_LINES && self.shown < MAX_LINES {
            file.lines.push(line);
            self.shown += 1;
        } else {
            file.hidden += 1;
        }
    }

    /// `--- a/x` or `+++ b/x`, of which /dev/null says that the file is new or deleted. Without a
    /// line `diff --git` before it, the first of the two begins a file.
    fn header(&mut self, path: &str, when_null: &str) {
        let begun = self.files.last().is_some_and(|file| file.lines.is_empty() && file.hidden == 0);
        if !begun {
            self.files.push(DiffFile::default());
        }
        let Some(file) = self.files.last_mut() else { return };
        match path.trim_end() {
            "/dev/null" => file.note = Some(when_null.to_owned()),
            path => file.path = side_path(path),
        }
    }
}

/// The lines between `diff --git` and the first hunk.
fn describe(file: &mut DiffFile, line: &str) {
    if let Some(from) = line.strip_prefix("rename from ") {
        file.note = Some(format!("renamed from {}", unquoted(from)));
    } else if let Some(to) = line.strip_prefix("rename to ") {
        file.path = unquoted(to);
    } else if line.starts_with("new file mode") {
        file.note = Some("new file".to_owned());
    } else if line.starts_with("deleted file mode") {
        file.note = Some("deleted".to_owned());
    } else if line.starts_with("Binary files ") || line == "GIT binary patch" {
        file.note = Some("binary".to_owned());
    }
}

/// `@@ -8,7 +8,9 @@`: where the hunk begins on either side, and how many lines it has there.
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

/// The path in `a/x b/x`: the half after the middle, since both halves are alike unless the file
/// was renamed, which later lines tell.
fn git_path(paths: &str) -> String {
    let to = match paths.rfind(" \"b/") {
        Some(quoted) => paths.get(quoted + 1..),
        None => paths.get(paths.len() / 2 + 1..),
    };
    side_path(to.unwrap_or(paths))
}

fn side_path(path: &str) -> String {
    let path = unquoted(path);
    match path.strip_prefix("a/").or_else(|| path.strip_prefix("b/")) {
        Some(inside) => inside.to_owned(),
        None => path,
    }
}

/// Undoes git's quoting of unusual paths: `"b/caf\303\251.md"`.
fn unquoted(path: &str) -> String {
    let path = path.trim_end_matches('\t');
    let Some(inner) = path.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return visible(path);
    };
    let mut bytes = Vec::new();
    let mut rest = inner.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let (value, used) = if byte == b'\\' { escape(tail) } else { (byte, 0) };
        bytes.push(value);
        rest = tail.get(used..).unwrap_or_default();
    }
    visible(&String::from_utf8_lossy(&bytes))
}

/// The byte that stands after a backslash, and how many bytes it is written with.
fn escape(tail: &[u8]) -> (u8, usize) {
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

/// Spells out what a browser would hide or obey: a diff must not read otherwise than it is, and
/// characters that turn the direction of text round can make it.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len().min(MAX_LINE_CHARS));
    for (count, c) in text.chars().enumerate() {
        if count == MAX_LINE_CHARS {
            shown.push('…');
            break;
        }
        match c {
            '\t' => shown.push(c),
            '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' => {
                shown.push_str(&code_point(c));
            }
            c if c.is_control() => shown.push_str(&code_point(c)),
            c => shown.push(c),
        }
    }
    shown
}

/// Marks what differs between each deleted line and the added one that takes its place: runs of
/// equally many deletions and additions are taken to be pairs.
fn mark_changes(lines: &mut [DiffLine]) {
    let mut start = 0;
    while start < lines.len() {
        let deleted = run(lines, start, LineKind::Del);
        let added = run(lines, start + deleted, LineKind::Add);
        if deleted > 0 && deleted == added {
            let (olds, news) = lines[start..start + deleted + added].split_at_mut(deleted);
            for (old, new) in olds.iter_mut().zip(news) {
                (old.marks, new.marks) = words::changed(&old.text, &new.text);
            }
        }
        start += (deleted + added).max(1);
    }
}

fn run(lines: &[DiffLine], start: usize, kind: LineKind) -> usize {
    lines.iter().skip(start).take_while(|line| line.kind == kind).count()
}

#[cfg(test)]
mod tests;
