//! Patches of single files.

use pages::unified_diff;

#[track_caller]
fn check(old: Option<&str>, new: Option<&str>, expected: &str) {
    assert_eq!(unified_diff("a.md", old, new), expected);
}

#[test]
fn patches() {
    check(Some("same\n"), Some("same\n"), "");
    check(
        Some("a\nb\n"),
        Some("a\nc\n"),
        "diff --git a/a.md b/a.md\n--- a/a.md\n+++ b/a.md\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n",
    );
    check(
        None,
        Some("a\n"),
        "diff --git a/a.md b/a.md\nnew file mode 100644\n--- /dev/null\n+++ b/a.md\n@@ -0,0 +1 @@\n+a\n",
    );
    check(
        Some("a"),
        None,
        concat!(
            "diff --git a/a.md b/a.md\ndeleted file mode 100644\n--- a/a.md\n+++ /dev/null\n",
            "@@ -1 +0,0 @@\n-a\n\\ No newline at end of file\n"
        ),
    );
    check(None, Some(""), "diff --git a/a.md b/a.md\nnew file mode 100644\n");
}
