//! Defines the data of the settings page, of the count of received views on it, and of the sparkline of a project.

use askama::Template;

use super::{FormMessage, Section, Shell, count, with_commas};
use app::refused_files::RefusedFile;

/// `/p/{projectId}/settings`
#[derive(Template)]
#[template(path = "settings.html")]
pub(crate) struct Settings {
    pub(crate) shell: Shell,
    pub(crate) project_id: String,
    pub(crate) name: String,
    pub(crate) repository: RepositoryForm,
    /// The kind of the repository's host. `None` for this machine.
    pub(crate) host: Option<String>,
    /// Whether a token, or the key of an app, is stored.
    pub(crate) has_token: bool,
    pub(crate) jobs: JobsForm,
    pub(crate) readers: ReadersForm,
    pub(crate) findings: FindingsForm,
    /// The script element for the pages of the docs site.
    pub(crate) snippet: String,
    pub(crate) views_received: ViewsReceived,
    /// Only owners can change settings.
    pub(crate) is_owner: bool,
    pub(crate) message: Option<FormMessage<SettingsForm>>,
}

impl Settings {
    fn message(&self, form: SettingsForm) -> Option<&FormMessage<SettingsForm>> {
        self.message.as_ref().filter(|message| message.form == form)
    }

    fn human_reads(&self) -> [(&'static str, &'static str); 3] {
        [
            ("both", "Script and server log"),
            ("beacon", "Script on the pages only"),
            ("server", "Server log only"),
        ]
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SettingsForm {
    Repository,
    Jobs,
    Readers,
    Findings,
    Delete,
}

/// Has no token, because a page never shows one.
pub(crate) struct RepositoryForm {
    pub(crate) name: String,
    pub(crate) repository: String,
    pub(crate) branch: String,
    pub(crate) folder: String,
}

pub(crate) struct JobsForm {
    pub(crate) models: Vec<ModelChoice>,
    /// Globs, one per line.
    pub(crate) allow_paths: String,
    /// Globs of folders with code that aren't allowed yet.
    pub(crate) suggested_globs: Vec<String>,
    /// Files that recent jobs changed or tried to change, and that jobs may not change.
    pub(crate) refused: Vec<RefusedFile>,
    /// Tokens per month, from the server's settings.
    pub(crate) budget: Option<u64>,
}

impl JobsForm {
    fn budget(&self) -> Option<String> {
        self.budget.map(with_commas)
    }
}

/// A model of the server, or a model that the project names and the server doesn't have.
pub(crate) struct ModelChoice {
    pub(crate) name: String,
    /// The model of jobs that don't name one.
    pub(crate) is_default: bool,
    pub(crate) is_allowed: bool,
    /// The server doesn't have it.
    pub(crate) is_missing: bool,
}

pub(crate) struct ReadersForm {
    /// Origins, one per line.
    pub(crate) sites: String,
    pub(crate) human_reads: String,
}

/// The thresholds of findings, as text.
pub(crate) struct FindingsForm {
    pub(crate) min_requests: String,
    pub(crate) window_days: String,
    pub(crate) stale_days: String,
    /// Globs with days, one per line.
    pub(crate) stale_tiers: String,
    pub(crate) stale_min_views: String,
    pub(crate) shipped_delay_days: String,
    pub(crate) judge_days: String,
    pub(crate) reopen_factor: String,
}

/// How many page views the server has received. Also served alone, so that the page can poll it.
#[derive(Template, Default)]
#[template(path = "views_received.html")]
pub(crate) struct ViewsReceived {
    pub(crate) total: u64,
    /// In the last 30 minutes.
    pub(crate) recent: u64,
    pub(crate) is_unavailable: bool,
}

impl ViewsReceived {
    fn total_views(&self) -> String {
        count(self.total, "view")
    }

    fn recent_views(&self) -> String {
        with_commas(self.recent)
    }
}

/// Page views of seven days as two lines: human and AI.
pub(crate) struct Sparkline {
    pub(crate) human: u64,
    pub(crate) ai: u64,
    /// Points of an SVG polyline, 140 wide and 32 high.
    pub(crate) human_line: String,
    pub(crate) ai_line: String,
}

impl Sparkline {
    pub(super) fn human_views(&self) -> String {
        with_commas(self.human)
    }

    pub(super) fn ai_views(&self) -> String {
        with_commas(self.ai)
    }

    /// Takes the human and AI views of each day, oldest first.
    pub(crate) fn new(days: &[(u64, u64)]) -> Self {
        let highest = days.iter().map(|(human, ai)| *human.max(ai)).max().unwrap_or(0).max(1);
        let line = |of: fn(&(u64, u64)) -> u64| {
            let points =
                days.iter().enumerate().map(|(index, day)| point(index, days.len(), of(day), highest));
            points.collect::<Vec<_>>().join(" ")
        };
        Self {
            human: days.iter().map(|day| day.0).sum(),
            ai: days.iter().map(|day| day.1).sum(),
            human_line: line(|day| day.0),
            ai_line: line(|day| day.1),
        }
    }
}

const WIDTH: f64 = 140.0;
const HEIGHT: f64 = 32.0;
const MARGIN: f64 = 2.0;

fn point(index: usize, points: usize, views: u64, highest: u64) -> String {
    let x = MARGIN + (WIDTH - 2.0 * MARGIN) * index as f64 / points.saturating_sub(1).max(1) as f64;
    let y = HEIGHT - MARGIN - (HEIGHT - 2.0 * MARGIN) * views as f64 / highest as f64;
    format!("{x:.1},{y:.1}")
}

#[cfg(test)]
mod tests {
    use super::Sparkline;

    #[test]
    fn a_sparkline_fills_its_height_and_is_flat_without_views() {
        let week = [(0, 4), (10, 0), (5, 2)];
        let sparkline = Sparkline::new(&week);
        assert_eq!((sparkline.human, sparkline.ai), (15, 6));
        assert_eq!(sparkline.human_line, "2.0,30.0 70.0,2.0 138.0,16.0");
        assert_eq!(Sparkline::new(&[(0, 0), (0, 0)]).ai_line, "2.0,30.0 138.0,30.0");
        assert_eq!(Sparkline::new(&[]).human_line, "");
    }
}
