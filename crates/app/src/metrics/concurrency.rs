//! Renders how much of the permits for local work and for calls to models is in use.

use super::text::{Labels, Text};
use crate::App;

/// The use of the permits at one moment.
#[derive(Default)]
pub struct Concurrency {
    local_work: usize,
    /// By the model's name: calls that run, and calls that wait for a permit.
    calls: Vec<(String, usize, usize)>,
}

impl Concurrency {
    pub fn of(app: &App) -> Self {
        let calls =
            app.models.all_calls().map(|(model, calls)| (model.to_owned(), calls.in_use(), calls.waiting()));
        Self { local_work: app.local_work.in_use(), calls: calls.collect() }
    }

    pub(super) fn render(&self, text: &mut Text) {
        let help = "Jobs of this process that do local work, at most as many as `workers`.";
        text.gauge("docwright_local_work", help, self.local_work);
        text.family("docwright_model_calls", "gauge", "Calls to each model that run now.");
        for (model, running, _) in &self.calls {
            text.sample("docwright_model_calls", &Labels::of(&[("model", model)]), running);
        }
        text.family(
            "docwright_model_calls_waiting",
            "gauge",
            "Calls that wait because the model has `concurrent_calls`.",
        );
        for (model, _, waiting) in &self.calls {
            text.sample("docwright_model_calls_waiting", &Labels::of(&[("model", model)]), waiting);
        }
    }
}
