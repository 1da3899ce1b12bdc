//! Requests one turn over HTTP, in any wire format: restricts addresses, and limits times and sizes.

use std::time::Duration;

use async_trait::async_trait;
use machine::Trouble;
use net::{BlockedAddress, NetworkPolicy, connection_cause, find_cause, may_quote, root_cause};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Response, Url};
use serde_json::Value;
use tokio::time::timeout;

use super::anthropic::Anthropic;
use super::chat::Chat;
use super::described_limits::{self, KnownLimits};
use super::draft::{Draft, StreamDecoder, StreamState};
use super::gemini::Gemini;
use super::provider_error::{Endpoint, MAX_QUOTED_CHARS, ProviderError, missing_key_sentence};
use super::responses::Responses;
use super::sse::SseParser;
use super::wire_format::WireFormat;
use super::{
    Limits, Model, ModelError, ModelRequest, OnText, Provider, Reply, Settings, StopReason, TokenLimits,
};

/// The setting that allows models in a private network, as error messages name it.
const ALLOW_PRIVATE: &str = "allow_private";
/// How much of a failed response is read.
const MAX_FAILURE_BYTES: usize = 64 << 10;
/// Lists of models are long at some providers.
const MAX_DESCRIPTION_BYTES: usize = 4 << 20;
const DESCRIPTION_TIMEOUT: Duration = Duration::from_secs(10);
const NO_EVENT_STREAM: &str = "it didn't answer with an event stream";

pub(super) struct Client {
    http: reqwest::Client,
    format: Box<dyn WireFormat>,
    url: Url,
    description_url: Option<Url>,
    headers: HeaderMap,
    limits: Limits,
    token_limits: KnownLimits,
    endpoint: Endpoint,
}

impl Client {
    pub(super) fn new(settings: &Settings) -> Result<Self, String> {
        let provider = settings.provider;
        let base = settings.base_url.as_deref().or(provider.default_url());
        let base = base.ok_or("base_url is missing: the provider `compatible` has no default address")?;
        let base = net::parse_url("base_url", base, settings.allow_private, ALLOW_PRIVATE)?;
        if settings.api_key.is_none() && settings.base_url.is_none() {
            return Err(missing_key_sentence(provider.name()));
        }
        let model = check_model(&settings.model)?;
        let format = format_of(provider);
        Ok(Self {
            http: http(settings)?,
            url: request_url(&base, &*format, model)?,
            description_url: description_url(&base, &*format, model),
            headers: headers(&*format, settings)?,
            format,
            limits: settings.limits,
            token_limits: KnownLimits::new(settings.token_limits),
            endpoint: Endpoint {
                host: base.authority().to_owned(),
                url: base.to_string(),
                provider: provider.name(),
                model: model.to_owned(),
                key: settings.api_key.clone(),
            },
        })
    }
}

pub(super) fn format_of(provider: Provider) -> Box<dyn WireFormat> {
    match provider {
        Provider::Anthropic => Box::new(Anthropic),
        Provider::OpenAi => Box::new(Chat { limit_field: "max_completion_tokens" }),
        Provider::Compatible => Box::new(Chat { limit_field: "max_tokens" }),
        Provider::OpenAiResponses => Box::new(Responses),
        Provider::Gemini => Box::new(Gemini),
    }
}

/// Checks a model's name, because it comes from settings and becomes part of a path.
fn check_model(name: &str) -> Result<&str, String> {
    let sane = |c: char| c.is_ascii_alphanumeric() || "._-:/@+".contains(c);
    let sane = (1..=200).contains(&name.len()) && name.chars().all(sane) && !name.contains("..");
    if sane { Ok(name) } else { Err("model must be a name of a model at the provider".into()) }
}

fn request_url(base: &Url, format: &dyn WireFormat, model: &str) -> Result<Url, String> {
    let base = base.as_str().trim_end_matches('/');
    let path = format.path(base, model);
    let mut url =
        Url::parse(&format!("{base}{path}")).map_err(|_| "base_url and model don't form a valid URL")?;
    url.set_query(format.query());
    Ok(url)
}

fn description_url(base: &Url, format: &dyn WireFormat, model: &str) -> Option<Url> {
    let base = base.as_str().trim_end_matches('/');
    Url::parse(&format!("{base}{}", format.description_path(base, model)?)).ok()
}

fn content_type(response: &Response) -> &str {
    response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default()
}

fn headers(format: &dyn WireFormat, settings: &Settings) -> Result<HeaderMap, String> {
    let key = settings.api_key.as_ref().map(|key| key.reveal());
    let mut headers = HeaderMap::new();
    for (name, value) in format.headers(key) {
        let mut value = HeaderValue::from_str(&value).map_err(|_| "the API key can't be sent as a header")?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_static(name), value);
    }
    Ok(headers)
}

