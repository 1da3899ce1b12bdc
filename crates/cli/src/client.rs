//! A client of the HTTP API: what a script of yours would do, done for you.

pub(crate) mod job;
pub(crate) mod views;
pub(crate) mod watch;

use std::time::Duration;

use anyhow::{Context, anyhow};
use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Method, StatusCode};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::settings::Sources;

const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Client {
    http: reqwest::Client,
    base: String,
    key: String,
}

/// The server understood and said no; `docwright` exits with 4 for a key that may not.
#[derive(Debug)]
struct Refused(StatusCode);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the server answered {}", self.0)
    }
}

impl std::error::Error for Refused {}

pub(crate) fn exit_code(error: &anyhow::Error) -> u8 {
    match error.downcast_ref::<Refused>() {
        Some(Refused(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)) => 4,
        _ => 1,
    }
}

impl Client {
    pub(crate) fn from_settings(sources: &Sources) -> anyhow::Result<Self> {
        let base = sources.text("url", None)?.unwrap_or_else(|| "http://127.0.0.1:4747".into());
        let key = sources.text("api_key", None)?;
        let key =
            key.context("set DOCWRIGHT_API_KEY to a key; `docwright key create --name CLI` makes one")?;
        Self::new(&base, &key)
    }

    pub(crate) fn new(base: &str, key: &str) -> anyhow::Result<Self> {
        let base = server::parse_public_url(base)
            .map_err(|_| anyhow!("DOCWRIGHT_URL must be an address such as http://127.0.0.1:4747"))?;
        let http = reqwest::Client::builder().timeout(PATIENCE).build()?;
        Ok(Self { http, base, key: key.to_owned() })
    }

    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, String)],
    ) -> anyhow::Result<T> {
        self.ask(Method::GET, path, query, None::<&()>).await
    }

    /// An answer that is no JSON.
    pub(crate) async fn text(&self, path: &str) -> anyhow::Result<String> {
        self.answer(Method::GET, path, &[], None::<&()>).await
    }

    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        self.ask(Method::POST, path, &[], Some(body)).await
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, String)],
        body: Option<&impl Serialize>,
    ) -> anyhow::Result<T> {
        let text = self.answer(method, path, query, body).await?;
        serde_json::from_str(&text).context("the answer is not one of Docwright's; is DOCWRIGHT_URL right?")
    }

    async fn answer(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, String)],
        body: Option<&impl Serialize>,
    ) -> anyhow::Result<String> {
        let mut request = self.http.request(method, format!("{}{path}", self.base)).headers(self.headers()?);
        if !query.is_empty() {
            request = request.query(query);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = request.send().await.with_context(|| {
            format!("{} does not answer; is `docwright serve` running, and DOCWRIGHT_URL right?", self.base)
        })?;
        let status = answer.status();
        let text = answer.text().await.context("the answer was cut off")?;
        if status.is_success() {
            return Ok(text);
        }
        let said = serde_json::from_str::<wire::Error>(&text).map(|body| body.error);
        let refused = anyhow::Error::new(Refused(status));
        Err(match said {
            Ok(sentence) => refused.context(crate::output::plain(&sentence)),
            Err(_) => refused,
        })
    }

    fn headers(&self) -> anyhow::Result<HeaderMap> {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", self.key))
            .map_err(|_| anyhow!("DOCWRIGHT_API_KEY holds characters that no key has"))?;
        value.set_sensitive(true);
        Ok(HeaderMap::from_iter([(reqwest::header::AUTHORIZATION, value)]))
    }
}

/// An id as one segment of a path, whatever is in it.
fn segment(id: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    id.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
