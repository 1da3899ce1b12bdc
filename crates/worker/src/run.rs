//! Executes one run of a job, from the prompt to the pull request.
//!
//! Each step records its result before the next step acts on it. So after a crash, the next attempt resumes
//! after the last recorded step, and repeats nothing that must happen only once.

use std::sync::Arc;

use agent::Prompt;
use failpoints::with_failpoints;
use forge::{Cache, Host, NewCommit, NewPull, Oid, PullRequest, Signature, State};
use pages::Edits;
use store::{Change, Ending, Lease, Message, NewEvent, Note, Project};
use tokio_util::sync::CancellationToken;

use super::context;
use super::edit::{self, EditResult, EditTask};
use super::guard::{self, GuardPolicy};
use super::outcome::{Stop, commit_message, completed_ending, pull_body, report_json, unchanged_ending};
use super::tree::CommitTree;
use crate::job_permit::JobPermit;
use crate::shared::Shared;
use app::hosts::{pull_number, stored_state};

/// The author of commits, unless the project names another one.
const DEFAULT_AUTHOR: Signature<'static> = Signature { name: "Docwright", email: "docwright@localhost" };

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
        with_failpoints("pushing", run.note(vec![run.pushing_note(&change)])).await?;
        return Ok((run.publish(&base_ref, &base, &change).await?, 0));
    }
    let prompt = Prompt::joined(&run.prompts(waiting));
    let result = run.edit(&base, waiting).await?;
    let spent = result.spent;
    if result.edits.0.is_empty() && result.abort_reason.is_none() {
        let report = edit::without_keys(app, report_json(&result.report, spent));
        let pull = run.find_unrecorded_pull().await?;
        return Ok((unchanged_ending(&lease.job, pull, report), spent.read_up_to));
    }
    let publishing = async {
        let result = run.judge(&base, result).await?;
        let change = run.commit(&base, &prompt, result, spent.read_up_to).await?;
        run.publish(&base_ref, &base, &change).await
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

    /// The branch to merge into and the commit to start from. Those of an earlier attempt are used again if
    /// the commit is still available.
    async fn choose_base(&self) -> Result<(String, Oid), Stop> {
        if let Some((name, commit)) = &self.lease.resume.base {
            let commit = Oid::parse(commit)?;
            if self.cache.contains(&commit)? || self.fetch_commit(&commit).await? {
                return Ok((name.clone(), commit));
            }
        }
        let job = &self.lease.job;
        let named = job.base_ref.as_ref().or(self.project.base_ref.as_ref());
        self.refuse_merge_target(named).await?;
        let own = if self.needs_new_branch() { None } else { self.find_branch().await? };
        let continues = own.is_some();
        let (name, commit) = match (named, own) {
            (Some(name), Some(tip)) => (name.clone(), tip),
            (None, Some(tip)) => (self.host.default_branch().await?, tip),
            (Some(name), None) => (name.clone(), self.fetch(name).await?),
            (None, None) => self.fetch_default().await?,
        };
        let from = if continues { &job.branch } else { &name };
        let fetched = NewEvent::new("fetched", format!("Fetched {from} at {}", abbreviate(&commit)));
        let base = Note::Base(name.clone(), commit.to_string());
        with_failpoints("base", self.note(vec![base, Note::Event(fetched)])).await?;
        Ok((name, commit))
    }

    /// Fetches the commit that another machine started the run from, because the stored conversation is valid
    /// only for it. Returns false if the host no longer has it.
    async fn fetch_commit(&self, commit: &Oid) -> Result<bool, Stop> {
        let pin = format!("{}-start", self.pin);
        match self.cache.fetch_commit(&self.host.remote(), commit, &pin).await {
            Ok(()) => Ok(true),
            Err(error @ (forge::Error::Temporary { .. } | forge::Error::Machine(_))) => Err(error.into()),
            Err(_) => Ok(false),
        }
    }

    /// Changes reach the base branch and the default branch only through a pull request. So the job's own
    /// branch must be neither of them.
    async fn refuse_merge_target(&self, base: Option<&String>) -> Result<(), Stop> {
        let branch = &self.lease.job.branch;
        if !self.lease.job.adopts || (base != Some(branch) && self.host.default_branch().await? != *branch) {
            return Ok(());
        }
        Err(Stop::failed(format!(
            "pull requests are merged into `{branch}`, so a job cannot push to it; create a job with another branch"
        )))
    }

    /// The tip of the job's branch, including commits of other people. Fails if the pull request was merged
    /// or closed.
    async fn find_branch(&self) -> Result<Option<Oid>, Stop> {
        let job = &self.lease.job;
        let pulls = with_failpoints("find", self.host.find(&job.branch)).await?;
        let own = pulls.iter().find(|pull| self.is_own(pull));
        if let Some(pull) = own.filter(|pull| pull.state != State::Open) {
            let state = stored_state(pull.state);
            self.app.pulls.record_pull_state(&self.project.id, &pull.url, state).await?;
            let (number, state) = (pull.number, state.as_str());
            return Err(Stop::failed(format!("pull request #{number} was {state}; create a new job")));
        }
        self.refuse_other_repository(&pulls).await?;
        match self.fetch(&job.branch).await {
            Ok(tip) => Ok(Some(tip)),
            Err(forge::Error::NoSuchBranch(_)) if own.is_none() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn is_own(&self, pull: &PullRequest) -> bool {
        pull.job.as_deref() == Some(self.lease.job.id.0.as_str())
    }

    /// Fails if the project has another repository than the job's pull request. The host's list may be stale,
    /// so the pull request is also looked up by its number, which stays the same when a repository is
    /// renamed.
    async fn refuse_other_repository(&self, pulls: &[PullRequest]) -> Result<(), Stop> {
        let Some(link) = &self.lease.job.pr_link else { return Ok(()) };
        let number = pull_number(link).unwrap_or_default();
        let is_own = |pull: &PullRequest| pull.number == number && pull.head == self.lease.job.branch;
        if pulls.iter().any(is_own) || self.host.get(number).await?.is_some_and(|pull| is_own(&pull)) {
            return Ok(());
        }
        Err(Stop::failed(format!(
            "the pull request of this job is {link}, but the project has another repository now; create a new job"
        )))
    }

    /// A pull request that an earlier run opened but couldn't record.
    async fn find_unrecorded_pull(&self) -> Result<Option<PullRequest>, Stop> {
        if self.lease.job.pr_link.is_some() || self.needs_new_branch() {
            return Ok(None);
        }
        let pulls = self.host.find(&self.lease.job.branch).await?;
        Ok(pulls.into_iter().find(|pull| self.is_own(pull)))
    }

    /// A first run creates its branch, unless the job adopts one. Other runs continue their branch.
    fn needs_new_branch(&self) -> bool {
        self.lease.job.run == 1 && !self.lease.job.adopts
    }

    async fn fetch(&self, branch: &str) -> forge::Result<Oid> {
        with_failpoints("fetch", self.cache.fetch(&self.host.remote(), branch, &self.base_pin())).await
    }

    async fn fetch_default(&self) -> forge::Result<(String, Oid)> {
        let (remote, pin) = (self.host.remote(), self.base_pin());
        match with_failpoints("fetch-default", self.cache.fetch_default(&remote, &pin)).await {
            Err(forge::Error::NoSuchBranch(_)) => {
                let name = self.host.default_branch().await?;
                let tip = self.fetch(&name).await?;
                Ok((name, tip))
            }
            result => result,
        }
    }

    /// The pin of the first base stays, for the diff of the whole job.
    fn base_pin(&self) -> String {
        let suffix = if self.lease.resume.origin.is_none() { "base" } else { "start" };
        format!("{}-{suffix}", self.pin)
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
        let tree = CommitTree::new(self.cache.snapshot(base)?);
        let (docs_path, policy) = (self.project.docs_path.clone(), self.policy.clone());
        let instructions = context::read_agents_files(&tree, docs_path.as_deref());
        tree.check()?;
        let conversation = context::load_conversation(self.app, self.lease, base).await?;
        let prompts = self.prompts(waiting);
        let read_up_to = context::last_number(context::already_sent(&conversation, &prompts, waiting));
        let prompt = Prompt::joined(&prompts);
        let task =
            EditTask { editor, prompt, tree, docs_path, policy, instructions, conversation, read_up_to };
        edit::run(self.app, self.lease, task, self.alive, self.permit).await
    }

    /// The last check before the commit, for the change of any editor. Refusals that aren't fatal go into the
    /// pull request.
    async fn judge(&self, base: &Oid, result: EditResult) -> Result<EditResult, Stop> {
        let tree = CommitTree::new(self.cache.snapshot(base)?);
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

    /// Writes the commit, and records it together with the start of the push. So both are recorded before
    /// anything leaves this machine.
    async fn commit(
        &self,
        base: &Oid,
        prompt: &Prompt,
        result: EditResult,
        read_up_to: u32,
    ) -> Result<Change, Stop> {
        let job = &self.lease.job;
        let (message, body) = (commit_message(&result.report, job), pull_body(&result, prompt, job));
        let commit = with_failpoints("commit", self.write_commit(base, result.edits, message)).await?;
        let change = Change {
            head_commit: commit.to_string(),
            title: agent::plain_title(&result.report.title),
            body,
            report: report_json(&result.report, result.spent),
            diff: self.diff(base, &commit).await?,
        };
        let notes = vec![Note::Change(Box::new(change.clone()), read_up_to), self.pushing_note(&change)];
        with_failpoints("change", self.note(notes)).await?;
        Ok(change)
    }

    fn pushing_note(&self, change: &Change) -> Note {
        let (head, branch) = (&change.head_commit, &self.lease.job.branch);
        Note::Event(NewEvent::new("pushing", format!("Pushing {head:.10} to {branch}")))
    }

    /// The diff of the whole job if the cache has its first base, and of this run otherwise.
    async fn diff(&self, base: &Oid, commit: &Oid) -> Result<String, Stop> {
        let origin = self.lease.resume.origin.as_deref().and_then(|origin| Oid::parse(origin).ok());
        if let Some(origin) = origin
            && self.cache.contains(&origin)?
        {
            return Ok(self.cache.diff(&origin, commit).await?);
        }
        Ok(self.cache.diff(base, commit).await?)
    }

    async fn write_commit(&self, base: &Oid, edits: Edits, message: String) -> Result<Oid, Stop> {
        let (cache, base, pin) = (self.cache.clone(), base.clone(), self.pin.clone());
        let author = self.project.hosting.author.clone();
        // Not the current time: another attempt must write the same commit.
        let time_seconds = self.lease.job.created_at.as_second();
        let writing = tokio::task::spawn_blocking(move || {
            let (message, pin) = (&message, &pin);
            cache.commit(&NewCommit {
                base: &base,
                edits: &edits.0,
                message,
                author: author
                    .as_ref()
                    .map_or(DEFAULT_AUTHOR, |author| Signature { name: &author.name, email: &author.email }),
                time_seconds,
                pin,
            })
        });
        let failed = "the commit could not be written; look for the cause in the server's log";
        writing.await.map_err(|_| Stop::failed(failed))?.map_err(Stop::from)
    }

    /// Pushes the branch, then opens the pull request. Existing ones are used again.
    async fn publish(&self, base_ref: &str, base: &Oid, change: &Change) -> Result<Ending, Stop> {
        // If the data directory was replaced, another server may own the repository now.
        self.app.directory.check().map_err(|lost| Stop::Release(lost.to_string()))?;
        let head = Oid::parse(&change.head_commit)?;
        let (remote, branch) = (self.host.remote(), &self.lease.job.branch);
        // The push fails if the branch moved since this run fetched it.
        match self.needs_new_branch() {
            true => {
                with_failpoints(
                    "push-new",
                    self.cache.push_assuming_new_branch(&remote, &head, branch, Some(base)),
                )
                .await?
            }
            false => with_failpoints("push", self.cache.push(&remote, &head, branch, Some(base))).await?,
        }
        let opening = NewEvent::new("opening", "Opening the pull request");
        with_failpoints("pushed", self.note(vec![Note::Pushed, Note::Event(opening)])).await?;
        self.open_pull(base_ref, base, change).await
    }

    async fn open_pull(&self, base_ref: &str, base: &Oid, change: &Change) -> Result<Ending, Stop> {
        let job = &self.lease.job;
        let new = NewPull {
            title: change.title.clone(),
            body: change.body.clone(),
            head: job.branch.clone(),
            base: base_ref.to_owned(),
            head_commit: Oid::parse(&change.head_commit)?,
            base_commit: base.clone(),
            job: job.id.0.clone(),
            draft: job.draft,
            is_first: job.run == 1,
        };
        let pull = with_failpoints("open", self.host.open(&new)).await?;
        self.unpin().await;
        Ok(completed_ending(pull, change.report.clone()))
    }

    /// The host has the commit now, so the cache doesn't need it. The job's base commits stay pinned for
    /// diffs.
    async fn unpin(&self) {
        if let Err(error) = with_failpoints("unpin", self.cache.unpin(&self.pin)).await {
            tracing::warn!("cannot remove the pin {} from the cache: {error}", self.pin);
        }
    }

    async fn note(&self, notes: Vec<Note>) -> Result<(), Stop> {
        self.app.queue.note(self.lease, notes).await?;
        Ok(())
    }
}

fn abbreviate(commit: &Oid) -> &str {
    &commit.as_str()[..10]
}
