//! Changes as a patch that `git apply` accepts, and as line counts.

use std::fmt::Write as _;

use similar::{ChangeTag, TextDiff};

const CONTEXT_LINES: usize = 3;

/// One file's change in the form of git; `None` is a file that is not there. Empty when nothing changed.
pub fn unified_diff(path: &str, old: Option<&str>, new: Option<&str>) -> String {
    if old == new {
        return String::new();
    }
    let mut patch = header(path, old.is_some(), new.is_some());
    let (old_lines, new_lines) = (lines(old.unwrap_or_default()), lines(new.unwrap_or_default()));
    let diff = TextDiff::from_slices(&old_lines, &new_lines);
    if !diff.ops().is_empty() {
        let side =
            |there: bool, prefix| if there { quoted(prefix, path, "\t") } else { "/dev/null".to_owned() };
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

/// As [`unified_diff`], for bytes that may not be text.
pub(crate) fn of_bytes(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> String {
    if let (Some(old), Some(new)) = (text(old), text(new)) {
        return unified_diff(path, old, new);
    }
    let side = |there: bool, prefix| if there { quoted(prefix, path, "") } else { "/dev/null".to_owned() };
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

/// Git puts a name in quotes when it holds a quote, and a tab behind one with a space, to mark its end.
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

/// A line ends at a line feed and nowhere else, as in git; a lone carriage return is part of its line.
fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// `None` when the bytes are no text; `Some(None)` when there is no file.
fn text(bytes: Option<&[u8]>) -> Option<Option<&str>> {
    match bytes {
        None => Some(None),
        Some(bytes) if bytes.contains(&0) => None,
        Some(bytes) => std::str::from_utf8(bytes).ok().map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_files_are_named_only() {
        let patch = of_bytes("a.png", None, Some(b"\0"));
        assert_eq!(
            patch,
            "diff --git a/a.png b/a.png\nnew file mode 100644\nBinary files /dev/null and b/a.png differ\n"
        );
    }
}
