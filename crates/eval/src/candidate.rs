//! Defines the editors that are compared, and recognizes when the provider of a model fails.
//!
//! An outage says nothing about the model, so it must not become a result.

use std::sync::{Arc, Mutex, PoisonError};

use agent::model::{self, Model, ModelError, ModelRequest, OnText, Prices, Reply, Settings, TokenLimits};
use agent::{Agent, Editor, Limits, Offline};
use async_trait::async_trait;

/// Parts of the sentences about requests that a provider refuses for their content. Other tasks can succeed.
const REFUSED_REQUEST: &[&str] =
    &[" refuses the content of the request", " refuses the request with the status "];

/// An editor that does tasks.
pub struct Candidate {
    pub name: String,
    pub(crate) editor: Box<dyn Editor>,
    pub(crate) prices: Option<Prices>,
    model: Option<Arc<WatchedModel>>,
}

impl Candidate {
    /// The built-in editor.
    pub fn offline(name: &str) -> Self {
        Self { name: name.to_owned(), editor: Box::new(Offline), prices: None, model: None }
    }

    /// An agent with a model. The error is a sentence about the settings.
    pub fn with_model(name: &str, settings: &Settings, limits: Limits) -> Result<Self, String> {
        let model = Arc::new(WatchedModel { model: model::open(settings)?, outage: Mutex::default() });
        let editor = Box::new(Agent::new(model.clone(), limits).with_profile(settings.profile));
        Ok(Self { name: name.to_owned(), editor, prices: settings.prices, model: Some(model) })
    }

    /// Why the provider failed, if the last request got no answer.
    pub(crate) fn outage(&self) -> Option<String> {
        self.model.as_ref().and_then(|model| model.outage())
    }
}

/// Passes requests on to a model, and remembers how the last one failed.
struct WatchedModel {
    model: Arc<dyn Model>,
    outage: Mutex<Option<String>>,
}

impl WatchedModel {
    fn outage(&self) -> Option<String> {
        self.outage.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_outage(&self, outage: Option<String>) {
        *self.outage.lock().unwrap_or_else(PoisonError::into_inner) = outage;
    }
}

#[async_trait]
impl Model for WatchedModel {
    async fn reply(&self, request: &ModelRequest<'_>, on_text: &mut OnText<'_>) -> Result<Reply, ModelError> {
        // The run can end during the request, at its time limit.
        self.set_outage(None);
        let reply = self.model.reply(request, on_text).await;
        self.set_outage(reply.as_ref().err().and_then(outage_sentence));
        reply
    }

    fn known_limits(&self) -> Option<TokenLimits> {
        self.model.known_limits()
    }

    async fn token_limits(&self) -> TokenLimits {
        self.model.token_limits().await
    }

    fn remember_limits(&self, limits: TokenLimits) {
        self.model.remember_limits(limits);
    }
}

/// The sentence of an error that is not the fault of the task.
fn outage_sentence(error: &ModelError) -> Option<String> {
    match error {
        ModelError::TooLarge { .. } | ModelError::Unfinished(_) => None,
        ModelError::Permanent(sentence) if REFUSED_REQUEST.iter().any(|part| sentence.contains(part)) => None,
        ModelError::Permanent(_) | ModelError::Temporary { .. } | ModelError::Machine(_) => {
            Some(error.to_string())
        }
    }
}
