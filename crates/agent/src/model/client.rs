//! Requests one turn over HTTP, in any wire format: restricts addresses, and limits times and sizes.

use async_trait::async_trait;
use machine::Trouble;
use net::{BlockedAddress, NetworkPolicy, connection_cause, find_cause, may_quote, root_cause};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Response, Url};
use serde_json::Value;
use tokio::time::timeout;

use super::anthropic::Anthropic;
use super::chat::Chat;
use super::draft::{Draft, StreamDecoder, StreamState};
use super::gemini::Gemini;
use super::provider_error::{Endpoint, MAX_QUOTED_CHARS, ProviderError, missing_key_sentence};
use super::responses::Responses;
use super::sse::SseParser;
use super::wire_format::WireFormat;
use super::{Limits, Model, ModelError, ModelRequest, OnText, Provider, Reply, Settings};

/// The setting that allows models in a private network, as error messages name it.
const ALLOW_PRIVATE: &str = "allow_private";
/// How much of a failed response is read.
const MAX_FAILURE_BYTES: usize = 64 << 10;
const NO_EVENT_STREAM: &str = "it didn't answer with an event stream";

pub(super) struct Client {
    http: reqwest::Client,
    format: Box<dyn WireFormat>,
    url: Url,
    headers: HeaderMap,
    limits: Limits,
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
            url: join(&base, &*format, model)?,
            headers: headers(&*format, settings)?,
            format,
            limits: settings.limits,
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

fn join(base: &Url, format: &dyn WireFormat, model: &str) -> Result<Url, String> {
    let base = base.as_str().trim_end_matches('/');
    let path = format.path(base, model);
    let mut url =
        Url::parse(&format!("{base}{path}")).map_err(|_| "base_url and model don't form a valid URL")?;
    url.set_query(format.query());
    Ok(url)
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
        let limit = self.limits.total_timeout;
        timeout(limit, self.request_turn(request, on_text)).await.unwrap_or_else(|_| {
            let minutes = limit.as_secs().div_ceil(60);
            Err(ModelError::temporary(format!(
                "{} did not finish its response within {minutes} min",
                self.endpoint.host
            )))
        })
    }
}

impl Client {
    async fn request_turn(
        &self,
        request: &ModelRequest<'_>,
        on_text: &mut OnText<'_>,
    ) -> Result<Reply, ModelError> {
        let mut response = self.send(request).await?;
        let may_quote = may_quote(&response);
        let (mut parser, mut draft, mut decoder) =
            (SseParser::default(), Draft::default(), self.format.decoder());
        let (mut received, mut has_events) = (0, false);
        'stream: while let Some(chunk) = self.with_idle_timeout(response.chunk()).await? {
            received += chunk.len();
            if received > self.limits.max_received_bytes {
                return Err(self.too_large());
            }
            for event in parser.push(&chunk) {
                if event == b"[DONE]" {
                    break 'stream;
                }
                let event = self.parse_event(&event, may_quote)?;
                let done =
                    self.decode_event(&event, &mut *decoder, &mut draft, on_text)? == StreamState::Done;
                has_events = true;
                if done {
                    break 'stream;
                }
            }
        }
        match draft.finish(request.messages.len(), decoder) {
            Some(reply) => Ok(reply),
            None if has_events => {
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
            let body = self.read_beginning(&mut response).await;
            let may_quote = may_quote(&response);
            return Err(self.endpoint.status_error(status.as_u16(), response.headers(), &body, may_quote));
        }
        let kind =
            response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.starts_with("text/html") {
            return Err(self.endpoint.not_an_api("it answered with an HTML page"));
        }
        if kind.starts_with("application/json") {
            let body = self.read_beginning(&mut response).await;
            return Err(self.json_error(&body, may_quote(&response)));
        }
        Ok(response)
    }

    /// The error for a JSON response with a success status: some servers send errors like that.
    fn json_error(&self, body: &[u8], may_quote: bool) -> ModelError {
        let error = serde_json::from_slice(body).ok().and_then(|body| ProviderError::parse(&body));
        match error {
            Some(error) => self.endpoint.stream_error(&error, may_quote),
            None => self.endpoint.not_an_api(NO_EVENT_STREAM),
        }
    }

    /// Reads the beginning of a failed response. A connection error ends it early.
    async fn read_beginning(&self, response: &mut Response) -> Vec<u8> {
        let mut body = Vec::new();
        while let Ok(Some(chunk)) = self.with_idle_timeout(response.chunk()).await {
            body.extend_from_slice(&chunk[..chunk.len().min(MAX_FAILURE_BYTES - body.len())]);
            if body.len() == MAX_FAILURE_BYTES {
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
                Err(ModelError::temporary(format!("{host} sent nothing for {seconds} s")))
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
