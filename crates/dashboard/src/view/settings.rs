//! The settings of a project, and how many read it lately, as data.

use askama::Template;

use super::{Section, Shell};
use app::refused_files::RefusedFile;

/// `/p/{projectId}/settings`
#[derive(Template)]
#[template(path = "settings.html")]
pub(crate) struct Settings {
    pub(crate) shell: Shell,
    pub(crate) project_id: String,
    pub(crate) name: String,
    pub(crate) repository: RepositoryForm,
    /// What its host is; `None`: this machine.
    pub(crate) host: Option<String>,
    /// Whether a token, or the key of an app, is kept.
    pub(crate) has_token: bool,
    pub(crate) jobs: JobsForm,
    pub(crate) readers: ReadersForm,
    /// What a site puts on its pages.
    pub(crate) snippet: String,
    pub(crate) arrived: Arrived,
    /// Whether the visitor may change any of it.
    pub(crate) owner: bool,
    pub(crate) said: Option<Said>,
}

impl Settings {
    fn problem(&self, card: Card) -> Option<&str> {
        self.said.as_ref().filter(|said| said.card == card && !said.good).map(|said| said.sentence.as_str())
    }

    fn success(&self, card: Card) -> Option<&str> {
        self.said.as_ref().filter(|said| said.card == card && said.good).map(|said| said.sentence.as_str())
    }

    fn human_reads(&self) -> [(&'static str, &'static str); 3] {
        [
            ("both", "from whoever tells of them"),
            ("beacon", "from the script on the pages"),
            ("server", "from the server's log"),
        ]
    }
}

/// What came of a form, told where it stands.
pub(crate) struct Said {
    pub(crate) card: Card,
    pub(crate) good: bool,
    pub(crate) sentence: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Card {
    Repository,
    Jobs,
    Readers,
    Danger,
}

/// The token is not here: what was typed of it is not shown again.
pub(crate) struct RepositoryForm {
    pub(crate) name: String,
    pub(crate) repository: String,
    pub(crate) branch: String,
    pub(crate) folder: String,
}

pub(crate) struct JobsForm {
    pub(crate) models: Vec<ModelChoice>,
    /// Globs, one a line.
    pub(crate) allow_paths: String,
    /// Globs of folders with code that are not allowed yet.
    pub(crate) offers: Vec<String>,
    /// Of recent jobs.
    pub(crate) refused: Vec<RefusedFile>,
    /// Tokens a month, as the operator has set them.
    pub(crate) budget: Option<u64>,
}

impl JobsForm {
    fn budget(&self) -> Option<String> {
        self.budget.map(grouped)
    }
}

/// A model of the server, or one that it has no more and the project still names.
pub(crate) struct ModelChoice {
    pub(crate) name: String,
    /// The one for jobs that name none.
    pub(crate) usual: bool,
    pub(crate) allowed: bool,
    pub(crate) gone: bool,
}

pub(crate) struct ReadersForm {
    /// Origins, one a line.
    pub(crate) sites: String,
    pub(crate) human_reads: String,
}

/// What has come in of page views.
#[derive(Template)]
#[template(path = "arrived.html")]
pub(crate) struct Arrived {
    pub(crate) total: u64,
    pub(crate) lately: u64,
}

impl Arrived {
    fn so_far(&self) -> String {
        grouped(self.total)
    }

    fn of_late(&self) -> String {
        grouped(self.lately)
    }
}

/// Seven days of reads, as two lines of a small drawing.
pub(crate) struct Spark {
    pub(crate) human: u64,
    pub(crate) ai: u64,
    /// Points of an SVG polyline in a field of 140 by 32.
    pub(crate) human_line: String,
    pub(crate) ai_line: String,
}

impl Spark {
    pub(super) fn human_reads(&self) -> String {
        grouped(self.human)
    }

    pub(super) fn ai_reads(&self) -> String {
        grouped(self.ai)
    }

    /// Of the reads of each day, human and AI, oldest first.
    pub(crate) fn new(days: &[(u64, u64)]) -> Self {
        let most = days.iter().map(|(human, ai)| *human.max(ai)).max().unwrap_or(0).max(1);
        let line = |of: fn(&(u64, u64)) -> u64| {
            let points = days.iter().enumerate().map(|(at, day)| point(at, days.len(), of(day), most));
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

/// `19,832`
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

const WIDTH: f64 = 140.0;
const HEIGHT: f64 = 32.0;
const EDGE: f64 = 2.0;

fn point(at: usize, of: usize, count: u64, most: u64) -> String {
    let across = EDGE + (WIDTH - 2.0 * EDGE) * at as f64 / of.saturating_sub(1).max(1) as f64;
    let down = HEIGHT - EDGE - (HEIGHT - 2.0 * EDGE) * count as f64 / most as f64;
    format!("{across:.1},{down:.1}")
}

#[cfg(test)]
mod tests {
    use super::{Spark, grouped};

    #[test]
    fn numbers_are_grouped_by_thousands() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn a_spark_fills_its_field_and_nothing_is_a_flat_line() {
        let week = [(0, 4), (10, 0), (5, 2)];
        let spark = Spark::new(&week);
        assert_eq!((spark.human, spark.ai), (15, 6));
        assert_eq!(spark.human_line, "2.0,30.0 70.0,2.0 138.0,16.0");
        assert_eq!(Spark::new(&[(0, 0), (0, 0)]).ai_line, "2.0,30.0 138.0,30.0");
        assert_eq!(Spark::new(&[]).human_line, "");
    }
}
