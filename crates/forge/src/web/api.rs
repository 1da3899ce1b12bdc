//! One question to a host's API and its answer: bounded in size and time, asked again where that
//! does no harm, and never anywhere but where it was meant to go.

use std::sync::Arc;
use std::time::Duration;

use machine::Trouble;
use net::{BlockedAddress, RemoteMessage, Secret, connection_cause, find_cause};
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue, LINK, LOCATION};
use reqwest::{Method, RequestBuilder, Response, Url};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::sleep;

use super::auth::Auth;
use super::trouble::{self, Place};
use super::{HostKind, Now, WebLimits};
use crate::{ALLOW_PRIVATE, Credentials as _, Error, Result};

/// How often a question that changes nothing is asked.
const TRIES: u32 = 3;

/// A host that can be asked, by whoever has a token for it.
pub(super) struct Line {
    pub(super) http: reqwest::Client,
    pub(super) host: String,
    pub(super) limits: WebLimits,
    pub(super) now: Now,
}

pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    /// `Null` when there is none, or when a refusal came as something else.
    pub(super) body: Value,
    /// The host's own words about a failure.
    pub(super) said: RemoteMessage,
    /// Whether what the host says may be shown, which its address decides.
    pub(super) may_quote: bool,
}

impl Answer {
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Whether a list goes on after this page.
    pub(super) fn has_next(&self) -> bool {
        self.header(LINK.as_str()).is_some_and(|links| links.contains("rel=\"next\""))
    }
}

impl Line {
    /// Failures that may pass are [`Error::Later`]. Without a time in it, nobody knows whether what
    /// was asked for was done.
    pub(super) async fn ask(
        &self,
        method: &Method,
        url: &Url,
        body: Option<&Value>,
        auth: Option<(HostKind, &Secret)>,
    ) -> Result<Answer> {
        let once = || self.ask_once(method, url, body, auth);
        if *method == Method::GET { self.again(once).await } else { once().await }
    }

    /// Asks what changes nothing again while the host may only have stumbled.
    pub(super) async fn again<T, A>(&self, ask: impl Fn() -> A) -> Result<T>
    where
        A: Future<Output = Result<T>>,
    {
        let mut tried = 1;
        loop {
            match ask().await {
                Err(Error::Later { after: None, .. }) if tried < TRIES => {
                    sleep(self.pause(tried)).await;
                    tried += 1;
                }
                done => return done,
            }
        }
    }

    /// Before the next try: twice as long each time.
    pub(super) fn pause(&self, tried: u32) -> Duration {
        self.limits.pause * 2u32.saturating_pow(tried - 1)
    }

    async fn ask_once(
        &self,
        method: &Method,
        url: &Url,
        body: Option<&Value>,
        auth: Option<(HostKind, &Secret)>,
    ) -> Result<Answer> {
        let mut request = self.http.request(method.clone(), url.clone()).timeout(self.limits.wait);
        if let Some(body) = body {
            request = request.json(body);
        }
        let request = with_headers(request, auth)?;
        let response = request.send().await.map_err(|error| self.broken(&error))?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let may_quote = net::may_quote(&response);
        let bytes = self.read(response).await?;
        let token = auth.map(|(_, token)| token);
        let answer = self.understood((status, headers), &bytes, token, may_quote)?;
        match trouble::limit(&answer, (self.now)()) {
            Some(after) => Err(self.too_often(after)),
            None if status >= 500 => {
                Err(self.later(format!("is in trouble ({status})"), net::retry_after(&answer.headers)))
            }
            None => Ok(answer),
        }
    }

    async fn read(&self, mut response: Response) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(|error| self.broken(&error))? {
            if bytes.len() + piece.len() > self.limits.answer {
                return Err(self.later("answers without end: it was cut off".to_owned(), None));
            }
            bytes.extend_from_slice(&piece);
        }
        Ok(bytes)
    }

    fn understood(
        &self,
        (status, headers): (u16, HeaderMap),
        bytes: &[u8],
        token: Option<&Secret>,
        may_quote: bool,
    ) -> Result<Answer> {
        let is_success = (200..300).contains(&status);
        let body = match serde_json::from_slice(bytes) {
            Ok(body) => body,
            Err(_) if is_success && !bytes.is_empty() => return Err(self.no_api()),
            Err(_) => Value::Null,
        };
        let said = if is_success { String::new() } else { trouble::words(&body, token) };
        let said = RemoteMessage::new(&self.host, said, may_quote);
        Ok(Answer { status, headers, body, said, may_quote })
    }

    pub(super) fn no_api(&self) -> Error {
        self.later(
            "answers with something that is not its API: check the repository's address".to_owned(),
            None,
        )
    }

    fn too_often(&self, after: Duration) -> Error {
        let seconds = after.as_secs();
        self.later(format!("is asked too often: it can be asked again in {seconds} s"), Some(after))
    }

    pub(super) fn later(&self, what: String, after: Option<Duration>) -> Error {
        Error::Later { sentence: format!("{} {what}", self.host), after }
    }

    fn broken(&self, error: &reqwest::Error) -> Error {
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
                format!("did not answer within {} s", self.limits.wait.as_secs())
            }
            _ if error.is_connect() => format!("cannot be reached: {}", connection_cause(error, 200)),
            _ => format!("broke the connection: {}", connection_cause(error, 200)),
        };
        self.later(what, None)
    }
}

