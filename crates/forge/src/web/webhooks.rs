//! Parses webhooks of the hosts and verifies their signatures.
//!
//! Anybody can send a webhook, so an unsigned one is refused. A signed one is still only a hint: ask the
//! host's API for the current state.

use net::Secret;
use ring::hmac;
use serde_json::Value;

use super::HostKind;
use crate::State;

/// A verified webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// `owner/repository`.
    pub repository: String,
    pub event: WebhookEvent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebhookEvent {
    /// A pull request from a branch of the repository itself was opened, changed, closed or merged.
    PullChanged {
        number: u64,
        state: State,
        head: String,
    },
    Pushed {
        branch: String,
    },
    /// A test delivery.
    Ping,
    Ignored,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WebhookError {
    #[error("the webhook is not signed with this project's secret: check the secret on both sides")]
    BadSignature,
    #[error("the webhook is not JSON: set its content type to application/json")]
    NotJson,
    #[error("the webhook does not have the documented format: check the kind of the host")]
    BadShape,
}

/// Verifies and parses a webhook. `header` returns a header by its lower-case name.
pub fn read_webhook<'a>(
    kind: HostKind,
    secret: &Secret,
    header: impl Fn(&str) -> Option<&'a str>,
    body: &[u8],
) -> Result<Webhook, WebhookError> {
    if !is_signed(kind, secret, &header, body) {
        return Err(WebhookError::BadSignature);
    }
    let body: Value = serde_json::from_slice(body).map_err(|_| WebhookError::NotJson)?;
    let repository = match kind {
        HostKind::GitLab => &body["project"]["path_with_namespace"],
        _ => &body["repository"]["full_name"],
    };
    // A test delivery of an organization's webhook names no repository.
    let repository = net::sanitize(repository.as_str().unwrap_or_default(), 300);
    let event = parse_event(kind, &header, &body).ok_or(WebhookError::BadShape)?;
    Ok(Webhook { repository, event })
}

fn is_signed<'a>(
    kind: HostKind,
    secret: &Secret,
    header: &impl Fn(&str) -> Option<&'a str>,
    body: &[u8],
) -> bool {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.reveal().as_bytes());
    let signature = match kind {
        HostKind::GitLab => {
            // GitLab sends the secret itself. Comparing two signatures of it takes constant time.
            let sent = header("x-gitlab-token").unwrap_or_default();
            let ours = hmac::sign(&key, secret.reveal().as_bytes());
            return hmac::verify(&key, sent.as_bytes(), ours.as_ref()).is_ok();
        }
        HostKind::GitHub => header("x-hub-signature-256").and_then(|sent| sent.strip_prefix("sha256=")),
        HostKind::Gitea | HostKind::Forgejo => {
            header("x-forgejo-signature").or_else(|| header("x-gitea-signature"))
        }
    };
    signature.and_then(decode_hex).is_some_and(|signature| hmac::verify(&key, body, &signature).is_ok())
}

fn decode_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

/// `None` when the format is not the documented one.
fn parse_event<'a>(
    kind: HostKind,
    header: &impl Fn(&str) -> Option<&'a str>,
    body: &Value,
) -> Option<WebhookEvent> {
    let name = match kind {
        HostKind::GitHub => header("x-github-event"),
        HostKind::GitLab => header("x-gitlab-event"),
        HostKind::Gitea | HostKind::Forgejo => header("x-forgejo-event").or_else(|| header("x-gitea-event")),
    };
    match name? {
        "pull_request" | "pull_request_sync" => parse_pull_request(body),
        "Merge Request Hook" => parse_merge_request(&body["object_attributes"]),
        "push" | "Push Hook" => Some(match body["ref"].as_str()?.strip_prefix("refs/heads/") {
            Some(branch) => WebhookEvent::Pushed { branch: branch.to_owned() },
            None => WebhookEvent::Ignored,
        }),
        "ping" => Some(WebhookEvent::Ping),
        _ => Some(WebhookEvent::Ignored),
    }
}

fn parse_pull_request(body: &Value) -> Option<WebhookEvent> {
    let pull = &body["pull_request"];
    let (head, base) = (&pull["head"], &pull["base"]);
    // The id is missing when the fork was deleted.
    if head["repo"]["id"].as_u64() != Some(base["repo"]["id"].as_u64()?) {
        return Some(WebhookEvent::Ignored);
    }
    let state = match pull["state"].as_str()? {
        _ if pull["merged"] == true => State::Merged,
        "open" => State::Open,
        _ => State::Closed,
    };
    // After the branch is deleted, Gitea has its name only in `label`.
    let name = head["ref"].as_str().filter(|name| !name.starts_with("refs/")).or(head["label"].as_str());
    let head = name?.to_owned();
    Some(WebhookEvent::PullChanged { number: pull["number"].as_u64()?, state, head })
}

fn parse_merge_request(request: &Value) -> Option<WebhookEvent> {
    if request["source_project_id"].as_u64() != Some(request["target_project_id"].as_u64()?) {
        return Some(WebhookEvent::Ignored);
    }
    let state = match request["state"].as_str()? {
        "merged" => State::Merged,
        "closed" => State::Closed,
        _ => State::Open,
    };
    let head = request["source_branch"].as_str()?.to_owned();
    Some(WebhookEvent::PullChanged { number: request["iid"].as_u64()?, state, head })
}
