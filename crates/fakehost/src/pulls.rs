//! Stores pull requests for all hosts. The tips of their branches are read from git every time.

use anyhow::anyhow;
use jiff::Timestamp;
use serde::Serialize;

use crate::Kind;
use crate::git::{self, MergeOutcome};
use crate::state::{Host, Repository, User};
use crate::webhooks::Action;

#[derive(Clone, Debug, Serialize)]
pub struct Pull {
    /// Unique on the host; `number` is unique in the repository.
    pub id: u64,
    pub number: u64,
    pub state: PullState,
    pub title: String,
    pub body: String,
    pub draft: bool,
    pub head: String,
    /// The tip of the head, frozen when the pull request is closed.
    pub head_sha: String,
    pub base: String,
    pub base_sha: String,
    pub merge_commit: Option<String>,
    pub labels: Vec<String>,
    pub reviewers: Vec<User>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub closed_at: Option<Timestamp>,
    /// The number of requests at the time of opening, for [`Filter::lag`].
    #[serde(skip)]
    opened_at_request: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PullState {
    Open,
    Closed,
    Merged,
}

#[derive(Default)]
pub(crate) struct NewPull {
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) head: String,
    pub(crate) base: String,
    pub(crate) draft: bool,
    pub(crate) labels: Vec<String>,
    pub(crate) reviewers: Vec<User>,
}

pub(crate) enum OpenError {
    NoHead,
    NoBase,
    Same,
    /// The number of the open pull request with the same branches.
    Exists(u64),
}

/// Selects pull requests for a list. `None` matches everything.
#[derive(Default)]
pub(crate) struct Filter {
    pub(crate) states: Option<Vec<PullState>>,
    pub(crate) head: Option<String>,
    pub(crate) base: Option<String>,
    /// Hides pull requests that were opened within the last `lag` requests.
    pub(crate) lag: u64,
}

#[derive(Default)]
pub(crate) struct Change {
    pub(crate) title: Option<String>,
    pub(crate) body: Option<String>,
    pub(crate) base: Option<String>,
    pub(crate) draft: Option<bool>,
    pub(crate) open: Option<bool>,
    pub(crate) labels: Option<Vec<String>>,
    pub(crate) reviewers: Option<Vec<User>>,
}

pub(crate) enum ChangeError {
    NotFound,
    Merged,
    HeadGone,
    Exists(u64),
}

#[derive(Default)]
pub(crate) struct MergeOptions {
    /// The commit that the head must be at.
    pub(crate) sha: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) squash: bool,
}

pub(crate) enum MergeError {
    NotFound,
    NotOpen,
    Draft,
    /// The actual tip of the head.
    HeadMoved(String),
    BaseMoved,
    Conflict,
    Git(anyhow::Error),
}

impl Host {
    pub(crate) fn open_pull(&self, repository: &Repository, new: NewPull) -> Result<Pull, OpenError> {
        let head_sha = git::tip(&repository.git_dir, &new.head).ok_or(OpenError::NoHead)?;
        let base_sha = git::tip(&repository.git_dir, &new.base).ok_or(OpenError::NoBase)?;
        if new.head == new.base {
            return Err(OpenError::Same);
        }
        let mut data = self.data();
        let (id, now) = (data.new_id(), data.now());
        let pulls = data.pulls.entry(repository.id).or_default();
        if let Some(open) = find_open_duplicate(pulls, &new.head, &new.base) {
            return Err(OpenError::Exists(open));
        }
        let NewPull { title, body, head, base, draft, labels, reviewers } = new;
        let number = pulls.len() as u64 + 1;
        let (state, merge_commit, closed_at, opened_at_request) =
            (PullState::Open, None, None, self.log.count());
        let (created_at, updated_at) = (now, now);
        #[rustfmt::skip]
        let pull = Pull {
            id, number, state, title, body, draft, head, head_sha, base, base_sha, merge_commit, labels, reviewers,
            created_at, updated_at, closed_at, opened_at_request,
        };
        pulls.push(pull.clone());
        drop(data);
        self.send_pull_event(repository, &pull, Action::Opened);
        Ok(pull)
    }

    pub(crate) fn pull(&self, repository: &Repository, number: u64) -> Option<Pull> {
        let mut data = self.data();
        let now = data.now();
        let pull = find_pull(data.pulls.get_mut(&repository.id)?, number)?;
        pull.refresh(self.kind, repository, now);
        Some(pull.clone())
    }

    /// The matching pull requests, newest first.
    pub(crate) fn list_pulls(&self, repository: &Repository, filter: &Filter) -> Vec<Pull> {
        let mut data = self.data();
        let (now, count) = (data.now(), self.log.count());
        let mut found = Vec::new();
        for pull in data.pulls.entry(repository.id).or_default().iter_mut().rev() {
            let matches = filter.head.as_ref().is_none_or(|head| *head == pull.head)
                && filter.base.as_ref().is_none_or(|base| *base == pull.base)
                && (filter.lag == 0 || count > pull.opened_at_request + filter.lag);
            if matches {
                pull.refresh(self.kind, repository, now);
                let wanted = filter.states.as_ref().is_none_or(|states| states.contains(&pull.state));
                found.extend(wanted.then(|| pull.clone()));
            }
        }
        found
    }

