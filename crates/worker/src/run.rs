//! One run of one job. Each step notes what it found before the next one acts on it, so that
//! whoever takes the job up after a crash goes on where it was cut off and repeats nothing
//! that must not be repeated.

use std::sync::Arc;

use agent::Prompt;
use failpoints::with_failpoints;
use forge::{Cache, Host, NewCommit, NewPull, Oid, PullRequest, Signature, State};
use pages::Edits;
use store::{Change, Ending, Lease, Message, NewEvent, Note, Project};
use tokio_util::sync::CancellationToken;

use super::edit::{self, Made};
use super::guard::{self, Law};
use super::outcome::{Stop, commit_message, completed, pull_body, report, unchanged};
use super::said;
use super::tree::Committed;
use crate::shared::Shared;
use app::hosts::{number, recorded};

const US: Signature<'static> = Signature { name: "Docwright", email: "docwright@localhost" };

/// From what is asked to the pull request. Answers the ending, and the number of the last message
/// that it answers: none, for a change that an earlier attempt made before it looked at them.
pub(super) async fn pass(
    app: &Shared,
    lease: &Lease,
    waiting: &[Message],
    alive: &CancellationToken,
) -> Result<(Ending, u32), Stop> {
    let run = Run::open(app, lease).await?;
    if let Some((base_ref, base, change)) = run.pushed_so_far()? {
        return Ok((run.open_pull(&base_ref, &base, change).await?, 0));
    }
    let (base_ref, base) = run.base().await?;
    if let Some(change) = run.change_so_far().await? {
        with_failpoints("pushing", run.note(vec![run.pushing(&change)])).await?;
        return Ok((run.publish(&base_ref, &base, &change).await?, 0));
    }
    let prompt = Prompt::joined(&run.prompts(waiting));
    let made = run.edit(&base, waiting, alive).await?;
    let spent = made.spent;
    if made.edits.0.is_empty() && made.ended.is_none() {
        let report = edit::without_keys(app, report(&made.report, spent));
        let pull = run.pull_so_far().await?;
        return Ok((unchanged(&lease.job, pull, report), spent.read));
    }
    let publishing = async {
        let made = run.judge(&base, made).await?;
        let change = run.commit(&base, &prompt, made, spent.read).await?;
        run.publish(&base_ref, &base, &change).await
    };
    let ending = publishing.await.map_err(|stop: Stop| stop.after(spent))?;
    Ok((ending, spent.read))
}

/// The number of the last message that waits; 0 when none does.
pub(super) fn last(waiting: &[Message]) -> u32 {
    waiting.last().map_or(0, |message| message.number)
}

struct Run<'a> {
    app: &'a Shared,
    lease: &'a Lease,
    project: Project,
    host: Arc<dyn Host>,
    law: Law,
    cache: Arc<Cache>,
    pin: String,
}

impl<'a> Run<'a> {
    async fn open(app: &'a Shared, lease: &'a Lease) -> Result<Self, Stop> {
        let project = app.accounts.project(&lease.job.project).await?;
        let project = project.ok_or_else(|| Stop::failed("the project is gone"))?;
        let host = app.hosts.open(&project).await?;
        let law = Law::new(app, &project, app.hosts.key(&project.id).await?);
        let cache = app.hosts.cache(&project.id).await?;
        Ok(Self { app, lease, project, host, law, cache, pin: lease.job.id.0.clone() })
    }

    /// The branch to merge into and the commit to start from: those of an earlier attempt, as
    /// long as they can be had.
    async fn base(&self) -> Result<(String, Oid), Stop> {
        if let Some((name, commit)) = &self.lease.resume.base {
            let commit = Oid::parse(commit)?;
            if self.cache.contains(&commit)? || self.is_fetched(&commit).await? {
                return Ok((name.clone(), commit));
            }
        }
        let job = &self.lease.job;
        let named = job.base_ref.as_ref().or(self.project.base_ref.as_ref());
        self.refuse_what_is_merged_into(named).await?;
        let own = if self.is_new() { None } else { self.branch_so_far().await? };
        let goes_on = own.is_some();
        let (name, commit) = match (named, own) {
            (Some(name), Some(tip)) => (name.clone(), tip),
            (None, Some(tip)) => (self.host.default_branch().await?, tip),
            (Some(name), None) => (name.clone(), self.fetch(name).await?),
            (None, None) => self.fetch_default().await?,
        };
        let from = if goes_on { &job.branch } else { &name };
        let fetched = NewEvent::new("fetched", format!("Fetched {from} at {}", short(&commit)));
        let base = Note::Base(name.clone(), commit.to_string());
        with_failpoints("base", self.note(vec![base, Note::Event(fetched)])).await?;
        Ok((name, commit))
    }

