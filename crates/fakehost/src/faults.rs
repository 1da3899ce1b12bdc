//! What goes wrong, when a test says so.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

/// One thing that goes wrong, for the requests that it fits.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// Any, when absent.
    #[serde(default)]
    pub method: Option<String>,
    /// What the path with its query must contain; nothing fits all.
    #[serde(default)]
    pub path: String,
    /// For so many requests; for all when absent.
    #[serde(default)]
    pub times: Option<u32>,
    pub effect: Effect,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// The connection is closed and nothing is done.
    DropBefore,
    /// Everything is done, then the connection is closed without an answer.
    DropAfter,
    /// Everything is done, and the answer never comes.
    Hang,
    /// In milliseconds, before anything is done.
    Delay(u64),
    /// This answer, and nothing is done.
    Status {
        status: u16,
        #[serde(default)]
        body: String,
        #[serde(default)]
        headers: BTreeMap<String, String>,
    },
    /// To the same path at this origin.
    Redirect(String),
    /// A list does not show a pull request until so many further requests were made.
    Lag(u64),
    /// A page of HTML, as a proxy answers.
    Garbage,
    /// A body that does not end.
    Endless,
}

impl Effect {
    /// An answer with nothing in it but its status.
    pub fn status(status: u16) -> Self {
        Self::Status { status, body: String::new(), headers: BTreeMap::new() }
    }

    /// 429, and after how many seconds to come again.
    pub fn too_many(retry_after: u32) -> Self {
        Self::limit(429, r#"{"message":"Too Many Requests"}"#, retry_after)
    }

    /// GitHub's answer to who does too much at once.
    pub fn secondary_limit(retry_after: u32) -> Self {
        let body = r#"{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again.","documentation_url":"https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"}"#;
        Self::limit(403, body, retry_after)
    }

    fn limit(status: u16, body: &str, retry_after: u32) -> Self {
        let headers = [
            ("content-type".to_owned(), "application/json".to_owned()),
            ("retry-after".to_owned(), retry_after.to_string()),
        ];
        Self::Status { status, body: body.to_owned(), headers: headers.into() }
    }
}

/// The faults that wait for their requests. Of two that fit, the older one is used first.
#[derive(Default)]
pub struct Faults(Mutex<Vec<Fault>>);

impl Faults {
    pub fn add(&self, fault: Fault) {
        self.faults().push(fault);
    }

    /// For the next `times` requests with this method and this text in their path.
    pub fn next(&self, times: u32, method: &str, path: &str, effect: Effect) {
        let (method, path) = (Some(method.to_owned()), path.to_owned());
        self.add(Fault { method, path, times: Some(times), effect });
    }

    /// For every request with this method and this text in its path.
    pub fn always(&self, method: &str, path: &str, effect: Effect) {
        self.add(Fault { method: Some(method.to_owned()), path: path.to_owned(), times: None, effect });
    }

    pub fn clear(&self) {
        self.faults().clear();
    }

    /// Those that are still to come.
    pub fn waiting(&self) -> Vec<Fault> {
        self.faults().clone()
    }

    pub(crate) fn take(&self, method: &str, path: &str) -> Option<Effect> {
        let mut faults = self.faults();
        let fits = |fault: &Fault| {
            path.contains(&fault.path)
                && fault.method.as_ref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(method))
        };
        let place = faults.iter().position(fits)?;
        let effect = faults[place].effect.clone();
        match &mut faults[place].times {
            Some(left) if *left > 1 => *left -= 1,
            Some(_) => drop(faults.remove(place)),
            None => {}
        }
        Some(effect)
    }

    fn faults(&self) -> MutexGuard<'_, Vec<Fault>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
