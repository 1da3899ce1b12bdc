//! Counts events since the start of the server, and renders them for Prometheus.
//!
//! It's not a library, because the counters are fixed, their labels are few, and the registry belongs to one
//! server, not to the process, so that each test counts alone. A library would add a dozen crates and a
//! cleanup task.

mod concurrency;
mod fetches;
mod requests;
mod text;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use forge::FetchCounts;
use jiff::Timestamp;
use store::JobCounts;
use traffic::Lag;

pub use concurrency::Concurrency;
pub use text::Labels;

use crate::models::OFFLINE;
use requests::Requests;
use text::Text;

/// A value that only increases.
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
    fn name_and_help(self) -> (&'static str, &'static str) {
        match self {
            Self::JobRuns => ("docwright_job_runs_total", "Runs of jobs that ended on this server."),
            Self::LeaseLosses => ("docwright_lease_losses_total", "Runs that another worker took over."),
            Self::ModelTokens => ("docwright_model_tokens_total", "Tokens that models read and wrote."),
            Self::ViewsAccepted => {
                ("docwright_views_accepted_total", "Page views accepted, including duplicates.")
            }
            Self::ViewsDuplicate => {
                ("docwright_views_duplicates_total", "Accepted page views that were already stored.")
            }
            Self::ViewsRejected => ("docwright_views_rejected_total", "Page views that were invalid."),
            Self::IntakeRefused => (
                "docwright_intake_refused_total",
                "Batches of page views refused because the server was busy.",
            ),
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

/// Labels are routes, statuses and so on, never ids or names, so their number is bounded.
pub struct Metrics {
    started: Timestamp,
    counts: Mutex<BTreeMap<(Counter, Labels), u64>>,
    jobs_in_flight: AtomicUsize,
    pub requests: Requests,
}

impl Metrics {
    /// Counters whose labels are known begin at 0, so that Prometheus also sees the first increase.
    pub fn new(started: Timestamp) -> Self {
        let metrics = Self {
            started,
            counts: Mutex::default(),
            jobs_in_flight: AtomicUsize::new(0),
            requests: Requests::default(),
        };
        use Counter::{IntakeRefused, LeaseLosses, ViewsAccepted, ViewsDuplicate, ViewsRejected};
        for plain in [LeaseLosses, ViewsAccepted, ViewsDuplicate, ViewsRejected, IntakeRefused] {
            metrics.add(plain, Labels::default(), 0);
        }
        for outcome in ["completed", "already_proposed", "unchanged", "failed", "given_back", "put_off"] {
            metrics.add(Counter::JobRuns, Labels::of(&[("outcome", outcome)]), 0);
        }
        metrics.add_tokens(OFFLINE, &serde_json::Value::Null);
        metrics
    }

    pub fn add(&self, counter: Counter, labels: Labels, n: u64) {
        *lock(&self.counts).entry((counter, labels)).or_default() += n;
    }

    pub fn count_run(&self, outcome: &str) {
        self.add(Counter::JobRuns, Labels::of(&[("outcome", outcome)]), 1);
    }

    /// Sets the number of jobs that this process has leased.
    pub fn set_jobs_in_flight(&self, jobs: usize) {
        self.jobs_in_flight.store(jobs, Ordering::Relaxed);
    }

    /// Adds the tokens of a run. `usage` is that of its `ended` event.
    pub fn add_tokens(&self, model: &str, usage: &serde_json::Value) {
        for (direction, name) in [("input", "inputTokens"), ("output", "outputTokens")] {
            let labels = Labels::of(&[("model", model), ("direction", direction)]);
            self.add(Counter::ModelTokens, labels, usage[name].as_u64().unwrap_or(0));
        }
    }

    /// Renders all metrics in Prometheus' text format. `jobs` is `None` when the store doesn't answer.
    pub fn render(
        &self,
        jobs: Option<&JobCounts>,
        concurrency: &Concurrency,
        fetches: &FetchCounts,
        deletion_is_paused: bool,
        page_views: StoredViews,
    ) -> String {
        let mut text = Text::default();
        self.requests.render(&mut text);
        for counter in Counter::ALL {
            self.render_counter(&mut text, counter);
        }
        fetches::render(fetches, &mut text);
        text.gauge("docwright_store_up", "Whether the store answers.", u8::from(jobs.is_some()));
        if let Some(jobs) = jobs {
            render_jobs(&mut text, jobs);
        }
        let in_flight = self.jobs_in_flight.load(Ordering::Relaxed);
        text.gauge("docwright_jobs_in_flight", "Jobs that the worker of this process has.", in_flight);
        concurrency.render(&mut text);
        text.gauge(
            "docwright_deletion_paused",
            "Whether deletion by age is paused because a clock jumped.",
            u8::from(deletion_is_paused),
        );
        text.gauge(
            "docwright_page_views_stored_here",
            "Whether this server stores the page views.",
            u8::from(page_views.here),
        );
        text.gauge(
            "docwright_page_views_available",
            "Whether a server that stores the page views has been seen in the last minute.",
            u8::from(page_views.somewhere),
        );
        page_views.render_lag(&mut text);
        self.render_process(&mut text);
        text.into_string()
    }

    fn render_counter(&self, text: &mut Text, counter: Counter) {
        let (name, help) = counter.name_and_help();
        text.family(name, "counter", help);
        let counts = lock(&self.counts);
        for ((_, labels), count) in counts.iter().filter(|((which, _), _)| *which == counter) {
            text.sample(name, labels, count);
        }
    }

    fn render_process(&self, text: &mut Text) {
        let version = Labels::of(&[("version", env!("CARGO_PKG_VERSION"))]);
        text.family("docwright_build_info", "gauge", "The version of the server.");
        text.sample("docwright_build_info", &version, 1);
        let started = self.started.as_millisecond() as f64 / 1000.0;
        text.gauge("process_start_time_seconds", "When the server started, in seconds since 1970.", started);
        if let Some(bytes) = resident_bytes() {
            text.gauge("process_resident_memory_bytes", "Memory in use.", bytes);
        }
    }
}

/// Where page views are stored.
#[derive(Default)]
pub struct StoredViews {
    pub here: bool,
    /// On this server, or on another one that runs.
    pub somewhere: bool,
    pub lag: Lag,
}

impl StoredViews {
    fn render_lag(&self, text: &mut Text) {
        text.gauge(
            "docwright_page_views_waiting",
            "Page views that wait for ClickHouse, from all servers.",
            self.lag.waiting_events,
        );
        text.gauge(
            "docwright_page_views_waiting_seconds",
            "For how long the oldest of them has waited.",
            self.lag.oldest_age.map_or(0.0, |age| age.as_secs_f64()),
        );
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

/// From `/proc`. `None` on systems other than Linux.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Counts stay valid after a panic.
fn lock<T>(counts: &Mutex<T>) -> MutexGuard<'_, T> {
    counts.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_store_only_the_metrics_of_jobs_are_missing() {
        let metrics = Metrics::new(Timestamp::UNIX_EPOCH);
        let concurrency = Concurrency::default();
        let text = metrics.render(None, &concurrency, &FetchCounts::default(), true, StoredViews::default());
        assert!(text.contains("\ndocwright_store_up 0\n"), "{text}");
        for of_store in ["docwright_jobs{", "docwright_jobs_running", "docwright_queue_depth"] {
            assert!(!text.contains(of_store), "{text}");
        }
        assert!(text.contains("\ndocwright_lease_losses_total 0\n"), "{text}");
        let jobs = JobCounts { active: 5, running: 2, ..JobCounts::default() };
        assert!(text.contains("\ndocwright_deletion_paused 1\n"), "{text}");
        let text =
            metrics.render(Some(&jobs), &concurrency, &FetchCounts::default(), false, StoredViews::default());
        assert!(text.contains("\ndocwright_store_up 1\n"), "{text}");
        assert!(text.contains("\ndocwright_queue_depth 3\n"), "{text}");
        assert!(text.contains("\ndocwright_deletion_paused 0\n"), "{text}");
    }
}
