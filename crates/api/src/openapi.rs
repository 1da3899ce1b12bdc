//! Generates the OpenAPI 3.1 description of the API.
//!
//! A route can be added only together with its description, so every operation is described. The statuses,
//! codes and sentences of errors come from [`ApiError`](super::error::ApiError), and the bodies from the
//! types of `wire`.

mod agent;
mod analytics;
mod findings;
mod operation;
mod parameters;
mod reference_page;
mod reports;
mod response;
mod server;

use axum::Router;
use axum::extract::State;
use axum::handler::Handler;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::{MethodRouter, get, options, post};
use serde_json::{Map, Value, json};

use super::error::ApiError;
use super::etag;
use super::views_server::is_views_route;
use app::App;

pub(super) use agent::*;
pub(super) use analytics::*;
pub(super) use findings::*;
pub(super) use operation::Operation;
pub(super) use reference_page::show as show_reference;
pub(super) use reports::*;
pub(super) use server::*;

/// The routes, and their descriptions.
pub(super) struct Api {
    router: Router<App>,
    paths: Map<String, Value>,
    schemas: operation::Schemas,
}

impl Api {
    pub(super) fn new() -> Self {
        Self { router: Router::new(), paths: Map::new(), schemas: operation::Schemas::default() }
    }

    pub(super) fn get<H: Handler<T, App>, T: 'static>(
        self,
        path: &str,
        handler: H,
        operation: Operation,
    ) -> Self {
        self.add("get", path, get(handler), operation)
    }

    pub(super) fn post<H: Handler<T, App>, T: 'static>(
        self,
        path: &str,
        handler: H,
        operation: Operation,
    ) -> Self {
        self.add("post", path, post(handler), operation)
    }

    pub(super) fn options<H: Handler<T, App>, T: 'static>(
        self,
        path: &str,
        handler: H,
        operation: Operation,
    ) -> Self {
        self.add("options", path, options(handler), operation)
    }

    fn add(mut self, method: &str, path: &str, route: MethodRouter<App>, operation: Operation) -> Self {
        let elsewhere = is_views_route(path).then_some(ApiError::ViewsElsewhere(None));
        // The effect of a finding is counted from page views.
        let counts_views = is_views_route(path) || path.starts_with("/v1/findings/");
        let unavailable = counts_views.then(|| ApiError::ViewsUnavailable(anyhow::anyhow!("")));
        let lost = (method == "post").then_some(ApiError::DirectoryLost);
        let operation = operation.errors(elsewhere.into_iter().chain(unavailable).chain(lost));
        let at_path = self.paths.entry(path).or_insert_with(|| json!({}));
        at_path[method] = operation.describe(path, &mut self.schemas);
        self.router = self.router.route(path, route);
        self
    }

    pub(super) fn document(&self, server: &str) -> Value {
        json!({
            "openapi": "3.1.0",
            "info": {
                "title": "Docwright",
                "version": env!("CARGO_PKG_VERSION"),
                "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
                "description": server::INTRODUCTION,
            },
            "servers": [{ "url": server }],
            "tags": server::tags(),
            "paths": self.paths,
            "components": {
                "schemas": self.schemas.components(),
                "headers": response::headers(),
                "securitySchemes": { "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An API key, `dw_…`. Create one on the API keys page or with `docwright key create`.",
                } },
            },
        })
    }

    pub(super) fn router(self) -> Router<App> {
        self.router
    }
}

/// `GET /openapi.json`
pub(super) async fn show(State(app): State<App>, headers: HeaderMap) -> Response {
    etag::respond_json(&headers, description(&app).to_string())
}

/// The description, which is generated once.
fn description(app: &App) -> &Value {
    app.description.get_or_init(|| super::openapi(&app.public_url))
}
