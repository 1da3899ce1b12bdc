//! Authenticates requests and decides what a token may do.

use std::collections::BTreeSet;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;

use crate::Kind;
use crate::state::{Host, Repository};

/// The permissions of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Access {
    /// Reads, pushes, opens pull requests and merges them.
    Full,
    ReadOnly,
    /// Reads. The token's owner may push, and the host reports only the owner's permission.
    ReadOnlyOfWriter,
    /// Reads and pushes.
    NoPulls,
    Expired,
}

#[derive(Clone, Debug)]
pub(crate) struct Grant {
    pub(crate) access: Access,
    /// The repositories that the token may access; `None` for all.
    pub(crate) repositories: Option<BTreeSet<String>>,
    pub(crate) expires_at: Option<Timestamp>,
    /// Whether the token belongs to an app's installation.
    pub(crate) is_installation: bool,
}

/// Why a token is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadToken {
    Unknown,
    Expired,
}

/// The sender of a request: the grant of a valid token, or `None` without a token.
#[derive(Clone, Debug)]
pub(crate) struct Caller(pub(crate) Option<Grant>);

impl Caller {
    pub(crate) fn can_see(&self, repository: &Repository) -> bool {
        let covered = |grant: &Grant| match &grant.repositories {
            Some(names) => names.contains(&repository.name),
            None => true,
        };
        !repository.settings.private || self.0.as_ref().is_some_and(covered)
    }

    /// The push permission that the host reports. For some tokens, this is the owner's permission.
    pub(crate) fn reported_push_permission(&self) -> bool {
        self.may_push() || self.access() == Some(Access::ReadOnlyOfWriter)
    }

    pub(crate) fn may_push(&self) -> bool {
        self.access().is_some_and(|access| matches!(access, Access::Full | Access::NoPulls))
    }

    /// Whether the caller may open and change pull requests.
    pub(crate) fn may_change_pulls(&self) -> bool {
        self.access() == Some(Access::Full)
    }

    pub(crate) fn access(&self) -> Option<Access> {
        self.0.as_ref().map(|grant| grant.access)
    }

    pub(crate) fn is_installation(&self) -> bool {
        self.0.as_ref().is_some_and(|grant| grant.is_installation)
    }
}

impl Host {
    /// The caller of an API request.
    pub(crate) fn caller(&self, headers: &HeaderMap) -> Result<Caller, BadToken> {
        match api_token(self.kind, headers) {
            Some(token) => self.caller_for_token(&token),
            None => Ok(Caller(None)),
        }
    }

    pub(crate) fn caller_for_token(&self, token: &str) -> Result<Caller, BadToken> {
        let data = self.data();
        let grant = data.grants.get(token).ok_or(BadToken::Unknown)?;
        let is_over = grant.expires_at.is_some_and(|end| end <= data.now());
        match is_over || grant.access == Access::Expired {
            true => Err(BadToken::Expired),
            false => Ok(Caller(Some(grant.clone()))),
        }
    }
}

/// Each host accepts the token in different headers.
fn api_token(kind: Kind, headers: &HeaderMap) -> Option<String> {
    if kind == Kind::GitLab
        && let Some(token) = headers.get("private-token")
    {
        return Some(token.to_str().unwrap_or_default().to_owned());
    }
    let value = headers.get(AUTHORIZATION)?.to_str().unwrap_or_default();
    let (scheme, rest) = value.split_once(' ').unwrap_or((value, ""));
    let is_token = scheme.eq_ignore_ascii_case("token") && kind != Kind::GitLab;
    match scheme.eq_ignore_ascii_case("bearer") || is_token {
        true => Some(rest.trim().to_owned()),
        // The header has an unknown scheme, so the request is not anonymous.
        false => Some(basic_password(headers).unwrap_or_default()),
    }
}

/// The password of `Authorization: Basic`. Hosts ignore the user name of a token.
pub(crate) fn basic_password(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, rest) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = String::from_utf8(STANDARD.decode(rest.trim()).ok()?).ok()?;
    pair.split_once(':').map(|(_, password)| password.to_owned())
}
