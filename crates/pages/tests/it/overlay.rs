//! The virtual tree: reads, edits and refusals.

use std::sync::Arc;

use pages::{Edits, Files, FilesError, Kind, MAX_TEXT_BYTES, MemoryTree, Overlay, PathIndex};
use proptest::prelude::*;

use crate::{overlay, overlay_in};

#[test]
fn a_long_patch_is_cut() {
    let mut files = overlay(&[]);
    for name in ["a.md", "b.md"] {
        files.write(name, "é\n".repeat(500_000)).unwrap();
    }
    let patch = files.diff().unwrap();
    assert!((2_000_000..2_100_000).contains(&patch.len()), "{}", patch.len());
    assert!(patch.ends_with("+é\nThe diff is longer than 2 MiB and ends here.\n"));
}

#[test]
fn edits_are_visible() {
    let mut files = overlay(&[("a.md", "one\ntwo\n"), ("b.md", "b\n"), ("c.png", "\0")]);
    files.write("a.md", "one\n2\nthree\n".to_owned()).unwrap();
    files.rename("c.png", "img/c.png").unwrap();
    files.delete("b.md").unwrap();
    files.write("new/d.md", "d".to_owned()).unwrap();

    assert_eq!(files.list(), ["a.md", "img/c.png", "new/d.md"]);
    assert_eq!(files.read("a.md").unwrap(), "one\n2\nthree\n");
    assert!(matches!(files.read("b.md"), Err(FilesError::NotFound(_))));
    let edits = files.edits().0;
    let found: Vec<_> = edits.iter().map(|(path, new)| (path.as_str(), new.as_deref())).collect();
    let expected: [(&str, Option<&[u8]>); 5] = [
        ("a.md", Some(b"one\n2\nthree\n")),
        ("b.md", None),
        ("c.png", None),
        ("img/c.png", Some(b"\0")),
        ("new/d.md", Some(b"d")),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_file_of_redirects_outside_the_docs_folder_can_be_allowed() {
    let tree = || {
        MemoryTree::new([
            ("site/docs/a.md", "a\n"),
            ("site/mkdocs.yml", "site_name: A\n"),
            ("site/static/_redirects", "/a /b\n"),
            ("other/vercel.json", "{}"),
            ("README.md", "r\n"),
        ])
    };
    let index = Arc::new(PathIndex::new(&tree(), Some("site/docs")).unwrap());
    let mut files = Overlay::with_index(tree(), index.clone());
    assert_eq!(files.redirects_outside(), ["site/mkdocs.yml", "site/static/_redirects"]);
    assert_eq!(files.list(), ["site/docs/a.md"]);
    check_refused(&mut files, "site/mkdocs.yml", "it is outside the docs folder");

    let mut files = Overlay::with_index(tree(), index.allow(|path| path != "site/static/_redirects"));
    assert_eq!(files.redirects_outside(), ["site/static/_redirects"]);
    assert_eq!(files.list(), ["site/docs/a.md", "site/mkdocs.yml"]);
    files.write("site/mkdocs.yml", "site_name: B\n".to_owned()).unwrap();
    assert_eq!(files.read("site/mkdocs.yml").unwrap(), "site_name: B\n");
    assert_eq!(files.before().read("site/mkdocs.yml").unwrap(), "site_name: A\n");
    assert_eq!(files.changed(), ["site/mkdocs.yml"]);
    // Only files of redirects: an allowed page stays outside.
    check_refused(&mut files, "README.md", "it is outside the docs folder");
}

#[test]
fn an_undone_edit_is_no_edit() {
    let mut files = overlay(&[("a.md", "a\n"), ("b.md", "b\n")]);
    files.write("a.md", "x\n".to_owned()).unwrap();
    files.write("a.md", "a\n".to_owned()).unwrap();
    files.delete("b.md").unwrap();
    files.write("b.md", "b\n".to_owned()).unwrap();
    files.write("c.md", "c\n".to_owned()).unwrap();
    files.delete("c.md").unwrap();
    files.rename("a.md", "z.md").unwrap();
    files.rename("z.md", "a.md").unwrap();
    assert_eq!(files.edits(), Edits::default());
    assert_eq!(files.diff().unwrap(), "");
}

#[track_caller]
fn check_refused(files: &mut Overlay<MemoryTree>, path: &str, why: &str) {
    let before = files.edits();
    match files.write(path, "x".to_owned()) {
        Err(FilesError::Refused { why: found, .. }) => assert!(found.contains(why), "{path:?}: {found}"),
        other => panic!("{path:?}: {other:?}"),
    }
    assert_eq!(files.edits(), before);
}

#[test]
fn unsafe_paths_are_refused() {
    let mut files = overlay(&[("a.md", "a")]);
    for (path, why) in [
        ("/etc/passwd", "relative"),
        ("../a.md", "`..`"),
        ("docs/../../a.md", "`..`"),
        ("a//b.md", "empty part"),
        ("", "empty"),
        ("a\0b", "control"),
        ("docs\\a.md", "backslash"),
        ("C:/a.md", "drive letter"),
        ("docs/a.md.", "dot or a space"),
        ("docs /a.md", "dot or a space"),
        (".git/config", ".git"),
        ("x/.GiT/hooks/pre-commit", ".git"),
        (".g\u{200c}it/config", ".git"),
        ("git~1/config", ".git"),
    ] {
        check_refused(&mut files, path, why);
        assert!(files.read(path).is_err(), "{path:?}");
        assert!(files.delete(path).is_err(), "{path:?}");
        assert!(files.rename("a.md", path).is_err(), "{path:?}");
        assert!(files.rename(path, "b.md").is_err(), "{path:?}");
    }
    assert_eq!(files.edits(), Edits::default());
}

#[test]
fn nothing_goes_through_links_and_submodules() {
    let tree = MemoryTree::new([("a.md", "a")]).with("link", Kind::Symlink).with("sub", Kind::Submodule);
    let mut files = Overlay::new(tree, None).unwrap();
    assert_eq!(files.list(), ["a.md"]);
    for path in ["link", "link/x.md"] {
        check_refused(&mut files, path, "symbolic link");
        assert!(
            files.read(path).is_err() && files.delete(path).is_err() && files.rename("a.md", path).is_err()
        );
    }
    check_refused(&mut files, "sub/x.md", "submodule");
    check_refused(&mut files, "LINK/x.md", "only by case");
}

#[test]
fn a_path_is_a_file_or_a_folder() {
    let mut files = overlay(&[("docs/A.md", "a"), ("b.md", "b")]);
    check_refused(&mut files, "b.md/c.md", "is a file");
    check_refused(&mut files, "docs", "is a folder");
    check_refused(&mut files, "docs/a.md", "only by case");
    check_refused(&mut files, "Docs/new.md", "only by case");
    files.write("docs/A.md", "changed".to_owned()).unwrap();

    // A deleted file no longer blocks its path.
    files.rename("docs/A.md", "docs/a.md").unwrap();
    files.delete("b.md").unwrap();
    files.write("b.md/c.md", "c".to_owned()).unwrap();
    assert_eq!(files.list(), ["b.md/c.md", "docs/a.md"]);
}

#[test]
fn a_refused_move_leaves_the_file() {
    let mut files = overlay(&[("a.md", "a"), ("docs/B.md", "b")]);
    assert!(files.rename("a.md", "docs/b.md").is_err());
    assert!(files.rename("a.md", "docs/B.md").is_err());
    assert_eq!(files.list(), ["a.md", "docs/B.md"]);
    assert_eq!(files.edits(), Edits::default());
}

#[test]
fn only_the_docs_folder_is_visible() {
    let tree = [("docs/a.md", "a"), ("src/main.rs", "x"), ("docs-old/b.md", "b")];
    let mut files = overlay_in(&tree, Some("/docs/"));
    assert_eq!(files.root(), "docs");
    assert_eq!(files.list(), ["docs/a.md"]);
    for path in ["src/main.rs", "docs-old/b.md", "README.md", "docs"] {
        check_refused(&mut files, path, "outside the docs folder");
        assert!(files.read(path).is_err());
    }
    for bad in ["nowhere", "../x", "docs/a.md"] {
        assert!(Overlay::new(MemoryTree::new(tree), Some(bad)).is_err(), "{bad}");
    }
    let linked = MemoryTree::new(tree).with("site", Kind::Symlink);
    assert!(Overlay::new(linked, Some("site/docs")).is_err());
}

#[test]
fn text_has_a_limit() {
    let big = "x".repeat(MAX_TEXT_BYTES + 1);
    let mut files = overlay(&[("big.md", &big), ("bin.md", "a\0b")]);
    assert!(matches!(files.read("big.md"), Err(FilesError::NotText { .. })));
    assert!(matches!(files.read("bin.md"), Err(FilesError::NotText { .. })));
    assert!(matches!(files.write("new.md", big), Err(FilesError::Refused { .. })));
}

#[test]
fn a_search_finds_lines() {
    let files = overlay(&[("a.md", "One\ntwo one\n"), ("b.md", "none\n"), ("c.png", "one\0")]);
    let hits = files.search("ONE", 10).unwrap();
    let found: Vec<_> = hits.iter().map(|hit| (hit.path.as_str(), hit.line, hit.text.as_str())).collect();
    assert_eq!(found, [("a.md", 1, "One"), ("a.md", 2, "two one"), ("b.md", 1, "none")]);
    assert_eq!(files.search("one", 2).unwrap().len(), 2);
    assert!(files.search("(", 2).unwrap().is_empty());
}

#[derive(Debug, Clone)]
enum Edit {
    Write(String, String),
    Rename(String, String),
    Delete(String),
}

fn edit() -> impl Strategy<Value = Edit> {
    let path = || prop_oneof!["[abAB]{1,2}(/[abAB.]{1,2}){0,2}", ".{0,8}"];
    prop_oneof![
        (path(), "[xy\n]{0,3}").prop_map(|(path, text)| Edit::Write(path, text)),
        (path(), path()).prop_map(|(from, to)| Edit::Rename(from, to)),
        path().prop_map(Edit::Delete),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// After any edits, every file system can hold the tree, and the recorded edits describe it.
    #[test]
    fn any_edits_leave_a_valid_tree(edits in proptest::collection::vec(edit(), 0..40)) {
        let base = [("a", "x"), ("b/a", "y"), ("b/b/a", "x")];
        let mut files = overlay(&base);
        for edit in edits {
            let _ = match edit {
                Edit::Write(path, text) => files.write(&path, text),
                Edit::Rename(from, to) => files.rename(&from, &to),
                Edit::Delete(path) => files.delete(&path),
            };
        }
        let list = files.list();
        let mut folded: Vec<String> = list.iter().map(|path| path.to_lowercase()).collect();
        folded.sort();
        folded.dedup();
        prop_assert_eq!(folded.len(), list.len());
        for path in &list {
            let below = format!("{path}/");
            prop_assert!(!list.iter().any(|other| other.starts_with(&below)));
        }
        let mut replayed: std::collections::BTreeMap<String, Vec<u8>> =
            base.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect();
        for (path, change) in files.edits().0 {
            match change {
                Some(bytes) => prop_assert_ne!(replayed.insert(path, bytes.clone()), Some(bytes)),
                None => prop_assert!(replayed.remove(&path).is_some()),
            }
        }
        prop_assert_eq!(replayed.into_keys().collect::<Vec<_>>(), list);
    }
}
