//! The whole URL map on one screen. One file a resource under `http/`; pages under `dashboard/`.

mod access;
mod analytics;
mod around;
mod asked;
mod body;
mod bounds;
mod caller;
mod coding;
mod collect;
mod csv;
mod directory;
mod error;
mod etag;
mod events;
mod forget;
mod headers;
mod health;
mod home;
mod hooks;
mod idempotency;
mod imports;
mod jobs;
mod limits;
mod lost;
mod metrics;
mod openapi;
mod query;
mod reports;
mod request_id;
mod script;
mod site;
mod transcript;
mod watch;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::{get, post};

use crate::app::App;
use crate::dashboard;
use openapi::{self as does, Api};

pub(crate) use watch::is_event_stream;

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

pub(crate) fn router(app: App) -> Router {
    let pages = Router::new()
        .route("/", get(dashboard::home::show))
        .route("/login", get(dashboard::login::show).post(dashboard::login::enter))
        .route("/logout", post(dashboard::login::leave))
        .route("/logout/everywhere", post(dashboard::login::leave_everywhere))
        .route("/join", get(dashboard::join::show).post(dashboard::join::enter))
        .route("/welcome", get(dashboard::welcome::show))
        .route("/welcome/account", post(dashboard::welcome::account))
        .route("/welcome/repository", get(dashboard::welcome::repository).post(dashboard::welcome::create))
        .route("/p/{projectId}/welcome", get(dashboard::welcome::model).post(dashboard::welcome::finish))
        .route("/people", get(dashboard::people::list))
        .route("/people/invite", post(dashboard::people::invite))
        .route("/people/invitations/{id}/withdraw", post(dashboard::people::withdraw))
        .route("/people/sessions/{id}/end", post(dashboard::people::end_session))
        .route("/people/password", post(dashboard::people::password))
        .route("/people/{id}/remove", post(dashboard::people::remove))
        .route("/audit", get(dashboard::audit::list))
        .route("/p/{projectId}", get(dashboard::jobs::to_list))
        .route("/p/{projectId}/keys", get(dashboard::keys::list).post(dashboard::keys::create))
        .route("/p/{projectId}/keys/{id}/revoke", post(dashboard::keys::revoke))
        .route("/p/{projectId}/jobs", get(dashboard::jobs::list).post(dashboard::jobs::create))
        .route("/p/{projectId}/jobs/{id}", get(dashboard::job::show))
        .route("/p/{projectId}/jobs/{id}/events", get(dashboard::job::events))
        .route("/p/{projectId}/jobs/{id}/transcript", get(dashboard::job::transcript))
        .route("/p/{projectId}/jobs/{id}/message", post(dashboard::job::message))
        .route("/p/{projectId}/jobs/{id}/archive", post(dashboard::job::archive))
        .route("/p/{projectId}/jobs/{id}/retry", post(dashboard::job::retry))
        .route("/p/{projectId}/readers", get(dashboard::readers::show))
        .route("/p/{projectId}/readers/live", get(dashboard::readers::live))
        .route("/p/{projectId}/readers/{list}", get(dashboard::readers::list))
        .route("/p/{projectId}/readers/{list}/csv", get(dashboard::readers::file))
        .route("/p/{projectId}/pulls", get(dashboard::pulls::list))
        .route("/p/{projectId}/pulls/{n}", get(dashboard::pulls::show))
        .route("/p/{projectId}/pulls/{n}/merge", post(dashboard::pulls::merge))
        .route("/p/{projectId}/pulls/{n}/close", post(dashboard::pulls::close))
        .route("/p/{projectId}/settings", get(dashboard::settings::show))
        .route("/p/{projectId}/settings/arrived", get(dashboard::settings::arrived))
        .route("/p/{projectId}/settings/repository", post(dashboard::settings::repository))
        .route("/p/{projectId}/settings/jobs", post(dashboard::settings::jobs))
        .route("/p/{projectId}/settings/readers", post(dashboard::settings::readers))
        .route("/p/{projectId}/settings/delete", post(dashboard::settings::delete))
        .layer(from_fn(dashboard::guard));

    let assets = Router::new().route("/assets/{name}", get(lost::asset)).layer(from_fn(dashboard::guard));

    // Pages go out as they are: they have secrets in them beside words that a visitor may have been
    // lured into sending, and how well that compresses tells one from the other.
    api()
        .router()
        .merge(assets)
        .layer(from_fn_with_state(app.clone(), around::api))
        .merge(pages)
        .fallback(lost::no_such_route)
        .method_not_allowed_fallback(lost::method_not_allowed)
        .layer(from_fn_with_state(app.clone(), around::all))
        .with_state(app)
}
