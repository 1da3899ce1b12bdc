//! Chooses the commit that a run starts from, and the branch to merge into.

use failpoints::with_failpoints;
use forge::{Oid, PullRequest, State};
use store::{NewEvent, Note};

use super::Run;
use crate::outcome::Stop;
use app::hosts::{pull_number, stored_state};

impl Run<'_> {
    /// The branch to merge into and the commit to start from. Those of an earlier attempt are used again if
    /// the commit is still available.
    pub(super) async fn choose_base(&self) -> Result<(String, Oid), Stop> {
        if let Some((name, commit)) = &self.lease.resume.base {
            let commit = Oid::parse(commit)?;
            if self.cache.contains(&commit)? || self.fetch_commit(&commit).await? {
                return Ok((name.clone(), commit));
            }
        }
        let job = &self.lease.job;
        let named = job.base_ref.as_ref().or(self.project.base_ref.as_ref());
        self.refuse_merge_target(named).await?;
        let own = if self.starts_from_base() { None } else { self.find_branch().await? };
        let continued = own.as_ref().map(|(branch, _)| branch.clone());
        let (name, commit) = match (named, own) {
            (Some(name), Some((_, tip))) => (name.clone(), tip),
            (None, Some((_, tip))) => (self.host.default_branch().await?, tip),
            (Some(name), None) => (name.clone(), self.fetch(name).await?),
            (None, None) => self.fetch_default().await?,
        };
        let from = continued.as_ref().unwrap_or(&name);
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

    /// The branch of the job's pull request. Another job's pull request can have the change of the first run.
    fn pull_branch(&self) -> &String {
        let job = &self.lease.job;
        job.pr_head.as_ref().unwrap_or(&job.branch)
    }

    /// The branch to continue and its tip, including commits of other people: [`Self::pull_branch`], or the job's own
    /// branch if a follow-up pushed it and then failed. Fails if the pull request was merged or closed.
    async fn find_branch(&self) -> Result<Option<(String, Oid)>, Stop> {
        let job = &self.lease.job;
        let may_have_pushed = job.pr_head.is_some() && !job.adopts;
        let pushed = if may_have_pushed { self.fetch_existing(&job.branch).await? } else { None };
        let mut pulls = with_failpoints("find", self.host.find(self.pull_branch())).await?;
        if pushed.is_some() {
            pulls.extend(self.host.find(&job.branch).await?);
        }
        let is_linked = |pull: &PullRequest| job.pr_head.is_some() && job.pr_link.as_ref() == Some(&pull.url);
        let own = pulls.iter().find(|pull| self.is_own(pull));
        let own = own.or_else(|| pulls.iter().find(|pull| is_linked(pull)));
        if let Some(pull) = own.filter(|pull| pull.state != State::Open) {
            let state = stored_state(pull.state);
            self.app.pulls.record_pull_state(&self.project.id, &pull.url, state).await?;
            let (number, state) = (pull.number, state.as_str());
            return Err(Stop::failed(format!("pull request #{number} was {state}; create a new job")));
        }
        self.refuse_other_repository(&pulls).await?;
        let (branch, tip) = match pushed {
            Some(tip) => (&job.branch, Some(tip)),
            None => (self.pull_branch(), self.fetch_existing(self.pull_branch()).await?),
        };
        match tip {
            Some(tip) => Ok(Some((branch.clone(), tip))),
            None if own.is_none() => Ok(None),
            None => Err(forge::Error::NoSuchBranch(branch.clone()).into()),
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
        let is_own = |pull: &PullRequest| pull.number == number && pull.head == *self.pull_branch();
        if pulls.iter().any(is_own) || self.host.get(number).await?.is_some_and(|pull| is_own(&pull)) {
            return Ok(());
        }
        Err(Stop::failed(format!(
            "the pull request of this job is {link}, but the project has another repository now; create a new job"
        )))
    }

    /// A pull request that an earlier run opened but couldn't record, or the open one of the branch that the job
    /// adopts.
    pub(super) async fn find_unrecorded_pull(&self) -> Result<Option<PullRequest>, Stop> {
        if self.lease.job.has_own_pull() || self.starts_from_base() {
            return Ok(None);
        }
        let pulls = self.host.find(&self.lease.job.branch).await?;
        let adopted = pulls.iter().find(|pull| self.lease.job.adopts && pull.state == State::Open);
        Ok(pulls.iter().find(|pull| self.is_own(pull)).or(adopted).cloned())
    }

    /// A first run starts from the branch to merge into, unless the job adopts a branch.
    pub(super) fn starts_from_base(&self) -> bool {
        self.lease.job.run == 1 && !self.lease.job.adopts
    }

    /// Runs push to the same branch as the first run, which creates it. If that found its change in the pull
    /// request of another job, it pushed nothing, but a follow-up that failed may have.
    pub(super) fn probably_needs_new_branch(&self) -> bool {
        self.starts_from_base() || self.lease.job.pr_head.is_some()
    }

    async fn fetch(&self, branch: &str) -> forge::Result<Oid> {
        with_failpoints("fetch", self.cache.fetch(&self.host.remote(), branch, &self.base_pin())).await
    }

    async fn fetch_existing(&self, branch: &str) -> forge::Result<Option<Oid>> {
        match self.fetch(branch).await {
            Ok(tip) => Ok(Some(tip)),
            Err(forge::Error::NoSuchBranch(_)) => Ok(None),
            Err(error) => Err(error),
        }
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
}

fn abbreviate(commit: &Oid) -> &str {
    &commit.as_str()[..10]
}
