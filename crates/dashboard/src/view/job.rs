//! `/p/{projectId}/jobs/{id}` as data.

use askama::Template;

use super::{Block, DiffFile, Ended, JobState, PullRef, Section, Shell, Step, When};

#[derive(Template)]
#[template(path = "job.html")]
pub(crate) struct Job {
    pub(crate) shell: Shell,
    pub(crate) id: String,
    pub(crate) href: String,
    pub(crate) state: JobState,
    pub(crate) branch: String,
    pub(crate) base: Option<String>,
    pub(crate) model: String,
    pub(crate) when: When,
    /// Who asked for it; `None`: it was not recorded.
    pub(crate) creator: Option<String>,
    pub(crate) duration: Option<String>,
    /// Tokens and what they cost; `None` where no model was asked.
    pub(crate) usage: Option<String>,
    pub(crate) prompt: String,
    /// What was quoted beside it: label and text.
    pub(crate) quotations: Vec<(String, String)>,
    pub(crate) steps: Vec<Step>,
    /// Active, and nobody has taken it up yet.
    pub(crate) waiting: bool,
    pub(crate) diff: Vec<DiffFile>,
    /// Where all of the change is, when some of it is left out here.
    pub(crate) whole: Option<String>,
    pub(crate) ended: Option<Ended>,
    pub(crate) pull: Option<PullRef>,
    /// Why a follow-up was not taken, and what it said.
    pub(crate) error: Option<String>,
    pub(crate) follow_up: String,
    /// What this page's forms are known by when they are sent twice.
    pub(crate) once: String,
}

impl Job {
    /// The number of the last event on the page: what comes after it is news.
    fn seen(&self) -> u64 {
        self.steps.last().map_or(0, |step| step.number)
    }

    fn takes_follow_ups(&self) -> bool {
        !matches!(self.state, JobState::Merged | JobState::Closed | JobState::Archived)
    }

    fn added(&self) -> usize {
        self.diff.iter().map(|file| file.added).sum()
    }

    fn removed(&self) -> usize {
        self.diff.iter().map(|file| file.removed).sum()
    }

    /// How it ended, as far as that is still so: people go on with a pull request.
    fn outcome(&self, ended: &Ended) -> String {
        match (self.state, &self.pull) {
            (JobState::Merged | JobState::Closed, Some(pull)) => {
                format!("Pull request #{} was {}", pull.number, pull.state.label())
            }
            _ => ended.reason.clone(),
        }
    }

    /// What a person can do now.
    fn next(&self) -> &'static str {
        match self.state {
            JobState::Running => "",
            JobState::Review => {
                "Read the change below, then merge or close its pull request. Not right yet? Ask for more in a follow-up."
            }
            JobState::Merged => "The change is merged, so this job is done. For more, start a new one.",
            JobState::Closed => {
                "Its pull request was closed without merging. If the change is still wanted, retry it as a new job."
            }
            JobState::NoChange => {
                "Say in a follow-up what should have changed, and where: a page, a phrase, a link."
            }
            JobState::Failed => {
                "Answer in a follow-up if something was unclear, or retry it as a new job once the cause is mended."
            }
            JobState::Archived => {
                "It was stopped for good and stays as it is. To do it after all, retry it as a new job."
            }
        }
    }
}
