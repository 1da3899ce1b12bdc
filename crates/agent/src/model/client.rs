//! One turn over HTTP, the same for every wire format: guarded addresses, a watchdog, bounded sizes.

use async_trait::async_trait;
use machine::Trouble;
use net::{BlockedAddress, NetworkPolicy, connection_cause, find_cause, may_quote, root_cause};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Response, Url};
use serde_json::Value;
use tokio::time::timeout;

use super::anthropic::Anthropic;
use super::chat::Chat;
use super::draft::{Draft, Ear, Flow};
use super::events::Events;
use super::gemini::Gemini;
use super::refusal::{Place, QUOTED, Said, wants_key};
use super::responses::Responses;
use super::{Call, Heard, Limits, Model, ModelError, Provider, Reply, Settings};

/// The setting by which models in a private network are called, for sentences that name it.
const ALLOW_PRIVATE: &str = "allow_private";
/// More of an answer that failed is not read.
const FAILURE: usize = 64 << 10;

/// A way to write requests down and to read answers.
pub(super) trait Format: Send + Sync {
    /// Below the base URL.
    fn path(&self, base: &str, model: &str) -> String;
    fn query(&self) -> Option<&'static str> {
        None
    }
    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)>;
    fn request(&self, model: &str, call: &Call<'_>) -> Value;
    fn ear(&self) -> Box<dyn Ear>;
}

pub(super) struct Client {
    http: reqwest::Client,
    format: Box<dyn Format>,
    url: Url,
    headers: HeaderMap,
    limits: Limits,
    place: Place,
}

impl Client {
    pub(super) fn new(settings: &Settings) -> Result<Self, String> {
        let provider = settings.provider;
        let base = settings.base_url.as_deref().or(provider.usual_url());
        let base = base.ok_or("base_url is missing: a compatible provider has no address of its own")?;
        let base = net::parse_url("base_url", base, settings.allow_private, ALLOW_PRIVATE)?;
        if settings.api_key.is_none() && settings.base_url.is_none() {
            return Err(wants_key(provider.name()));
        }
        let model = check_model(&settings.model)?;
        let format = format_of(provider);
        Ok(Self {
            http: http(settings)?,
            url: join(&base, &*format, model)?,
            headers: headers(&*format, settings)?,
            format,
            limits: settings.limits,
            place: Place {
                host: base.authority().to_owned(),
                url: base.to_string(),
                provider: provider.name(),
                model: model.to_owned(),
                key: settings.api_key.clone(),
            },
        })
    }
}

pub(super) fn format_of(provider: Provider) -> Box<dyn Format> {
    match provider {
        Provider::Anthropic => Box::new(Anthropic),
        Provider::OpenAi => Box::new(Chat { limit: "max_completion_tokens" }),
        Provider::Compatible => Box::new(Chat { limit: "max_tokens" }),
        Provider::OpenAiResponses => Box::new(Responses),
        Provider::Gemini => Box::new(Gemini),
    }
}

/// Names go into paths, and come from settings.
fn check_model(name: &str) -> Result<&str, String> {
    let sane = |c: char| c.is_ascii_alphanumeric() || "._-:/@+".contains(c);
    let sane = (1..=200).contains(&name.len()) && name.chars().all(sane) && !name.contains("..");
    if sane { Ok(name) } else { Err("model must be a name such as its provider uses".into()) }
}

fn join(base: &Url, format: &dyn Format, model: &str) -> Result<Url, String> {
    let base = base.as_str().trim_end_matches('/');
    let path = format.path(base, model);
    let mut url = Url::parse(&format!("{base}{path}")).map_err(|_| "base_url and model make no address")?;
    url.set_query(format.query());
    Ok(url)
}

fn headers(format: &dyn Format, settings: &Settings) -> Result<HeaderMap, String> {
    let key = settings.api_key.as_ref().map(|key| key.reveal());
    let mut headers = HeaderMap::new();
    for (name, value) in format.headers(key) {
        let mut value =
            HeaderValue::from_str(&value).map_err(|_| "the API key cannot be sent as a header")?;
        value.set_sensitive(true);
        headers.insert(HeaderName::from_static(name), value);
    }
    Ok(headers)
}

fn http(settings: &Settings) -> Result<reqwest::Client, String> {
    let client =
        net::client(NetworkPolicy { allow_private: settings.allow_private, use_proxy: settings.use_proxy })
            .build();
    client.map_err(|error| format!("no HTTP client can be made: {}", root_cause(&error)))
}

#[async_trait]
impl Model for Client {
    async fn reply(&self, call: &Call<'_>, heard: &mut Heard<'_>) -> Result<Reply, ModelError> {
        let whole = self.limits.whole;
        timeout(whole, self.turn(call, heard)).await.unwrap_or_else(|_| {
            let minutes = whole.as_secs().div_ceil(60);
            Err(ModelError::again(format!("{} did not end its answer within {minutes} min", self.place.host)))
        })
    }
}

