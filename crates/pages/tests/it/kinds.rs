//! Kinds of files, and the rule that only one source lists their extensions.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pages::FileKind;
use regex::Regex;

/// Sources that can name several extensions of pages, and why.
const EXCEPTIONS: &[&str] = &[
    // The list.
    "pages/src/kind.rs",
    // Extensions of addresses that request the Markdown of a page. No file is read.
    "traffic/src/path.rs",
];

#[test]
fn kinds_by_path() {
    for (path, kind) in [
        ("docs/A.MD", FileKind::Markdown),
        ("docs/a.mdx", FileKind::Mdx),
        ("a.markdown", FileKind::Markdown),
        ("docs/docs.json", FileKind::Mintlify),
        ("mkdocs.yml", FileKind::MkDocs),
        ("sidebars.ts", FileKind::NavigationScript),
        ("a/_meta.json", FileKind::NavigationData),
        ("static/_redirects", FileKind::RedirectsFile),
        ("a/logo.svg", FileKind::Svg),
        ("package.json", FileKind::Other),
        ("md", FileKind::Other),
    ] {
        assert_eq!(FileKind::of(path), kind, "{path}");
    }
}

#[test]
fn no_other_source_lists_the_extensions_of_pages() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let lists: Vec<String> = sources(crates)
        .iter()
        .map(|file| file.strip_prefix(crates).unwrap().to_str().unwrap().to_owned())
        .filter(|file| !EXCEPTIONS.contains(&file.as_str()))
        .filter(|file| endings_in(&std::fs::read_to_string(crates.join(file)).unwrap()).len() > 1)
        .collect();
    assert_eq!(lists, Vec::<String>::new(), "ask `FileKind::of(path)` instead");
}

#[test]
fn a_list_of_extensions_is_found() {
    assert_eq!(endings_in("const A: [&str; 2] = [\".md\", \"RST\"];").len(), 2);
    assert_eq!(endings_in("is(\"md\") // and \"mdx\"\n#[cfg(test)]\nmod tests {\n\"mdx\"").len(), 1);
}

/// The extensions of pages that are string literals in a source, without its tests.
fn endings_in(source: &str) -> BTreeSet<String> {
    let shipped = source.split("#[cfg(test)]\nmod tests").next().unwrap();
    let lines: Vec<&str> = shipped.lines().map(|line| line.split("//").next().unwrap()).collect();
    let endings: Vec<String> =
        FileKind::endings(FileKind::is_page).map(|ending| regex::escape(&ending[1..])).collect();
    let literal = Regex::new(&format!(r#"(?i)"\.?({})["\\'|]"#, endings.join("|"))).unwrap();
    literal.captures_iter(&lines.join("\n")).map(|found| found[1].to_lowercase()).collect()
}

fn sources(crates: &Path) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(crates).unwrap().map(|entry| entry.unwrap().path().join("src"));
    let mut folders: Vec<PathBuf> = folders.filter(|folder| folder.is_dir()).collect();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path),
            }
        }
    }
    found.retain(|file| {
        let is_test = file.file_name().is_some_and(|name| name == "tests.rs")
            || file.components().any(|part| part.as_os_str() == "tests");
        file.extension().is_some_and(|kind| kind == "rs") && !is_test
    });
    assert!(found.len() > 100);
    found
}
