//! Authorizes requests from browsers by their `Origin`, which must be a site of the project.
//!
//! The errors come in the order 404, 403.

use axum::extract::FromRequestParts;
use axum::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue, ORIGIN, VARY};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use store::Project;

use super::caller::{find_project, project_id};
use super::error::ApiError;
use app::App;
use app::origin::parse_site;

/// The project of the path, and the site that sent the request.
pub(super) struct Site {
    pub(super) project: Project,
    origin: HeaderValue,
}

impl FromRequestParts<App> for Site {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let project = find_project(app, project_id(parts).as_ref()).await?.ok_or(ApiError::NoSuchProject)?;
        let origin = parts.headers.get(ORIGIN).filter(|origin| has_site(&project, origin)).cloned();
        Ok(Self { origin: origin.ok_or(ApiError::OriginNotAllowed)?, project })
    }
}

impl Site {
    /// Lets the scripts of this site, and of no other, read the response.
    pub(super) fn with_cors(self, response: impl IntoResponse) -> Response {
        let mut response = response.into_response();
        response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, self.origin);
        response.headers_mut().append(VARY, HeaderValue::from_static("Origin"));
        response
    }
}

fn has_site(project: &Project, origin: &HeaderValue) -> bool {
    let origin = origin.to_str().ok().and_then(parse_site);
    origin.is_some() && project.sites.iter().any(|site| parse_site(site) == origin)
}
