//! The walls between the rooms, as ARCHITECTURE.md draws them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Who may know whom. What is not here is a wall.
const DOORS: &[(&str, &[&str])] = &[
    ("wire", &[]),
    ("failpoints", &[]),
    ("machine", &[]),
    ("base", &["failpoints", "machine"]),
    ("pages", &[]),
    ("net", &[]),
    ("agent", &["failpoints", "machine", "net", "pages"]),
    ("forge", &["failpoints", "machine", "net"]),
    ("traffic", &["base", "machine"]),
    ("store", &["base", "machine"]),
    ("app", &["agent", "base", "forge", "machine", "net", "pages", "store", "traffic", "wire"]),
    ("api", &["agent", "app", "failpoints", "forge", "machine", "net", "store", "traffic", "wire"]),
    ("dashboard", &["app", "forge", "machine", "net", "pages", "store", "traffic"]),
    ("worker", &["agent", "app", "failpoints", "forge", "machine", "pages", "store"]),
    ("server", &["agent", "api", "app", "base", "dashboard", "forge", "net", "store", "worker"]),
    ("cli", &["base", "failpoints", "pages", "server", "store", "traffic", "wire"]),
    // For tests alone: it knows nobody, and nobody that is shipped knows it.
    ("fakehost", &[]),
    ("browser", &[]),
];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

#[test]
fn crates_know_only_whom_they_may() {
    let names: BTreeSet<_> = DOORS.iter().map(|(name, _)| *name).collect();
    let found: BTreeSet<_> = std::fs::read_dir(crates())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(found.iter().map(String::as_str).collect::<BTreeSet<_>>(), names, "a room without a plan");
    for (name, doors) in DOORS {
        let manifest = std::fs::read_to_string(crates().join(name).join("Cargo.toml")).unwrap();
        let shipped = manifest.split("[dev-dependencies]").next().unwrap();
        for other in names.iter().filter(|other| !doors.contains(other)) {
            let knows = shipped.lines().any(|line| {
                line.starts_with(&format!("{other}.workspace")) || line.starts_with(&format!("{other} ="))
            });
            assert!(!knows, "`{name}` must not know `{other}`");
        }
    }
}

#[test]
fn only_app_names_a_backend() {
    let sources = ["app", "api", "dashboard", "worker", "server"].map(|name| crates().join(name).join("src"));
    for file in sources.iter().flat_map(|source| rust_files(source)) {
        let text = std::fs::read_to_string(&file).unwrap();
        let is_app = file.ends_with("app/src/app.rs");
        assert!(is_app || !text.contains("Sqlite"), "{} names a backend", file.display());
    }
}

fn rust_files(source: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![source.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    found.extend(Some(path).filter(|path| path.extension().is_some_and(|kind| kind == "rs")))
                }
            }
        }
    }
    assert!(!found.is_empty());
    found
}
