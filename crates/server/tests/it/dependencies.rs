//! Checks that crates depend on each other only as ARCHITECTURE.md allows.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The allowed dependencies of each crate.
const ALLOWED_DEPENDENCIES: &[(&str, &[&str])] = &[
    ("wire", &[]),
    ("failpoints", &[]),
    ("machine", &[]),
    ("base", &["failpoints", "machine"]),
    ("pages", &[]),
    ("net", &[]),
    ("findings", &["pages"]),
    ("agent", &["failpoints", "machine", "net", "pages"]),
    ("forge", &["failpoints", "machine", "net"]),
    ("traffic", &["base", "machine", "net"]),
    ("store", &["base", "findings", "machine", "traffic"]),
    ("app", &["agent", "base", "findings", "forge", "machine", "net", "pages", "store", "traffic", "wire"]),
    (
        "api",
        &["agent", "app", "failpoints", "findings", "forge", "machine", "net", "store", "traffic", "wire"],
    ),
    ("dashboard", &["app", "findings", "forge", "machine", "net", "pages", "store", "traffic"]),
    ("worker", &["agent", "app", "failpoints", "forge", "machine", "pages", "store"]),
    ("server", &["agent", "api", "app", "base", "dashboard", "forge", "net", "store", "worker"]),
    ("eval", &["agent", "pages"]),
    ("cli", &["base", "eval", "failpoints", "pages", "server", "store", "traffic", "wire"]),
    // Only for tests: no released program depends on them.
    ("fakehost", &[]),
    ("browser", &[]),
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

#[test]
fn crates_have_only_the_allowed_dependencies() {
    let names: BTreeSet<_> = ALLOWED_DEPENDENCIES.iter().map(|(name, _)| *name).collect();
    let found: BTreeSet<_> = std::fs::read_dir(crates())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(
        found.iter().map(String::as_str).collect::<BTreeSet<_>>(),
        names,
        "a crate is missing in the list"
    );
    for (name, allowed) in ALLOWED_DEPENDENCIES {
        let manifest = std::fs::read_to_string(crates().join(name).join("Cargo.toml")).unwrap();
        let released = manifest.split("[dev-dependencies]").next().unwrap();
        for other in names.iter().filter(|other| !allowed.contains(other)) {
            let depends = released.lines().any(|line| {
                line.starts_with(&format!("{other}.workspace")) || line.starts_with(&format!("{other} ="))
            });
            assert!(!depends, "`{name}` must not depend on `{other}`");
        }
    }
}

#[test]
fn only_one_file_names_a_backend() {
    let sources = ["app", "api", "dashboard", "worker", "server"].map(|name| crates().join(name).join("src"));
    for file in sources.iter().flat_map(|source| rust_files(source)) {
        let text = std::fs::read_to_string(&file).unwrap();
        let is_allowed = file.ends_with("app/src/backends.rs");
        let names = ["Sqlite", "Postgres", "RemoteViews"];
        let found = names.iter().find(|name| !is_allowed && text.contains(**name));
        assert_eq!(found, None, "{} names a backend", file.display());
    }
}

fn rust_files(source: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![source.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    files.extend(Some(path).filter(|path| path.extension().is_some_and(|kind| kind == "rs")))
                }
            }
        }
    }
    assert!(!files.is_empty());
    files
}
