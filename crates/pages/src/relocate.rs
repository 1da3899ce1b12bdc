//! Moving a page takes its links along.
//!
//! Every link of the site is followed twice: as the files were, and as they are after the move. Where both
//! lead to the same file nothing is done. All others are written anew, in the style of their author, and only
//! in a way that is seen to lead where they led before.

mod navigation;
mod plan;
mod served;
mod spelling;
mod spots;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::files::{Files, FilesError};
use crate::route;
use crate::splice::{line_of, splice};
use navigation::Navigation;
use plan::{Plan, Verdict};
use served::Served;

/// As much of a link as a sentence about it quotes.
const MAX_QUOTED_CHARS: usize = 200;

/// What a move changed beside the file itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Relocated {
    /// How many links and entries of navigation files were written anew.
    pub links: usize,
    /// The files that these are in, by their paths after the move.
    pub pages: Vec<String>,
    /// A sentence for each link that may mean the file and was not changed.
    pub left: Vec<String>,
}

/// Moves a file, and lets every link lead where it led before.
///
/// What the files refuse comes back as it is, and then nothing is changed.
pub fn relocate(files: &mut dyn Files, from: &str, to: &str) -> Result<Relocated, FilesError> {
    files.rename(from, to)?;
    let done = rewrite(files, from, to);
    done.or_else(|refusal| files.rename(to, from).and(Err(refusal)))
}

fn rewrite(files: &mut dyn Files, from: &str, to: &str) -> Result<Relocated, FilesError> {
    let paths = files.paths().files.clone();
    let texts = read(files, &paths, to)?;
    let plan = Plan::new(files.root(), from, to, paths, &texts);
    let mut served = Served::default();
    let judged: Vec<_> =
        texts.iter().map(|(path, text)| (path, text, plan.verdicts(path, text, &mut served))).collect();
    let (mut result, mut edits) = (Relocated::default(), Vec::new());
    for (path, text, verdicts) in judged {
        let mut changes = Vec::new();
        for (range, verdict) in verdicts {
            match verdict {
                Verdict::Changed(new) => changes.push((range, new)),
                Verdict::Guess { prefix, new } if served.is_below(&prefix) => changes.push((range, new)),
                Verdict::Guess { .. } => result.left.push(sentence(path, text, range, &may_mean(from))),
                Verdict::Left(why) => result.left.push(sentence(path, text, range, &why)),
            }
        }
        if !changes.is_empty() {
            result.links += changes.len();
            result.pages.push(path.clone());
            edits.push((path, text, splice(text, changes)));
        }
    }
    write(files, &edits)?;
    Ok(result)
}

/// Writes the new texts, or none of them. Each edit is a path, its old text and its new one.
fn write(files: &mut dyn Files, edits: &[(&String, &String, String)]) -> Result<(), FilesError> {
    for (index, (path, _, new)) in edits.iter().enumerate() {
        if let Err(refusal) = files.write(path, new.clone()) {
            let undone =
                edits[..index].iter().try_for_each(|(path, old, _)| files.write(path, (*old).clone()));
            return undone.and(Err(refusal));
        }
    }
    Ok(())
}

/// The text of every page and navigation file, and of the moved file if it has links.
fn read(
    files: &dyn Files,
    paths: &BTreeSet<String>,
    moved: &str,
) -> Result<BTreeMap<String, String>, FilesError> {
    let mut texts = BTreeMap::new();
    for file in paths {
        if !route::is_page(file) && Navigation::at(file).is_none() && file != moved {
            continue;
        }
        match files.read(file) {
            Ok(text) => drop(texts.insert(file.clone(), text)),
            Err(FilesError::NotText { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(texts)
}

fn may_mean(file: &str) -> String {
    format!("may mean {file:?}")
}

fn sentence(path: &str, text: &str, range: Range<usize>, why: &str) -> String {
    let raw: String = text[range.clone()].chars().take(MAX_QUOTED_CHARS).collect();
    format!("{path}:{}: {raw:?} {why}.", line_of(text, range.start))
}