fn http(settings: &Settings) -> Result<reqwest::Client, String> {
    let client =
        net::client(NetworkPolicy { allow_private: settings.allow_private, use_proxy: settings.use_proxy })
            .build();
    client.map_err(|error| format!("the HTTP client can't be created: {}", root_cause(&error)))
}

#[async_trait]
impl Model for Client {
    async fn reply(&self, request: &ModelRequest<'_>, on_text: &mut OnText<'_>) -> Result<Reply, ModelError> {
        let (limit, mut has_events) = (self.limits.total_timeout, false);
        let reply = timeout(limit, self.request_turn(request, on_text, &mut has_events)).await;
        reply.unwrap_or_else(|_| {
            let sentence = format!("{} did not finish its answer within {}", self.endpoint.host, span(limit));
            Err(if has_events { ModelError::Unfinished(sentence) } else { ModelError::temporary(sentence) })
        })
    }

    fn known_limits(&self) -> Option<TokenLimits> {
        self.token_limits.known(self.description_url.is_some())
    }

    async fn token_limits(&self) -> TokenLimits {
        match self.known_limits() {
            Some(limits) => limits,
            None => self.token_limits.look_up(self.described_limits()).await,
        }
    }

    fn remember_limits(&self, limits: TokenLimits) {
        self.token_limits.remember(limits);
    }
}

/// A duration in words: whole minutes, or else seconds.
fn span(duration: Duration) -> String {
    match duration.as_secs() {
        60 => "1 minute".to_owned(),
        seconds if seconds % 60 == 0 => format!("{} minutes", seconds / 60),
        seconds => format!("{seconds} seconds"),
    }
}

