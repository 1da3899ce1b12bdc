//! Collects the context of a run: people's instructions, the repository's instructions, and the earlier
//! conversation with the model.

use agent::model::Usage;
use agent::{Instructions, MAX_INSTRUCTIONS_BYTES, PastMessage, Prompt, PromptPart};
use forge::Oid;
use pages::{Tree, redirects};
use store::{Lease, Message, Project, Quotation, StoreError};

use super::outcome::Stop;
use super::tree::CommitTree;
use crate::shared::Shared;

/// Reads `AGENTS.md` of the root, the docs folder, `.docwright/` and `.mintlify/`. Other folders are ignored,
/// because they may contain files of third parties.
pub(super) fn read_agents_files(tree: &CommitTree, docs_path: Option<&str>) -> Vec<(String, String)> {
    let mut paths: Vec<_> =
        ["AGENTS.md", ".docwright/AGENTS.md", ".mintlify/AGENTS.md"].map(String::from).into();
    paths.extend(docs_path.map(|folder| format!("{}/AGENTS.md", folder.trim_matches('/'))));
    let wanted: Vec<_> = paths.iter().map(String::as_str).collect();
    // The caller checks whether the tree could be read.
    let _ = tree.prefetch(&wanted);
    let read = |path: String| {
        let mut bytes = tree.read(&path, usize::MAX).ok()?;
        // One byte more than the limit shows that the file is longer.
        bytes.truncate(MAX_INSTRUCTIONS_BYTES + 1);
        Some((path, String::from_utf8_lossy(&bytes).into_owned()))
    };
    paths.into_iter().filter_map(read).collect()
}

/// Loads the conversation so far. Entries of an earlier attempt at this run are valid only for the commit
/// that it started from, because their edits are replayed on that commit. Otherwise they are deleted.
pub(super) async fn load_conversation(
    app: &Shared,
    lease: &Lease,
    base: &Oid,
) -> Result<Vec<PastMessage>, Stop> {
    let mut entries = app.queue.conversation(lease).await?;
    let same_base = lease.resume.base.as_ref().is_some_and(|(_, commit)| commit == base.as_str());
    if let Some(first) = entries.iter().position(|entry| entry.run == lease.job.run).filter(|_| !same_base) {
        app.queue.forget_from(lease, entries[first].number).await?;
        entries.truncate(first);
    }
    let parse = |entry: store::ConversationEntry| {
        let store::Tokens { input, output, cached } = entry.tokens;
        let message = serde_json::from_value(entry.entry).ok()?;
        Some(PastMessage {
            this_run: entry.run == lease.job.run,
            message,
            usage: Usage { input, output, cached },
        })
    };
    Ok(entries.into_iter().filter_map(parse).collect())
}

/// The waiting follow-ups that the run starts with. `waiting` are the last of `prompts`. A run that resumes a
/// conversation starts with those that the conversation contains; any other run starts with all of them.
pub(super) fn already_sent<'m>(
    conversation: &[PastMessage],
    prompts: &[Prompt],
    waiting: &'m [Message],
) -> &'m [Message] {
    if !conversation.iter().any(|entry| entry.this_run) {
        return waiting;
    }
    let sent = agent::count_sent_prompts(conversation, prompts).saturating_sub(prompts.len() - waiting.len());
    &waiting[..sent]
}

/// Builds a prompt from an instruction and its quotations. The instruction is exactly the form's field or the
/// API's `prompt`.
pub(super) fn build_prompt(text: &str, context: &[Quotation]) -> Prompt {
    let quotation = |Quotation { label, text }: &Quotation| PromptPart::Quotation {
        source: label.clone(),
        text: text.clone(),
    };
    let instruction = PromptPart::Instruction(text.to_owned());
    Prompt::new(std::iter::once(instruction).chain(context.iter().map(quotation)).collect())
}

/// All instructions that people gave for this job, without quotations. The guard allows what they ask for.
pub(super) async fn instructions_of_people(app: &Shared, lease: &Lease) -> Result<Instructions, StoreError> {
    let job = &lease.job;
    let events = app.jobs.events(&job.project, &job.id, 0).await?.unwrap_or_default();
    let messages = events.iter().filter(|event| event.kind == "message");
    let prompts = messages.filter_map(|event| event.data.get("prompt").and_then(|prompt| prompt.as_str()));
    let all = [job.prompt.as_str()].into_iter().chain(prompts);
    Ok(Prompt::new(all.map(|text| PromptPart::Instruction(text.to_owned())).collect()).instructions())
}

/// The renames of the docs, if people ask for redirects. Reading the history takes a while, and other tasks don't need it.
/// Renames between contents that weren't compared are guesses, so they are left out.
pub(super) async fn history_for_redirects(
    app: &Shared,
    project: &Project,
    prompt: &Prompt,
    base: &Oid,
) -> Result<Option<redirects::History>, Stop> {
    if !prompt.instruction_text().to_lowercase().contains("redirect") {
        return Ok(None);
    }
    let history = app.hosts.site_history(project, Some(base)).await?;
    let certain = history.renames.into_iter().filter(|rename| rename.similarity.is_some());
    let renames =
        certain.map(|rename| redirects::Rename { date: rename.date, from: rename.from, to: rename.to });
    let removed = history.removed.into_iter();
    let removed =
        removed.map(|page| redirects::RemovedPage { path: page.path, ..redirects::RemovedPage::default() });
    Ok(Some(redirects::History { renames: renames.collect(), removed: removed.collect() }))
}

/// The number of the last waiting message, or 0.
pub(super) fn last_number(waiting: &[Message]) -> u32 {
    waiting.last().map_or(0, |message| message.number)
}
