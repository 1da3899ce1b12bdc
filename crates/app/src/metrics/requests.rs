//! Counts requests and their response times by route. It's cheap, because it runs for every request.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use super::lock;
use super::text::{Labels, Text};

/// The upper bounds of the histogram's buckets, in seconds.
const BOUNDS: [f64; 11] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

#[derive(Default)]
pub struct Requests(Mutex<BTreeMap<Box<str>, Route>>);

#[derive(Default)]
struct Route {
    /// By method and status.
    counts: BTreeMap<(&'static str, u16), u64>,
    seconds: Histogram,
}

impl Requests {
    /// Records a request and the time until its response began. The rest of a response, such as an event
    /// stream, depends on the client. `None`: there was no response.
    pub fn record(&self, route: &str, method: &'static str, status: u16, time: Option<Duration>) {
        let mut routes = lock(&self.0);
        if !routes.contains_key(route) {
            routes.insert(route.into(), Route::default());
        }
        let Some(route) = routes.get_mut(route) else { return };
        *route.counts.entry((method, status)).or_default() += 1;
        if let Some(time) = time {
            route.seconds.observe(time);
        }
    }

    pub(super) fn render(&self, text: &mut Text) {
        let (routes, name) = (lock(&self.0), "docwright_http_requests_total");
        text.family(name, "counter", "Requests answered.");
        for (route, counted) in &*routes {
            for ((method, status), count) in &counted.counts {
                let labels = [("method", *method), ("route", route), ("status", &status.to_string())];
                text.sample(name, &Labels::of(&labels), count);
            }
        }
        text.family("docwright_http_request_seconds", "histogram", "Time until the response began.");
        for (route, counted) in &*routes {
            counted.seconds.render(text, &Labels::of(&[("route", route)]));
        }
    }
}

/// Counts by response time. The last bucket is for times above every bound.
#[derive(Debug, Default)]
struct Histogram {
    counts: [u64; BOUNDS.len() + 1],
    sum: Duration,
}

impl Histogram {
    fn observe(&mut self, time: Duration) {
        let bucket = BOUNDS.iter().position(|bound| time.as_secs_f64() <= *bound);
        self.counts[bucket.unwrap_or(BOUNDS.len())] += 1;
        self.sum += time;
    }

    fn render(&self, text: &mut Text, labels: &Labels) {
        let bounds = BOUNDS.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
        let mut cumulative = 0;
        for (bound, count) in bounds.zip(self.counts) {
            cumulative += count;
            text.sample("docwright_http_request_seconds_bucket", &labels.with("le", &bound), cumulative);
        }
        text.sample("docwright_http_request_seconds_sum", labels, self.sum.as_secs_f64());
        text.sample("docwright_http_request_seconds_count", labels, cumulative);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative() {
        let requests = Requests::default();
        for ms in [1, 5, 6, 400, 60_000] {
            requests.record("/a", "GET", 200, Some(Duration::from_millis(ms)));
        }
        requests.record("/a", "GET", 499, None);
        let mut text = Text::default();
        requests.render(&mut text);
        let text = text.into_string();
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
        for (status, count) in [(200, 5), (499, 1)] {
            let line = format!("{{method=\"GET\",route=\"/a\",status=\"{status}\"}} {count}\n");
            assert!(text.contains(&line), "{line}{text}");
        }
    }
}
