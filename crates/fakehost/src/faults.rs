//! Injects failures into responses, for tests.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

/// A failure for the requests that it matches.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Any method if absent.
    #[serde(default)]
    pub method: Option<String>,
    /// A text that the path with its query must contain. An empty text matches all.
    #[serde(default)]
    pub path: String,
    /// The number of requests; all if absent.
    #[serde(default)]
    pub times: Option<u32>,
    pub effect: Effect,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Closes the connection without handling the request.
    DropBefore,
    /// Handles the request, then closes the connection without a response.
    DropAfter,
    /// Handles the request, sends so many bytes of the response's body, then closes the connection.
    Cut(usize),
    /// Handles the request, but never sends the response.
    Hang,
    /// Waits so many milliseconds before handling the request.
    Delay(u64),
    /// Sends this response without handling the request.
    Status {
        status: u16,
        #[serde(default)]
        body: String,
        #[serde(default)]
        headers: BTreeMap<String, String>,
    },
    /// Redirects to the same path at this origin.
    Redirect(String),
    /// An outdated list: hides a pull request until so many more requests were made.
    Lag(u64),
    /// Sends an HTML page, like a proxy.
    Garbage,
    /// Sends an endless body.
    Endless,
}

impl Effect {
    /// A response with only a status.
    pub fn status(status: u16) -> Self {
        Self::Status { status, body: String::new(), headers: BTreeMap::new() }
    }

    /// A rate limit: status 429 with `retry-after` in seconds.
    pub fn too_many(retry_after: u32) -> Self {
        Self::rate_limited(429, r#"{"message":"Too Many Requests"}"#, retry_after)
    }

    /// GitHub's secondary rate limit: status 403 with `retry-after` in seconds.
    pub fn secondary_limit(retry_after: u32) -> Self {
        let body = r#"{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again.","documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"}"#;
        Self::rate_limited(403, body, retry_after)
    }

    fn rate_limited(status: u16, body: &str, retry_after: u32) -> Self {
        let headers = [
            ("content-type".to_owned(), "application/json".to_owned()),
            ("retry-after".to_owned(), retry_after.to_string()),
        ];
        Self::Status { status, body: body.to_owned(), headers: headers.into() }
    }
}

/// The pending faults. If two match, the older one is used first.
#[derive(Default)]
pub struct Faults(Mutex<Vec<Fault>>);

impl Faults {
    pub fn add(&self, fault: Fault) {
        self.faults().push(fault);
    }

    /// Adds a fault for the next `times` requests with this method and this text in their path.
    pub fn next(&self, times: u32, method: &str, path: &str, effect: Effect) {
        let (method, path) = (Some(method.to_owned()), path.to_owned());
        self.add(Fault { method, path, times: Some(times), effect });
    }

    /// Adds a fault for every request with this method and this text in its path.
    pub fn always(&self, method: &str, path: &str, effect: Effect) {
        self.add(Fault { method: Some(method.to_owned()), path: path.to_owned(), times: None, effect });
    }

    pub fn clear(&self) {
        self.faults().clear();
    }

    /// The faults that have not been used up.
    pub fn pending(&self) -> Vec<Fault> {
        self.faults().clone()
    }

    pub(crate) fn take(&self, method: &str, path: &str) -> Option<Effect> {
        let mut faults = self.faults();
        let matches = |fault: &Fault| {
            path.contains(&fault.path)
                && fault.method.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(method))
        };
        let index = faults.iter().position(matches)?;
        let effect = faults[index].effect.clone();
        match &mut faults[index].times {
            Some(left) if *left > 1 => *left -= 1,
            Some(_) => drop(faults.remove(index)),
            None => {}
        }
        Some(effect)
    }

    fn faults(&self) -> MutexGuard<'_, Vec<Fault>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
