//! Defines the data of a job's page, `/p/{projectId}/jobs/{id}`.

use askama::Template;

use super::prose::{Quotation, Span, spans};
use super::{
    Block, DiffFile, DisplayTime, FixedFindings, JobResult, JobState, PullRef, Section, Shell, Step, count,
};

#[derive(Template)]
#[template(path = "job.html")]
pub(crate) struct Job {
    pub(crate) shell: Shell,
    pub(crate) id: String,
    pub(crate) href: String,
    pub(crate) state: JobState,
    /// The branch of its pull request.
    pub(crate) branch: String,
    /// The pull request is that of another job, which has the same change.
    pub(crate) names_other_pull: bool,
    pub(crate) base: Option<String>,
    pub(crate) model: String,
    pub(crate) when: DisplayTime,
    /// Who created the job. `None` for jobs from before this was recorded.
    pub(crate) creator: Option<String>,
    pub(crate) duration: Option<String>,
    /// Tokens and their cost. `None` if no model was called.
    pub(crate) usage: Option<String>,
    pub(crate) prompt: String,
    /// The quotations beside the prompt, with their labels.
    pub(crate) quotations: Vec<(String, Quotation)>,
    pub(crate) steps: Vec<Step>,
    /// The job is active, and no worker has started it yet.
    pub(crate) is_waiting: bool,
    pub(crate) diff: Vec<DiffFile>,
    /// The URL of the full diff, if this page truncates it.
    pub(crate) full_diff: Option<String>,
    pub(crate) result: Option<JobResult>,
    pub(crate) pull: Option<PullRef>,
    pub(crate) fixes: FixedFindings,
    /// Why a follow-up was refused, and its text.
    pub(crate) error: Option<String>,
    pub(crate) follow_up: String,
    /// The idempotency token of this page's forms.
    pub(crate) once: String,
}

impl Job {
    /// The number of the last event on the page. The stream starts after it.
    fn last_event(&self) -> u64 {
        self.steps.last().map_or(0, |step| step.number)
    }

    fn takes_follow_ups(&self) -> bool {
        let is_open = self.pull.as_ref().is_none_or(|pull| pull.state.is_open());
        self.state != JobState::Archived && is_open
    }

    fn files_changed(&self) -> String {
        format!("{} changed", count(self.diff.len() as u64, "file"))
    }

    fn added(&self) -> usize {
        self.diff.iter().map(|file| file.added).sum()
    }

    fn removed(&self) -> usize {
        self.diff.iter().map(|file| file.removed).sum()
    }

    /// The result of the job, or what became of its pull request since.
    fn outcome(&self, result: &JobResult) -> String {
        match (self.state, &self.pull) {
            (JobState::Merged | JobState::Closed, Some(pull)) => {
                format!("Pull request #{} was {}", pull.number, pull.state.label())
            }
            // The summary below has the reason.
            (JobState::NoChange, _) if !result.summary.is_empty() => {
                result.reason.split_once(": ").map_or(&*result.reason, |(outcome, _)| outcome).to_owned()
            }
            _ => result.reason.clone(),
        }
    }

    fn outcome_spans(&self, result: &JobResult) -> Vec<Span> {
        spans(&self.outcome(result))
    }

    fn title_spans(&self) -> Vec<Span> {
        spans(&self.shell.title)
    }

    /// What the person can do next.
    fn next_step(&self) -> &'static str {
        match self.state {
            JobState::Failed if self.pull.as_ref().is_some_and(|pull| pull.state.is_open()) => {
                "The pull request is still open, without the changes of the failed run. Review, merge, or close it, or send a follow-up."
            }
            JobState::Failed if self.pull.is_some() => {
                "The pull request is no longer open, so the job can't change it. To change more, create a new job."
            }
            JobState::Running => "",
            JobState::Review => {
                "Review the changes below, then merge or close the pull request. To request more changes, send a follow-up."
            }
            JobState::Merged => {
                "The pull request is merged, and this job is done. To change more, create a new job."
            }
            JobState::Closed => {
                "The pull request was closed without merging. If you still want the changes, retry the job."
            }
            JobState::NoChange => {
                "If you expected changes, send a follow-up that says what to change and where: a page, a phrase, a link."
            }
            JobState::Failed => {
                "If the prompt was unclear, send a follow-up. If something else was wrong, fix the cause and retry the job."
            }
            JobState::Archived => {
                "The job was archived, and can't be resumed. To run the prompt again, retry the job."
            }
        }
    }
}
