//! Sends requests to a host's REST API, with a timeout, a size limit, rate-limit handling, and retry with
//! backoff for requests that change nothing. Never follows a redirect.

use std::sync::Arc;
use std::time::Duration;

use machine::Trouble;
use net::{BlockedAddress, RemoteMessage, Secret, connection_cause, find_cause};
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue, LINK, LOCATION};
use reqwest::{Method, RequestBuilder, Response, Url};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::sleep;

use super::api_errors::{self, RepositoryContext};
use super::auth::Auth;
use super::{HostKind, Now, WebLimits};
use crate::{ALLOW_PRIVATE, Credentials as _, Error, Result};

/// The number of attempts for a request that changes nothing.
const MAX_ATTEMPTS: u32 = 3;

/// An HTTP client for one host. The caller provides the token.
pub(super) struct ApiClient {
    pub(super) http: reqwest::Client,
    pub(super) host: String,
    pub(super) limits: WebLimits,
    pub(super) now: Now,
}

pub(super) struct ApiResponse {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    /// `Null` when the body is empty, or when an error response is not JSON.
    pub(super) body: Value,
    /// The host's error message, redacted.
    pub(super) message: RemoteMessage,
    /// Whether the host's messages may be quoted. Its IP address decides.
    pub(super) may_quote: bool,
}

impl ApiResponse {
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Whether the list has another page.
    pub(super) fn has_next(&self) -> bool {
        self.header(LINK.as_str()).is_some_and(|links| links.contains("rel=\"next\""))
    }
}

impl ApiClient {
    /// Sends a request and retries it if it changes nothing. After an [`Error::Temporary`] without
    /// `retry_after`, it is unknown whether the host executed the request.
    pub(super) async fn request(
        &self,
        method: &Method,
        url: &Url,
        body: Option<&Value>,
        auth: Option<(HostKind, &Secret)>,
    ) -> Result<ApiResponse> {
        let once = || self.request_once(method, url, body, auth);
        if *method == Method::GET { self.retry(once).await } else { once().await }
    }

    /// Retries a request that changes nothing after temporary failures, with exponential backoff.
    pub(super) async fn retry<T, A>(&self, send: impl Fn() -> A) -> Result<T>
    where
        A: Future<Output = Result<T>>,
    {
        let mut attempt = 1;
        loop {
            match send().await {
                Err(Error::Temporary { retry_after: None, .. }) if attempt < MAX_ATTEMPTS => {
                    sleep(self.backoff(attempt)).await;
                    attempt += 1;
                }
                done => return done,
            }
        }
    }

    /// The delay before the next attempt. It doubles with every attempt.
    pub(super) fn backoff(&self, attempt: u32) -> Duration {
        self.limits.retry_delay * 2u32.saturating_pow(attempt - 1)
    }

    async fn request_once(
        &self,
        method: &Method,
        url: &Url,
        body: Option<&Value>,
        auth: Option<(HostKind, &Secret)>,
    ) -> Result<ApiResponse> {
        let mut request = self.http.request(method.clone(), url.clone()).timeout(self.limits.timeout);
        if let Some(body) = body {
            request = request.json(body);
        }
        let request = with_headers(request, auth)?;
        let response = request.send().await.map_err(|error| self.connection_error(&error))?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let may_quote = net::may_quote(&response);
        let bytes = self.read_body(response).await?;
        let token = auth.map(|(_, token)| token);
        let response = self.parse_response((status, headers), &bytes, token, may_quote)?;
        match api_errors::rate_limit_delay(&response, (self.now)()) {
            Some(retry_after) => Err(self.rate_limit_error(retry_after)),
            None if status >= 500 => Err(self.temporary_error(
                format!("has a server error ({status})"),
                net::retry_after(&response.headers),
            )),
            None => Ok(response),
        }
    }

    async fn read_body(&self, mut response: Response) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.connection_error(&error))? {
            if bytes.len() + chunk.len() > self.limits.max_response_bytes {
                return Err(self.temporary_error("sent a response that is too large".to_owned(), None));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes)
    }

    fn parse_response(
        &self,
        (status, headers): (u16, HeaderMap),
        bytes: &[u8],
        token: Option<&Secret>,
        may_quote: bool,
    ) -> Result<ApiResponse> {
        let is_success = (200..300).contains(&status);
        let body = match serde_json::from_slice(bytes) {
            Ok(body) => body,
            Err(_) if is_success && !bytes.is_empty() => return Err(self.not_an_api_error()),
            Err(_) => Value::Null,
        };
        let message = if is_success { String::new() } else { api_errors::error_message(&body, token) };
        let message = RemoteMessage::new(&self.host, message, may_quote);
        Ok(ApiResponse { status, headers, body, message, may_quote })
    }

    pub(super) fn not_an_api_error(&self) -> Error {
        self.temporary_error("did not answer like an API: check the repository's address".to_owned(), None)
    }

    fn rate_limit_error(&self, retry_after: Duration) -> Error {
        let seconds = retry_after.as_secs();
        self.temporary_error(
            format!("limits the rate of requests: try again in {seconds} s"),
            Some(retry_after),
        )
    }

    pub(super) fn temporary_error(&self, what: String, retry_after: Option<Duration>) -> Error {
        Error::Temporary { sentence: format!("{} {what}", self.host), retry_after }
    }

    fn connection_error(&self, error: &reqwest::Error) -> Error {
        if let Some(refused) = find_cause::<BlockedAddress>(error) {
            return Error::Denied(format!(
                "{} is not called: {}",
                self.host,
                refused.with_advice(ALLOW_PRIVATE)
            ));
        }
        if let Some(trouble) = Trouble::find(error) {
            return Error::Machine(trouble);
        }
        let what = match error {
            _ if error.is_timeout() => {
                format!("did not answer within {} s", self.limits.timeout.as_secs())
            }
            _ if error.is_connect() => format!("cannot be reached: {}", connection_cause(error, 200)),
            _ => format!("closed the connection: {}", connection_cause(error, 200)),
        };
        self.temporary_error(what, None)
    }
}

