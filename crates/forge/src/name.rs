//! Validates names before git sees them: branches, pins and the paths of edited files.

use gix::bstr::ByteSlice as _;
use gix::validate::path::component;

use crate::{Error, Result};

const MAX_NAME_BYTES: usize = 200;
const MAX_PATH_BYTES: usize = 4096;

/// Applies the rules of `git check-ref-format --branch`. Also refuses names that look like an option, a
/// revision expression or one of git's files.
pub fn valid_branch(name: &str) -> Result<()> {
    let refuse = |why: &str| {
        let shown = printable(name);
        Err(Error::BadName(format!("the branch name `{shown}` {why}")))
    };
    if name.is_empty() || name.len() > MAX_NAME_BYTES {
        return refuse("must be 1 to 200 bytes long");
    }
    if name.starts_with('-') {
        return refuse("must not start with a dash");
    }
    let special = |c: char| c.is_whitespace() || c.is_control() || "~^:?*[\\".contains(c);
    if name.chars().any(special) {
        return refuse("must have no spaces, control characters or any of ~^:?*[\\");
    }
    if name.contains("..") || name.contains("@{") || name == "@" || name == "HEAD" {
        return refuse("must not read as a revision (`..`, `@{`, `@`, `HEAD`)");
    }
    let bad_part = |part: &str| {
        part.is_empty() || part.starts_with('.') || part.ends_with('.') || part.ends_with(".lock")
    };
    if name.split('/').any(bad_part) {
        return refuse("has a part that is empty, starts or ends with a dot, or ends with `.lock`");
    }
    if name.starts_with("refs/") {
        return refuse("must be given without `refs/heads/`");
    }
    Ok(())
}

/// Whether an edit may touch `path`. A second line of defense behind the rules of the callers: refuses paths
/// that leave the tree, and paths that any operating system treats as `.git`.
pub fn valid_path(path: &str) -> Result<()> {
    let refuse = |why: &str| {
        let shown = printable(path);
        Err(Error::BadName(format!("the path `{shown}` {why}")))
    };
    if path.is_empty() || path.len() > MAX_PATH_BYTES {
        return refuse("must be 1 to 4096 bytes long");
    }
    if path.chars().any(|c| c.is_control() || c == '\\') {
        return refuse("must have no control characters or backslashes");
    }
    if path.as_bytes().get(1) == Some(&b':') {
        return refuse("must not start with a drive letter");
    }
    // Windows device names such as `aux.md` are allowed: on other systems they are ordinary pages.
    let options = component::Options { protect_windows: false, ..component::Options::default() };
    for part in path.split('/') {
        if part.ends_with(['.', ' ']) && !matches!(part, "." | "..") {
            return refuse("has a part that ends with a dot or a space");
        }
        if gix::validate::path::component(part.as_bytes().as_bstr(), None, options).is_err() {
            return refuse("must be relative, without empty parts, `.`, `..` or `.git`");
        }
    }
    Ok(())
}

/// `text` on one line, without control characters, at most 200 characters.
pub(crate) fn printable(text: &str) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(clean).take(200).collect()
}

/// Quotes `text` as one shell argument, for commands that people copy from a message.
pub(crate) fn shell_quote(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-".contains(c);
    if text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_names_follow_the_rules_of_git() {
        #[track_caller]
        fn check(name: &str, expected: bool) {
            assert_eq!(valid_branch(name).is_ok(), expected, "{name:?}");
        }
        check("main", true);
        check("docwright/0197-abc", true);
        check("ünï/cödé", true);
        check("a@b", true);
        check("release-1.2", true);
        for bad in [
            "",
            "-main",
            "--upload-pack=x",
            "a..b",
            "a.lock",
            "a.lock/b",
            ".a",
            "a/.b",
            "a.",
            "a/",
            "/a",
            "a//b",
            "a b",
            "a\nb",
            "a\u{7f}b",
            "a\0",
            "a@{1}",
            "@",
            "HEAD",
            "a~1",
            "a^",
            "a:b",
            "a?",
            "a*",
            "a[",
            "a\\b",
            "refs/heads/main",
        ] {
            check(bad, false);
        }
        check(&"a".repeat(201), false);
    }

    #[test]
    fn paths_cannot_leave_the_tree_or_reach_git_files() {
        #[track_caller]
        fn check(path: &str, expected: bool) {
            assert_eq!(valid_path(path).is_ok(), expected, "{path:?}");
        }
        check("index.md", true);
        check("guides/Über uns.md", true);
        check("-rf", true);
        check("$(touch x).md", true);
        check(".github/x.md", true);
        check(".gitignore", true);
        check("aux.md", true);
        for bad in [
            "",
            "/etc/passwd",
            "a//b",
            "a/",
            "./a",
            "../a",
            "a/../b",
            "a/..",
            "..",
            ".git/config",
            "a/.GIT/x",
            ".git",
            ".git. ",
            ".git.",
            "git~1/x",
            ".g\u{200c}it/config",
            "a\\b",
            "c:/x",
            "C:x",
            "a\0b",
            "a\nb",
            "a./b",
            "a /b",
            ".git::$INDEX_ALLOCATION/x",
        ] {
            check(bad, false);
        }
        check(&"a/".repeat(3000), false);
    }

    #[test]
    fn arguments_are_quoted_for_a_shell() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            assert_eq!(shell_quote(text), expected);
        }
        check("/srv/docs", "/srv/docs");
        check("docwright/job-1", "docwright/job-1");
        check("$(id)", "'$(id)'");
        check("it's", r"'it'\''s'");
    }

    #[test]
    fn a_refusal_carries_no_control_characters() {
        let refused = valid_branch("a\u{1b}[31m").unwrap_err().to_string();
        assert!(!refused.contains('\u{1b}'), "{refused}");
    }
}
