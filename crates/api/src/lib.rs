//! Implements the HTTP API. This file has the whole URL map, and each resource has its own module.

mod access;
mod analytics;
mod body;
mod bounds;
mod caller;
mod collect;
mod compression;
mod csv;
mod effects;
mod error;
mod etag;
mod events;
mod fallback;
mod findings;
mod forget;
mod headers;
mod health;
mod hooks;
mod idempotency;
mod imports;
mod jobs;
mod limits;
mod lost_directory;
mod metrics;
mod middleware;
mod openapi;
mod path_parameter;
mod pull;
mod query;
mod report_query;
mod reports;
mod request_id;
mod script;
mod site;
mod transcript;
mod views_server;
mod watch;

use axum::Router;
use axum::extract::Request;
use axum::middleware::from_fn_with_state;

use app::App;
use error::ApiError;
use openapi::{self as operations, Api};

pub use fallback::{ErrorPages, no_such_route};
pub use watch::is_event_stream;

/// The routes of the API, each with its handler and its description.
fn api() -> Api {
    Api::new()
        .post("/v2/agent/{projectId}/job", jobs::create, operations::create_job())
        .get("/v2/agent/{projectId}/job/{id}", jobs::show, operations::get_job())
        .post("/v2/agent/{projectId}/job/{id}/message", jobs::message, operations::message_job())
        .post("/v2/agent/{projectId}/job/{id}/archive", jobs::archive, operations::archive_job())
        .get("/v2/agent/{projectId}/job/{id}/events", watch::events, operations::list_events())
        .get("/v2/agent/{projectId}/job/{id}/diff", jobs::diff, operations::get_diff())
        .get("/v2/agent/{projectId}/job/{id}/pull", pull::show, operations::get_pull())
        .get("/v2/agent/{projectId}/job/{id}/transcript", transcript::show, operations::get_transcript())
        .get("/v2/agent/{projectId}/jobs", jobs::list, operations::list_jobs())
        .get("/v1/analytics/{projectId}/views", analytics::views, operations::get_views())
        .get("/v1/analytics/{projectId}/visitors", analytics::visitors, operations::get_visitors())
        .get("/v1/analytics/{projectId}/series", reports::series, operations::get_series())
        .get("/v1/analytics/{projectId}/agents", reports::agents, operations::get_agents())
        .get("/v1/analytics/{projectId}/referrers", reports::referrers, operations::get_referrers())
        .get("/v1/analytics/{projectId}/ai-referrals", reports::ai_referrals, operations::get_ai_referrals())
        .get("/v1/analytics/{projectId}/not-found", reports::not_found, operations::get_not_found())
        .get("/v1/analytics/{projectId}/redirected", reports::redirected, operations::get_redirected())
        .get("/v1/analytics/{projectId}/live", reports::live, operations::get_live())
        .post("/v1/analytics/{projectId}/reclassify", reports::reclassify, operations::reclassify())
        .post("/v1/analytics/{projectId}/forget", forget::forget, operations::forget_paths())
        .post("/v1/analytics/{projectId}/events", events::ingest, operations::send_events())
        .get("/v1/analytics/{projectId}/imports/{file}", imports::show, operations::get_import())
        .get("/v1/analytics/{projectId}/effect", effects::merges, operations::get_effect())
        .get("/v1/analytics/{projectId}/weekly", effects::weekly, operations::get_weekly_summary())
        .get("/v1/findings/{projectId}", findings::list, operations::list_findings())
        .post("/v1/findings/{projectId}/job", findings::fix_many, operations::fix_findings())
        .get("/v1/findings/{projectId}/{finding}", findings::show, operations::get_finding())
        .post("/v1/findings/{projectId}/{finding}/job", findings::fix_one, operations::fix_finding())
        .post("/v1/findings/{projectId}/{finding}/dismiss", findings::dismiss, operations::dismiss_finding())
        .post("/v1/collect/{projectId}", collect::collect, operations::send_view())
        .options("/v1/collect/{projectId}", collect::preflight, operations::preflight_view())
        .post("/hooks/{provider}/{projectId}", hooks::receive, operations::receive_webhook())
        .get("/js/docwright.js", script::show, operations::get_script())
        .get("/healthz", health::alive, operations::get_liveness())
        .get("/readyz", health::ready, operations::get_readiness())
        .get("/metrics", metrics::show, operations::get_metrics())
        .get("/openapi.json", openapi::show, operations::get_description())
        .get("/docs", openapi::show_reference, operations::get_reference())
}

/// The OpenAPI description of the API, for a server at this address.
pub fn openapi(server: &str) -> serde_json::Value {
    api().document(server)
}

/// The router of the API, with the pages and the static files of the dashboard.
pub fn router(app: App, pages: Router<App>, assets: Router<App>, errors: ErrorPages) -> Router {
    // Pages of the dashboard aren't compressed. They contain secrets and text that an attacker can choose,
    // and the size of a compressed page would reveal whether the two match (BREACH).
    api()
        .router()
        .merge(assets)
        .layer(from_fn_with_state(app.clone(), middleware::api))
        .merge(pages)
        .fallback(async move |request: Request| {
            fallback::respond(&request, ApiError::NoSuchRoute, errors.not_found)
        })
        .method_not_allowed_fallback(async move |request: Request| {
            fallback::respond(&request, ApiError::MethodNotAllowed, errors.method_not_allowed)
        })
        .layer(from_fn_with_state((app.clone(), errors), middleware::all))
        .with_state(app)
}
