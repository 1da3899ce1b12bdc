//! Turns error responses of a host's API into sentences that say what to do, and detects rate limits. The
//! sentences never contain the token.

use std::time::Duration;

use net::{Secret, redact, sanitize};
use serde_json::Value;

use super::HostKind;
use super::api::ApiResponse;
use crate::Error;

/// How much of a host's message is quoted.
const MAX_QUOTED_CHARS: usize = 300;

/// GitHub documents this delay for responses without `retry-after`.
const DEFAULT_RATE_LIMIT_DELAY: Duration = Duration::from_secs(60);

const MAX_RATE_LIMIT_DELAY: Duration = Duration::from_secs(3600);

/// The repository and the credential of a request.
pub(super) struct RepositoryContext {
    pub(super) kind: HostKind,
    pub(super) host: String,
    pub(super) path: String,
    pub(super) identity: Identity,
}

/// How Docwright identifies itself to the host.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Identity {
    Anonymous,
    Token,
    App,
}

/// Extracts the error message: `message` and `errors` from GitHub and Gitea; `message` (possibly a list or an
/// object), `error` and `error_description` from GitLab.
pub(super) fn error_message(body: &Value, token: Option<&Secret>) -> String {
    let mut all = Vec::new();
    for name in ["message", "errors", "error_description"] {
        collect_messages(&body[name], &mut all);
    }
    if all.is_empty() {
        collect_messages(&body["error"], &mut all);
    }
    let all = all.join("; ");
    match token {
        Some(token) => redact(&all, token, MAX_QUOTED_CHARS),
        None => sanitize(&all, MAX_QUOTED_CHARS),
    }
}

fn collect_messages(value: &Value, all: &mut Vec<String>) {
    match value {
        Value::String(text) if !text.is_empty() => all.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|item| collect_messages(item, all)),
        // An error object of GitHub, or an object of GitLab with a key for each invalid field.
        Value::Object(table) => match table.get("message") {
            Some(message) => collect_messages(message, all),
            None if table.contains_key("code") => {
                let name = |key: &str| table.get(key).and_then(Value::as_str).unwrap_or_default();
                all.push(format!("{} is {}", name("field"), name("code")));
            }
            None => table.iter().for_each(|(field, wrong)| {
                let before = all.len();
                collect_messages(wrong, all);
                all[before..].iter_mut().for_each(|message| *message = format!("{field} {message}"));
            }),
        },
        _ => {}
    }
}

/// How long to wait if the response is a rate limit. `now` is in seconds since 1970.
pub(super) fn rate_limit_delay(response: &ApiResponse, now: i64) -> Option<Duration> {
    let is_used_up = ["x-ratelimit-remaining", "ratelimit-remaining"]
        .iter()
        .any(|name| response.header(name).is_some_and(|left| left.trim() == "0"));
    let message = response.message.text().to_ascii_lowercase();
    let is_secondary = message.contains("secondary rate limit") || message.contains("abuse detection");
    let retry_after = net::retry_after(&response.headers);
    match response.status {
        429 => {}
        403 if is_used_up || is_secondary || retry_after.is_some() => {}
        _ => return None,
    }
    let until_reset = || {
        let named = response.header("x-ratelimit-reset").or_else(|| response.header("ratelimit-reset"))?;
        let seconds = named.trim().parse::<i64>().ok()?.saturating_sub(now);
        Some(Duration::from_secs(seconds.max(1).unsigned_abs()).min(MAX_RATE_LIMIT_DELAY))
    };
    Some(retry_after.or_else(|| until_reset().filter(|_| is_used_up)).unwrap_or(DEFAULT_RATE_LIMIT_DELAY))
}

/// The error for an unsuccessful response.
pub(super) fn status_error(context: &RepositoryContext, response: &ApiResponse) -> Error {
    let RepositoryContext { host, path, .. } = context;
    let quote = if response.message.is_empty() { String::new() } else { format!(": {}", response.message) };
    let status = response.status;
    if status == 401 && context.identity == Identity::Token {
        return Error::TokenRefused(unauthorized_message(context, response));
    }
    Error::Denied(match status {
        _ if is_archived(response) => archived_message(path),
        401 => unauthorized_message(context, response),
        403 if response.header("x-github-sso").is_some() => single_sign_on_message(context, response),
        403 | 404 if missing_access(context, response).is_some() => {
            let lacks = missing_access(context, response).unwrap_or_default();
            format!("the {} for {path} lacks {lacks}: {}", context.credential_name(), context.advice())
        }
        403 if context.identity == Identity::Anonymous => context.token_required_message(),
        403 => {
            format!("{host} does not let the {} do this to {path}{quote}", context.credential_name())
        }
        404 => not_found_message(context),
        410 => format!("{host} has disabled this feature for {path}, or has deleted the resource{quote}"),
        451 => format!("{host} has blocked {path} for legal reasons{quote}"),
        _ => format!("{host} refused it ({status}){quote}"),
    })
}

impl RepositoryContext {
    /// The credential's name for sentences.
    pub(super) fn credential_name(&self) -> &'static str {
        match self.identity {
            Identity::App => "app",
            Identity::Token | Identity::Anonymous => "token",
        }
    }

    pub(super) fn token_required_message(&self) -> String {
        let Self { host, path, .. } = self;
        format!(
            "{host} requires a token for {path}: give the project a token that may push and open pull requests"
        )
    }

    pub(super) fn cannot_push_message(&self) -> String {
        format!("the token for {} may not push: {}", self.path, self.advice())
    }

    pub(super) fn advice(&self) -> &'static str {
        match (self.identity, self.kind) {
            (Identity::App, _) => "grant the app read and write access to contents and pull requests",
            (_, HostKind::GitHub) => {
                "create a token with read and write access to contents and pull requests, or with the scope `repo`"
            }
            (_, HostKind::GitLab) => "create a token with the scope `api` and the role Developer or higher",
            (_, HostKind::Gitea | HostKind::Forgejo) => "create a token with the scope `write:repository`",
        }
    }
}

