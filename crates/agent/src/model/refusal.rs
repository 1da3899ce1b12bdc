//! What a provider's no means to a person: one sentence, what to do about it, and never the key.

use std::time::Duration;

use net::{RemoteMessage, parse_seconds, retry_after};
use reqwest::header::HeaderMap;
use serde_json::Value;

use super::{ModelError, Secret};

/// How much of a provider's own words is repeated.
pub(super) const QUOTED: usize = 300;

/// Who is spoken to, for sentences.
pub(super) struct Place {
    pub(super) host: String,
    pub(super) url: String,
    pub(super) provider: &'static str,
    pub(super) model: String,
    pub(super) key: Option<Secret>,
}

/// An error as providers write it, all of them a little differently.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Said {
    /// Types, codes and statuses, in small letters.
    kind: String,
    message: String,
    /// The status that goes with it where the status line says nothing: within a stream.
    status: Option<u16>,
    after: Option<Duration>,
}

impl Said {
    /// `{"error": {…}}`, `{"error": "…"}`, the same in a list, or within a response.
    pub(super) fn of(body: &Value) -> Option<Self> {
        let body = body.get(0).unwrap_or(body);
        let found = [&body["error"], &body["response"]["error"]].into_iter().find(|error| !error.is_null());
        match found {
            Some(Value::String(message)) if !message.is_empty() => {
                Some(Self { message: message.clone(), ..Self::default() })
            }
            Some(error @ Value::Object(_)) => Some(Self::read(error)),
            _ if body["type"] == "error" => Some(Self::read(body)),
            _ => None,
        }
    }

    /// The same of an answer that failed, where servers are freer still.
    fn of_failure(body: &Value) -> Option<Self> {
        let plain = || body["message"].as_str().or(body["detail"].as_str());
        Self::of(body).or_else(|| plain().is_some().then(|| Self::read(body)))
    }

    fn read(error: &Value) -> Self {
        let kind: Vec<_> =
            ["type", "code", "status"].iter().filter_map(|name| error[*name].as_str()).collect();
        let kind = kind.join(" ").to_ascii_lowercase();
        let details = error["details"].as_array().into_iter().flatten();
        let delay = details.filter_map(|detail| detail["retryDelay"].as_str()?.strip_suffix('s')).next();
        let message = error["message"].as_str().or(error["detail"].as_str()).unwrap_or_default().to_owned();
        let number = error["code"].as_u64().and_then(|code| u16::try_from(code).ok());
        let status = number.filter(|code| *code >= 400).or_else(|| status_of(&kind));
        Self { kind, message, status, after: delay.and_then(parse_seconds) }
    }

    /// What is not found is the model; it may also be the path.
    fn means_no_model(&self, status: u16) -> bool {
        self.has(&["model"]) && (status == 404 || self.has(UNKNOWN))
    }

    fn has(&self, marks: &[&str]) -> bool {
        let message = self.message.to_lowercase();
        marks.iter().any(|mark| self.kind.contains(mark) || message.contains(mark))
    }
}

pub(super) fn wants_key(who: &str) -> String {
    format!("{who} wants an API key: set api_key_env or api_key_file, or keep one with `docwright model key`")
}

fn status_of(kind: &str) -> Option<u16> {
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
    "prompt is too long",
    "maximum context length",
    "context length",
    "context window",
    "context size",
    "input token count",
    "request_too_large",
    "too many tokens",
];
const BAD_KEY: &[&str] = &["api key not valid", "api_key_invalid", "invalid_api_key", "invalid api key"];
const NO_MONEY: &[&str] = &["insufficient_quota", "billing_error", "billing_not_active", "credit balance"];
const UNKNOWN: &[&str] = &["not exist", "not found", "not a valid", "invalid model"];
const FILTERED: &[&str] = &["content_filter", "content_policy", "moderation", "prohibited_content"];

