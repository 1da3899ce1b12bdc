//! The HTTP API, with its whole URL map on one screen. Each resource has a file.

mod access;
mod analytics;
mod asked;
mod body;
mod bounds;
mod caller;
mod coding;
mod collect;
mod csv;
mod error;
mod etag;
mod events;
mod fallback;
mod forget;
mod headers;
mod health;
mod home;
mod hooks;
mod idempotency;
mod imports;
mod jobs;
mod limits;
mod lost_directory;
mod metrics;
mod middleware;
mod openapi;
mod query;
mod reports;
mod request_id;
mod script;
mod site;
mod transcript;
mod watch;

use axum::Router;
use axum::extract::Request;
use axum::middleware::from_fn_with_state;

use app::App;
use error::ApiError;
use openapi::{self as does, Api};

pub use fallback::{ErrorPages, no_such_route};
pub use watch::is_event_stream;

/// The API: what it takes, who answers, and what that does.
fn api() -> Api {
    Api::new()
        .post("/v2/agent/{projectId}/job", jobs::create, does::create_job())
        .get("/v2/agent/{projectId}/job/{id}", jobs::show, does::get_job())
        .post("/v2/agent/{projectId}/job/{id}/message", jobs::message, does::message_job())
        .post("/v2/agent/{projectId}/job/{id}/archive", jobs::archive, does::archive_job())
        .get("/v2/agent/{projectId}/job/{id}/events", watch::events, does::list_events())
        .get("/v2/agent/{projectId}/job/{id}/diff", jobs::diff, does::get_diff())
        .get("/v2/agent/{projectId}/job/{id}/transcript", transcript::show, does::get_transcript())
        .get("/v2/agent/{projectId}/jobs", jobs::list, does::list_jobs())
        .get("/v1/analytics/{projectId}/views", analytics::views, does::get_views())
        .get("/v1/analytics/{projectId}/visitors", analytics::visitors, does::get_visitors())
        .get("/v1/analytics/{projectId}/series", reports::series, does::get_series())
        .get("/v1/analytics/{projectId}/agents", reports::agents, does::get_agents())
        .get("/v1/analytics/{projectId}/referrers", reports::referrers, does::get_referrers())
        .get("/v1/analytics/{projectId}/not-found", reports::not_found, does::get_not_found())
        .get("/v1/analytics/{projectId}/live", reports::live, does::get_live())
        .post("/v1/analytics/{projectId}/reclassify", reports::reclassify, does::reclassify())
        .post("/v1/analytics/{projectId}/forget", forget::forget, does::forget_paths())
        .post("/v1/analytics/{projectId}/events", events::take, does::send_events())
        .get("/v1/analytics/{projectId}/imports/{file}", imports::show, does::get_import())
        .post("/v1/collect/{projectId}", collect::take, does::collect())
        .options("/v1/collect/{projectId}", collect::preflight, does::preflight())
        .post("/hooks/{provider}/{projectId}", hooks::take, does::hook())
        .get("/js/docwright.js", script::show, does::script())
        .get("/healthz", health::alive, does::alive())
        .get("/readyz", health::ready, does::ready())
        .get("/metrics", metrics::show, does::metrics())
        .get("/openapi.json", openapi::json_document, does::description())
        .get("/docs", openapi::docs, does::reference_page())
}

/// The API's description, for a server at this address.
pub fn openapi(server: &str) -> serde_json::Value {
    api().document(server)
}

/// The API, beside the pages of the dashboard and their files.
pub fn router(app: App, pages: Router<App>, assets: Router<App>, errors: ErrorPages) -> Router {
    // Pages go out as they are: they have secrets in them beside words that a visitor may have been
    // lured into sending, and how well that compresses tells one from the other.
    api()
        .router()
        .merge(assets)
        .layer(from_fn_with_state(app.clone(), middleware::api))
        .merge(pages)
        .fallback(async move |request: Request| {
            fallback::answer(&request, ApiError::NoSuchRoute, errors.not_found)
        })
        .method_not_allowed_fallback(async move |request: Request| {
            fallback::answer(&request, ApiError::MethodNotAllowed, errors.method_not_allowed)
        })
        .layer(from_fn_with_state((app.clone(), errors), middleware::all))
        .with_state(app)
}
