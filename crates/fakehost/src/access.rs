//! Who asks, and what they may do.

use std::collections::BTreeSet;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;

use crate::Kind;
use crate::state::{Host, Repository};

/// What a token is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Access {
    /// Reads, pushes, opens pull requests and merges them.
    Full,
    ReadOnly,
    /// Reads, though the person whose it is may push, and the host tells of the person alone.
    ReadOnlyOfWriter,
    /// Reads and pushes.
    NoPulls,
    Expired,
}

#[derive(Clone, Debug)]
pub(crate) struct Grant {
    pub(crate) access: Access,
    /// The only repositories it knows; `None` for all.
    pub(crate) repositories: Option<BTreeSet<String>>,
    pub(crate) expires_at: Option<Timestamp>,
    /// Given to an app, not to a person.
    pub(crate) is_installation: bool,
}

/// Why a token is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadToken {
    Unknown,
    Expired,
}

/// Whoever sent the request: with a good token, or without any.
#[derive(Clone, Debug)]
pub(crate) struct Caller(pub(crate) Option<Grant>);

impl Caller {
    pub(crate) fn sees(&self, repository: &Repository) -> bool {
        let covered = |grant: &Grant| match &grant.repositories {
            Some(names) => names.contains(&repository.name),
            None => true,
        };
        !repository.settings.private || self.0.as_ref().is_some_and(covered)
    }

    /// What the host tells of pushing: of some tokens, what their person may do.
    pub(crate) fn seems_to_push(&self) -> bool {
        self.may_push() || self.access() == Some(Access::ReadOnlyOfWriter)
    }

    pub(crate) fn may_push(&self) -> bool {
        self.access().is_some_and(|access| matches!(access, Access::Full | Access::NoPulls))
    }

    /// May open pull requests, and change them.
    pub(crate) fn may_pull(&self) -> bool {
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
    /// Whose request to the API this is.
    pub(crate) fn caller(&self, headers: &HeaderMap) -> Result<Caller, BadToken> {
        match api_token(self.kind, headers) {
            Some(token) => self.holder(&token),
            None => Ok(Caller(None)),
        }
    }

    pub(crate) fn holder(&self, token: &str) -> Result<Caller, BadToken> {
        let world = self.world();
        let grant = world.grants.get(token).ok_or(BadToken::Unknown)?;
        let is_over = grant.expires_at.is_some_and(|end| end <= world.now());
        match is_over || grant.access == Access::Expired {
            true => Err(BadToken::Expired),
            false => Ok(Caller(Some(grant.clone()))),
        }
    }
}

/// Each host has its own ways to say a token.
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
        // Something was said, so that who said it is not nobody.
        false => Some(basic_password(headers).unwrap_or_default()),
    }
}

/// The password of `Authorization: Basic`. Hosts do not look at the user's name beside a token.
pub(crate) fn basic_password(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, rest) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = String::from_utf8(STANDARD.decode(rest.trim()).ok()?).ok()?;
    pair.split_once(':').map(|(_, password)| password.to_owned())
}
