//! Formats changes as a patch that `git apply` accepts.

use std::fmt::Write as _;

use similar::{ChangeTag, TextDiff};

const CONTEXT_LINES: usize = 3;

/// The change of one file in git's format. `None` is a file that doesn't exist. Empty when nothing changed.
pub fn unified_diff(path: &str, old: Option<&str>, new: Option<&str>) -> String {
    if old == new {
        return String::new();
    }
    let mut patch = header(path, old.is_some(), new.is_some());
    let (old_lines, new_lines) = (lines(old.unwrap_or_default()), lines(new.unwrap_or_default()));
    let diff = TextDiff::from_slices(&old_lines, &new_lines);
    if !diff.ops().is_empty() {
        let side =
            |exists: bool, prefix| if exists { quoted(prefix, path, "\t") } else { "/dev/null".to_owned() };
        let _ = writeln!(patch, "--- {}\n+++ {}", side(old.is_some(), "a/"), side(new.is_some(), "b/"));
    }
    for hunk in diff.unified_diff().context_radius(CONTEXT_LINES).iter_hunks() {
        let _ = writeln!(patch, "{}", hunk.header());
        for line in hunk.iter_changes() {
            push_line(&mut patch, line.tag(), line.value());
        }
    }
    patch
}

/// Like [`unified_diff`], for bytes that are perhaps not text.
pub(crate) fn diff_bytes(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> String {
    match (Content::new(old), Content::new(new)) {
        (Content::Binary, _) | (_, Content::Binary) => {}
        (old, new) => return unified_diff(path, old.text(), new.text()),
    }
    let side = |exists: bool, prefix| if exists { quoted(prefix, path, "") } else { "/dev/null".to_owned() };
    let mut patch = header(path, old.is_some(), new.is_some());
    let _ = writeln!(
        patch,
        "Binary files {} and {} differ",
        side(old.is_some(), "a/"),
        side(new.is_some(), "b/")
    );
    patch
}

fn header(path: &str, old: bool, new: bool) -> String {
    let mut header = format!("diff --git {} {}\n", quoted("a/", path, ""), quoted("b/", path, ""));
    match (old, new) {
        (false, _) => header.push_str("new file mode 100644\n"),
        (_, false) => header.push_str("deleted file mode 100644\n"),
        (true, true) => {}
    }
    header
}

/// Git quotes a name that contains a quote, and adds a tab after a name with a space, to mark its end.
fn quoted(prefix: &str, path: &str, end: &str) -> String {
    if path.contains('"') {
        return format!("\"{prefix}{}\"", path.replace('"', "\\\""));
    }
    let end = if path.contains(' ') { end } else { "" };
    format!("{prefix}{path}{end}")
}

fn push_line(patch: &mut String, tag: ChangeTag, line: &str) {
    patch.push(match tag {
        ChangeTag::Insert => '+',
        ChangeTag::Delete => '-',
        ChangeTag::Equal => ' ',
    });
    patch.push_str(line);
    if !line.ends_with('\n') {
        patch.push_str("\n\\ No newline at end of file\n");
    }
}

/// Splits lines as git does: only at line feeds. A lone carriage return is part of its line.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// The content of one side of a change.
enum Content<'a> {
    /// The file doesn't exist.
    Missing,
    Text(&'a str),
    Binary,
}

impl<'a> Content<'a> {
    fn new(bytes: Option<&'a [u8]>) -> Self {
        match bytes {
            None => Self::Missing,
            Some(bytes) if bytes.contains(&0) => Self::Binary,
            Some(bytes) => std::str::from_utf8(bytes).map_or(Self::Binary, Self::Text),
        }
    }

    fn text(&self) -> Option<&'a str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Missing | Self::Binary => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_files_are_only_named() {
        let patch = diff_bytes("a.png", None, Some(b"\0"));
        assert_eq!(
            patch,
            "diff --git a/a.png b/a.png\nnew file mode 100644\nBinary files /dev/null and b/a.png differ\n"
        );
    }
}
