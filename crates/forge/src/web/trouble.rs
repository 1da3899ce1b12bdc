//! What a host's no means to a person: one sentence with what to do about it, and never the token.

use std::time::Duration;

use net::{Secret, redact, retry_after, sanitize};
use serde_json::Value;

use super::HostKind;
use super::api::Answer;
use crate::Error;

/// How much of a host's own words is repeated.
const QUOTED: usize = 300;

/// What GitHub asks for when it does not say how long.
const MINUTE: Duration = Duration::from_secs(60);

const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// Who was asked, for sentences.
pub(super) struct Place {
    pub(super) kind: HostKind,
    pub(super) host: String,
    pub(super) path: String,
    pub(super) who: Who,
}

/// What the host knows us by.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    Nobody,
    Token,
    App,
}

/// The words of an error, as the hosts write them: `message` and `errors` of GitHub and Gitea;
/// `message`, which may be a list or a table, `error` and `error_description` of GitLab.
pub(super) fn words(body: &Value, token: Option<&Secret>) -> String {
    let mut all = Vec::new();
    for name in ["message", "errors", "error_description"] {
        collect(&body[name], &mut all);
    }
    if all.is_empty() {
        collect(&body["error"], &mut all);
    }
    let all = all.join("; ");
    match token {
        Some(token) => redact(&all, token, QUOTED),
        None => sanitize(&all, QUOTED),
    }
}

fn collect(value: &Value, all: &mut Vec<String>) {
    match value {
        Value::String(text) if !text.is_empty() => all.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|one| collect(one, all)),
        // One of GitHub's errors, or a table of GitLab's by the field that is wrong.
        Value::Object(table) => match table.get("message") {
            Some(message) => collect(message, all),
            None if table.contains_key("code") => {
                let name = |key: &str| table.get(key).and_then(Value::as_str).unwrap_or_default();
                all.push(format!("{} is {}", name("field"), name("code")));
            }
            None => table.iter().for_each(|(field, wrong)| {
                let before = all.len();
                collect(wrong, all);
                all[before..].iter_mut().for_each(|words| *words = format!("{field} {words}"));
            }),
        },
        _ => {}
    }
}

/// How long the host wants to be left alone, if that is what it says. `now` in seconds since 1970.
pub(super) fn limit(answer: &Answer, now: i64) -> Option<Duration> {
    let is_used_up = ["x-ratelimit-remaining", "ratelimit-remaining"]
        .iter()
        .any(|name| answer.header(name).is_some_and(|left| left.trim() == "0"));
    let said = answer.said.text().to_ascii_lowercase();
    let is_secondary = said.contains("secondary rate limit") || said.contains("abuse detection");
    let asked = retry_after(&answer.headers);
    match answer.status {
        429 => {}
        403 if is_used_up || is_secondary || asked.is_some() => {}
        _ => return None,
    }
    let until_reset = || {
        let named = answer.header("x-ratelimit-reset").or_else(|| answer.header("ratelimit-reset"))?;
        let seconds = named.trim().parse::<i64>().ok()?.saturating_sub(now);
        Some(Duration::from_secs(seconds.max(1).unsigned_abs()).min(LONGEST_WAIT))
    };
    Some(asked.or_else(|| until_reset().filter(|_| is_used_up)).unwrap_or(MINUTE))
}

/// The host said no.
pub(super) fn refused(place: &Place, answer: &Answer) -> Error {
    let Place { host, path, .. } = place;
    let quoted = if answer.said.is_empty() { String::new() } else { format!(": {}", answer.said) };
    let status = answer.status;
    Error::Denied(match status {
        _ if is_archived(answer) => archived(path),
        401 => unauthorized(place, answer),
        403 if answer.header("x-github-sso").is_some() => sign_on(place, answer),
        403 | 404 if missing(place, answer).is_some() => {
            let lacks = missing(place, answer).unwrap_or_default();
            format!("the {} for {path} lacks {lacks}: {}", place.name(), place.advice())
        }
        403 if place.who == Who::Nobody => place.wants_token(),
        403 => format!("{host} does not let the {} do this to {path}{quoted}", place.name()),
        404 => not_found(place),
        410 => format!("{host} has turned this off for {path}, or it is gone{quoted}"),
        451 => format!("{host} has blocked {path} for legal reasons{quoted}"),
        _ => format!("{host} refused it ({status}){quoted}"),
    })
}

impl Place {
    /// What we come with.
    pub(super) fn name(&self) -> &'static str {
        match self.who {
            Who::App => "app",
            Who::Token | Who::Nobody => "token",
        }
    }

    pub(super) fn wants_token(&self) -> String {
        let Self { host, path, .. } = self;
        format!("{host} wants a token for {path}: give the project one that may push and open pull requests")
    }

    pub(super) fn may_not_push(&self) -> String {
        format!("the token for {} may not push: {}", self.path, self.advice())
    }

    pub(super) fn advice(&self) -> &'static str {
        match (self.who, self.kind) {
            (Who::App, _) => "grant the app read and write access to contents and pull requests",
            (_, HostKind::GitHub) => {
                "make one with read and write access to contents and pull requests, or with the scope `repo`"
            }
            (_, HostKind::GitLab) => "make one with the scope `api` and the role Developer or higher",
            (_, HostKind::Gitea | HostKind::Forgejo) => "make one with the scope `write:repository`",
        }
    }
}

