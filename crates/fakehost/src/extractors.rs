//! The axum extractors of all API handlers: the caller, the repository, path parameters and the JSON body.
//! Rejections use the messages of the imitated host.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{FromRef, FromRequest, FromRequestParts, RawPathParams, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::access::Caller;
use crate::state::{Host, Repository};
use crate::{Kind, gitea, github, gitlab};

/// An error response.
#[derive(Debug)]
pub(crate) struct Refusal(pub(crate) StatusCode, pub(crate) Value);

impl Refusal {
    pub(crate) fn new(status: u16, body: Value) -> Self {
        Self(StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), body)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.0, Json(self.1)).into_response()
    }
}

/// A repository that the caller may see.
pub(crate) struct Site {
    pub(crate) caller: Caller,
    pub(crate) repository: Repository,
}

/// `{number}` of the path.
pub(crate) struct Number(pub(crate) u64);

/// `{branch}` of the path.
pub(crate) struct Branch(pub(crate) String);

/// The request's JSON.
pub(crate) struct Body<T>(pub(crate) T);

/// By how many requests a list is outdated.
#[derive(Clone, Copy)]
pub(crate) struct Lag(pub(crate) u64);

type HostState = Arc<Host>;

impl<S: Send + Sync> FromRequestParts<S> for Caller
where
    HostState: FromRef<S>,
{
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let host = HostState::from_ref(state);
        host.caller(&parts.headers).map_err(|why| match host.kind {
            Kind::GitHub => github::bad_credentials(),
            Kind::GitLab => gitlab::unauthorized(why),
            Kind::Gitea | Kind::Forgejo => gitea::unauthorized(&host),
        })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Site
where
    HostState: FromRef<S>,
{
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let host = HostState::from_ref(state);
        let caller = Caller::from_request_parts(parts, state).await?;
        let name = match param(parts, state, "project").await {
            Some(project) => gitlab::project_name(&host, project),
            None => {
                let owner = param(parts, state, "owner").await.unwrap_or_default();
                format!("{owner}/{}", param(parts, state, "repo").await.unwrap_or_default())
            }
        };
        match host.repository(&name).filter(|repository| caller.can_see(repository)) {
            Some(repository) => Ok(Self { caller, repository }),
            None => Err(not_found(&host, "Project")),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Number
where
    HostState: FromRef<S>,
{
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let number = param(parts, state, "number").await.and_then(|text| text.parse().ok());
        number.map(Self).ok_or_else(|| not_found(&HostState::from_ref(state), "Not Found"))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Branch
where
    HostState: FromRef<S>,
{
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        Ok(Self(param(parts, state, "branch").await.unwrap_or_default()))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Lag {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        Ok(parts.extensions.get().copied().unwrap_or(Self(0)))
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T>
where
    HostState: FromRef<S>,
{
    type Rejection = Response;

    async fn from_request(request: Request, state: &S) -> Result<Self, Response> {
        let host = HostState::from_ref(state);
        let bytes = Bytes::from_request(request, state).await.map_err(IntoResponse::into_response)?;
        let bytes = if bytes.is_empty() { Bytes::from_static(b"{}") } else { bytes };
        serde_json::from_slice(&bytes).map(Self).map_err(|error| {
            match host.kind {
                Kind::GitHub => github::refusal(400, "Problems parsing JSON"),
                Kind::GitLab => gitlab::error(400, &error.to_string()),
                Kind::Gitea | Kind::Forgejo => gitea::refusal(&host, 422, &error.to_string()),
            }
            .into_response()
        })
    }
}

/// The error for a resource that does not exist or that the caller may not see.
pub(crate) fn not_found(host: &Host, what: &str) -> Refusal {
    match host.kind {
        Kind::GitHub => github::refusal(404, "Not Found"),
        Kind::GitLab => gitlab::not_found(what),
        Kind::Gitea | Kind::Forgejo => gitea::not_found(host),
    }
}

async fn param<S: Send + Sync>(parts: &mut Parts, state: &S, name: &str) -> Option<String> {
    let params = RawPathParams::from_request_parts(parts, state).await.ok()?;
    params.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
}
