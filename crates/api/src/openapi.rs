//! The API's description, OpenAPI 3.1. A route can only be added together with what it does, so
//! there is no operation that is not described; statuses, codes and sentences of errors are read off
//! [`ApiError`](super::error::ApiError) itself, bodies off the types of `wire`.

mod agent;
mod analytics;
mod answer;
mod operation;
mod page;
mod parameters;
mod reports;
mod rest;

use axum::Router;
use axum::extract::State;
use axum::handler::Handler;
use axum::http::HeaderMap;
use axum::response::Response;
use axum::routing::{MethodRouter, get, options, post};
use serde_json::{Map, Value, json};

use super::error::ApiError;
use super::etag;
use super::home::is_of_views;
use app::App;

pub(super) use agent::*;
pub(super) use analytics::*;
pub(super) use operation::Operation;
pub(super) use page::show as docs;
pub(super) use reports::*;
pub(super) use rest::*;

/// Routes and, for each of them, what it does.
pub(super) struct Api {
    router: Router<App>,
    paths: Map<String, Value>,
    schemas: operation::Schemas,
}

impl Api {
    pub(super) fn new() -> Self {
        Self { router: Router::new(), paths: Map::new(), schemas: operation::Schemas::default() }
    }

    pub(super) fn get<H: Handler<T, App>, T: 'static>(self, path: &str, handler: H, does: Operation) -> Self {
        self.add("get", path, get(handler), does)
    }

    pub(super) fn post<H: Handler<T, App>, T: 'static>(
        self,
        path: &str,
        handler: H,
        does: Operation,
    ) -> Self {
        self.add("post", path, post(handler), does)
    }

    pub(super) fn options<H: Handler<T, App>, T: 'static>(
        self,
        path: &str,
        handler: H,
        does: Operation,
    ) -> Self {
        self.add("options", path, options(handler), does)
    }

    fn add(mut self, method: &str, path: &str, route: MethodRouter<App>, does: Operation) -> Self {
        let elsewhere = is_of_views(path).then_some(ApiError::ViewsElsewhere);
        let lost = (method == "post").then_some(ApiError::DirectoryLost);
        let does = does.refuses(elsewhere.into_iter().chain(lost));
        let at_path = self.paths.entry(path).or_insert_with(|| json!({}));
        at_path[method] = does.describe(path, &mut self.schemas);
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
                "description": rest::INTRODUCTION,
            },
            "servers": [{ "url": server }],
            "tags": rest::tags(),
            "paths": self.paths,
            "components": {
                "schemas": self.schemas.components(),
                "headers": answer::headers(),
                "securitySchemes": { "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An API key, `dw_…`, made on the API keys page or by `docwright key create`.",
                } },
            },
        })
    }

    /// The routes, to be served beside the pages.
    pub(super) fn router(self) -> Router<App> {
        self.router
    }
}

/// `GET /openapi.json`
pub(super) async fn json_document(State(app): State<App>, headers: HeaderMap) -> Response {
    etag::answer(&headers, described(&app).to_string())
}

/// The description as it is served, made once.
fn described(app: &App) -> &Value {
    app.description.get_or_init(|| super::openapi(&app.public_url))
}