impl Place {
    /// What an answer of this status means, with this much of its body.
    pub(super) fn refused(
        &self,
        status: u16,
        headers: &HeaderMap,
        body: &[u8],
        may_quote: bool,
    ) -> ModelError {
        let said = serde_json::from_slice(body).ok().and_then(|body: Value| Said::of_failure(&body));
        let after = retry_after(headers);
        match (status, said) {
            (300..=399, _) => ModelError::Final(format!(
                "{} sends requests elsewhere, which is not followed: set base_url to what answers",
                self.url
            )),
            (_, Some(said)) => self.judge(status, &Said { after: after.or(said.after), ..said }, may_quote),
            (401, None) => self.judge(401, &Said::default(), may_quote),
            (408 | 425 | 429 | 500.., None) => {
                self.judge(status, &Said { after, ..Said::default() }, may_quote)
            }
            _ => self.not_an_api(&format!("it answered {status}")),
        }
    }

    /// An error in the middle of a stream; one that is not known may pass.
    pub(super) fn broke_off(&self, said: &Said, may_quote: bool) -> ModelError {
        self.judge(said.status.unwrap_or(500), said, may_quote)
    }

    fn judge(&self, status: u16, said: &Said, may_quote: bool) -> ModelError {
        let Self { host, model, .. } = self;
        let quoted = self.quote(&said.message, may_quote);
        match status {
            _ if status == 413 || (status != 429 && said.has(TOO_LONG)) => {
                ModelError::TooLong(format!("the conversation is too long for the model `{model}`{quoted}"))
            }
            _ if status == 402 || (status < 500 && said.has(NO_MONEY)) => {
                ModelError::Final(format!("the account at {host} has no credit or quota left{quoted}"))
            }
            // Not quoted: it may show parts of the key.
            401 => ModelError::Final(self.bad_key()),
            400 | 403 if said.has(BAD_KEY) => ModelError::Final(self.bad_key()),
            400 | 403 | 422 if said.has(FILTERED) => {
                ModelError::Final(format!("{host} refuses the content of the request{quoted}"))
            }
            403 => {
                ModelError::Final(format!("the API key may not use the model `{model}` at {host}{quoted}"))
            }
            400 | 404 if said.means_no_model(status) => self.no_model(&quoted),
            404 | 405 => self.not_an_api(&format!("it answered {status}{quoted}")),
            429 => ModelError::Again {
                sentence: format!("{host} takes no more requests for now{quoted}"),
                after: said.after,
            },
            408 | 409 | 425 | 500.. => ModelError::Again {
                sentence: format!("{host} is in trouble, with the status {status}{quoted}"),
                after: said.after,
            },
            _ => ModelError::Final(format!("{host} refuses the request with the status {status}{quoted}")),
        }
    }

    fn bad_key(&self) -> String {
        match self.key {
            Some(_) => format!(
                "{} does not take the API key: check what api_key_env or api_key_file names, or what `docwright model key` kept",
                self.host
            ),
            None => wants_key(&self.host),
        }
    }

    fn no_model(&self, quoted: &str) -> ModelError {
        let Self { host, model, .. } = self;
        ModelError::Final(format!("{host} has no model `{model}`: check `model` in the settings{quoted}"))
    }

    pub(super) fn not_an_api(&self, why: &str) -> ModelError {
        let Self { url, provider, .. } = self;
        ModelError::Final(format!("{url} is no API of the kind `{provider}`: {why}; check base_url"))
    }

    /// A provider's words, harmless and short, with a colon before them.
    fn quote(&self, message: &str, may_quote: bool) -> String {
        let words = RemoteMessage::new(&self.host, self.scrub(message), may_quote);
        if words.is_empty() { String::new() } else { format!(": {words}") }
    }

    pub(super) fn scrub(&self, message: &str) -> String {
        match &self.key {
            Some(key) => net::redact(message, key, QUOTED),
            None => net::sanitize(message, QUOTED),
        }
    }
}