impl Client {
    async fn request_turn(
        &self,
        request: &ModelRequest<'_>,
        on_text: &mut OnText<'_>,
        has_events: &mut bool,
    ) -> Result<Reply, ModelError> {
        let mut response = self.send(request).await?;
        let may_quote = may_quote(&response);
        if content_type(&response).starts_with("application/json") {
            return self.whole_response(request, &mut response, on_text).await;
        }
        let is_event_stream = content_type(&response).starts_with("text/event-stream");
        let (mut parser, mut draft, mut decoder) =
            (SseParser::default(), Draft::default(), self.format.decoder());
        let mut received = 0;
        'stream: while let Some(chunk) = self.with_idle_timeout(response.chunk()).await? {
            received += chunk.len();
            if received > self.limits.max_received_bytes {
                return Err(self.too_large());
            }
            for event in parser.push(&chunk) {
                if event == b"[DONE]" {
                    // Some servers never say why the model stopped.
                    draft.stop = draft.stop.or(has_events.then_some(StopReason::Done));
                    break 'stream;
                }
                let event = self.parse_event(&event, may_quote)?;
                let done =
                    self.decode_event(&event, &mut *decoder, &mut draft, on_text)? == StreamState::Done;
                *has_events = true;
                if done {
                    break 'stream;
                }
            }
        }
        match draft.finish(request.messages.len(), decoder) {
            Some(reply) => Ok(reply),
            // A proxy in front of a model starts the stream before the model answers.
            None if *has_events || is_event_stream => {
                Err(ModelError::temporary(format!("{} cut off its response", self.endpoint.host)))
            }
            None => Err(self.endpoint.not_an_api(NO_EVENT_STREAM)),
        }
    }

    async fn send(&self, request: &ModelRequest<'_>) -> Result<Response, ModelError> {
        let body = self.format.request(&self.endpoint.model, request);
        let post = self.http.post(self.url.clone()).headers(self.headers.clone()).json(&body);
        let mut response = self.with_idle_timeout(post.send()).await?;
        let status = response.status();
        if !status.is_success() {
            let body = self.read_beginning(&mut response, MAX_FAILURE_BYTES).await;
            let may_quote = may_quote(&response);
            return Err(self.endpoint.status_error(status.as_u16(), response.headers(), &body, may_quote));
        }
        if content_type(&response).starts_with("text/html") {
            return Err(self.endpoint.not_an_api("it answered with an HTML page"));
        }
        Ok(response)
    }

    /// Decodes a response that isn't a stream. It can also be an error, in spite of its status.
    async fn whole_response(
        &self,
        request: &ModelRequest<'_>,
        response: &mut Response,
        on_text: &mut OnText<'_>,
    ) -> Result<Reply, ModelError> {
        let mut body = Vec::new();
        while let Some(chunk) = self.with_idle_timeout(response.chunk()).await? {
            body.extend_from_slice(&chunk);
            if body.len() > self.limits.max_reply_bytes {
                return Err(self.too_large());
            }
        }
        let not_an_api = || self.endpoint.not_an_api(NO_EVENT_STREAM);
        let body: Value = serde_json::from_slice(&body).map_err(|_| not_an_api())?;
        if let Some(error) = ProviderError::parse(&body) {
            return Err(self.endpoint.stream_error(&error, may_quote(response)));
        }
        let (mut draft, mut decoder) = (Draft::default(), self.format.decoder());
        for event in self.format.events(body) {
            self.decode_event(&event, &mut *decoder, &mut draft, on_text)?;
        }
        draft.finish(request.messages.len(), decoder).ok_or_else(not_an_api)
    }

    /// What the provider says about the model. Nothing depends on it, so failures are ignored.
    async fn described_limits(&self) -> TokenLimits {
        let Some(url) = self.description_url.clone() else { return TokenLimits::default() };
        let get = self.http.get(url).headers(self.headers.clone());
        let describing = async {
            let mut response = get.send().await.ok().filter(|response| response.status().is_success())?;
            let body = self.read_beginning(&mut response, MAX_DESCRIPTION_BYTES).await;
            Some(described_limits::parse(&serde_json::from_slice(&body).ok()?, &self.endpoint.model))
        };
        timeout(DESCRIPTION_TIMEOUT, describing).await.ok().flatten().unwrap_or_default()
    }

    /// Reads the beginning of a response. A connection error ends it early.
    async fn read_beginning(&self, response: &mut Response, max_bytes: usize) -> Vec<u8> {
        let mut body = Vec::new();
        while let Ok(Some(chunk)) = self.with_idle_timeout(response.chunk()).await {
            body.extend_from_slice(&chunk[..chunk.len().min(max_bytes - body.len())]);
            if body.len() == max_bytes {
                break;
            }
        }
        body
    }

    fn parse_event(&self, event: &[u8], may_quote: bool) -> Result<Value, ModelError> {
        let not_json =
            |_| ModelError::temporary(format!("{} sent an event that is not JSON", self.endpoint.host));
        let event: Value = serde_json::from_slice(event).map_err(not_json)?;
        match ProviderError::parse(&event) {
            Some(error) => Err(self.endpoint.stream_error(&error, may_quote)),
            None => Ok(event),
        }
    }

    fn decode_event(
        &self,
        event: &Value,
        decoder: &mut dyn StreamDecoder,
        draft: &mut Draft,
        on_text: &mut OnText<'_>,
    ) -> Result<StreamState, ModelError> {
        let before = draft.text.len();
        let state = decoder.decode(event, draft);
        if draft.text.len() > before {
            on_text(&draft.text[before..]);
        }
        self.check_size(draft)?;
        Ok(state)
    }

    async fn with_idle_timeout<T>(
        &self,
        io: impl Future<Output = reqwest::Result<T>>,
    ) -> Result<T, ModelError> {
        match timeout(self.limits.idle_timeout, io).await {
            Ok(done) => done.map_err(|error| self.connection_error(&error)),
            Err(_) => {
                let (host, seconds) = (&self.endpoint.host, self.limits.idle_timeout.as_secs());
                Err(ModelError::temporary(format!(
                    "{host} sent nothing for {seconds} s; if it needs more time, raise silence_seconds"
                )))
            }
        }
    }

    fn connection_error(&self, error: &reqwest::Error) -> ModelError {
        let host = &self.endpoint.host;
        if let Some(blocked) = find_cause::<BlockedAddress>(error) {
            return ModelError::Permanent(format!(
                "{host} is not called: {}",
                blocked.with_advice(ALLOW_PRIVATE)
            ));
        }
        if let Some(trouble) = Trouble::find(error) {
            return ModelError::Machine(trouble);
        }
        let what = if error.is_connect() { "cannot be reached" } else { "closed the connection" };
        let cause = self.endpoint.redact(&connection_cause(error, MAX_QUOTED_CHARS));
        ModelError::temporary(format!("{host} {what}: {cause}"))
    }

    fn check_size(&self, draft: &Draft) -> Result<(), ModelError> {
        let Limits { max_reply_bytes, max_calls, .. } = self.limits;
        if draft.size() > max_reply_bytes {
            return Err(self.too_large());
        }
        if draft.calls.len() > max_calls {
            let model = &self.endpoint.model;
            let sentence = format!("the model `{model}` makes more than {max_calls} calls in one response");
            return Err(ModelError::Permanent(sentence));
        }
        Ok(())
    }

    fn too_large(&self) -> ModelError {
        let model = &self.endpoint.model;
        ModelError::Permanent(format!(
            "a response of the model `{model}` exceeds the size limit and was cut off"
        ))
    }
}
