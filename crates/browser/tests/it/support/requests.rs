//! What a page asked for, from the browser's own log.

use std::collections::HashMap;

use serde_json::Value;
use thirtyfour::WebDriver;

/// Everything since it was last asked.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// By their ids.
    pub(crate) urls: HashMap<String, String>,
    /// Bytes that came over the wire for them, headers included.
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

    fn add(&mut self, event: &Value, told: &Value) {
        let (id, url) = (told["requestId"].as_str(), told["request"]["url"].as_str());
        match (event.as_str(), id, url) {
            // A new tab begins with a page of the browser itself.
            (Some("Network.requestWillBeSent"), Some(id), Some(url)) if url.starts_with("http") => {
                self.urls.insert(id.to_owned(), url.to_owned());
            }
            (Some("Network.loadingFinished"), Some(id), _) if self.urls.contains_key(id) => {
                self.transferred += told["encodedDataLength"].as_f64().unwrap() as u64;
            }
            _ => {}
        }
    }
}
