//! Defines what each wire format implements.

use serde_json::Value;

use super::ModelRequest;
use super::draft::StreamDecoder;

/// Encodes requests and decodes responses.
pub(super) trait WireFormat: Send + Sync {
    /// The path below the base URL.
    fn path(&self, base: &str, model: &str) -> String;
    fn query(&self) -> Option<&'static str> {
        None
    }
    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)>;
    fn request(&self, model: &str, request: &ModelRequest<'_>) -> Value;
    fn decoder(&self) -> Box<dyn StreamDecoder>;
    /// The events that a stream would have for a response that came in one piece: some servers ignore that a stream
    /// was requested.
    fn events(&self, response: Value) -> Vec<Value>;
    /// The path below the base URL that describes the model, if the provider says there how large requests can be.
    fn description_path(&self, _base: &str, _model: &str) -> Option<String> {
        None
    }
}
