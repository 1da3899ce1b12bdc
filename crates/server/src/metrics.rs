//! What this server has counted since it started, and how Prometheus reads it.
//!
//! Ours rather than a library's: the counters are known by name, their labels are few, and a
//! registry that belongs to one server, not to the process, lets every test count alone. What a
//! library brings besides is a dozen crates more to build and a task that must tidy up after it.

mod text;
mod views;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use jiff::Timestamp;
use store::JobCounts;

pub(crate) use text::Labels;
pub(crate) use views::Counted;

use crate::models::OFFLINE;
use text::Text;

/// Upper bounds in seconds: from what a poll takes to what makes people leave.
const BOUNDS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// Everything that only goes up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Counter {
    Requests,
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
            Self::Requests => ("docwright_http_requests_total", "Requests answered."),
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

    const ALL: [Self; 8] = [
        Self::Requests,
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
pub(crate) struct Metrics {
    started: Timestamp,
    counts: Mutex<BTreeMap<(Counter, Labels), u64>>,
    seconds: Mutex<BTreeMap<Labels, Histogram>>,
}

impl Metrics {
    /// What can be known beforehand stands at 0, so that the first failure is a rise, too.
    pub(crate) fn new(started: Timestamp) -> Self {
        let metrics = Self { started, counts: Mutex::default(), seconds: Mutex::default() };
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

    pub(crate) fn add(&self, counter: Counter, labels: Labels, n: u64) {
        *lock(&self.counts).entry((counter, labels)).or_default() += n;
    }

    /// One run of a job came to its end.
    pub(crate) fn run_ended(&self, outcome: &str) {
        self.add(Counter::JobRuns, Labels::of(&[("outcome", outcome)]), 1);
    }

    /// What a run used of its model, as its `ended` event has it.
    pub(crate) fn spent(&self, model: &str, usage: &serde_json::Value) {
        for (direction, name) in [("input", "inputTokens"), ("output", "outputTokens")] {
            let labels = Labels::of(&[("model", model), ("direction", direction)]);
            self.add(Counter::ModelTokens, labels, usage[name].as_u64().unwrap_or(0));
        }
    }

    /// How long a request took until its answer began: what comes after that is a matter of the
    /// client's patience, as with a stream of events.
    pub(crate) fn took(&self, route: &str, time: Duration) {
        lock(&self.seconds).entry(Labels::of(&[("route", route)])).or_default().observe(time);
    }

    /// The whole of it in Prometheus' text format; without `jobs` when the store does not answer.
    pub(crate) fn render(&self, jobs: Option<&JobCounts>) -> String {
        let mut text = Text::default();
        for counter in Counter::ALL {
            self.render_counter(&mut text, counter);
        }
        let about = "Time until the answer began.";
        text.family("docwright_http_request_seconds", "histogram", about);
        for (labels, histogram) in &*lock(&self.seconds) {
            histogram.render(&mut text, labels);
        }
        text.gauge("docwright_store_up", "Whether the store answers.", u8::from(jobs.is_some()));
        if let Some(jobs) = jobs {
            render_jobs(&mut text, jobs);
        }
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

/// How many took how long. The last place is for what is beyond every bound.
#[derive(Debug, Default)]
struct Histogram {
    counts: [u64; BOUNDS.len() + 1],
    sum: Duration,
}

impl Histogram {
    fn observe(&mut self, time: Duration) {
        let place = BOUNDS.iter().position(|bound| time.as_secs_f64() <= *bound);
        self.counts[place.unwrap_or(BOUNDS.len())] += 1;
        self.sum += time;
    }

    fn render(&self, text: &mut Text, labels: &Labels) {
        let bounds = BOUNDS.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
        let mut so_far = 0;
        for (bound, count) in bounds.zip(self.counts) {
            so_far += count;
            text.sample("docwright_http_request_seconds_bucket", &labels.with("le", &bound), so_far);
        }
        text.sample("docwright_http_request_seconds_sum", labels, self.sum.as_secs_f64());
        text.sample("docwright_http_request_seconds_count", labels, so_far);
    }
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
    fn buckets_add_up() {
        let metrics = Metrics::new(Timestamp::UNIX_EPOCH);
        for ms in [1, 5, 6, 400, 60_000] {
            metrics.took("/a", Duration::from_millis(ms));
        }
        let text = metrics.render(None);
        let bucket = |le: &str, count: u64| {
            let line = format!("docwright_http_request_seconds_bucket{{route=\"/a\",le=\"{le}\"}} {count}\n");
            assert!(text.contains(&line), "{line}{text}");
        };
        bucket("0.005", 2); // a bound is part of its bucket
        bucket("0.01", 3);
        bucket("0.25", 3);
        bucket("0.5", 4);
        bucket("10", 4);
        bucket("+Inf", 5);
        assert!(text.contains("docwright_http_request_seconds_sum{route=\"/a\"} 60.412\n"), "{text}");
        assert!(text.contains("docwright_http_request_seconds_count{route=\"/a\"} 5\n"));
    }

    #[test]
    fn a_store_that_does_not_answer_costs_the_scrape_its_jobs_alone() {
        let metrics = Metrics::new(Timestamp::UNIX_EPOCH);
        let text = metrics.render(None);
        assert!(text.contains("\ndocwright_store_up 0\n") && !text.contains("docwright_jobs"), "{text}");
        assert!(text.contains("\ndocwright_lease_losses_total 0\n"), "{text}");
        let jobs = JobCounts { active: 5, running: 2, ..JobCounts::default() };
        let text = metrics.render(Some(&jobs));
        assert!(text.contains("\ndocwright_store_up 1\n"), "{text}");
        assert!(text.contains("\ndocwright_queue_depth 3\n"), "{text}");
    }
}
