//! Serves `/_fake/`: tests in other processes add faults and webhooks and read the state here. These requests
//! are not logged, and faults do not apply to them.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::faults::Fault;
use crate::pulls::Filter;
use crate::state::Host;

pub(crate) const CONTROL: &str = "/_fake/";

pub(crate) fn routes() -> Router<Arc<Host>> {
    Router::new()
        .route("/_fake/faults", post(add_fault).get(faults).delete(clear_faults))
        .route("/_fake/hooks", post(add_hook))
        .route("/_fake/state", get(state))
}

/// `POST /_fake/faults`: `{"method":"POST","path":"/pulls","times":1,"effect":"drop-after"}`
async fn add_fault(State(host): State<Arc<Host>>, Json(fault): Json<Fault>) -> StatusCode {
    host.faults.add(fault);
    StatusCode::NO_CONTENT
}

async fn faults(State(host): State<Arc<Host>>) -> Json<Vec<Fault>> {
    Json(host.faults.pending())
}

async fn clear_faults(State(host): State<Arc<Host>>) -> StatusCode {
    host.faults.clear();
    StatusCode::NO_CONTENT
}

#[derive(Deserialize)]
struct NewHook {
    url: String,
    secret: String,
}

/// `POST /_fake/hooks`: like the flag `--hook`, for a secret that is not known at the start.
async fn add_hook(State(host): State<Arc<Host>>, Json(new): Json<NewHook>) -> StatusCode {
    host.hooks.add(&new.url, &new.secret);
    StatusCode::NO_CONTENT
}

/// `GET /_fake/state`: the pull requests by repository, the requests, their total time, and the bytes of the
/// responses.
async fn state(State(host): State<Arc<Host>>) -> Json<Value> {
    let repositories: Vec<_> = host.data().repositories.values().cloned().collect();
    let pulls: serde_json::Map<_, _> = repositories
        .iter()
        .map(|repository| (repository.name.clone(), json!(host.list_pulls(repository, &Filter::default()))))
        .collect();
    let (count, busy_ms) = (host.log.count(), host.log.busy_time().as_secs_f64() * 1000.0);
    let (sent_bytes, requests) = (host.log.sent_bytes(), host.log.requests());
    Json(json!({
        "pulls": pulls, "count": count, "busy_ms": busy_ms, "sent_bytes": sent_bytes, "requests": requests,
    }))
}
