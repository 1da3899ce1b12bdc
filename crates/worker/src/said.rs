//! What was said about a job: by people, by the repository, and with the model before.

use agent::model::Usage;
use agent::{Instructions, MAX_INSTRUCTIONS, Prompt, PromptPart, Said};
use forge::Oid;
use pages::Tree;
use store::{Lease, Message, Quotation, StoreError};

use super::outcome::Stop;
use super::tree::Committed;
use crate::shared::Shared;

/// `AGENTS.md` of the root, the docs folder, `.docwright/` and `.mintlify/`; of no other folder, which
/// may be somebody else's.
pub(super) fn instructions(tree: &Committed, docs_path: Option<&str>) -> Vec<(String, String)> {
    let mut paths: Vec<_> =
        ["AGENTS.md", ".docwright/AGENTS.md", ".mintlify/AGENTS.md"].map(String::from).into();
    paths.extend(docs_path.map(|folder| format!("{}/AGENTS.md", folder.trim_matches('/'))));
    let read = |path: String| {
        let mut bytes = tree.read(&path, usize::MAX).ok()?;
        // One more than is heeded says that there are more.
        bytes.truncate(MAX_INSTRUCTIONS + 1);
        Some((path, String::from_utf8_lossy(&bytes).into_owned()))
    };
    paths.into_iter().filter_map(read).collect()
}

/// The conversation so far. What an attempt at this run said is only good for the commit that it began
/// with: its edits are made again on top of that.
pub(super) async fn before(app: &Shared, lease: &Lease, base: &Oid) -> Result<Vec<Said>, Stop> {
    let mut said = app.queue.conversation(lease).await?;
    let same_base = lease.resume.base.as_ref().is_some_and(|(_, commit)| commit == base.as_str());
    if let Some(first) = said.iter().position(|entry| entry.run == lease.job.run).filter(|_| !same_base) {
        app.queue.forget_from(lease, said[first].number).await?;
        said.truncate(first);
    }
    let kept = |entry: store::ConversationEntry| {
        let store::Tokens { input, output, cached } = entry.tokens;
        let message = serde_json::from_value(entry.entry).ok()?;
        Some(Said { this_run: entry.run == lease.job.run, message, usage: Usage { input, output, cached } })
    };
    Ok(said.into_iter().filter_map(kept).collect())
}

/// Those of the waiting follow-ups, the last of `prompts`, that a run begins with: all, unless it goes on with a
/// conversation, which has those that it was told.
pub(super) fn heard<'m>(before: &[Said], prompts: &[Prompt], waiting: &'m [Message]) -> &'m [Message] {
    if !before.iter().any(|said| said.this_run) {
        return waiting;
    }
    let told = agent::told(before, prompts).saturating_sub(prompts.len() - waiting.len());
    &waiting[..told]
}

/// What was asked, and what was quoted with it. The text is the form's field or the API's `prompt`, and nothing else.
pub(super) fn prompt(text: &str, context: &[Quotation]) -> Prompt {
    let quotation = |Quotation { label, text }: &Quotation| PromptPart::Quotation {
        source: label.clone(),
        text: text.clone(),
    };
    let instruction = PromptPart::Instruction(text.to_owned());
    Prompt::new(std::iter::once(instruction).chain(context.iter().map(quotation)).collect())
}

/// The instructions of all people about this job: what they ask for, they may have. Quotations are left out.
pub(super) async fn by_people(app: &Shared, lease: &Lease) -> Result<Instructions, StoreError> {
    let job = &lease.job;
    let events = app.jobs.events(&job.project, &job.id, 0).await?.unwrap_or_default();
    let messages = events.iter().filter(|event| event.kind == "message");
    let words = messages.filter_map(|event| event.data.get("prompt").and_then(|prompt| prompt.as_str()));
    let all = [job.prompt.as_str()].into_iter().chain(words);
    Ok(Prompt::new(all.map(|text| PromptPart::Instruction(text.to_owned())).collect()).instructions())
}
