//! Sends requests to the HTTP API, for the commands that run anywhere.

mod errors;
pub(crate) mod finding;
pub(crate) mod forget;
pub(crate) mod health;
pub(crate) mod import;
pub(crate) mod job;
mod outcomes;
mod progress;
mod stream;
pub(crate) mod views;
pub(crate) mod watch;

use std::time::Duration;

use anyhow::{Context, anyhow};
use reqwest::header::HeaderValue;
use reqwest::{Method, RequestBuilder, Response, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;
use store::DataDir;

use crate::args::Data;
use crate::settings::{CommandKind, Flags, Sources};
pub(crate) use errors::{exit_code, is_untrusted};

const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) struct Client {
    http: reqwest::Client,
    base: String,
    key: HeaderValue,
}

impl Client {
    /// Uses the server in the settings, else the server of this machine's data directory.
    pub(crate) fn from_settings(sources: &Sources) -> anyhow::Result<Self> {
        let settings = sources.settings(CommandKind::Client, &Data::default(), &Flags::default())?;
        let base = settings.url.unwrap_or_else(|| local_url(sources));
        let key = settings.api_key.context(
            "there is no API key: set DOCWRIGHT_API_KEY to one, or create one with `docwright key create --name CLI`",
        )?;
        Self::new(&base, &key)
    }

    pub(crate) fn new(base: &str, key: &str) -> anyhow::Result<Self> {
        let (http, base) = create_http_client(base)?;
        let mut key = HeaderValue::from_str(&format!("Bearer {}", key.trim())).map_err(|_| {
            anyhow!("DOCWRIGHT_API_KEY has characters that no API key has: copy the key again")
        })?;
        key.set_sensitive(true);
        Ok(Self { http, base, key })
    }

    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, String)],
    ) -> anyhow::Result<T> {
        self.send_for_json(add_query(self.request(Method::GET, path), query)).await
    }

    /// Gets a response that is not JSON.
    pub(crate) async fn get_text(&self, path: &str, query: &[(&str, String)]) -> anyhow::Result<String> {
        self.send_for_text(add_query(self.request(Method::GET, path), query)).await
    }

    pub(crate) async fn post_without_body<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, String)],
    ) -> anyhow::Result<T> {
        self.send_for_json(add_query(self.request(Method::POST, path), query)).await
    }

    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        self.send_for_json(self.request(Method::POST, path).json(body)).await
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        request.header(reqwest::header::AUTHORIZATION, self.key.clone()).timeout(REQUEST_TIMEOUT)
    }

    async fn send_for_json<T: DeserializeOwned>(&self, request: RequestBuilder) -> anyhow::Result<T> {
        let text = self.send_for_text(request).await?;
        serde_json::from_str(&text).context(errors::NOT_DOCWRIGHT)
    }

    async fn send_for_text(&self, request: RequestBuilder) -> anyhow::Result<String> {
        self.send(request).await?.text().await.map_err(|_| errors::truncated_response())
    }

    /// Sends a request. A response without success becomes an error that says what to do.
    async fn send(&self, request: RequestBuilder) -> anyhow::Result<Response> {
        let response = request.send().await.map_err(|error| errors::unreachable(&self.base, error))?;
        if response.status().is_success() { Ok(response) } else { Err(errors::from_response(response).await) }
    }
}

/// Adds no `?` for an empty query.
fn add_query(request: RequestBuilder, query: &[(&str, String)]) -> RequestBuilder {
    if query.is_empty() { request } else { request.query(query) }
}

/// Creates an HTTP client for a base URL, and removes a trailing slash from the URL.
/// Where commands over HTTP go if no setting says it: to the server of the data directory.
pub(crate) fn local_url(sources: &Sources) -> String {
    let remembered = || DataDir::find(&sources.admin_settings(&Data::default()).ok()?.data).ok()?.url();
    remembered().unwrap_or_else(|| server::DEFAULT_URL.into())
}

pub(crate) fn create_http_client(base: &str) -> anyhow::Result<(reqwest::Client, String)> {
    let invalid = || anyhow!("DOCWRIGHT_URL must be a URL such as {}", server::DEFAULT_URL);
    let base = server::parse_public_url(base).map_err(|_| invalid())?;
    let url = Url::parse(&base).map_err(|_| invalid())?;
    // A redirect is an error: to follow it would turn a POST into a GET.
    let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    // A proxy on another machine cannot reach this one by a loopback address.
    let is_local = url.host_str().is_some_and(|host| matches!(host, "127.0.0.1" | "[::1]" | "localhost"));
    let http = if is_local { http.no_proxy() } else { http };
    Ok((http.build()?, base))
}

/// Percent-encodes an ID as one segment of a path.
fn encode_segment(id: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    id.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
