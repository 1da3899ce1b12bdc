//! What an editor made, before it becomes a commit.

use agent::{Change, Objection, Policy};
use pages::{Files, Overlay};

use super::edit::{Edits, Made};
use super::tree::Committed;
use crate::app::App;

/// Everything that speaks against publishing it, what is fatal first.
pub(super) fn judge(app: &App, tree: &Committed, asked: &str, made: &Made) -> Vec<Objection> {
    let keys: Vec<_> = app.models.keys.iter().map(|key| key.reveal()).collect();
    let summary =
        [made.report.summary.as_str()].into_iter().chain(made.report.notes.iter().map(String::as_str));
    let summary = summary.collect::<Vec<_>>().join("\n");
    let change =
        Change { base: tree, edits: &made.edits, asked, title: &made.report.title, summary: &summary };
    agent::judge(&change, &Policy { secrets: &keys, ..Policy::default() })
}

/// The change as a diff, for the people who are told why it was not published. Without the files that
/// cannot be shown as text.
pub(super) fn shown(tree: Committed, docs_path: Option<&str>, edits: &Edits) -> String {
    let Ok(mut files) = Overlay::new(tree, docs_path) else { return String::new() };
    for (path, text) in edits {
        let _ = match text {
            Some(bytes) => files.write(path, String::from_utf8_lossy(bytes).into_owned()),
            None => files.delete(path),
        };
    }
    files.diff().unwrap_or_default()
}
