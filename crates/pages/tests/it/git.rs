//! Applies patches with the real git: it must accept them and produce the same files.

use std::fs;
use std::path::Path;
use std::process::Command;

use pages::{Files, MemoryTree, Overlay};

fn git(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command
        .current_dir(folder)
        .args(arguments)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = command.env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn git_applies_the_patch() {
    let long: String = (0..60).map(|line| format!("line {line}\n")).collect();
    let base = [
        ("keep.md", "keep\n"),
        ("edit.md", long.as_str()),
        ("crlf.md", "a\r\nb\rc\r\nd\r\n"),
        ("end.md", "no newline"),
        ("gone.md", "x\ny\n"),
        ("empty.md", ""),
        ("with space.md", "a\n"),
        ("quo\"te.md", "a\n"),
        ("é/日本.md", "a\n"),
        ("filled.md", ""),
    ];
    let mut files = Overlay::new(MemoryTree::new(base), None).unwrap();
    let edits = [
        ("edit.md", long.replace("line 3\n", "three\n").replace("line 50\n", "")),
        ("crlf.md", "a\r\nb\rC\r\nd\r\n".to_owned()),
        ("end.md", "a newline\n".to_owned()),
        ("with space.md", "b".to_owned()),
        ("quo\"te.md", "b\n".to_owned()),
        ("é/日本.md", "b\n".to_owned()),
        ("filled.md", "now\n".to_owned()),
        ("new/deep.md", "new\n".to_owned()),
        ("new/empty.md", String::new()),
        ("new/a \"b\".md", "x".to_owned()),
    ];
    for (path, text) in edits {
        files.write(path, text).unwrap();
    }
    files.delete("gone.md").unwrap();
    files.delete("empty.md").unwrap();

    let folder = tempfile::tempdir().unwrap();
    for (path, text) in base {
        write(folder.path(), path, text);
    }
    let patch = folder.path().join(".patch");
    fs::write(&patch, files.diff().unwrap()).unwrap();
    git(folder.path(), &["apply", "--whitespace=nowarn", ".patch"]);
    fs::remove_file(patch).unwrap();

    for path in files.list() {
        assert_eq!(
            fs::read_to_string(folder.path().join(&path)).unwrap(),
            files.read(&path).unwrap(),
            "{path}"
        );
    }
    assert!(!folder.path().join("gone.md").exists() && !folder.path().join("empty.md").exists());
}
