//! Moves a file, and updates the links to it and in it.
//!
//! Every link of the site is resolved twice: before and after the move. A link that leads to the same file stays. Every
//! other link is rewritten in its author's style, and only to a path that provably leads to the old target.

mod link_path;
mod navigation;
mod plan;
mod prefixes;
mod references;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::files::{Files, FilesError};
use crate::prefetch::prefetch;
use crate::route;
use crate::splice::{line_of, splice};
use navigation::Navigation;
use plan::{LinkAction, Plan, may_refer_to};
use prefixes::SitePrefixes;

/// How much of a link a report about it quotes.
const MAX_QUOTED_CHARS: usize = 200;

/// The changes of a move besides the file itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Relocation {
    /// The number of rewritten links and navigation entries.
    pub links: usize,
    /// The files with rewritten links, by their paths after the move.
    pub pages: Vec<String>,
    /// A sentence for each link that perhaps refers to the file and was not changed.
    pub unresolved: Vec<String>,
}

/// Moves a file, and rewrites links so that they lead to the same files as before.
///
/// On an error of `files`, nothing is changed.
pub fn relocate(files: &mut dyn Files, from: &str, to: &str) -> Result<Relocation, FilesError> {
    files.rename(from, to)?;
    let result = rewrite_links(files, from, to);
    result.or_else(|error| files.rename(to, from).and(Err(error)))
}

fn rewrite_links(files: &mut dyn Files, from: &str, to: &str) -> Result<Relocation, FilesError> {
    let paths = files.paths().files.clone();
    let texts = read_texts(files, &paths, to)?;
    let plan = Plan::new(files.root(), from, to, paths, &texts);
    let mut prefixes = SitePrefixes::default();
    let planned: Vec<_> =
        texts.iter().map(|(path, text)| (path, text, plan.actions(path, text, &mut prefixes))).collect();
    let (mut result, mut edits) = (Relocation::default(), Vec::new());
    for (path, text, actions) in planned {
        let mut changes = Vec::new();
        for (range, action) in actions {
            match action {
                LinkAction::Rewrite(new) => changes.push((range, new)),
                LinkAction::Guess { prefix, new } if prefixes.contains(&prefix) => changes.push((range, new)),
                LinkAction::Guess { .. } => {
                    result.unresolved.push(sentence(path, text, range, &may_refer_to(from)));
                }
                LinkAction::Report(reason) => result.unresolved.push(sentence(path, text, range, &reason)),
            }
        }
        if !changes.is_empty() {
            result.links += changes.len();
            result.pages.push(path.clone());
            edits.push((path, text, splice(text, changes)));
        }
    }
    write_all(files, &edits)?;
    Ok(result)
}

/// Writes all new texts, or none of them. Each edit is a path, its old text and its new text.
fn write_all(files: &mut dyn Files, edits: &[(&String, &String, String)]) -> Result<(), FilesError> {
    for (index, (path, _, new)) in edits.iter().enumerate() {
        if let Err(error) = files.write(path, new.clone()) {
            let undone =
                edits[..index].iter().try_for_each(|(path, old, _)| files.write(path, (*old).clone()));
            return undone.and(Err(error));
        }
    }
    Ok(())
}

/// The text of every page and navigation file, and of the moved file.
fn read_texts(
    files: &dyn Files,
    paths: &BTreeSet<String>,
    moved: &str,
) -> Result<BTreeMap<String, String>, FilesError> {
    let mut texts = BTreeMap::new();
    let is_read = |file: &&String| route::is_page(file) || Navigation::at(file).is_some() || *file == moved;
    let read: Vec<_> = paths.iter().filter(is_read).collect();
    prefetch(files, &read)?;
    for file in read {
        match files.read(file) {
            Ok(text) => drop(texts.insert(file.clone(), text)),
            Err(FilesError::NotText { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(texts)
}

fn sentence(path: &str, text: &str, range: Range<usize>, reason: &str) -> String {
    let raw: String = text[range.clone()].chars().take(MAX_QUOTED_CHARS).collect();
    format!("{path}:{}: {raw:?} {reason}.", line_of(text, range.start))
}
