//! What the model is told before it begins: who it is, what is asked, and what the repository looks like.

use std::collections::{BTreeMap, BTreeSet};

use pages::Files;
use regex::RegexSetBuilder;

use crate::Task;
use crate::fence::{self, fenced};

/// The same for every job, so that providers can keep it.
pub(crate) const SYSTEM: &str = include_str!("system.md");

const MAX_FOLDERS: usize = 60;
const MAX_LIKELY: usize = 8;
/// Of a prompt, that are looked for in names.
const MAX_WORDS: usize = 200;
/// Bytes of a file of instructions that are heeded.
pub const MAX_INSTRUCTIONS: usize = 16 * 1024;
const NAVIGATION: [&str; 8] = [
    "docs.json",
    "mint.json",
    "mkdocs.yml",
    "SUMMARY.md",
    "sidebars.js",
    "sidebars.ts",
    "_sidebar.md",
    "_toc.yml",
];

/// The task with a map of the repository: where to begin without a look at everything.
pub(crate) fn opening(task: &Task<'_>, files: &dyn Files) -> String {
    let paths = files.paths();
    let all = &paths.files;
    let mut text = fence::task(task.prompt);
    for (path, said) in task.instructions {
        let (heeded, more) = heeded(said);
        text += &format!("\n<instructions path={path:?}>\n{}\n</instructions>\n", fenced(heeded.trim()));
        if more {
            text += &format!("(The beginning of {path:?}; the rest is too long to be shown.)\n");
        }
    }
    text += "\n<map>\n";
    let mut map = format!("{} files", all.len());
    if !files.root().is_empty() {
        map += &format!(", all under {:?}", files.root());
    }
    map += ":\n";
    map += &outline(all);
    let navigation: Vec<_> = all.iter().filter(|path| is_navigation(path)).map(String::as_str).collect();
    if !navigation.is_empty() {
        map += &format!("navigation: {}\n", navigation.join(", "));
    }
    let likely = likely(task.prompt, all);
    if !likely.is_empty() {
        map += &format!("perhaps: {}\n", likely.join(", "));
    }
    text + &fenced(&map) + "</map>\n"
}

/// The lines of a file of instructions that are heeded, and whether it has more.
pub(crate) fn heeded(text: &str) -> (&str, bool) {
    if text.len() <= MAX_INSTRUCTIONS {
        return (text, false);
    }
    let beginning = &text[..text.floor_char_boundary(MAX_INSTRUCTIONS)];
    (beginning.rsplit_once('\n').map_or(beginning, |(lines, _)| lines), true)
}

/// Each folder with how many files it holds. Those of one mostly follow each other.
fn outline(all: &BTreeSet<String>) -> String {
    let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
    let folder = |path: &String| path.rsplit_once('/').map_or(0, |(folder, _)| folder.len());
    let all: Vec<_> = all.iter().map(|path| &path[..folder(path)]).collect();
    for together in all.chunk_by(|a, b| a == b) {
        *folders.entry(together[0]).or_default() += together.len();
    }
    let line = |(folder, count): (&&str, &usize)| format!("{folder}/ {count}\n");
    let mut text: String = folders.iter().take(MAX_FOLDERS).map(line).collect();
    if folders.len() > MAX_FOLDERS {
        text += &format!("and {} more folders\n", folders.len() - MAX_FOLDERS);
    }
    text
}

fn is_navigation(path: &str) -> bool {
    NAVIGATION.contains(&path.rsplit('/').next().unwrap_or(path))
}

/// The pages whose names share the most words with the prompt.
fn likely<'a>(prompt: &str, all: &'a BTreeSet<String>) -> Vec<&'a str> {
    let prompt = prompt.to_lowercase();
    let words: Vec<_> =
        prompt.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 3).collect();
    let words: Vec<_> = words.into_iter().take(MAX_WORDS).map(regex::escape).collect();
    let Ok(words) = RegexSetBuilder::new(words).case_insensitive(true).build() else { return Vec::new() };
    // Most names have none of them.
    let named = all.iter().filter(|path| words.is_match(path));
    let mut scored: Vec<_> = named.map(|path| (words.matches(path).iter().count(), path.as_str())).collect();
    scored.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    scored.into_iter().take(MAX_LIKELY).map(|(_, path)| path).collect()
}
