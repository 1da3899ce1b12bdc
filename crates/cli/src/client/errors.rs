//! Turns error responses and failed connections into errors that say what to do.

use std::time::Duration;

use reqwest::header::{LOCATION, RETRY_AFTER};
use reqwest::{Response, StatusCode};

use crate::output;

pub(super) const NOT_DOCWRIGHT: &str =
    "the response is not from a Docwright server: check that DOCWRIGHT_URL is right";
const BAD_KEY: &str = "the server does not accept the API key in DOCWRIGHT_API_KEY, because it is unknown, revoked or expired: \
    create another with `docwright key create --name CLI`";

/// An error response of the server.
#[derive(Debug)]
struct ErrorResponse {
    status: StatusCode,
    code: String,
    sentence: String,
    retry_after: Option<u64>,
}

impl std::fmt::Display for ErrorResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for ErrorResponse {}

/// No server answered, or none answered in time.
#[derive(Debug)]
struct Unreachable(String);

impl std::fmt::Display for Unreachable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unreachable {}

/// 4 if the API key does not allow the request, else 1.
pub(crate) fn exit_code(error: &anyhow::Error) -> u8 {
    match error.downcast_ref::<ErrorResponse>().map(|response| response.status) {
        Some(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => 4,
        _ => 1,
    }
}

/// Whether the same request may succeed soon. An unreachable server counts only if it was reached before; else the
/// address may be wrong.
pub(super) fn is_transient(error: &anyhow::Error, was_reached: bool) -> bool {
    let is_busy = |response: &ErrorResponse| matches!(response.status.as_u16(), 502..=504);
    error.downcast_ref::<ErrorResponse>().is_some_and(is_busy) || (was_reached && error.is::<Unreachable>())
}

/// How long to wait before the next try.
pub(super) fn retry_delay(error: &anyhow::Error) -> Duration {
    let seconds = error.downcast_ref::<ErrorResponse>().and_then(|response| response.retry_after);
    Duration::from_secs(seconds.unwrap_or(1).clamp(1, 60))
}

pub(super) fn is_conflict(error: &anyhow::Error) -> bool {
    error.downcast_ref::<ErrorResponse>().is_some_and(|response| response.status == StatusCode::CONFLICT)
}

pub(super) fn is_no_such_project(error: &anyhow::Error) -> bool {
    error.downcast_ref::<ErrorResponse>().is_some_and(|response| response.code == "no_such_project")
}

/// Appends text to the sentence of an error response.
pub(super) fn append(error: anyhow::Error, text: &str) -> anyhow::Error {
    match error.downcast::<ErrorResponse>() {
        Ok(response) => {
            let sentence = format!("{}{}", response.sentence, output::sanitize(text));
            anyhow::Error::new(ErrorResponse { sentence, ..response })
        }
        Err(error) => error,
    }
}

pub(super) fn unreachable(base: &str, error: reqwest::Error) -> anyhow::Error {
    let cause = output::root_cause(&error);
    if is_untrusted(&cause) {
        return anyhow::Error::new(Unreachable(format!("{base} {}", untrusted(&cause))));
    }
    let problem = if error.is_timeout() { "does not answer in time" } else { "cannot be reached" };
    anyhow::Error::new(Unreachable(format!(
        "{base} {problem} ({cause}): start the server with `docwright serve`, or set DOCWRIGHT_URL to its address"
    )))
}

/// Whether a connection failed because of the server's certificate.
pub(crate) fn is_untrusted(cause: &str) -> bool {
    cause.contains("invalid peer certificate")
}

fn untrusted(cause: &str) -> String {
    if cause.contains("CaUsedAsEndEntity") {
        return "uses the certificate of an authority as its own: create one with `openssl req … -addext basicConstraints=critical,CA:FALSE`".into();
    }
    format!(
        "has a certificate that this machine does not trust ({cause}): use the name that the certificate is for, or set SSL_CERT_FILE to a PEM file with the certificate of its authority"
    )
}

pub(super) fn truncated_response() -> anyhow::Error {
    anyhow::Error::new(Unreachable("the response was cut off: try again".into()))
}

pub(super) async fn from_response(response: Response) -> anyhow::Error {
    let status = response.status();
    let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (code, location) = (header("x-error-code").unwrap_or_default(), header(LOCATION.as_str()));
    let retry_after = header(RETRY_AFTER.as_str()).and_then(|seconds| seconds.parse().ok());
    let text = response.text().await.unwrap_or_default();
    let sentence = match (serde_json::from_str::<wire::Error>(&text), location) {
        (Ok(_), _) if code == "unauthorized" => BAD_KEY.to_owned(),
        (Ok(body), _) => format!("{}{}", with_details(&body), advice(&code)),
        (Err(_), Some(location)) => {
            format!("the server redirects to {location}: set DOCWRIGHT_URL to the address that answers")
        }
        (Err(_), None) => format!(
            "the server answered {status}, and not as a Docwright server does: check that DOCWRIGHT_URL is right"
        ),
    };
    anyhow::Error::new(ErrorResponse { status, code, sentence: output::sanitize(&sentence), retry_after })
}

/// The sentence of the error, with every detail that it does not contain yet.
fn with_details(body: &wire::Error) -> String {
    let details = body.details.iter().map(|detail| &detail.message);
    let missing = details.filter(|detail| !body.error.contains(*detail));
    missing.fold(body.error.clone(), |sentence, detail| format!("{sentence}; {detail}"))
}

/// Names the command or the variable that helps, which the API cannot know.
fn advice(code: &str) -> &'static str {
    match code {
        "scope_too_small" => {
            ": create one with `docwright key create --name CLI`, and set DOCWRIGHT_API_KEY to it"
        }
        "address_not_allowed" => {
            "; `docwright key list --json` shows the addresses that DOCWRIGHT_API_KEY allows"
        }
        "no_such_project" => ", or DOCWRIGHT_API_KEY does not allow it; see `docwright project list`",
        "no_such_finding" => "; see `docwright finding list PROJECT`",
        "no_such_job" => "; see `docwright job list PROJECT`",
        "no_such_route" => "; set DOCWRIGHT_URL to the address of the server, without a path",
        _ => "",
    }
}
