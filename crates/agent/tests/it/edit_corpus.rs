//! Tests real edits of real pages with typical copying mistakes: the edit must still apply, and never in the wrong way.
//!
//! Each run tests the project's own pages. For thousands of edits, from the documents of the crates that cargo has
//! unpacked:
//! `cargo test --release -p agent --test it edit_corpus -- --ignored --nocapture`

mod hunks;
mod slips;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use agent::edit;

use hunks::{Hunk, diff_hunks, synthetic_hunks};
use slips::{SLIPS, Slip, Slipped};

#[derive(Debug, Default)]
struct Tally {
    right: usize,
    /// Right except for white space and lookalikes, mostly where lines wrap.
    similar: usize,
    wrong: usize,
    refused: usize,
}

impl Tally {
    fn count(&mut self, slip: &Slip, hunk: &Hunk) {
        let Some(slipped) = (slip.make)(hunk).filter(|slipped| !is_elsewhere(slipped, hunk)) else {
            return;
        };
        match edit(&slipped.text, &slipped.old, &slipped.new, false) {
            Err(_) => self.refused += 1,
            Ok(edited) if slip.must_miss => self.wrong(slip, &slipped, &edited.text),
            Ok(edited) if edited.text == slipped.after => self.right += 1,
            Ok(edited) if words(&edited.text) == words(&slipped.after) => self.similar += 1,
            Ok(edited) => self.wrong(slip, &slipped, &edited.text),
        }
    }

    fn wrong(&mut self, slip: &Slip, slipped: &Slipped, got: &str) {
        self.wrong += 1;
        if self.wrong == 1 {
            let lines = got.lines().zip(slipped.after.lines()).find(|(got, after)| got != after);
            println!("{}: {lines:?} by {:?} -> {:?}", slip.name, slipped.old, slipped.new);
        }
    }

    fn all(&self) -> usize {
        self.right + self.similar + self.wrong + self.refused
    }
}

/// Whether the mistake turned the old text into another text of the file, which can't be noticed.
fn is_elsewhere(slipped: &Slipped, hunk: &Hunk) -> bool {
    let Some(at) = hunk.before.find(&slipped.old).filter(|_| slipped.text == hunk.before) else {
        return false;
    };
    let (found, expected) = (at..at + slipped.old.len(), &hunk.range);
    let is_inside = expected.start <= found.start && found.end <= expected.end;
    let contains = found.start <= expected.start && expected.end <= found.end;
    !(is_inside || contains)
}

fn words(text: &str) -> String {
    let fold = |ch| match ch {
        '–' | '‑' => '-',
        '（' => '(',
        '）' => ')',
        other => other,
    };
    text.split_whitespace().flat_map(|word| word.chars().map(fold).chain([' '])).collect()
}

/// Prints the table, and checks the promised rates.
fn check_rates(hunks: &[Hunk]) {
    println!(
        "{} edits\n{:<34}{:>8}{:>8}{:>8}{:>8}{:>8}",
        hunks.len(),
        "slip",
        "edits",
        "right",
        "similar",
        "wrong",
        "refused"
    );
    let (mut sum, mut missed) = (Tally::default(), 0);
    for slip in SLIPS {
        let mut tally = Tally::default();
        hunks.iter().for_each(|hunk| tally.count(slip, hunk));
        let Tally { right, similar, wrong, refused } = tally;
        println!("{:<34}{:>8}{right:>8}{similar:>8}{wrong:>8}{refused:>8}", slip.name, tally.all());
        sum.wrong += wrong;
        if !slip.must_miss {
            sum.right += right;
            sum.similar += similar;
            sum.refused += refused;
        } else {
            missed += refused;
        }
    }
    let landed = sum.right + sum.similar;
    let share = 100.0 * landed as f64 / sum.all() as f64;
    println!(
        "landed right: {landed} of {} ({share:.2}%); wrong: {}; wrong words refused: {missed}",
        sum.all(),
        sum.wrong
    );
    assert_eq!(sum.wrong, 0);
    assert!(share >= 98.0, "{share}");
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
