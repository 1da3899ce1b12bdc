//! Executes one run of a job, from the prompt to the pull request.
//!
//! Each step records its result before the next step acts on it. So after a crash, the next attempt resumes
//! after the last recorded step, and repeats nothing that must happen only once.

mod base;
mod propose;
mod publish;

use std::sync::Arc;

use agent::Prompt;
use forge::{Cache, Host, Oid};
use store::{Change, Ending, Lease, Message, Note, Project};
use tokio_util::sync::CancellationToken;

use super::context;
use super::edit::{self, EditResult, EditTask};
use super::guard::{self, GuardPolicy};
use super::outcome::{Stop, report_json, unchanged_ending};
use super::tree::CommitTree;
use crate::job_permit::JobPermit;
use crate::shared::Shared;

/// Returns the ending, and the number of the last message that it answers. The number is 0 if an earlier
/// attempt already made the change, because it may not have read the waiting messages.
pub(super) async fn execute(
    app: &Shared,
    lease: &Lease,
    waiting: &[Message],
    alive: &CancellationToken,
    permit: &Arc<JobPermit>,
) -> Result<(Ending, u32), Stop> {
    let run = Run::open(app, lease, alive, permit).await?;
    if let Some((base_ref, base, change)) = run.pushed_change()? {
        return Ok((run.open_pull(&base_ref, &base, change).await?, 0));
    }
    let (base_ref, base) = run.choose_base().await?;
    if let Some(change) = run.committed_change().await? {
        return Ok((run.publish(&base_ref, &base, &change, Vec::new()).await?, 0));
    }
    let prompt = Prompt::joined(&run.prompts(waiting));
    let result = run.edit(&base, waiting).await?;
    let spent = result.spent;
    if result.edits.0.is_empty() && result.abort_reason.is_none() {
        let report = edit::without_keys(app, report_json(&result.report, spent));
        let pull = run.find_unrecorded_pull().await?;
        if pull.is_none()
            && let Some(ending) = run.open_pushed_change(&base_ref, &base).await?
        {
            return Ok((ending, spent.read_up_to));
        }
        return Ok((unchanged_ending(&lease.job, pull, report), spent.read_up_to));
    }
    let publishing = async {
        let result = run.judge(&base, result).await?;
        let change = run.commit(&base, &prompt, result).await?;
        let made = Note::Change(Box::new(change.clone()), spent.read_up_to);
        run.publish(&base_ref, &base, &change, vec![made]).await
    };
    let ending = publishing.await.map_err(|stop: Stop| stop.with_spent(spent))?;
    Ok((ending, spent.read_up_to))
}

struct Run<'a> {
    app: &'a Shared,
    lease: &'a Lease,
    project: Project,
    host: Arc<dyn Host>,
    policy: GuardPolicy,
    cache: Arc<Cache>,
    pin: String,
    alive: &'a CancellationToken,
    permit: &'a Arc<JobPermit>,
}

impl<'a> Run<'a> {
    async fn open(
        app: &'a Shared,
        lease: &'a Lease,
        alive: &'a CancellationToken,
        permit: &'a Arc<JobPermit>,
    ) -> Result<Self, Stop> {
        let project = app.accounts.project(&lease.job.project).await?;
        let project = project.ok_or_else(|| Stop::failed("the project was deleted"))?;
        permit.assign(&project);
        let host = app.hosts.open(&project).await?;
        let policy = GuardPolicy::new(app, &project, app.hosts.key(&project.id).await?);
        let cache = app.hosts.cache(&project.id).await?;
        Ok(Self { app, lease, project, host, policy, cache, pin: lease.job.id.0.clone(), alive, permit })
    }

    /// The change that an earlier attempt pushed. People may have added commits to the branch since then, so
    /// nothing is fetched or pushed again.
    fn pushed_change(&self) -> Result<Option<(String, Oid, &Change)>, Stop> {
        let resume = &self.lease.resume;
        match (&resume.base, &resume.change) {
            (Some((name, base)), Some(change)) if resume.pushed => {
                Ok(Some((name.clone(), Oid::parse(base)?, change)))
            }
            _ => Ok(None),
        }
    }

