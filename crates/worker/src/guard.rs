//! Runs the guard over the change of an editor, before it becomes a commit.

use std::sync::Arc;

use agent::{Allow, Change, Instructions, Policy, Refusal, Report, Rule};
use pages::{Edits, Files, Overlay, PathIndex};
use store::{Project, ProjectId};

use super::edit::EditResult;
use super::outcome::Stop;
use super::tree::CommitTree;
use super::vocabulary_cache::VocabularyCache;
use crate::shared::Shared;
use app::hosts::HostKey;
use app::models::Models;

/// What the guard allows the jobs of a project to change.
#[derive(Clone)]
pub(super) struct GuardPolicy {
    pub(super) allow: Allow,
    docs_path: Option<String>,
    models: Arc<Models>,
    host_key: Option<HostKey>,
    project: ProjectId,
    vocabularies: Arc<VocabularyCache>,
}

impl GuardPolicy {
    pub(super) fn new(app: &Shared, project: &Project, host_key: Option<HostKey>) -> Self {
        // The globs were valid when they were set. If they can't be parsed now, they allow nothing.
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

    /// The secrets that no published change may contain.
    fn secrets(&self) -> Vec<&str> {
        let models = self.models.keys.iter().map(|key| key.reveal());
        models.chain(self.host_key.iter().map(HostKey::reveal)).collect()
    }
}

/// Judges a change by the policy and people's instructions.
pub(super) fn find_refusals(
    policy: &GuardPolicy,
    base: &CommitTree,
    instructions: &Instructions,
    edits: &Edits,
    report: &Report,
) -> Vec<Refusal> {
    let summary = [&report.summary].into_iter().chain(&report.notes).map(String::as_str);
    let summary = summary.collect::<Vec<_>>().join("\n");
    // The title as it will be published: text that is removed from it is no reason for a refusal.
    let title = agent::plain_title(&report.title);
    let vocabulary = policy.vocabularies.get_or_insert(&policy.project, base.id());
    let change = Change {
        base,
        vocabulary: &vocabulary,
        edits: &edits.0,
        instructions,
        title: &title,
        summary: &summary,
    };
    agent::judge(
        &change,
        &Policy {
            allow: policy.allow.clone(),
            docs_path: policy.docs_path.as_deref(),
            secrets: &policy.secrets(),
        },
    )
}

/// Fails with the first fatal refusal, or with the reason why the agent was aborted. Other refusals become
/// notes for the reviewer.
pub(super) fn judge(
    policy: &GuardPolicy,
    tree: CommitTree,
    instructions: &Instructions,
    mut result: EditResult,
) -> Result<EditResult, Stop> {
    let refusals = find_refusals(policy, &tree, instructions, &result.edits, &result.report);
    let fatal = refusals.iter().find(|refusal| refusal.fatal);
    let not_published = |fatal: &Refusal| format!("the change was not published: {fatal}");
    if let Some(sentence) = result.abort_reason.take().or_else(|| fatal.map(not_published)) {
        // The job's diff must not contain a secret either.
        let has_secret = refusals.iter().any(|refusal| refusal.rule == Rule::Secret);
        let diff = match has_secret {
            true => String::new(),
            false => render_diff(tree, policy, &result.edits),
        };
        return Err(Stop::Aborted { sentence, diff, spent: result.spent });
    }
    result.report.notes.extend(refusals.iter().map(ToString::to_string));
    Ok(result)
}

/// The change as a diff, for people who want to know why it wasn't published.
fn render_diff(tree: CommitTree, policy: &GuardPolicy, edits: &Edits) -> String {
    let Ok(index) = PathIndex::new(&tree, policy.docs_path.as_deref()) else { return String::new() };
    let index = Arc::new(index).allow(|path| policy.allow.permits(path));
    let mut files = Overlay::with_index(tree, index);
    for (path, text) in &edits.0 {
        let _ = match text {
            Some(bytes) => files.write(path, String::from_utf8_lossy(bytes).into_owned()),
            None => files.delete(path),
        };
    }
    files.diff().unwrap_or_default()
}
