//! What an editor made, before it becomes a commit.

use agent::{Change, Objection, Policy, Rule};
use pages::{Files, Overlay};

use super::edit::{Edits, Made};
use super::outcome::Stop;
use super::tree::Committed;
use crate::app::App;

/// Fails with what must not be published, or with why the agent was ended; what a reviewer is to know
/// becomes a note.
pub(super) fn judge(
    app: &App,
    tree: Committed,
    docs_path: Option<&str>,
    asked: &str,
    mut made: Made,
) -> Result<Made, Stop> {
    let keys: Vec<_> = app.models.keys.iter().map(|key| key.reveal()).collect();
    let report = &made.report;
    let summary = [&report.summary].into_iter().chain(&report.notes).map(String::as_str);
    let summary = summary.collect::<Vec<_>>().join("\n");
    let change = Change { base: &tree, edits: &made.edits, asked, title: &report.title, summary: &summary };
    let objections = agent::judge(&change, &Policy { secrets: &keys, ..Policy::default() });
    let fatal = objections.iter().find(|objection| objection.fatal);
    let not_published = |fatal: &Objection| format!("the change was not published: {fatal}");
    if let Some(sentence) = made.ended.take().or_else(|| fatal.map(not_published)) {
        // A secret is not to be read in the job either.
        let secret = objections.iter().any(|objection| objection.rule == Rule::Secret);
        let diff = if secret { String::new() } else { shown(tree, docs_path, &made.edits) };
        return Err(Stop::Ended { sentence, diff, spent: made.spent });
    }
    made.report.notes.extend(objections.iter().map(ToString::to_string));
    Ok(made)
}

/// The change as a diff, for the people who are told why it was not published.
fn shown(tree: Committed, docs_path: Option<&str>, edits: &Edits) -> String {
    let Ok(mut files) = Overlay::new(tree, docs_path) else { return String::new() };
    for (path, text) in edits {
        let _ = match text {
            Some(bytes) => files.write(path, String::from_utf8_lossy(bytes).into_owned()),
            None => files.delete(path),
        };
    }
    files.diff().unwrap_or_default()
}
