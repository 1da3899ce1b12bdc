//! Publishes the change of a run: writes the commit, pushes the branch, and opens the pull request.

use agent::Prompt;
use failpoints::with_failpoints;
use forge::{NewCommit, NewPull, Oid, Signature};
use pages::Edits;
use store::{Change, Ending, NewEvent, Note};

use super::Run;
use crate::edit::EditResult;
use crate::outcome::{Stop, commit_message, completed_ending, pull_body, report_json};

/// The author of commits, unless the project names another one.
const DEFAULT_AUTHOR: Signature<'static> = Signature { name: "Docwright", email: "docwright@localhost" };

impl Run<'_> {
    /// Writes the commit.
    pub(super) async fn commit(
        &self,
        base: &Oid,
        prompt: &Prompt,
        result: EditResult,
    ) -> Result<Change, Stop> {
        let job = &self.lease.job;
        let (message, mut body) = (commit_message(&result.report, job), pull_body(&result, prompt, job));
        if let (Some(_), Some(link)) = (&job.pr_head, &job.pr_link) {
            body = format!("This pull request starts from {link} and contains its change.\n\n{body}");
        }
        let commit = with_failpoints("commit", self.write_commit(base, result.edits, message)).await?;
        Ok(Change {
            head_commit: commit.to_string(),
            title: agent::plain_title(&result.report.title),
            body,
            report: report_json(&result.report, result.spent),
            diff: self.diff(base, &commit).await?,
        })
    }

    /// The diff of the whole job if the cache has its first base, and of this run otherwise.
    async fn diff(&self, base: &Oid, commit: &Oid) -> Result<String, Stop> {
        let remote = self.host.remote();
        let origin = self.lease.resume.origin.as_deref().and_then(|origin| Oid::parse(origin).ok());
        if let Some(origin) = origin
            && self.cache.contains(&origin)?
        {
            return Ok(self.cache.diff_on_demand(&origin, commit, &remote).await?);
        }
        Ok(self.cache.diff_on_demand(base, commit, &remote).await?)
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

    /// Stores `notes` and claims the change, pushes the branch, then opens the pull request. Existing ones are
    /// used again. The change and the claim are stored before anything leaves this machine.
    pub(super) async fn publish(
        &self,
        base_ref: &str,
        base: &Oid,
        change: &Change,
        notes: Vec<Note>,
    ) -> Result<Ending, Stop> {
        // If the data directory was replaced, another server may own the repository now.
        self.app.directory.check().map_err(|lost| Stop::Release(lost.to_string()))?;
        if let Some(ending) = self.claim(base_ref, change, notes).await? {
            return Ok(ending);
        }
        let head = Oid::parse(&change.head_commit)?;
        let (remote, branch) = (self.host.remote(), &self.lease.job.branch);
        // The push fails if the branch moved since this run fetched it.
        match self.probably_needs_new_branch() {
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

    pub(super) async fn open_pull(
        &self,
        base_ref: &str,
        base: &Oid,
        change: &Change,
    ) -> Result<Ending, Stop> {
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

    /// Opens the pull request of a change that an earlier run pushed before it failed, unless a person deleted the
    /// branch since then. For a run without edits.
    pub(super) async fn open_pushed_change(
        &self,
        base_ref: &str,
        base: &Oid,
    ) -> Result<Option<Ending>, Stop> {
        let job = &self.lease.job;
        if job.has_own_pull() || self.starts_from_base() {
            return Ok(None);
        }
        let Some(last) = self.app.queue.last_change(self.lease).await?.filter(|last| last.pushed) else {
            return Ok(None);
        };
        let Some(tip) = self.cache.tip(&self.host.remote(), &job.branch).await? else { return Ok(None) };
        let origin = self.lease.resume.origin.as_deref().and_then(|origin| Oid::parse(origin).ok());
        let change = Change { head_commit: tip.to_string(), ..last.change };
        Ok(Some(self.open_pull(base_ref, &origin.unwrap_or_else(|| base.clone()), &change).await?))
    }

    /// The host has the commit now, so the cache doesn't need it. The job's base commits stay pinned for
    /// diffs.
    pub(super) async fn unpin(&self) {
        if let Err(error) = with_failpoints("unpin", self.cache.unpin(&self.pin)).await {
            tracing::warn!("cannot remove the pin {} from the cache: {error}", self.pin);
        }
    }
}
