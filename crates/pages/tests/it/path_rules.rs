//! The paths that a file can be written to.

use pages::{Files, FilesError};

use crate::overlay;

fn write(path: &str) -> Result<(), FilesError> {
    overlay(&[]).write(path, "x".to_owned())
}

#[test]
fn valid_paths_are_accepted() {
    for path in [
        "a.md",
        "docs/a b.md",
        "docs/.github/x.yml",
        ".gitignore",
        "docs/github.md",
        "é/日本.md",
        "a..b.md",
        "...a",
        "docs/git~x.md",
        "docs/1:1.md",
    ] {
        assert!(write(path).is_ok(), "{path:?}");
    }
}

#[test]
fn invalid_paths_are_refused() {
    for path in [
        "",
        "/etc/passwd",
        "../a.md",
        "docs/../../a",
        "docs/./a",
        "a//b",
        "a/",
        "docs\\a.md",
        "a\0b",
        "a\nb",
        "C:/a.md",
        "c:a.md",
        "a.md.",
        "a ",
        "docs /a.md",
        ".git/config",
        ".GIT/config",
        "docs/.git",
        ".g\u{200c}it/x",
        "\u{feff}.git/x",
        "git~1/config",
        "GIT~2",
        ".git::$INDEX_ALLOCATION/x",
        ".git \u{200c}",
        "a\u{202e}dm.b",
        "a\u{7f}",
        "a\u{85}b",
    ] {
        assert!(write(path).is_err(), "{path:?}");
    }
    assert!(write(&"a/".repeat(600)).is_err());
    assert!(write(&"a".repeat(256)).is_err());
}

#[test]
fn a_name_clashes_until_it_is_removed() {
    let mut files = overlay(&[("docs/Read Me.md", ""), ("docs/b.md", "")]);
    let mut write = |path: &str, is_free: bool| {
        assert_eq!(files.write(path, "x".to_owned()).is_ok(), is_free, "{path:?}");
    };
    write("docs/read me.md", false);
    write("Docs/c.md", false);
    write("docs/Read Me.md", true);
    write("docs/re\u{200c}ad me.md", false);

    files.delete("docs/Read Me.md").unwrap();
    files.rename("docs/b.md", "docs/read me.md").unwrap();
    assert!(files.write("Docs/c.md", "x".to_owned()).is_err());
    files.delete("docs/read me.md").unwrap();
    files.write("Docs/c.md", "x".to_owned()).unwrap();
}