pub(super) fn archived_message(path: &str) -> String {
    format!("{path} is archived: unarchive it, or give the project another repository")
}

pub(super) fn moved_message(url: &str) -> String {
    format!("the repository moved to {}: give the project that address", sanitize(url, MAX_QUOTED_CHARS))
}

fn is_archived(response: &ApiResponse) -> bool {
    let message = response.message.text().to_ascii_lowercase();
    matches!(response.status, 403 | 423) && message.contains("archived")
}

fn unauthorized_message(context: &RepositoryContext, response: &ApiResponse) -> String {
    let host = &context.host;
    let message = response.message.text().to_ascii_lowercase();
    match context.identity {
        Identity::Anonymous => context.token_required_message(),
        Identity::App => {
            format!("{host} does not accept the app ({}): check its id and its key", response.message)
        }
        Identity::Token if message.contains("expired") => {
            format!("the token for {host} has expired: create a new one and give it to the project")
        }
        Identity::Token if message.contains("revoked") => {
            format!("the token for {host} was revoked: create a new one and give it to the project")
        }
        Identity::Token => {
            format!(
                "{host} does not accept the token: it is wrong, expired or revoked; create a new one and give it to the project"
            )
        }
    }
}

fn not_found_message(context: &RepositoryContext) -> String {
    let RepositoryContext { host, path, .. } = context;
    match context.identity {
        Identity::Anonymous => {
            format!("{host} has no public repository {path}: check the address, or give the project a token")
        }
        identity => {
            let advice =
                if identity == Identity::App { "the app is installed on it" } else { "the token may see it" };
            format!("{host} has no repository {path}, or hides it: check the address, and that {advice}")
        }
    }
}

/// `X-GitHub-SSO: required; url=https://github.com/orgs/acme/sso?…`
fn single_sign_on_message(context: &RepositoryContext, response: &ApiResponse) -> String {
    let header = response.header("x-github-sso").unwrap_or_default();
    let url = header.split_once("url=").map(|(_, url)| sanitize(url, MAX_QUOTED_CHARS));
    let ours = url.filter(|url| response.may_quote && url.starts_with(&format!("https://{}/", context.host)));
    let page = ours.unwrap_or_else(|| "its token page".to_owned());
    format!("the organization of {} requires single sign-on: authorize the token at {page}", context.path)
}

/// The words of scopes and permissions. Of a host in a private network, only these words are quoted.
const PERMISSIONS: &[&str] = &[
    "admin",
    "administration",
    "api",
    "checks",
    "contents",
    "issues",
    "metadata",
    "organization",
    "pull_requests",
    "pulls",
    "read",
    "read_api",
    "read_repository",
    "read_user",
    "repo",
    "repository",
    "user",
    "workflows",
    "write",
    "write_repository",
];

fn may_quote_permission(response: &ApiResponse, wanted: &str) -> bool {
    let is_known = |word: &str| word.is_empty() || PERMISSIONS.contains(&word);
    response.may_quote || wanted.split(['=', ',', ':', ';', ' ']).all(is_known)
}

/// The scope or permission that the token lacks, if the host names it.
fn missing_access(context: &RepositoryContext, response: &ApiResponse) -> Option<String> {
    match context.kind {
        HostKind::GitHub => missing_scope(response).or_else(|| missing_permission(response)),
        HostKind::GitLab => {
            let is_scope = response.body["error"] == "insufficient_scope";
            let wanted =
                response.body["scope"].as_str().filter(|scope| may_quote_permission(response, scope));
            let wanted = wanted.map_or("api".to_owned(), |scope| sanitize(scope, 100));
            is_scope.then(|| format!("the scope `{wanted}`"))
        }
        HostKind::Gitea | HostKind::Forgejo => {
            let message = response.message.text();
            message.contains("required scope").then(|| {
                let listed = message.split_once("required=[").and_then(|(_, rest)| rest.split_once(']'));
                let listed = listed.filter(|(scopes, _)| may_quote_permission(response, scopes));
                format!("the scope `{}`", listed.map_or("write:repository", |(scopes, _)| scopes))
            })
        }
    }
}

/// For GitHub's classic tokens, whose scopes are in a response header.
fn missing_scope(response: &ApiResponse) -> Option<String> {
    let list = |name| {
        let header: Option<&str> = response.header(name);
        header.map(|all| all.split(',').map(str::trim).filter(|item| !item.is_empty()).collect::<Vec<_>>())
    };
    let (wanted, has) = (list("x-accepted-oauth-scopes")?, list("x-oauth-scopes")?);
    let is_enough =
        wanted.is_empty() || has.contains(&"repo") || wanted.iter().any(|item| has.contains(item));
    (!is_enough).then(|| "the scope `repo`".to_owned())
}

/// For GitHub's fine-grained tokens and apps.
fn missing_permission(response: &ApiResponse) -> Option<String> {
    if !response.message.text().starts_with("Resource not accessible") {
        return None;
    }
    let wanted = response
        .header("x-accepted-github-permissions")
        .filter(|wanted| may_quote_permission(response, wanted));
    let wanted = wanted.map(|wanted| format!("the permission `{}`", sanitize(wanted, 100)));
    Some(wanted.unwrap_or_else(|| "a permission".to_owned()))
}