    pub(crate) fn change_pull(
        &self,
        repository: &Repository,
        number: u64,
        change: Change,
    ) -> Result<Pull, ChangeError> {
        let mut data = self.data();
        let now = data.now();
        let pulls = data.pulls.entry(repository.id).or_default();
        let pull = find_pull(pulls, number).ok_or(ChangeError::NotFound)?;
        pull.refresh(self.kind, repository, now);
        let changes_state = change.open.is_some_and(|open| open != (pull.state == PullState::Open));
        if changes_state && pull.state == PullState::Merged {
            return Err(ChangeError::Merged);
        }
        if changes_state && change.open == Some(true) {
            let (head, base) = (pull.head.clone(), pull.base.clone());
            git::tip(&repository.git_dir, &head).ok_or(ChangeError::HeadGone)?;
            find_open_duplicate(pulls, &head, &base).map_or(Ok(()), |open| Err(ChangeError::Exists(open)))?;
        }
        let pull = find_pull(pulls, number).ok_or(ChangeError::NotFound)?;
        pull.apply(change, changes_state, now);
        pull.refresh(self.kind, repository, now);
        let pull = pull.clone();
        drop(data);
        let action = match (changes_state, pull.state) {
            (true, PullState::Open) => Action::Reopened,
            (true, _) => Action::Closed,
            (false, _) => Action::Edited,
        };
        self.send_pull_event(repository, &pull, action);
        Ok(pull)
    }

    pub(crate) async fn merge_pull(
        &self,
        repository: &Repository,
        number: u64,
        merge: MergeOptions,
    ) -> Result<Pull, MergeError> {
        let pull = self.pull(repository, number).ok_or(MergeError::NotFound)?;
        match pull.state {
            PullState::Open if pull.draft => return Err(MergeError::Draft),
            PullState::Open => {}
            _ => return Err(MergeError::NotOpen),
        }
        if merge.sha.is_some_and(|sha| sha != pull.head_sha) {
            return Err(MergeError::HeadMoved(pull.head_sha));
        }
        let message = merge.message.unwrap_or_else(|| format!("Merge `{}` (#{number})", pull.head));
        let (dir, at) = (&repository.git_dir, self.now());
        let merged = git::merge(dir, &pull.base, &pull.head_sha, &message, merge.squash, at).await;
        let commit = match merged.map_err(MergeError::Git)? {
            MergeOutcome::Commit(commit) => commit,
            MergeOutcome::Conflict => return Err(MergeError::Conflict),
            MergeOutcome::BaseMoved => return Err(MergeError::BaseMoved),
        };
        self.record_merge(repository, number, commit)
    }

    fn record_merge(&self, repository: &Repository, number: u64, commit: String) -> Result<Pull, MergeError> {
        let mut data = self.data();
        let now = data.now();
        let pulls = data.pulls.entry(repository.id).or_default();
        let pull = find_pull(pulls, number).ok_or(MergeError::NotFound)?;
        (pull.state, pull.updated_at, pull.closed_at) = (PullState::Merged, now, Some(now));
        pull.merge_commit = Some(commit.clone());
        let pull = pull.clone();
        drop(data);
        self.send_pull_event(repository, &pull, Action::Merged);
        self.send_push_event(repository, &pull.base, Some(&pull.base_sha), Some(&commit));
        Ok(pull)
    }

    /// Whether the pull request is open and has no conflict.
    pub(crate) async fn is_mergeable(&self, repository: &Repository, pull: &Pull) -> anyhow::Result<bool> {
        let base =
            git::tip(&repository.git_dir, &pull.base).ok_or_else(|| anyhow!("the base does not exist"))?;
        let tree = git::merge_trees(&repository.git_dir, &base, &pull.head_sha).await?;
        Ok(pull.state == PullState::Open && tree.is_some())
    }
}

impl Pull {
    /// Updates an open pull request from its branches, and returns whether it was open. All hosts except
    /// GitLab close it when its head is deleted.
    pub(crate) fn refresh(&mut self, kind: Kind, repository: &Repository, now: Timestamp) -> bool {
        if self.state != PullState::Open {
            return false;
        }
        let head = git::tip(&repository.git_dir, &self.head);
        if head.is_none() && kind != Kind::GitLab {
            (self.state, self.updated_at, self.closed_at) = (PullState::Closed, now, Some(now));
        }
        self.head_sha = head.unwrap_or_else(|| self.head_sha.clone());
        self.base_sha = git::tip(&repository.git_dir, &self.base).unwrap_or_else(|| self.base_sha.clone());
        true
    }

    fn apply(&mut self, change: Change, changes_state: bool, now: Timestamp) {
        self.title = change.title.unwrap_or_else(|| self.title.clone());
        self.body = change.body.unwrap_or_else(|| self.body.clone());
        self.base = change.base.unwrap_or_else(|| self.base.clone());
        self.draft = change.draft.unwrap_or(self.draft);
        self.labels = change.labels.unwrap_or_else(|| self.labels.clone());
        self.reviewers = change.reviewers.unwrap_or_else(|| self.reviewers.clone());
        self.updated_at = now;
        if changes_state {
            let is_open = self.state == PullState::Open;
            (self.state, self.closed_at) =
                if is_open { (PullState::Closed, Some(now)) } else { (PullState::Open, None) };
        }
    }
}

fn find_pull(pulls: &mut [Pull], number: u64) -> Option<&mut Pull> {
    pulls.iter_mut().find(|pull| pull.number == number)
}

fn find_open_duplicate(pulls: &[Pull], head: &str, base: &str) -> Option<u64> {
    let is_duplicate = |pull: &&Pull| pull.state == PullState::Open && pull.head == head && pull.base == base;
    pulls.iter().find(is_duplicate).map(|pull| pull.number)
}
