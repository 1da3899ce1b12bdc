//! Compares the change of a model with the expected one: by files, and by the changed places within them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How much of the expected change the model made.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Matched {
    pub expected: usize,
    /// Of the expected ones, those that the model made exactly.
    pub matched: usize,
    /// Made by the model, but not expected.
    pub extra: usize,
}

impl Matched {
    pub fn is_exact(self) -> bool {
        self.matched == self.expected && self.extra == 0
    }
}

/// The content of each changed file. `None` is a deleted file.
pub type Changes = BTreeMap<String, Option<Vec<u8>>>;

/// Counts the files whose content is exactly as expected.
pub(crate) fn compare_files(expected: &Changes, made: &Changes) -> Matched {
    let matched = expected.iter().filter(|(path, content)| made.get(*path) == Some(content)).count();
    let extra = made.keys().filter(|path| !expected.contains_key(*path)).count();
    Matched { expected: expected.len(), matched, extra }
}

/// Counts the changed places that are the same in both patches, wherever they are in their file.
pub(crate) fn compare_hunks(expected: &str, made: &str) -> Matched {
    let (expected, mut made) = (hunks(expected), hunks(made));
    let mut matched = 0;
    for hunk in &expected {
        if let Some(at) = made.iter().position(|other| other == hunk) {
            made.swap_remove(at);
            matched += 1;
        }
    }
    Matched { expected: expected.len(), matched, extra: made.len() }
}

/// A changed place: its file, and the removed and added lines.
type Hunk<'a> = (&'a str, Vec<&'a str>);

fn hunks(patch: &str) -> Vec<Hunk<'_>> {
    let (mut hunks, mut path, mut lines): (Vec<Hunk<'_>>, _, Vec<&str>) = (Vec::new(), "", Vec::new());
    for line in patch.lines().chain([" "]) {
        let is_header = line.starts_with("--- ") || line.starts_with("+++ ");
        if !is_header && (line.starts_with('-') || line.starts_with('+')) {
            lines.push(line);
            continue;
        }
        if !lines.is_empty() {
            hunks.push((path, std::mem::take(&mut lines)));
        }
        if let Some(name) = line.strip_prefix("diff ").or(line.strip_prefix("+++ ")) {
            path = name;
        }
    }
    hunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_compared_within_their_file() {
        let patch = |path: &str, body: &str| format!("--- a/{path}\n+++ b/{path}\n@@ -1,3 +1,3 @@\n{body}");
        let expected = patch("a.md", " one\n-two\n+zwei\n three\n-four\n+vier\n");
        let same = |made: &str| compare_hunks(&expected, made);
        assert!(same(&expected).is_exact());
        let half = patch("a.md", " one\n-two\n+zwei\n three\n-four\n+fier\n");
        assert_eq!(same(&half), Matched { expected: 2, matched: 1, extra: 1 });
        let other_file = patch("b.md", "-two\n+zwei\n");
        assert_eq!(same(&other_file), Matched { expected: 2, matched: 0, extra: 1 });
        assert_eq!(same(""), Matched { expected: 2, matched: 0, extra: 0 });
    }

    #[test]
    fn files_are_compared_by_their_bytes() {
        let changes = |text: &str| Changes::from([("a.md".to_owned(), Some(text.as_bytes().to_vec()))]);
        assert!(compare_files(&changes("a\n"), &changes("a\n")).is_exact());
        assert_eq!(
            compare_files(&changes("a\n"), &changes("a")),
            Matched { expected: 1, matched: 0, extra: 0 }
        );
        let deleted = Changes::from([("b.md".to_owned(), None)]);
        assert_eq!(compare_files(&deleted, &changes("a\n")), Matched { expected: 1, matched: 0, extra: 1 });
    }
}
