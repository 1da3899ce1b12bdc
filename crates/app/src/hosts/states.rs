//! What became of pull requests, of hosts that do not tell us: asked when somebody looks.

use std::collections::HashMap;

use forge::{Host as _, State};
use store::{Job, Project, PullState};
use tokio::task::JoinHandle;

use super::records::failed;
use super::{Hosts, is_on_the_web, locked};

/// How long what a host said is good for: of many at once, and of the one that somebody looks at.
const GOOD_FOR_MS: i64 = 60_000;
const ONE_GOOD_FOR_MS: i64 = 5_000;
/// How many pull requests are remembered to have been asked for.
const REMEMBERED: usize = 10_000;
/// A host that fails so often is not asked for the rest.
const FAILURES: usize = 3;

/// When each pull request was asked for, by its link.
pub(super) type Asked = HashMap<String, i64>;

impl Hosts {
    /// Asks, behind the page that somebody opens, for the pull requests that were open when we last heard of them. News
    /// is written as if the host had sent it, so that whoever watches the job sees it.
    pub fn look_again(&self, project: &Project, jobs: &[Job]) {
        let open = jobs.iter().filter(|job| job.pr_state == Some(PullState::Open));
        self.ask(project, open, GOOD_FOR_MS);
    }

    /// The same for one, which may have been opened again as well.
    pub fn look_at(&self, project: &Project, job: &Job) -> Option<JoinHandle<()>> {
        let is_settled = job.pr_state == Some(PullState::Merged);
        self.ask(project, std::iter::once(job).filter(|_| !is_settled), ONE_GOOD_FOR_MS)
    }

    fn ask<'j>(
        &self,
        project: &Project,
        jobs: impl Iterator<Item = &'j Job>,
        good_for: i64,
    ) -> Option<JoinHandle<()>> {
        let known = jobs.filter_map(|job| job.pr_link.clone().zip(job.pr_state));
        let due = known.filter(|(link, _)| is_on_the_web(&project.repository) && self.is_due(link, good_for));
        let due: Vec<_> = due.collect();
        if due.is_empty() {
            return None;
        }
        let (hosts, project) = (self.clone(), project.clone());
        Some(tokio::spawn(async move {
            let mut failures = 0;
            for (link, known) in due {
                if let Err(error) = hosts.look(&project, &link, known).await {
                    tracing::info!("it is not known what became of {link}: {error}");
                    failures += 1;
                }
                if failures == FAILURES {
                    return;
                }
            }
        }))
    }

    fn is_due(&self, link: &str, good_for: i64) -> bool {
        let now = self.clock.now_ms();
        let mut asked = locked(&self.asked);
        if asked.get(link).is_some_and(|at| now - at < good_for) {
            return false;
        }
        if asked.len() >= REMEMBERED {
            asked.clear();
        }
        asked.insert(link.to_owned(), now);
        true
    }

    async fn look(&self, project: &Project, link: &str, known: PullState) -> forge::Result<()> {
        let Some(number) = number(link) else { return Ok(()) };
        let pull = self.web(project).await?.get(number).await?;
        // In a repository that the project had before, another has this number.
        match pull.filter(|pull| pull.url == link && recorded(pull.state) != known) {
            Some(pull) => {
                let noted = self.pulls.note_pull(&project.id, link, recorded(pull.state)).await;
                noted.map(drop).map_err(failed)
            }
            None => Ok(()),
        }
    }
}

/// The number of a pull request is the last part of its link, on whatever host.
pub fn number(link: &str) -> Option<u64> {
    link.rsplit('/').next()?.parse().ok()
}

pub fn recorded(state: State) -> PullState {
    match state {
        State::Open => PullState::Open,
        State::Merged => PullState::Merged,
        State::Closed => PullState::Closed,
    }
}