pub(super) fn archived(path: &str) -> String {
    format!("{path} is archived and takes no changes: unarchive it, or give the project another")
}

pub(super) fn moved(url: &str) -> String {
    format!("the repository moved to {}: give the project that address", sanitize(url, QUOTED))
}

fn is_archived(answer: &Answer) -> bool {
    let said = answer.said.text().to_ascii_lowercase();
    matches!(answer.status, 403 | 423) && said.contains("archived")
}

fn unauthorized(place: &Place, answer: &Answer) -> String {
    let host = &place.host;
    let said = answer.said.text().to_ascii_lowercase();
    match place.who {
        Who::Nobody => place.wants_token(),
        Who::App => format!("{host} does not let the app in ({}): check its id and its key", answer.said),
        Who::Token if said.contains("expired") => {
            format!("the token for {host} has expired: make a new one and give it to the project")
        }
        Who::Token if said.contains("revoked") => {
            format!("the token for {host} was revoked: make a new one and give it to the project")
        }
        Who::Token => {
            format!(
                "{host} does not accept the token: it is wrong, expired or revoked; make a new one and give it to the project"
            )
        }
    }
}

fn not_found(place: &Place) -> String {
    let Place { host, path, .. } = place;
    match place.who {
        Who::Nobody => {
            format!("{host} shows no repository {path} to everybody: check the address, or give a token")
        }
        who => {
            let advice = if who == Who::App { "the app is installed on it" } else { "the token may see it" };
            format!("{host} has no repository {path}, or hides it: check the address, and that {advice}")
        }
    }
}

/// `X-GitHub-SSO: required; url=https://github.com/orgs/acme/sso?…`
fn sign_on(place: &Place, answer: &Answer) -> String {
    let header = answer.header("x-github-sso").unwrap_or_default();
    let url = header.split_once("url=").map(|(_, url)| sanitize(url, QUOTED));
    let ours = url.filter(|url| answer.may_quote && url.starts_with(&format!("https://{}/", place.host)));
    let place_to_go = ours.unwrap_or_else(|| "its page of tokens".to_owned());
    format!("the organization of {} wants single sign-on: authorize the token at {place_to_go}", place.path)
}

/// What scopes and permissions are called. In a private network, a host may name these and nothing else.
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

fn may_name(answer: &Answer, wanted: &str) -> bool {
    let is_known = |word: &str| word.is_empty() || PERMISSIONS.contains(&word);
    answer.may_quote || wanted.split(['=', ',', ':', ';', ' ']).all(is_known)
}

/// The scope or permission that the token has not, where the host tells.
fn missing(place: &Place, answer: &Answer) -> Option<String> {
    match place.kind {
        HostKind::GitHub => missing_scope(answer).or_else(|| missing_permission(answer)),
        HostKind::GitLab => {
            let is_scope = answer.body["error"] == "insufficient_scope";
            let wanted = answer.body["scope"].as_str().filter(|scope| may_name(answer, scope));
            let wanted = wanted.map_or("api".to_owned(), |scope| sanitize(scope, 100));
            is_scope.then(|| format!("the scope `{wanted}`"))
        }
        HostKind::Gitea | HostKind::Forgejo => {
            let said = answer.said.text();
            said.contains("required scope").then(|| {
                let listed = said.split_once("required=[").and_then(|(_, rest)| rest.split_once(']'));
                let listed = listed.filter(|(scopes, _)| may_name(answer, scopes));
                format!("the scope `{}`", listed.map_or("write:repository", |(scopes, _)| scopes))
            })
        }
    }
}

/// Of GitHub's older tokens, which tell what they have.
fn missing_scope(answer: &Answer) -> Option<String> {
    let list = |name| {
        let header: Option<&str> = answer.header(name);
        header.map(|all| all.split(',').map(str::trim).filter(|one| !one.is_empty()).collect::<Vec<_>>())
    };
    let (wanted, has) = (list("x-accepted-oauth-scopes")?, list("x-oauth-scopes")?);
    let is_enough = wanted.is_empty() || has.contains(&"repo") || wanted.iter().any(|one| has.contains(one));
    (!is_enough).then(|| "the scope `repo`".to_owned())
}

/// Of its newer ones, and of apps.
fn missing_permission(answer: &Answer) -> Option<String> {
    if !answer.said.text().starts_with("Resource not accessible") {
        return None;
    }
    let wanted = answer.header("x-accepted-github-permissions").filter(|wanted| may_name(answer, wanted));
    let wanted = wanted.map(|wanted| format!("the permission `{}`", sanitize(wanted, 100)));
    Some(wanted.unwrap_or_else(|| "a permission".to_owned()))
}
