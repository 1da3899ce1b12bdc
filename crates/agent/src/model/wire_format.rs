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
}
