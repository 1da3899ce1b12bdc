//! A client of the HTTP API: what a script of yours would do, done for you.

pub(crate) mod forget;
pub(crate) mod import;
pub(crate) mod job;
mod live;
mod refusal;
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
use crate::settings::Sources;
pub(crate) use refusal::exit_code;

const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Client {
    http: reqwest::Client,
    base: String,
    key: HeaderValue,
}

impl Client {
    /// The server that was named, else the one of this machine's data directory.
    pub(crate) fn from_settings(sources: &Sources) -> anyhow::Result<Self> {
        let here = || DataDir::find(&sources.data(&Data::default()).ok()?.data).ok()?.url();
        let base = sources.text("url", None)?.or_else(here).unwrap_or_else(|| server::USUAL_URL.into());
        let key = sources.text("api_key", None)?;
        let key =
            key.context("set DOCWRIGHT_API_KEY to a key; `docwright key create --name CLI` makes one")?;
        Self::new(&base, &key)
    }

    pub(crate) fn new(base: &str, key: &str) -> anyhow::Result<Self> {
        let (http, base) = http(base)?;
        let mut key = HeaderValue::from_str(&format!("Bearer {}", key.trim()))
            .map_err(|_| anyhow!("DOCWRIGHT_API_KEY holds characters that no key has"))?;
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
        self.ask(with(self.request(Method::GET, path), query)).await
    }

    /// An answer that is no JSON.
    pub(crate) async fn text(&self, path: &str) -> anyhow::Result<String> {
        self.text_of(path, &[]).await
    }

    pub(crate) async fn text_of(&self, path: &str, query: &[(&str, String)]) -> anyhow::Result<String> {
        self.read(with(self.request(Method::GET, path), query)).await
    }

    /// An act that needs no body.
    pub(crate) async fn act<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, String)],
    ) -> anyhow::Result<T> {
        self.ask(with(self.request(Method::POST, path), query)).await
    }

    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        self.ask(self.request(Method::POST, path).json(body)).await
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        request.header(reqwest::header::AUTHORIZATION, self.key.clone()).timeout(PATIENCE)
    }

    async fn ask<T: DeserializeOwned>(&self, request: RequestBuilder) -> anyhow::Result<T> {
        let text = self.read(request).await?;
        serde_json::from_str(&text).context("the answer is not one of Docwright's; is DOCWRIGHT_URL right?")
    }

    async fn read(&self, request: RequestBuilder) -> anyhow::Result<String> {
        self.send(request).await?.text().await.map_err(|_| refusal::cut_off())
    }

    /// An answer that is the one asked for; any other is an error that says what to do.
    async fn send(&self, request: RequestBuilder) -> anyhow::Result<Response> {
        let answer = request.send().await.map_err(|error| refusal::no_answer(&self.base, error))?;
        if answer.status().is_success() { Ok(answer) } else { Err(refusal::refused(answer).await) }
    }
}

/// No question mark where there is nothing after it.
fn with(request: RequestBuilder, query: &[(&str, String)]) -> RequestBuilder {
    if query.is_empty() { request } else { request.query(query) }
}

/// What to ask with, and the address without a slash at its end.
pub(crate) fn http(base: &str) -> anyhow::Result<(reqwest::Client, String)> {
    let wrong = || anyhow!("DOCWRIGHT_URL must be an address such as {}", server::USUAL_URL);
    let base = server::parse_public_url(base).map_err(|_| wrong())?;
    let url = Url::parse(&base).map_err(|_| wrong())?;
    // A redirect is told, not followed: it would turn a POST into a GET.
    let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    // A proxy elsewhere cannot reach this machine by that name.
    let here = url.host_str().is_some_and(|host| matches!(host, "127.0.0.1" | "[::1]" | "localhost"));
    let http = if here { http.no_proxy() } else { http };
    Ok((http.build()?, base))
}

/// An id as one segment of a path, whatever is in it.
fn segment(id: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    id.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