fn with_headers(request: RequestBuilder, auth: Option<(HostKind, &Secret)>) -> Result<RequestBuilder> {
    let Some((kind, token)) = auth else { return Ok(request.header(ACCEPT, "application/json")) };
    let scheme = match kind {
        HostKind::GitHub | HostKind::GitLab => "Bearer",
        HostKind::Gitea | HostKind::Forgejo => "token",
    };
    let value = HeaderValue::from_str(&format!("{scheme} {}", token.reveal()));
    let mut value = value.map_err(|_| {
        Error::Denied("the token contains characters that a header cannot have: check the token".to_owned())
    })?;
    value.set_sensitive(true);
    let request = request.header(AUTHORIZATION, value);
    Ok(match kind {
        HostKind::GitHub => {
            request.header(ACCEPT, "application/vnd.github+json").header("x-github-api-version", "2022-11-28")
        }
        _ => request.header(ACCEPT, "application/json"),
    })
}

/// The API of one repository, with credentials.
pub(super) struct Api {
    pub(super) client: Arc<ApiClient>,
    pub(super) auth: Arc<Auth>,
    pub(super) context: Arc<RepositoryContext>,
    /// `root` is the URL of the host's API; `repository` is below it.
    pub(super) root: Url,
    pub(super) repository: Url,
}

impl Api {
    /// A URL below the repository. Each item is encoded as one path segment.
    pub(super) fn url(&self, path: &[&str]) -> Url {
        append_path(&self.repository, path)
    }

    pub(super) async fn get(&self, url: Url) -> Result<ApiResponse> {
        self.call(Method::GET, url, None).await
    }

    pub(super) async fn send(&self, method: Method, url: Url, body: Value) -> Result<ApiResponse> {
        self.call(method, url, Some(body)).await
    }

    async fn call(&self, method: Method, url: Url, body: Option<Value>) -> Result<ApiResponse> {
        let mut response = self.request(&method, &url, body.as_ref()).await?;
        if response.status == 401 && self.auth.renew().await {
            response = self.request(&method, &url, body.as_ref()).await?;
        }
        match response.status {
            300..400 => Err(self.redirect_error().await),
            _ => Ok(response),
        }
    }

    async fn request(&self, method: &Method, url: &Url, body: Option<&Value>) -> Result<ApiResponse> {
        let token = self.auth.token().await?;
        let auth = token.as_ref().map(|token| (self.context.kind, token));
        self.client.request(method, url, body, auth).await
    }

    /// The error for a redirect, which is not followed. Names the repository's new address if the host gives
    /// it.
    async fn redirect_error(&self) -> Error {
        let host = &self.client.host;
        Error::Denied(match self.redirect_target().await {
            Some(url) => api_errors::moved_message(&url),
            None => format!(
                "{host} redirects to another address, and redirects are not followed: check the repository's address"
            ),
        })
    }

    async fn redirect_target(&self) -> Option<String> {
        let response = self.request(&Method::GET, &self.repository, None).await.ok()?;
        let to = self.root.join(response.header(LOCATION.as_str())?).ok()?;
        // Never send the token to another host.
        if to.origin() != self.root.origin() {
            return None;
        }
        let there = self.request(&Method::GET, &to, None).await.ok().filter(|there| there.may_quote)?;
        let url = there.body["html_url"].as_str().or(there.body["web_url"].as_str())?;
        Some(url.to_owned())
    }

    /// Parses a successful response.
    pub(super) fn parse<T: DeserializeOwned>(&self, response: ApiResponse) -> Result<T> {
        let response = self.check_status(response)?;
        serde_json::from_value(response.body).map_err(|_| self.client.not_an_api_error())
    }

    /// Like [`Api::parse`], but `None` for the status 404.
    pub(super) fn parse_optional<T: DeserializeOwned>(&self, response: ApiResponse) -> Result<Option<T>> {
        if response.status == 404 { Ok(None) } else { self.parse(response).map(Some) }
    }

    pub(super) fn check_status(&self, response: ApiResponse) -> Result<ApiResponse> {
        if response.is_success() {
            Ok(response)
        } else {
            Err(api_errors::status_error(&self.context, &response))
        }
    }

    /// Reads at most `pages` pages of a list.
    pub(super) async fn list<T: DeserializeOwned>(&self, url: &Url, pages: usize) -> Result<Vec<T>> {
        let mut all = Vec::new();
        for page in 1..=pages {
            let response = self.get(with_query(url.clone(), &[("page", &page.to_string())])).await?;
            let has_next = response.has_next();
            all.extend(self.parse::<Vec<T>>(response)?);
            if !has_next {
                break;
            }
        }
        Ok(all)
    }
}

pub(super) fn append_path(base: &Url, path: &[&str]) -> Url {
    let mut url = base.clone();
    if let Ok(mut parts) = url.path_segments_mut() {
        parts.pop_if_empty().extend(path);
    }
    url
}

pub(super) fn with_query(mut url: Url, query: &[(&str, &str)]) -> Url {
    url.query_pairs_mut().extend_pairs(query);
    url
}
