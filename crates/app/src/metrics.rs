//! What this server has counted since it started, and how Prometheus reads it.
//!
//! Ours rather than a library's: the counters are known by name, their labels are few, and a
//! registry that belongs to one server, not to the process, lets every test count alone. What a
//! library brings besides is a dozen crates more to build and a task that must tidy up after it.

mod requests;
mod text;
mod views;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use jiff::Timestamp;
use store::JobCounts;

pub use text::Labels;
pub use views::Counted;

use crate::models::OFFLINE;
use requests::Requests;
use text::Text;

/// Everything that only goes up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Counter {
    JobRuns,
    LeaseLosses,
    ModelTokens,
    ViewsAccepted,
    ViewsDuplicate,
    ViewsRejected,
    IntakeRefused,
}

impl Counter {
    /// The name, and what it says to who looks at it for the first time.
    fn told(self) -> (&'static str, &'static str) {
        match self {
            Self::JobRuns => ("docwright_job_runs_total", "Runs of jobs that came to an end here."),
            Self::LeaseLosses => ("docwright_lease_losses_total", "Runs that another worker took over."),
            Self::ModelTokens => ("docwright_model_tokens_total", "Tokens that models read and wrote."),
            Self::ViewsAccepted => {
                ("docwright_views_accepted_total", "Page views taken in, duplicates included.")
            }
            Self::ViewsDuplicate => {
                ("docwright_views_duplicates_total", "Page views that were known already.")
            }
            Self::ViewsRejected => ("docwright_views_rejected_total", "Page views that made no sense."),
            Self::IntakeRefused => {
                ("docwright_intake_refused_total", "Batches of page views refused for want of room.")
            }
        }
    }

    const ALL: [Self; 7] = [
        Self::JobRuns,
        Self::LeaseLosses,
        Self::ModelTokens,
        Self::ViewsAccepted,
        Self::ViewsDuplicate,
        Self::ViewsRejected,
        Self::IntakeRefused,
    ];
}

/// Labels are routes, statuses and the like, never ids or names: their number is bounded.
pub struct Metrics {
    started: Timestamp,
    counts: Mutex<BTreeMap<(Counter, Labels), u64>>,
    pub requests: Requests,
}

impl Metrics {
    /// What can be known beforehand stands at 0, so that the first failure is a rise, too.
    pub fn new(started: Timestamp) -> Self {
        let metrics = Self { started, counts: Mutex::default(), requests: Requests::default() };
        use Counter::{IntakeRefused, LeaseLosses, ViewsAccepted, ViewsDuplicate, ViewsRejected};
        for plain in [LeaseLosses, ViewsAccepted, ViewsDuplicate, ViewsRejected, IntakeRefused] {
            metrics.add(plain, Labels::default(), 0);
        }
        for outcome in ["completed", "unchanged", "failed", "given_back"] {
            metrics.add(Counter::JobRuns, Labels::of(&[("outcome", outcome)]), 0);
        }
        metrics.spent(OFFLINE, &serde_json::Value::Null);
        metrics
    }

    pub fn add(&self, counter: Counter, labels: Labels, n: u64) {
        *lock(&self.counts).entry((counter, labels)).or_default() += n;
    }

    /// One run of a job came to its end.
    pub fn run_ended(&self, outcome: &str) {
        self.add(Counter::JobRuns, Labels::of(&[("outcome", outcome)]), 1);
    }

    /// What a run used of its model, as its `ended` event has it.
    pub fn spent(&self, model: &str, usage: &serde_json::Value) {
        for (direction, name) in [("input", "inputTokens"), ("output", "outputTokens")] {
            let labels = Labels::of(&[("model", model), ("direction", direction)]);
            self.add(Counter::ModelTokens, labels, usage[name].as_u64().unwrap_or(0));
        }
    }

    /// The whole of it in Prometheus' text format; without `jobs` when the store does not answer.
    pub fn render(&self, jobs: Option<&JobCounts>, deletion_is_paused: bool) -> String {
        let mut text = Text::default();
        self.requests.render(&mut text);
        for counter in Counter::ALL {
            self.render_counter(&mut text, counter);
        }
        text.gauge("docwright_store_up", "Whether the store answers.", u8::from(jobs.is_some()));
        if let Some(jobs) = jobs {
            render_jobs(&mut text, jobs);
        }
        text.gauge(
            "docwright_deletion_paused",
            "Whether nothing is deleted because of its age, since a clock jumped.",
            u8::from(deletion_is_paused),
        );
        self.render_process(&mut text);
        text.done()
    }

    fn render_counter(&self, text: &mut Text, counter: Counter) {
        let (name, about) = counter.told();
        text.family(name, "counter", about);
        let counts = lock(&self.counts);
        for ((_, labels), count) in counts.iter().filter(|((which, _), _)| *which == counter) {
            text.sample(name, labels, count);
        }
    }

    fn render_process(&self, text: &mut Text) {
        let version = Labels::of(&[("version", env!("CARGO_PKG_VERSION"))]);
        text.family("docwright_build_info", "gauge", "The version that runs.");
        text.sample("docwright_build_info", &version, 1);
        let started = self.started.as_millisecond() as f64 / 1000.0;
        text.gauge("process_start_time_seconds", "When the server started, since 1970.", started);
        if let Some(bytes) = resident_bytes() {
            text.gauge("process_resident_memory_bytes", "Memory in use.", bytes);
        }
    }
}

fn render_jobs(text: &mut Text, jobs: &JobCounts) {
    text.family("docwright_jobs", "gauge", "Jobs by status.");
    let by_status = [
        ("active", jobs.active),
        ("completed", jobs.completed),
        ("failed", jobs.failed),
        ("archived", jobs.archived),
    ];
    for (status, count) in by_status {
        text.sample("docwright_jobs", &Labels::of(&[("status", status)]), count);
    }
    text.gauge("docwright_jobs_running", "Active jobs that a worker has.", jobs.running);
    let waiting = jobs.active.saturating_sub(jobs.running);
    text.gauge("docwright_queue_depth", "Active jobs that wait for a worker.", waiting);
}

/// As Linux tells it; elsewhere nobody does.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// A count that a panic cut off is still a count.
fn lock<T>(counts: &Mutex<T>) -> MutexGuard<'_, T> {
    counts.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_does_not_answer_costs_the_scrape_its_jobs_alone() {
        let metrics = Metrics::new(Timestamp::UNIX_EPOCH);
        let text = metrics.render(None, true);
        assert!(text.contains("\ndocwright_store_up 0\n") && !text.contains("docwright_jobs"), "{text}");
        assert!(text.contains("\ndocwright_lease_losses_total 0\n"), "{text}");
        let jobs = JobCounts { active: 5, running: 2, ..JobCounts::default() };
        assert!(text.contains("\ndocwright_deletion_paused 1\n"), "{text}");
        let text = metrics.render(Some(&jobs), false);
        assert!(text.contains("\ndocwright_store_up 1\n"), "{text}");
        assert!(text.contains("\ndocwright_queue_depth 3\n"), "{text}");
        assert!(text.contains("\ndocwright_deletion_paused 0\n"), "{text}");
    }
}