fn with_headers(request: RequestBuilder, auth: Option<(HostKind, &Secret)>) -> Result<RequestBuilder> {
    let Some((kind, token)) = auth else { return Ok(request.header(ACCEPT, "application/json")) };
    let scheme = match kind {
        HostKind::GitHub | HostKind::GitLab => "Bearer",
        HostKind::Gitea | HostKind::Forgejo => "token",
    };
    let value = HeaderValue::from_str(&format!("{scheme} {}", token.reveal()));
    let mut value = value.map_err(|_| Error::Denied("the token cannot be sent as a header".to_owned()))?;
    value.set_sensitive(true);
    let request = request.header(AUTHORIZATION, value);
    Ok(match kind {
        HostKind::GitHub => {
            request.header(ACCEPT, "application/vnd.github+json").header("x-github-api-version", "2022-11-28")
        }
        _ => request.header(ACCEPT, "application/json"),
    })
}

/// The API of one repository.
pub(super) struct Api {
    pub(super) line: Arc<Line>,
    pub(super) auth: Arc<Auth>,
    pub(super) place: Arc<Place>,
    /// Of the host, and of the repository below it.
    pub(super) root: Url,
    pub(super) repository: Url,
}

impl Api {
    /// Below the repository. Each part is one part of the path, whatever is in it.
    pub(super) fn at(&self, path: &[&str]) -> Url {
        below(&self.repository, path)
    }

    pub(super) async fn get(&self, url: Url) -> Result<Answer> {
        self.call(Method::GET, url, None).await
    }

    pub(super) async fn send(&self, method: Method, url: Url, body: Value) -> Result<Answer> {
        self.call(method, url, Some(body)).await
    }

    async fn call(&self, method: Method, url: Url, body: Option<Value>) -> Result<Answer> {
        let mut answer = self.ask(&method, &url, body.as_ref()).await?;
        if answer.status == 401 && self.auth.renew().await {
            answer = self.ask(&method, &url, body.as_ref()).await?;
        }
        match answer.status {
            300..400 => Err(self.moved().await),
            _ => Ok(answer),
        }
    }

    async fn ask(&self, method: &Method, url: &Url, body: Option<&Value>) -> Result<Answer> {
        let token = self.auth.token().await?;
        let auth = token.as_ref().map(|token| (self.place.kind, token));
        self.line.ask(method, url, body, auth).await
    }

    /// A way to another place is not gone, but the one there is to the repository itself says where
    /// it is now.
    async fn moved(&self) -> Error {
        let host = &self.line.host;
        Error::Denied(match self.new_home().await {
            Some(url) => trouble::moved(&url),
            None => format!(
                "{host} points to another place, which is not gone to: check the repository's address"
            ),
        })
    }

    async fn new_home(&self) -> Option<String> {
        let answer = self.ask(&Method::GET, &self.repository, None).await.ok()?;
        let to = self.root.join(answer.header(LOCATION.as_str())?).ok()?;
        // The token stays with whom it was given to.
        if to.origin() != self.root.origin() {
            return None;
        }
        let there = self.ask(&Method::GET, &to, None).await.ok().filter(|there| there.may_quote)?;
        let url = there.body["html_url"].as_str().or(there.body["web_url"].as_str())?;
        Some(url.to_owned())
    }

    /// What the answer says, if it says yes.
    pub(super) fn read<T: DeserializeOwned>(&self, answer: Answer) -> Result<T> {
        let answer = self.done(answer)?;
        serde_json::from_value(answer.body).map_err(|_| self.line.no_api())
    }

    /// The same, where "not found" is an answer.
    pub(super) fn read_if_there<T: DeserializeOwned>(&self, answer: Answer) -> Result<Option<T>> {
        if answer.status == 404 { Ok(None) } else { self.read(answer).map(Some) }
    }

    pub(super) fn done(&self, answer: Answer) -> Result<Answer> {
        if answer.is_success() { Ok(answer) } else { Err(trouble::refused(&self.place, &answer)) }
    }

    /// A list of at most `pages` pages.
    pub(super) async fn list<T: DeserializeOwned>(&self, url: &Url, pages: usize) -> Result<Vec<T>> {
        let mut all = Vec::new();
        for page in 1..=pages {
            let answer = self.get(with(url.clone(), &[("page", &page.to_string())])).await?;
            let has_next = answer.has_next();
            all.extend(self.read::<Vec<T>>(answer)?);
            if !has_next {
                break;
            }
        }
        Ok(all)
    }
}

pub(super) fn below(base: &Url, path: &[&str]) -> Url {
    let mut url = base.clone();
    if let Ok(mut parts) = url.path_segments_mut() {
        parts.pop_if_empty().extend(path);
    }
    url
}

pub(super) fn with(mut url: Url, query: &[(&str, &str)]) -> Url {
    url.query_pairs_mut().extend_pairs(query);
    url
}