impl Client {
    async fn turn(&self, call: &Call<'_>, heard: &mut Heard<'_>) -> Result<Reply, ModelError> {
        let mut answer = self.send(call).await?;
        let may_quote = may_quote(&answer);
        let (mut events, mut draft, mut ear) = (Events::default(), Draft::default(), self.format.ear());
        let (mut received, mut understood) = (0, false);
        'stream: while let Some(piece) = self.patience(answer.chunk()).await? {
            received += piece.len();
            if received > self.limits.received {
                return Err(self.endless());
            }
            for event in events.push(&piece) {
                if event == b"[DONE]" {
                    break 'stream;
                }
                let event = self.parse_event(&event, may_quote)?;
                let done = self.hear(&event, &mut *ear, &mut draft, heard)? == Flow::Done;
                understood = true;
                if done {
                    break 'stream;
                }
            }
        }
        match draft.finish(call.messages.len(), ear) {
            Some(reply) => Ok(reply),
            None if understood => {
                Err(ModelError::again(format!("{} cut its answer off in the middle", self.place.host)))
            }
            None => Err(self.place.not_an_api("it answered with no stream of events")),
        }
    }

    async fn send(&self, call: &Call<'_>) -> Result<Response, ModelError> {
        let body = self.format.request(&self.place.model, call);
        let request = self.http.post(self.url.clone()).headers(self.headers.clone()).json(&body);
        let mut answer = self.patience(request.send()).await?;
        let status = answer.status();
        if !status.is_success() {
            let body = self.beginning(&mut answer).await;
            let refused = self.place.refused(status.as_u16(), answer.headers(), &body, may_quote(&answer));
            return Err(refused);
        }
        let kind = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.starts_with("text/html") {
            return Err(self.place.not_an_api("it answered with a page for people"));
        }
        if kind.starts_with("application/json") {
            let body = self.beginning(&mut answer).await;
            return Err(self.no_stream(&body, may_quote(&answer)));
        }
        Ok(answer)
    }

    /// One JSON text instead of a stream: an error with a good status, or something else altogether.
    fn no_stream(&self, body: &[u8], may_quote: bool) -> ModelError {
        let said = serde_json::from_slice(body).ok().and_then(|body| Said::of(&body));
        match said {
            Some(said) => self.place.broke_off(&said, may_quote),
            None => self.place.not_an_api("it answered with no stream of events"),
        }
    }

    /// What there is, as far as it matters; an error in it is no news.
    async fn beginning(&self, answer: &mut Response) -> Vec<u8> {
        let mut body = Vec::new();
        while let Ok(Some(piece)) = self.patience(answer.chunk()).await {
            body.extend_from_slice(&piece[..piece.len().min(FAILURE - body.len())]);
            if body.len() == FAILURE {
                break;
            }
        }
        body
    }

    fn parse_event(&self, event: &[u8], may_quote: bool) -> Result<Value, ModelError> {
        let garbled = |_| ModelError::again(format!("{} sent an event that is not JSON", self.place.host));
        let event: Value = serde_json::from_slice(event).map_err(garbled)?;
        match Said::of(&event) {
            Some(said) => Err(self.place.broke_off(&said, may_quote)),
            None => Ok(event),
        }
    }

    fn hear(
        &self,
        event: &Value,
        ear: &mut dyn Ear,
        draft: &mut Draft,
        heard: &mut Heard<'_>,
    ) -> Result<Flow, ModelError> {
        let before = draft.text.len();
        let flow = ear.hear(event, draft);
        if draft.text.len() > before {
            heard(&draft.text[before..]);
        }
        self.check_size(draft)?;
        Ok(flow)
    }

    /// The watchdog: whatever does not come in time is not waited for.
    async fn patience<T>(&self, what: impl Future<Output = reqwest::Result<T>>) -> Result<T, ModelError> {
        match timeout(self.limits.silence, what).await {
            Ok(done) => done.map_err(|error| self.broken(&error)),
            Err(_) => {
                let (host, seconds) = (&self.place.host, self.limits.silence.as_secs());
                Err(ModelError::again(format!("{host} said nothing for {seconds} s")))
            }
        }
    }

    fn broken(&self, error: &reqwest::Error) -> ModelError {
        let host = &self.place.host;
        if let Some(refused) = find_cause::<BlockedAddress>(error) {
            return ModelError::Final(format!(
                "{host} is not called: {}",
                refused.with_advice(ALLOW_PRIVATE)
            ));
        }
        if let Some(trouble) = Trouble::find(error) {
            return ModelError::Machine(trouble);
        }
        let what = if error.is_connect() { "cannot be reached" } else { "broke the connection" };
        ModelError::again(format!("{host} {what}: {}", self.place.scrub(&connection_cause(error, QUOTED))))
    }

    fn check_size(&self, draft: &Draft) -> Result<(), ModelError> {
        let Limits { kept, calls, .. } = self.limits;
        if draft.kept() > kept {
            return Err(self.endless());
        }
        if draft.calls.len() > calls {
            let model = &self.place.model;
            let sentence = format!("the model `{model}` wants more than {calls} things done in one answer");
            return Err(ModelError::Final(sentence));
        }
        Ok(())
    }

    fn endless(&self) -> ModelError {
        let model = &self.place.model;
        ModelError::Final(format!("the model `{model}` answers without end: it was cut off"))
    }
}
