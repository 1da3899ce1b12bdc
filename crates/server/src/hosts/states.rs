//! What became of pull requests, of hosts that do not tell us: asked when somebody looks.

use std::collections::HashMap;

use forge::{Host as _, State};
use store::{Job, Project, PullState};
use tokio::task::JoinHandle;

use super::records::failed;
use super::{Hosts, is_on_the_web, locked};

/// How long what a host said is good for.
const GOOD_FOR_MS: i64 = 60_000;
/// How many pull requests are remembered to have been asked for.
const REMEMBERED: usize = 10_000;

/// When each pull request was asked for, by its link.
pub(super) type Asked = HashMap<String, i64>;

impl Hosts {
    /// Asks, behind the page that somebody opens, for the pull requests that were open when we last heard of them. News
    /// is written as if the host had sent it, so that whoever watches the job sees it.
    pub(crate) fn look_again(&self, project: &Project, jobs: &[Job]) -> Option<JoinHandle<()>> {
        if !is_on_the_web(&project.repository) {
            return None;
        }
        let open = jobs.iter().filter(|job| job.pr_state == Some(PullState::Open));
        let links: Vec<_> =
            open.filter_map(|job| job.pr_link.clone()).filter(|link| self.is_due(link)).collect();
        if links.is_empty() {
            return None;
        }
        let (hosts, project) = (self.clone(), project.clone());
        Some(tokio::spawn(async move {
            for link in links {
                if let Err(error) = hosts.look(&project, &link).await {
                    return tracing::info!("it is not known what became of {link}: {error}");
                }
            }
        }))
    }

    fn is_due(&self, link: &str) -> bool {
        let now = self.clock.now_ms();
        let mut asked = locked(&self.asked);
        if asked.get(link).is_some_and(|at| now - at < GOOD_FOR_MS) {
            return false;
        }
        if asked.len() >= REMEMBERED {
            asked.clear();
        }
        asked.insert(link.to_owned(), now);
        true
    }

    async fn look(&self, project: &Project, link: &str) -> forge::Result<()> {
        let Some(number) = number(link) else { return Ok(()) };
        let pull = self.web(project).await?.get(number).await?;
        // In a repository that the project had before, another has this number.
        match pull.filter(|pull| pull.url == link && pull.state != State::Open) {
            Some(pull) => {
                let noted = self.pulls.note_pull(&project.id, link, recorded(pull.state)).await;
                noted.map(drop).map_err(failed)
            }
            None => Ok(()),
        }
    }
}

/// The number of a pull request is the last part of its link, on whatever host.
pub(crate) fn number(link: &str) -> Option<u64> {
    link.rsplit('/').next()?.parse().ok()
}

pub(crate) fn recorded(state: State) -> PullState {
    match state {
        State::Open => PullState::Open,
        State::Merged => PullState::Merged,
        State::Closed => PullState::Closed,
    }
}
