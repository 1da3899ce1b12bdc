//! Whose page a browser has open: no key, but the origin that the browser itself tells, which
//! must be a site of the project. 404 and 403, in that order.

use axum::extract::FromRequestParts;
use axum::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue, ORIGIN, VARY};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use store::{Project, ProjectId};

use super::caller::visible_project_id;
use super::error::ApiError;
use app::App;
use app::origin::parse_site;

/// The project of the path, and the site of it that the request is from.
pub(super) struct Site {
    pub(super) project: Project,
    origin: HeaderValue,
}

impl FromRequestParts<App> for Site {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let id = ProjectId(visible_project_id(parts).ok_or(ApiError::NoSuchProject)?);
        let project = app.accounts.project(&id).await?.ok_or(ApiError::NoSuchProject)?;
        let origin = parts.headers.get(ORIGIN).filter(|origin| is_of(&project, origin)).cloned();
        Ok(Self { origin: origin.ok_or(ApiError::OriginNotAllowed)?, project })
    }
}

impl Site {
    /// Lets scripts of the site, and of no other, see the answer, whatever it is.
    pub(super) fn may_see(self, answer: impl IntoResponse) -> Response {
        let mut response = answer.into_response();
        response.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, self.origin);
        response.headers_mut().append(VARY, HeaderValue::from_static("Origin"));
        response
    }
}

fn is_of(project: &Project, origin: &HeaderValue) -> bool {
    let origin = origin.to_str().ok().and_then(parse_site);
    origin.is_some() && project.sites.iter().any(|site| parse_site(site) == origin)
}
