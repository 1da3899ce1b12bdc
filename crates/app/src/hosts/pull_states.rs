//! Refreshes the states of pull requests when a person opens a page, for hosts that send no webhooks.

use std::collections::HashMap;

use forge::State;
use jiff::Timestamp;
use store::{Job, Project, PullState};
use tokio::task::JoinHandle;

use super::records::records_error;
use super::{Hosts, is_on_the_web, lock};

/// How long a state is fresh: in a list, and on the page of one job.
const LIST_FRESH_MS: i64 = 60_000;
const JOB_FRESH_MS: i64 = 5_000;
/// The number of pull requests in [`LastRequests`].
const MAX_LAST_REQUESTS: usize = 10_000;
/// After so many failures, the host isn't asked for the other pull requests.
const MAX_FAILURES: usize = 3;

/// The times of the last request and of the last answer for each pull request, by its link.
pub(super) type LastRequests = HashMap<String, LastRequest>;

#[derive(Clone, Copy)]
pub(super) struct LastRequest {
    asked_ms: i64,
    answered_ms: Option<i64>,
}

impl Hosts {
    /// Asks the host for the states of open pull requests, in the background. A new state is stored as if the
    /// host had sent it, so that event streams of the job send it.
    pub fn refresh_pull_states(&self, project: &Project, jobs: &[Job]) {
        self.refresh_open_pulls(project, jobs.iter().filter_map(known_state));
    }

    /// The same for pull requests with these links and states.
    pub fn refresh_open_pulls(&self, project: &Project, pulls: impl Iterator<Item = (String, PullState)>) {
        let open = pulls.filter(|(_, state)| *state == PullState::Open);
        let open = open.filter(|_| is_on_the_web(&project.repository));
        self.refresh_stale(project, open, LIST_FRESH_MS);
    }

    /// The same for one job, also if its pull request was closed: it may have been opened again.
    pub fn refresh_pull_state(&self, project: &Project, job: &Job) -> Option<JoinHandle<()>> {
        let is_merged = job.pr_state == Some(PullState::Merged);
        self.refresh_stale(project, known_state(job).into_iter().filter(|_| !is_merged), JOB_FRESH_MS)
    }

    fn refresh_stale(
        &self,
        project: &Project,
        known: impl Iterator<Item = (String, PullState)>,
        fresh_ms: i64,
    ) -> Option<JoinHandle<()>> {
        let stale: Vec<_> = known.filter(|(link, _)| self.is_stale(link, fresh_ms)).collect();
        if stale.is_empty() {
            return None;
        }
        let (hosts, project) = (self.clone(), project.clone());
        Some(tokio::spawn(async move {
            let mut failures = 0;
            for (link, known) in stale {
                if let Err(error) = hosts.refresh(&project, &link, known).await {
                    tracing::info!("cannot refresh the state of {link}: {error}");
                    failures += 1;
                }
                if failures == MAX_FAILURES {
                    return;
                }
            }
        }))
    }

    /// When the host last answered with the state of the pull request, as far as this process knows.
    pub fn last_check(&self, link: &str) -> Option<Timestamp> {
        let answered = lock(&self.last_requests).get(link)?.answered_ms?;
        Timestamp::from_millisecond(answered).ok()
    }

    fn is_stale(&self, link: &str, fresh_ms: i64) -> bool {
        let now = self.clock.now_ms();
        let mut requests = lock(&self.last_requests);
        let last = requests.get(link).copied();
        if last.is_some_and(|last| now - last.asked_ms < fresh_ms) {
            return false;
        }
        if requests.len() >= MAX_LAST_REQUESTS {
            requests.clear();
        }
        let answered_ms = last.and_then(|last| last.answered_ms);
        requests.insert(link.to_owned(), LastRequest { asked_ms: now, answered_ms });
        true
    }

    async fn refresh(&self, project: &Project, link: &str, known: PullState) -> forge::Result<()> {
        let Some(number) = pull_number(link) else { return Ok(()) };
        let pull = self.open(project).await?.get(number).await?;
        // If the project changed its repository, another pull request may have this number.
        let Some(pull) = pull.filter(|pull| pull.url == link) else { return Ok(()) };
        if stored_state(pull.state) != known {
            let stored = self.pulls.record_pull_state(&project.id, link, stored_state(pull.state)).await;
            stored.map_err(records_error)?;
        }
        if let Some(last) = lock(&self.last_requests).get_mut(link) {
            last.answered_ms = Some(self.clock.now_ms());
        }
        Ok(())
    }
}

/// The link and the last known state of a job's pull request.
fn known_state(job: &Job) -> Option<(String, PullState)> {
    job.pr_link.clone().zip(job.pr_state)
}

/// The number of a pull request: the last part of its link, on every host.
pub fn pull_number(link: &str) -> Option<u64> {
    link.rsplit('/').next()?.parse().ok()
}

pub fn stored_state(state: State) -> PullState {
    match state {
        State::Open => PullState::Open,
        State::Merged => PullState::Merged,
        State::Closed => PullState::Closed,
    }
}
