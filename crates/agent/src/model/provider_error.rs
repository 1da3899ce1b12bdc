//! Turns errors of providers into sentences that say what to do. A sentence never contains the API key.

use std::time::Duration;

use net::{RemoteMessage, parse_seconds, retry_after};
use reqwest::header::HeaderMap;
use serde_json::Value;

use super::size::{SizeRefusal, is_about_output};
use super::{ModelError, Secret};

/// How much of a provider's own message is quoted.
pub(super) const MAX_QUOTED_CHARS: usize = 300;

/// The endpoint of a model, as sentences name it.
pub(super) struct Endpoint {
    pub(super) host: String,
    pub(super) url: String,
    pub(super) provider: &'static str,
    pub(super) model: String,
    pub(super) key: Option<Secret>,
}

/// An error as providers send it. Each has its own form.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ProviderError {
    /// Types, codes and statuses, in lowercase.
    kind: String,
    message: String,
    /// The HTTP status that fits the error. Within a stream, the status line doesn't have it.
    status: Option<u16>,
    retry_after: Option<Duration>,
    /// The size of the context window, which llama.cpp sends in a field of its own.
    context: Option<u32>,
}

impl ProviderError {
    /// Parses `{"error": {…}}` and `{"error": "…"}`, also in a list or within a response.
    pub(super) fn parse(body: &Value) -> Option<Self> {
        let body = body.get(0).unwrap_or(body);
        let found = [&body["error"], &body["response"]["error"]].into_iter().find(|error| !error.is_null());
        match found {
            Some(Value::String(message)) if !message.is_empty() => {
                Some(Self { message: message.clone(), ..Self::default() })
            }
            Some(error @ Value::Object(_)) => Some(Self::from_object(error)),
            _ if body["type"] == "error" => Some(Self::from_object(body)),
            _ => None,
        }
    }

    /// Parses the body of a response with an error status. Here, more forms are in use.
    fn parse_failure(body: &Value) -> Option<Self> {
        let plain = || body["message"].as_str().or(body["detail"].as_str());
        Self::parse(body).or_else(|| plain().is_some().then(|| Self::from_object(body)))
    }

    fn from_object(error: &Value) -> Self {
        let kind: Vec<_> =
            ["type", "code", "status"].iter().filter_map(|name| error[*name].as_str()).collect();
        let kind = kind.join(" ").to_ascii_lowercase();
        let details = error["details"].as_array().into_iter().flatten();
        let delay = details.filter_map(|detail| detail["retryDelay"].as_str()?.strip_suffix('s')).next();
        let message = error["message"].as_str().or(error["detail"].as_str()).unwrap_or_default().to_owned();
        let number = error["code"].as_u64().and_then(|code| u16::try_from(code).ok());
        let status = number.filter(|code| *code >= 400).or_else(|| status_for_kind(&kind));
        let context = error["n_ctx"].as_u64().and_then(|tokens| u32::try_from(tokens).ok());
        Self { kind, message, status, retry_after: delay.and_then(parse_seconds), context }
    }

    /// Whether the model is unknown. Otherwise, a 404 means a wrong path.
    fn is_unknown_model(&self, status: u16) -> bool {
        self.has_any(&["model"]) && (status == 404 || self.has_any(UNKNOWN))
    }

    fn has_any(&self, marks: &[&str]) -> bool {
        let message = self.message.to_lowercase();
        marks.iter().any(|mark| self.kind.contains(mark) || message.contains(mark))
    }
}

pub(super) fn missing_key_sentence(who: &str) -> String {
    format!(
        "{who} needs an API key: set api_key_env or api_key_file, or store one with `docwright model key`"
    )
}

fn status_for_kind(kind: &str) -> Option<u16> {
    let table: &[(&str, u16)] = &[
        ("overloaded", 529),
        ("rate_limit", 429),
        ("insufficient_quota", 429),
        ("authentication", 401),
        ("permission", 403),
        ("not_found", 404),
        ("invalid", 400),
        ("context_length", 400),
    ];
    table.iter().find(|(mark, _)| kind.contains(mark)).map(|(_, status)| *status)
}

const TOO_LONG: &[&str] = &[
    "context_length_exceeded",
    "exceed_context_size",
    "prompt is too long",
    "context length",
    "context window",
    "context size",
    "context limit",
    "input token count",
    "request_too_large",
    "too many tokens",
];
const BAD_KEY: &[&str] = &["api key not valid", "api_key_invalid", "invalid_api_key", "invalid api key"];
const NO_CREDIT: &[&str] = &["insufficient_quota", "billing_error", "billing_not_active", "credit balance"];
const UNKNOWN: &[&str] = &["not exist", "not found", "not a valid", "invalid model"];
const FILTERED: &[&str] = &["content_filter", "content_policy", "moderation", "prohibited_content"];

