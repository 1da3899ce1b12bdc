//! What an editor made, before it becomes a commit.

use std::sync::Arc;

use agent::{Allow, Change, Instructions, Objection, Policy, Report, Rule};
use pages::{Edits, Files, Overlay};
use store::{Project, ProjectId};

use super::edit::Made;
use super::outcome::Stop;
use super::tree::Committed;
use super::vocabularies::Vocabularies;
use crate::shared::Shared;
use app::hosts::HostKey;
use app::models::Models;

/// What the changes of a project's jobs are held to.
#[derive(Clone)]
pub(super) struct Law {
    pub(super) allow: Allow,
    docs_path: Option<String>,
    models: Arc<Models>,
    host_key: Option<HostKey>,
    project: ProjectId,
    vocabularies: Arc<Vocabularies>,
}

impl Law {
    pub(super) fn new(app: &Shared, project: &Project, host_key: Option<HostKey>) -> Self {
        // They were read when they were set; if that cannot be done again, nothing more is allowed.
        let allow = Allow::parse(project.allow_paths.iter().map(String::as_str)).unwrap_or_default();
        Self {
            allow,
            docs_path: project.docs_path.clone(),
            models: app.models.clone(),
            host_key,
            project: project.id.clone(),
            vocabularies: app.vocabularies.clone(),
        }
    }

    /// None of them may be in what leaves.
    fn secrets(&self) -> Vec<&str> {
        let models = self.models.keys.iter().map(|key| key.reveal());
        models.chain(self.host_key.iter().map(HostKey::reveal)).collect()
    }
}

/// What is wrong with a change, by the rules of this installation and the words of people.
pub(super) fn objections(
    law: &Law,
    base: &Committed,
    asked: &Instructions,
    edits: &Edits,
    report: &Report,
) -> Vec<Objection> {
    let summary = [&report.summary].into_iter().chain(&report.notes).map(String::as_str);
    let summary = summary.collect::<Vec<_>>().join("\n");
    // As it will be published: what is taken out of a title is no reason to refuse it.
    let title = agent::plain_title(&report.title);
    let vocabulary = law.vocabularies.of(&law.project, base.id());
    let change =
        Change { base, vocabulary: &vocabulary, edits: &edits.0, asked, title: &title, summary: &summary };
    agent::judge(
        &change,
        &Policy { allow: law.allow.clone(), docs_path: law.docs_path.as_deref(), secrets: &law.secrets() },
    )
}

/// Fails with what must not be published, or with why the agent was ended; what a reviewer is to know
/// becomes a note.
pub(super) fn judge(law: &Law, tree: Committed, asked: &Instructions, mut made: Made) -> Result<Made, Stop> {
    let objections = objections(law, &tree, asked, &made.edits, &made.report);
    let fatal = objections.iter().find(|objection| objection.fatal);
    let not_published = |fatal: &Objection| format!("the change was not published: {fatal}");
    if let Some(sentence) = made.ended.take().or_else(|| fatal.map(not_published)) {
        // A secret is not to be read in the job either.
        let secret = objections.iter().any(|objection| objection.rule == Rule::Secret);
        let diff = if secret { String::new() } else { shown(tree, law.docs_path.as_deref(), &made.edits) };
        return Err(Stop::Ended { sentence, diff, spent: made.spent });
    }
    made.report.notes.extend(objections.iter().map(ToString::to_string));
    Ok(made)
}

/// The change as a diff, for the people who are told why it was not published.
fn shown(tree: Committed, docs_path: Option<&str>, edits: &Edits) -> String {
    let Ok(mut files) = Overlay::new(tree, docs_path) else { return String::new() };
    for (path, text) in &edits.0 {
        let _ = match text {
            Some(bytes) => files.write(path, String::from_utf8_lossy(bytes).into_owned()),
            None => files.delete(path),
        };
    }
    files.diff().unwrap_or_default()
}
