//! The whole URL map on one screen. One file a resource under `http/`; pages under `dashboard/`.

mod address;
mod analytics;
mod body;
mod caller;
mod error;
mod etag;
mod events;
mod health;
mod idempotency;
mod jobs;
mod limits;
mod query;
mod request_id;
mod watch;

use axum::Router;
use axum::middleware::from_fn;
use axum::routing::{get, post};

use crate::app::App;
use crate::dashboard;

pub(crate) fn router(app: App) -> Router {
    let api = Router::new()
        .route("/v2/agent/{projectId}/job", post(jobs::create))
        .route("/v2/agent/{projectId}/job/{id}", get(jobs::show))
        .route("/v2/agent/{projectId}/job/{id}/message", post(jobs::message))
        .route("/v2/agent/{projectId}/job/{id}/archive", post(jobs::archive))
        .route("/v2/agent/{projectId}/job/{id}/events", get(watch::events))
        .route("/v2/agent/{projectId}/job/{id}/diff", get(jobs::diff))
        .route("/v2/agent/{projectId}/jobs", get(jobs::list))
        .route("/v1/analytics/{projectId}/views", get(analytics::views))
        .route("/v1/analytics/{projectId}/events", post(events::take))
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready));

    let pages = Router::new()
        .route("/", get(dashboard::home::show))
        .route("/login", get(dashboard::login::show).post(dashboard::login::enter))
        .route("/logout", post(dashboard::login::leave))
        .route("/p/{projectId}", get(dashboard::jobs::to_list))
        .route("/p/{projectId}/keys", get(dashboard::keys::list).post(dashboard::keys::create))
        .route("/p/{projectId}/keys/{id}/revoke", post(dashboard::keys::revoke))
        .route("/p/{projectId}/jobs", get(dashboard::jobs::list).post(dashboard::jobs::create))
        .route("/p/{projectId}/jobs/{id}", get(dashboard::jobs::show))
        .route("/p/{projectId}/pulls", get(dashboard::pulls::list))
        .route("/p/{projectId}/pulls/{n}", get(dashboard::pulls::show))
        .route("/p/{projectId}/pulls/{n}/merge", post(dashboard::pulls::merge))
        .route("/p/{projectId}/pulls/{n}/close", post(dashboard::pulls::close))
        .route("/assets/{name}", get(dashboard::assets::show))
        .layer(from_fn(dashboard::guard));

    api.merge(pages)
        .fallback(error::no_such_route)
        .method_not_allowed_fallback(error::method_not_allowed)
        .layer(from_fn(request_id::layer))
        .with_state(app)
}