impl Endpoint {
    /// The error for a response with this status. `body` can be the beginning of the body.
    pub(super) fn status_error(
        &self,
        status: u16,
        headers: &HeaderMap,
        body: &[u8],
        may_quote: bool,
    ) -> ModelError {
        let error =
            serde_json::from_slice(body).ok().and_then(|body: Value| ProviderError::parse_failure(&body));
        let retry_after = retry_after(headers);
        match (status, error) {
            (300..=399, _) => ModelError::Permanent(format!(
                "{} redirects requests, and redirects are not followed: set base_url to the address that answers",
                self.url
            )),
            (_, Some(error)) => {
                let retry_after = retry_after.or(error.retry_after);
                self.classify(status, &ProviderError { retry_after, ..error }, may_quote)
            }
            (401, None) => self.classify(401, &ProviderError::default(), may_quote),
            (408 | 425 | 429 | 500.., None) => {
                self.classify(status, &ProviderError { retry_after, ..ProviderError::default() }, may_quote)
            }
            _ => self.not_an_api(&format!("it answered {status}")),
        }
    }

    /// The error for an event within a stream. An unknown kind counts as temporary.
    pub(super) fn stream_error(&self, error: &ProviderError, may_quote: bool) -> ModelError {
        self.classify(error.status.unwrap_or(500), error, may_quote)
    }

    fn classify(&self, status: u16, error: &ProviderError, may_quote: bool) -> ModelError {
        let Self { host, model, .. } = self;
        let quoted = self.quote(&error.message, may_quote);
        match status {
            _ if status == 413 || (status != 429 && error.has_any(TOO_LONG)) => {
                self.too_large(format!("the conversation is too long for the model `{model}`{quoted}"), error)
            }
            400 | 422 if is_about_output(&error.message) => {
                self.too_large(format!("the model `{model}` can't write answers this long{quoted}"), error)
            }
            _ if status == 402 || (status < 500 && error.has_any(NO_CREDIT)) => {
                ModelError::Permanent(format!("the account at {host} has no credit or quota left{quoted}"))
            }
            // The message is not quoted, because it can contain parts of the key.
            401 => ModelError::Permanent(self.bad_key_sentence()),
            400 | 403 if error.has_any(BAD_KEY) => ModelError::Permanent(self.bad_key_sentence()),
            400 | 403 | 422 if error.has_any(FILTERED) => {
                ModelError::Permanent(format!("{host} refuses the content of the request{quoted}"))
            }
            403 => {
                ModelError::Permanent(format!("the API key can't use the model `{model}` at {host}{quoted}"))
            }
            400 | 404 if error.is_unknown_model(status) => self.no_model(&quoted),
            404 | 405 => self.not_an_api(&format!("it answered {status}{quoted}")),
            429 => ModelError::Temporary {
                sentence: format!("{host} accepts no more requests for now{quoted}"),
                retry_after: error.retry_after,
            },
            408 | 409 | 425 | 500.. => ModelError::Temporary {
                sentence: format!("{host} failed with the status {status}{quoted}"),
                retry_after: error.retry_after,
            },
            _ => {
                ModelError::Permanent(format!("{host} refuses the request with the status {status}{quoted}"))
            }
        }
    }

    fn too_large(&self, sentence: String, error: &ProviderError) -> ModelError {
        ModelError::TooLarge { sentence, refusal: SizeRefusal::parse(&error.message, error.context) }
    }

    fn bad_key_sentence(&self) -> String {
        match self.key {
            Some(_) => format!(
                "{} rejects the API key: check the key that api_key_env or api_key_file names, or store another one with `docwright model key`",
                self.host
            ),
            None => missing_key_sentence(&self.host),
        }
    }

    fn no_model(&self, quoted: &str) -> ModelError {
        let Self { host, model, .. } = self;
        ModelError::Permanent(format!("{host} has no model `{model}`: check `model` in the settings{quoted}"))
    }

    pub(super) fn not_an_api(&self, why: &str) -> ModelError {
        let Self { url, provider, .. } = self;
        ModelError::Permanent(format!("{url} is not an API of the kind `{provider}`: {why}; check base_url"))
    }

    /// A colon and the provider's message, sanitized and shortened.
    fn quote(&self, message: &str, may_quote: bool) -> String {
        let quoted = RemoteMessage::new(&self.host, self.redact(message), may_quote);
        if quoted.is_empty() { String::new() } else { format!(": {quoted}") }
    }

    pub(super) fn redact(&self, message: &str) -> String {
        match &self.key {
            Some(key) => net::redact(message, key, MAX_QUOTED_CHARS),
            None => net::sanitize(message, MAX_QUOTED_CHARS),
        }
    }
}
