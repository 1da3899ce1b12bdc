//! What a server's no, or its silence, means to whoever typed the command.

use std::time::Duration;

use reqwest::header::{LOCATION, RETRY_AFTER};
use reqwest::{Response, StatusCode};

use crate::output;

const BAD_KEY: &str = "the server does not take the key in DOCWRIGHT_API_KEY: it is unknown there, revoked or expired; \
    `docwright key create --name CLI` makes another";

/// The server understood and said no.
#[derive(Debug)]
struct Refused {
    status: StatusCode,
    code: String,
    sentence: String,
    retry_after: Option<u64>,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for Refused {}

/// There is nobody, or somebody who does not answer in time.
#[derive(Debug)]
struct NoAnswer(String);

impl std::fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoAnswer {}

/// 4 for a key that may not, 1 for everything else that went wrong.
pub(crate) fn exit_code(error: &anyhow::Error) -> u8 {
    match error.downcast_ref::<Refused>().map(|refused| refused.status) {
        Some(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => 4,
        _ => 1,
    }
}

/// Whether the same request may well work a moment later. Silence is only forgiven to a server
/// that was there before; else the address may be wrong.
pub(super) fn may_pass(error: &anyhow::Error, was_there: bool) -> bool {
    let busy = |refused: &Refused| matches!(refused.status.as_u16(), 502..=504);
    error.downcast_ref::<Refused>().is_some_and(busy) || (was_there && error.is::<NoAnswer>())
}

/// How long to wait before it is tried again.
pub(super) fn wait(error: &anyhow::Error) -> Duration {
    let told = error.downcast_ref::<Refused>().and_then(|refused| refused.retry_after);
    Duration::from_secs(told.unwrap_or(1).clamp(1, 60))
}

pub(super) fn is_conflict(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Refused>().is_some_and(|refused| refused.status == StatusCode::CONFLICT)
}

pub(super) fn is_no_such_project(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Refused>().is_some_and(|refused| refused.code == "no_such_project")
}

/// The same no, with more to say about it.
pub(super) fn with(error: anyhow::Error, more: &str) -> anyhow::Error {
    match error.downcast::<Refused>() {
        Ok(refused) => {
            let sentence = format!("{}{}", refused.sentence, output::plain(more));
            anyhow::Error::new(Refused { sentence, ..refused })
        }
        Err(error) => error,
    }
}

pub(super) fn no_answer(base: &str, error: reqwest::Error) -> anyhow::Error {
    let cause = output::root_cause(&error);
    let what = if error.is_timeout() { "does not answer in time" } else { "cannot be reached" };
    anyhow::Error::new(NoAnswer(format!(
        "{base} {what} ({cause}): start the server with `docwright serve`, or set DOCWRIGHT_URL to where it runs"
    )))
}

pub(super) fn cut_off() -> anyhow::Error {
    anyhow::Error::new(NoAnswer("the answer was cut off; try again".into()))
}

pub(super) async fn refused(answer: Response) -> anyhow::Error {
    let status = answer.status();
    let header = |name| answer.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (code, location) = (header("x-error-code").unwrap_or_default(), header(LOCATION.as_str()));
    let retry_after = header(RETRY_AFTER.as_str()).and_then(|seconds| seconds.parse().ok());
    let told = answer.text().await.unwrap_or_default();
    let sentence = match (serde_json::from_str::<wire::Error>(&told), location) {
        (Ok(_), _) if code == "unauthorized" => BAD_KEY.to_owned(),
        (Ok(body), _) => format!("{}{}", said(&body), advice(&code)),
        (Err(_), Some(there)) => {
            format!("the server sends you to {there}: set DOCWRIGHT_URL to what answers")
        }
        (Err(_), None) => {
            format!("the server answered {status}, which Docwright does not; is DOCWRIGHT_URL right?")
        }
    };
    anyhow::Error::new(Refused { status, code, sentence: output::plain(&sentence), retry_after })
}

/// The sentence, and every detail that it does not hold already.
fn said(body: &wire::Error) -> String {
    let more = body.details.iter().map(|detail| &detail.message).filter(|more| !body.error.contains(*more));
    more.fold(body.error.clone(), |said, more| format!("{said}; {more}"))
}

/// What the API cannot know: which command or variable helps.
fn advice(code: &str) -> &'static str {
    match code {
        "scope_too_small" => ": `docwright key create --name CLI` makes one for DOCWRIGHT_API_KEY",
        "address_not_allowed" => "; `docwright key list --json` shows from where DOCWRIGHT_API_KEY may be",
        "no_such_project" => ", or none that DOCWRIGHT_API_KEY may see; see `docwright project list`",
        "no_such_job" => "; see `docwright job list PROJECT`",
        "no_such_route" => "; DOCWRIGHT_URL must be the address of the server alone",
        _ => "",
    }
}