    /// The change that an earlier attempt committed, if the cache or the host still has the commit.
    async fn committed_change(&self) -> Result<Option<Change>, Stop> {
        let Some(change) = self.lease.resume.change.clone() else { return Ok(None) };
        let Ok(commit) = Oid::parse(&change.head_commit) else { return Ok(None) };
        if self.cache.contains(&commit)? {
            return Ok(Some(change));
        }
        match self.cache.fetch(&self.host.remote(), &self.lease.job.branch, &self.pin).await {
            Ok(pushed) => Ok((pushed == commit).then_some(change)),
            Err(trouble @ forge::Error::Machine(_)) => Err(trouble.into()),
            Err(_) => Ok(None),
        }
    }

    /// The job's prompt if this is the first run, and every follow-up without an answer.
    fn prompts(&self, waiting: &[Message]) -> Vec<Prompt> {
        let job = &self.lease.job;
        let first = (job.run == 1).then(|| context::build_prompt(&job.prompt, &job.context));
        let more = waiting.iter().map(|message| context::build_prompt(&message.prompt, &message.context));
        first.into_iter().chain(more).collect()
    }

    async fn edit(&self, base: &Oid, waiting: &[Message]) -> Result<EditResult, Stop> {
        let model = &self.lease.job.model;
        let editor = self.app.models.editor(&self.project, model).map_err(Stop::Failed)?;
        let tree = self.open_tree(base)?;
        let (docs_path, policy) = (self.project.docs_path.clone(), self.policy.clone());
        let (read, folder) = (tree.clone(), docs_path.clone());
        // A read may wait for the host.
        let reading =
            tokio::task::spawn_blocking(move || context::read_agents_files(&read, folder.as_deref()));
        let failed = "the instructions could not be read; look for the cause in the server's log";
        let instructions = reading.await.map_err(|_| Stop::failed(failed))?;
        tree.check()?;
        let conversation = context::load_conversation(self.app, self.lease, base).await?;
        let prompts = self.prompts(waiting);
        let read_up_to = context::last_number(context::already_sent(&conversation, &prompts, waiting));
        let prompt = Prompt::joined(&prompts);
        let history = context::history_for_redirects(self.app, &self.project, &prompt, base).await?;
        let task = EditTask {
            editor,
            prompt,
            tree,
            docs_path,
            policy,
            instructions,
            conversation,
            history,
            read_up_to,
        };
        edit::run(self.app, self.lease, task, self.alive, self.permit).await
    }

    fn open_tree(&self, commit: &Oid) -> Result<CommitTree, Stop> {
        Ok(CommitTree::new(self.cache.snapshot_on_demand(commit, &self.host.remote())?))
    }

    /// The last check before the commit, for the change of any editor. Refusals that aren't fatal go into the
    /// pull request.
    async fn judge(&self, base: &Oid, result: EditResult) -> Result<EditResult, Stop> {
        let tree = self.open_tree(base)?;
        let instructions = context::instructions_of_people(self.app, self.lease).await?;
        let (policy, read) = (self.policy.clone(), tree.clone());
        // Judging thousands of pages takes long.
        let judging = move || guard::judge(&policy, tree, &instructions, result);
        let judged = tokio::task::spawn_blocking(judging).await;
        // Without the unreadable files, neither a refusal nor an approval is valid.
        read.check()?;
        let failed =
            "the guard failed, so the change was not published; look for the cause in the server's log";
        judged.map_err(|_| Stop::failed(failed))?
    }

    /// Lets other jobs run again if the job no longer must be alone.
    async fn share_after_progress(&self) -> Result<(), Stop> {
        self.permit.share_after_progress(self.app, self.lease).await?;
        self.permit.begin_local_work().await;
        Ok(())
    }

    async fn note(&self, notes: Vec<Note>) -> Result<(), Stop> {
        self.app.queue.note(self.lease, notes).await?;
        self.share_after_progress().await
    }
}
