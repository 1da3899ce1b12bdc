//! Stores the pull requests of the embedded host in `store`.

use std::sync::Arc;

use async_trait::async_trait;
use forge::{Error, NewPull, Oid, PullRecord, PullRecords, State};
use store::{ProjectId, Pull, PullState, Pulls, StoreError};

use super::stored_state;

/// The pull request records of one project.
pub(super) struct Records {
    pub(super) project: ProjectId,
    pub(super) pulls: Arc<dyn Pulls>,
}

#[async_trait]
impl PullRecords for Records {
    async fn insert(&self, new: &NewPull) -> forge::Result<PullRecord> {
        let new = store::NewPull {
            job: new.job.clone(),
            title: new.title.clone(),
            body: new.body.clone(),
            head: new.head.clone(),
            base: new.base.clone(),
            head_commit: new.head_commit.to_string(),
            base_commit: new.base_commit.to_string(),
        };
        self.pulls.open_pull(&self.project, &new).await.map_err(records_error).and_then(to_record)
    }

    async fn by_head(&self, head: &str) -> forge::Result<Vec<PullRecord>> {
        let found = self.pulls.pulls_by_head(&self.project, head).await.map_err(records_error)?;
        found.into_iter().map(to_record).collect()
    }

    async fn get(&self, number: u64) -> forge::Result<Option<PullRecord>> {
        let found = self.pulls.pull(&self.project, number).await.map_err(records_error)?;
        found.map(to_record).transpose()
    }

    async fn list(&self, limit: usize) -> forge::Result<Vec<PullRecord>> {
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        let found = self.pulls.pulls(&self.project, limit).await.map_err(records_error)?;
        found.into_iter().map(to_record).collect()
    }

    async fn set_state(
        &self,
        number: u64,
        to: State,
        head_commit: &Oid,
        merge_commit: Option<&Oid>,
    ) -> forge::Result<bool> {
        let merge = merge_commit.map(Oid::as_str);
        self.pulls
            .close_or_merge_pull(&self.project, number, stored_state(to), head_commit.as_str(), merge)
            .await
            .map_err(records_error)
    }
}

fn to_record(pull: Pull) -> forge::Result<PullRecord> {
    Ok(PullRecord {
        number: pull.number,
        title: pull.title,
        body: pull.body,
        head: pull.head,
        base: pull.base,
        state: match pull.state {
            PullState::Open => State::Open,
            PullState::Merged => State::Merged,
            PullState::Closed => State::Closed,
        },
        head_commit: Oid::parse(&pull.head_commit)?,
        base_commit: Oid::parse(&pull.base_commit)?,
        merge_commit: pull.merge_commit.as_deref().map(Oid::parse).transpose()?,
        job: pull.job,
        created_at: pull.created_at.as_millisecond(),
    })
}

pub(super) fn records_error(error: StoreError) -> Error {
    Error::Records(Box::new(error))
}
