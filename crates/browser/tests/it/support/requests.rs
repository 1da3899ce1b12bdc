//! Reads the requests of a page from the browser's performance log.

use std::collections::HashMap;

use serde_json::Value;
use thirtyfour::WebDriver;

/// The requests since the last call.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// The URLs by request id.
    pub(crate) urls: HashMap<String, String>,
    /// Bytes received, including headers.
    pub(crate) transferred: u64,
}

impl Requests {
    pub(crate) async fn since(driver: &WebDriver) -> Self {
        let mut requests = Self::default();
        for entry in driver.get_log("performance").await.unwrap() {
            let entry: Value = serde_json::from_str(&entry.message).unwrap();
            requests.add(&entry["message"]["method"], &entry["message"]["params"]);
        }
        requests
    }

    fn add(&mut self, event: &Value, params: &Value) {
        let (id, url) = (params["requestId"].as_str(), params["request"]["url"].as_str());
        match (event.as_str(), id, url) {
            // A new tab first loads a page of the browser itself.
            (Some("Network.requestWillBeSent"), Some(id), Some(url)) if url.starts_with("http") => {
                self.urls.insert(id.to_owned(), url.to_owned());
            }
            (Some("Network.loadingFinished"), Some(id), _) if self.urls.contains_key(id) => {
                self.transferred += params["encodedDataLength"].as_f64().unwrap() as u64;
            }
            _ => {}
        }
    }
}
