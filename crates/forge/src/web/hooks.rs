//! Word from a host that something happened. Anybody can send one, so it is believed only when it is
//! signed, and what it says is read as a hint: who wants to be sure asks the host.

use net::Secret;
use ring::hmac;
use serde_json::Value;

use super::HostKind;
use crate::State;

/// What a host sent word of, about which of its repositories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// `owner/repository`.
    pub repository: String,
    pub event: HookEvent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookEvent {
    /// A pull request from a branch of the repository itself was opened, changed, closed or merged.
    PullChanged {
        number: u64,
        state: State,
        head: String,
    },
    Pushed {
        branch: String,
    },
    /// Whoever set it up looks whether it works.
    Ping,
    Ignored,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HookError {
    #[error("the hook is not signed with this project's secret")]
    BadSignature,
    #[error("the hook is not JSON: set its content type to application/json")]
    NotJson,
    #[error("the hook has not the shape that its host documents")]
    BadShape,
}

/// Reads an event. `header` finds a header by its name in small letters.
pub fn read_hook<'a>(
    kind: HostKind,
    secret: &Secret,
    header: impl Fn(&str) -> Option<&'a str>,
    body: &[u8],
) -> Result<Hook, HookError> {
    if !is_signed(kind, secret, &header, body) {
        return Err(HookError::BadSignature);
    }
    let body: Value = serde_json::from_slice(body).map_err(|_| HookError::NotJson)?;
    let repository = match kind {
        HostKind::GitLab => &body["project"]["path_with_namespace"],
        _ => &body["repository"]["full_name"],
    };
    // An organization's hook has no repository when it is tried.
    let repository = net::sanitize(repository.as_str().unwrap_or_default(), 300);
    let event = event(kind, &header, &body).ok_or(HookError::BadShape)?;
    Ok(Hook { repository, event })
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
            // It sends the secret itself. Two signatures by it are compared in constant time.
            let sent = header("x-gitlab-token").unwrap_or_default();
            let ours = hmac::sign(&key, secret.reveal().as_bytes());
            return hmac::verify(&key, sent.as_bytes(), ours.as_ref()).is_ok();
        }
        HostKind::GitHub => header("x-hub-signature-256").and_then(|sent| sent.strip_prefix("sha256=")),
        HostKind::Gitea | HostKind::Forgejo => {
            header("x-forgejo-signature").or_else(|| header("x-gitea-signature"))
        }
    };
    signature.and_then(bytes).is_some_and(|signature| hmac::verify(&key, body, &signature).is_ok())
}

/// Of hexadecimal digits.
fn bytes(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

/// `None` for what is not as it is documented.
fn event<'a>(kind: HostKind, header: &impl Fn(&str) -> Option<&'a str>, body: &Value) -> Option<HookEvent> {
    let name = match kind {
        HostKind::GitHub => header("x-github-event"),
        HostKind::GitLab => header("x-gitlab-event"),
        HostKind::Gitea | HostKind::Forgejo => header("x-forgejo-event").or_else(|| header("x-gitea-event")),
    };
    match name? {
        "pull_request" | "pull_request_sync" => pull(body),
        "Merge Request Hook" => merge_request(&body["object_attributes"]),
        "push" | "Push Hook" => Some(match body["ref"].as_str()?.strip_prefix("refs/heads/") {
            Some(branch) => HookEvent::Pushed { branch: branch.to_owned() },
            None => HookEvent::Ignored,
        }),
        "ping" => Some(HookEvent::Ping),
        _ => Some(HookEvent::Ignored),
    }
}

fn pull(body: &Value) -> Option<HookEvent> {
    let pull = &body["pull_request"];
    let (head, base) = (&pull["head"], &pull["base"]);
    // The fork may be gone.
    if head["repo"]["id"].as_u64() != Some(base["repo"]["id"].as_u64()?) {
        return Some(HookEvent::Ignored);
    }
    let state = match pull["state"].as_str()? {
        _ if pull["merged"] == true => State::Merged,
        "open" => State::Open,
        _ => State::Closed,
    };
    // Once the branch is gone, Gitea has its name here alone.
    let name = head["ref"].as_str().filter(|name| !name.starts_with("refs/")).or(head["label"].as_str());
    let head = name?.to_owned();
    Some(HookEvent::PullChanged { number: pull["number"].as_u64()?, state, head })
}

fn merge_request(request: &Value) -> Option<HookEvent> {
    if request["source_project_id"].as_u64() != Some(request["target_project_id"].as_u64()?) {
        return Some(HookEvent::Ignored);
    }
    let state = match request["state"].as_str()? {
        "merged" => State::Merged,
        "closed" => State::Closed,
        _ => State::Open,
    };
    let head = request["source_branch"].as_str()?.to_owned();
    Some(HookEvent::PullChanged { number: request["iid"].as_u64()?, state, head })
}
