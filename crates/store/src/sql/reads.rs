//! The reads that every request makes, coalesced: API key, project, rate limit and a job's progress.

use crate::coalesced::CoalescedRead;
use crate::progress::{ProgressReads, progress_reads};
use crate::{ApiKey, KeyAndProject, Project, ProjectId, Result};

use super::row::{FromRow, Row};
use super::{Query, accounts, jobs, rates};

/// Runs a query outside of a transaction.
pub(crate) trait Fetch: Send + Sync + 'static {
    fn rows(&self, query: Query) -> impl Future<Output = Result<Vec<Row>>> + Send;

    fn row(&self, query: Query) -> impl Future<Output = Result<Option<Row>>> + Send {
        async { Ok(self.rows(query).await?.into_iter().next()) }
    }

    fn all<T: FromRow>(&self, query: Query) -> impl Future<Output = Result<Vec<T>>> + Send {
        async { self.rows(query).await?.iter().map(T::from_row).collect() }
    }

    fn optional<T: FromRow>(&self, query: Query) -> impl Future<Output = Result<Option<T>>> + Send {
        async { self.row(query).await?.as_ref().map(T::from_row).transpose() }
    }
}

#[derive(Clone)]
pub(crate) struct Reads {
    pub(super) keys: CoalescedRead<Vec<u8>, Option<ApiKey>>,
    pub(super) projects: CoalescedRead<ProjectId, Option<Project>>,
    pub(super) callers: CoalescedRead<(Vec<u8>, ProjectId), KeyAndProject>,
    /// How much of a bucket's hour is used, and the time.
    pub(super) rates: CoalescedRead<String, (u32, i64)>,
    pub(super) progress: ProgressReads,
}

impl Reads {
    pub(crate) fn new(fetch: impl Fetch + Clone) -> Self {
        let [keys, projects, callers, rates] = std::array::from_fn(|_| fetch.clone());
        Self {
            keys: CoalescedRead::new(move |hash| accounts::find_key(keys.clone(), hash)),
            projects: CoalescedRead::new(move |id| accounts::find_project(projects.clone(), id)),
            callers: CoalescedRead::new(move |ids| accounts::find_key_and_project(callers.clone(), ids)),
            rates: CoalescedRead::new(move |bucket| rates::used(rates.clone(), bucket)),
            progress: progress_reads(move |ids| jobs::find_progress(fetch.clone(), ids)),
        }
    }
}
