//! Tests real edits of real pages with typical copying mistakes: the edit must still apply, byte by byte as expected.
//!
//! Each run tests the project's own pages. For thousands of edits, from the documents of the crates that cargo has
//! unpacked:
//! `cargo test --release -p agent --test it edit_corpus -- --ignored --nocapture`

mod hunks;
mod mistakes;
mod slips;
mod tally;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use hunks::{Hunk, diff_hunks, synthetic_hunks};
use tally::{Outcome, tally};

/// Prints the table and the first wrong edits, and checks the promised rates.
fn check_rates(hunks: &[Hunk]) {
    let mut wrong = Vec::new();
    let (apply, miss) = tally(hunks, |slip, slipped, outcome, result| {
        if outcome == Outcome::Wrong && wrong.len() < 3 {
            let lines = result.lines().zip(slipped.after.lines()).find(|(result, after)| result != after);
            wrong.push(format!("{}: {lines:?} by {:?} -> {:?}", slip.name, slipped.old, slipped.new));
        }
    });
    println!(
        "exact: {} of {} ({:.2}%); other white space: {}; wrong: {}; refused: {}; wrong words refused: {}",
        apply.exact,
        apply.all(),
        apply.exact_share(),
        apply.white_space,
        apply.wrong + miss.wrong,
        apply.refused,
        miss.refused
    );
    assert_eq!(apply.wrong + miss.wrong, 0, "{wrong:#?}");
    assert!(apply.exact_share() >= 97.0, "{}", apply.exact_share());
    assert!(apply.refused_share() <= 2.0, "{}", apply.refused_share());
}

#[test]
fn edits_of_own_pages_apply() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../app/sample");
    let pages = texts(&sample, &["md", "mdx"]);
    assert!(pages.len() > 10);
    let hunks: Vec<_> = pages.iter().flat_map(|(_, text)| synthetic_hunks(text, 4)).collect();
    check_rates(&hunks);
}

#[test]
#[ignore = "reads what cargo has unpacked, for minutes"]
fn edits_of_the_registry_apply() {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo"))).unwrap();
    let crates =
        folders(&home.join("registry/src")).iter().flat_map(|source| folders(source)).collect::<Vec<_>>();
    if crates.is_empty() {
        println!("no crates are unpacked on this machine; nothing was tried");
        return;
    }
    let mut hunks = Vec::new();
    for pair in crates.windows(2).filter(|pair| name(&pair[0]) == name(&pair[1])) {
        for (path, before) in texts(&pair[0], &["md", "rs"]) {
            let after = std::fs::read_to_string(pair[1].join(path.strip_prefix(&pair[0]).unwrap()));
            hunks.extend(after.iter().flat_map(|after| diff_hunks(&before, after, 12)));
        }
    }
    println!("{} of them between two versions of a crate", hunks.len());
    let mut seen = HashSet::new();
    let documents =
        crates.iter().flat_map(|folder| texts(folder, &["md"])).filter(|(_, text)| seen.insert(text.clone()));
    hunks.extend(documents.flat_map(|(_, text)| synthetic_hunks(&text, 5)));
    check_rates(&hunks);
}

/// A crate's folder without its version.
fn name(folder: &Path) -> String {
    let name = folder.file_name().unwrap().to_string_lossy();
    let version =
        name.match_indices('-').find(|(at, _)| name[at + 1..].starts_with(|ch: char| ch.is_ascii_digit()));
    version.map_or(name.to_string(), |(at, _)| name[..at].to_owned())
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<_> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// All texts under `folder` with one of these extensions, except long ones.
fn texts(folder: &Path, kinds: &[&str]) -> Vec<(PathBuf, String)> {
    let mut files: Vec<_> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.sort();
    let wanted = |path: &Path| path.extension().is_some_and(|kind| kinds.iter().any(|other| kind == *other));
    let mut texts = Vec::new();
    for path in files {
        if path.is_dir() {
            texts.extend(self::texts(&path, kinds));
        } else if wanted(&path) {
            let text = std::fs::read_to_string(&path).ok().filter(|text| text.len() < 40_000);
            texts.extend(text.map(|text| (path, text)));
        }
    }
    texts
}