    /// Another machine began the run: what its model said is good for this commit and no other.
    async fn is_fetched(&self, commit: &Oid) -> Result<bool, Stop> {
        let pin = format!("{}-start", self.pin);
        match self.cache.fetch_commit(&self.host.remote(), commit, &pin).await {
            Ok(()) => Ok(true),
            Err(error @ (forge::Error::Temporary { .. } | forge::Error::Machine(_))) => Err(error.into()),
            Err(_) => Ok(false),
        }
    }

    /// Nothing is changed without a pull request, so a branch that was asked for is neither the base nor the default.
    async fn refuse_what_is_merged_into(&self, base: Option<&String>) -> Result<(), Stop> {
        let branch = &self.lease.job.branch;
        if !self.lease.job.adopts || (base != Some(branch) && self.host.default_branch().await? != *branch) {
            return Ok(());
        }
        Err(Stop::failed(format!(
            "{branch} is a branch that is merged into; a pull request needs one of its own, so create a new job"
        )))
    }

    /// Where the job's branch is, with whatever others have added to it. What was merged or
    /// closed is not gone on with.
    async fn branch_so_far(&self) -> Result<Option<Oid>, Stop> {
        let job = &self.lease.job;
        let pulls = with_failpoints("find", self.host.find(&job.branch)).await?;
        let own = pulls.iter().find(|pull| self.is_own(pull));
        if let Some(pull) = own.filter(|pull| pull.state != State::Open) {
            let state = recorded(pull.state);
            self.app.pulls.note_pull(&self.project.id, &pull.url, state).await?;
            let (number, how) = (pull.number, state.as_str());
            return Err(Stop::failed(format!("pull request #{number} was {how}; create a new job")));
        }
        self.refuse_another_repository(&pulls).await?;
        match self.fetch(&job.branch).await {
            Ok(tip) => Ok(Some(tip)),
            Err(forge::Error::NoSuchBranch(_)) if own.is_none() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn is_own(&self, pull: &PullRequest) -> bool {
        pull.job.as_deref() == Some(self.lease.job.id.0.as_str())
    }

    /// The project may have been given another repository since. A host's list may be late, and a repository that was
    /// renamed has the same numbers.
    async fn refuse_another_repository(&self, pulls: &[PullRequest]) -> Result<(), Stop> {
        let Some(link) = &self.lease.job.pr_link else { return Ok(()) };
        let number = number(link).unwrap_or_default();
        let is_it = |pull: &PullRequest| pull.number == number && pull.head == self.lease.job.branch;
        if pulls.iter().any(is_it) || self.host.get(number).await?.is_some_and(|pull| is_it(&pull)) {
            return Ok(());
        }
        Err(Stop::failed(format!(
            "the pull request of this job is {link}, and the project has another repository now; create a new job"
        )))
    }

    /// One that an attempt of an earlier run opened and could not tell of any more.
    async fn pull_so_far(&self) -> Result<Option<PullRequest>, Stop> {
        if self.lease.job.pr_link.is_some() || self.is_new() {
            return Ok(None);
        }
        let pulls = self.host.find(&self.lease.job.branch).await?;
        Ok(pulls.into_iter().find(|pull| self.is_own(pull)))
    }

    /// A first run has a branch of its own to make; any other goes on where its branch is.
    fn is_new(&self) -> bool {
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
            done => done,
        }
    }

    /// The first one stays, to compare with.
    fn base_pin(&self) -> String {
        let which = if self.lease.resume.origin.is_none() { "base" } else { "start" };
        format!("{}-{which}", self.pin)
    }

    /// What an earlier attempt pushed. It is on the host, with whatever people have added to it since,
    /// so nothing is fetched or pushed any more.
    fn pushed_so_far(&self) -> Result<Option<(String, Oid, &Change)>, Stop> {
        let resume = &self.lease.resume;
        match (&resume.base, &resume.change) {
            (Some((name, base)), Some(change)) if resume.pushed => {
                Ok(Some((name.clone(), Oid::parse(base)?, change)))
            }
            _ => Ok(None),
        }
    }

    /// What an earlier attempt committed, if the commit is still to be had here or on the host.
    async fn change_so_far(&self) -> Result<Option<Change>, Stop> {
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

    /// The prompt of a first run, and every follow-up that has no answer yet.
    fn prompts(&self, waiting: &[Message]) -> Vec<Prompt> {
        let job = &self.lease.job;
        let first = (job.run == 1).then(|| said::prompt(&job.prompt, &job.context));
        let more = waiting.iter().map(|message| said::prompt(&message.prompt, &message.context));
        first.into_iter().chain(more).collect()
    }

    async fn edit(&self, base: &Oid, waiting: &[Message], alive: &CancellationToken) -> Result<Made, Stop> {
        let model = &self.lease.job.model;
        let editor = self.app.models.editor(&self.project, model).map_err(Stop::Failed)?;
        let tree = Committed::new(self.cache.snapshot(base)?);
        let (docs_path, law) = (self.project.docs_path.clone(), self.law.clone());
        let instructions = said::instructions(&tree, docs_path.as_deref());
        tree.check()?;
        let before = said::before(self.app, self.lease, base).await?;
        let prompts = self.prompts(waiting);
        let (prompt, read) = (Prompt::joined(&prompts), last(said::heard(&before, &prompts, waiting)));
        let task = edit::Job { editor, prompt, tree, docs_path, law, instructions, before, read };
        edit::run(self.app, self.lease, task, alive).await
    }

    /// The last wall: whoever made it, what must not leave does not, and what a reviewer is to know is
    /// in the pull request.
    async fn judge(&self, base: &Oid, made: Made) -> Result<Made, Stop> {
        let tree = Committed::new(self.cache.snapshot(base)?);
        let asked = said::by_people(self.app, self.lease).await?;
        let (law, read) = (self.law.clone(), tree.clone());
        // A change of thousands of pages takes its time.
        let judging = move || guard::judge(&law, tree, &asked, made);
        let judged = tokio::task::spawn_blocking(judging).await;
        // What could not be read is no reason to refuse a change, nor to let one pass.
        read.check()?;
        judged.map_err(|_| Stop::failed("the change could not be judged, so it was not published"))?
    }

    /// The commit is written and noted, and that it is about to be pushed, before anything of it leaves this
    /// machine.
    async fn commit(&self, base: &Oid, prompt: &Prompt, made: Made, read: u32) -> Result<Change, Stop> {
        let job = &self.lease.job;
        let (message, body) = (commit_message(&made.report, job), pull_body(&made, prompt, job));
        let commit = with_failpoints("commit", self.write_commit(base, made.edits, message)).await?;
        let change = Change {
            head_commit: commit.to_string(),
            title: agent::plain_title(&made.report.title),
            body,
            report: report(&made.report, made.spent),
            diff: self.diff(base, &commit).await?,
        };
        let notes = vec![Note::Change(Box::new(change.clone()), read), self.pushing(&change)];
        with_failpoints("change", self.note(notes)).await?;
        Ok(change)
    }

    fn pushing(&self, change: &Change) -> Note {
        let (head, branch) = (&change.head_commit, &self.lease.job.branch);
        Note::Event(NewEvent::new("pushing", format!("Pushing {head:.10} to {branch}")))
    }

    /// The change as it stands: since the job began, as long as that can be told.
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
        // Not the time of day: a second attempt must make the same commit.
        let time_seconds = self.lease.job.created_at.as_second();
        let writing = tokio::task::spawn_blocking(move || {
            let (message, pin) = (&message, &pin);
            cache.commit(&NewCommit {
                base: &base,
                edits: &edits.0,
                message,
                author: author.as_ref().map_or(US, |one| Signature { name: &one.name, email: &one.email }),
                time_seconds,
                pin,
            })
        });
        writing.await.map_err(|_| Stop::failed("the commit could not be written"))?.map_err(Stop::from)
    }

    /// Branch, then pull request. Both are found again when they are there already.
    async fn publish(&self, base_ref: &str, base: &Oid, change: &Change) -> Result<Ending, Stop> {
        // Another server may own the repository by now.
        self.app.directory.check().map_err(|lost| Stop::GiveBack(lost.to_string()))?;
        let head = Oid::parse(&change.head_commit)?;
        let (remote, branch) = (self.host.remote(), &self.lease.job.branch);
        // A branch may be moved on from where this run found it, and from nowhere else.
        match self.is_new() {
            true => {
                with_failpoints("push-new", self.cache.push_new(&remote, &head, branch, Some(base))).await?
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
        Ok(completed(pull, change.report.clone()))
    }

    /// The host has the commit now, so the cache need not keep it; what the job started from
    /// stays pinned, to compare with.
    async fn unpin(&self) {
        if let Err(error) = with_failpoints("unpin", self.cache.unpin(&self.pin)).await {
            tracing::warn!("the cache keeps {}: {error}", self.pin);
        }
    }

    async fn note(&self, notes: Vec<Note>) -> Result<(), Stop> {
        self.app.queue.note(self.lease, notes).await?;
        Ok(())
    }
}

fn short(commit: &Oid) -> &str {
    &commit.as_str()[..10]
}
