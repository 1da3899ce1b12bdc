//! Opens the configured models, each with its editor and its prices.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent::model::{self, Model, Prices, Profile, Secret};
use agent::{Agent, Editor, Limits, Offline};
use anyhow::{Context, anyhow};
use store::{Project, Secrets};

use crate::fair_semaphore::FairSemaphore;

/// The name of the offline editor, which needs no model.
pub const OFFLINE: &str = "offline";
/// The owner of the models' sealed API keys. Each key has its model's name.
const SECRET_OWNER: &str = "model";

/// A shorter key, such as one for a model on the same machine, may be a common word, so it isn't removed from
/// texts.
const MIN_KEY_BYTES: usize = 12;

pub struct Models {
    editors: BTreeMap<String, Arc<dyn Editor>>,
    models: BTreeMap<String, (Arc<dyn Model>, Profile)>,
    prices: BTreeMap<String, Prices>,
    /// The permits for calls to each model.
    calls: BTreeMap<String, Arc<FairSemaphore>>,
    /// The number of tokens that a project may use in a month.
    pub month: Option<u64>,
    /// The API keys of all models. No change of a job may contain one.
    pub keys: Vec<Secret>,
}

impl Models {
    /// Fails if a model can't be used, so that the operator learns it at the start and not from the first
    /// job.
    pub async fn open(
        models: &BTreeMap<String, model::Settings>,
        limits: Limits,
        secrets: &dyn Secrets,
    ) -> anyhow::Result<Self> {
        let mut all = Self {
            editors: BTreeMap::new(),
            models: BTreeMap::new(),
            month: limits.month,
            prices: BTreeMap::new(),
            calls: BTreeMap::new(),
            keys: Vec::new(),
        };
        all.editors.insert(OFFLINE.to_owned(), Arc::new(Offline));
        for (name, settings) in models {
            let mut settings = settings.clone();
            if settings.api_key.is_none() {
                settings.api_key = model_key(secrets, name).await?;
            }
            let model = model::open(&settings)
                .map_err(|error| anyhow!("the model `{name}` cannot be used: {error}"))?;
            let calls = FairSemaphore::with_reserve(settings.max_concurrent_calls());
            all.calls.insert(name.clone(), Arc::new(calls));
            all.models.insert(name.clone(), (model.clone(), settings.profile));
            let agent = Agent::new(model, limits).with_profile(settings.profile);
            all.editors.insert(name.clone(), Arc::new(agent));
            all.prices.extend(settings.prices.map(|prices| (name.clone(), prices)));
            all.keys.extend(settings.api_key);
        }
        Ok(all)
    }

    pub fn names(&self) -> Vec<&str> {
        self.editors.keys().map(String::as_str).collect()
    }

    /// Whether the model responds as jobs need it, and a sentence about the result.
    pub async fn probe(&self, name: &str) -> (bool, String) {
        match self.models.get(name) {
            Some((model, profile)) => {
                let result = model::probe(&**model, *profile).await;
                (result.ok, self.without_keys(&result.sentence).unwrap_or(result.sentence))
            }
            None => (true, "needs no model and no network: it always works".into()),
        }
    }

    /// The models of this server that the project allows.
    pub fn allowed(&self, project: &Project) -> Vec<&str> {
        self.editors.keys().map(String::as_str).filter(|name| project.allows(name)).collect()
    }

    /// The editor for a job of the project. Fails with a sentence if the model was removed after the job was
    /// created.
    pub fn editor(&self, project: &Project, name: &str) -> Result<Arc<dyn Editor>, String> {
        if !project.allows(name) {
            return Err(format!(
                "the project no longer allows the model `{name}`; create a job with another model"
            ));
        }
        let missing =
            || format!("this server has no model named `{name}`; choose another model for the project");
        self.editors.get(name).cloned().ok_or_else(missing)
    }

    /// The permits for calls to this model. `None` for the offline editor.
    pub fn calls(&self, name: &str) -> Option<&Arc<FairSemaphore>> {
        self.calls.get(name)
    }

    pub(crate) fn all_calls(&self) -> impl Iterator<Item = (&str, &FairSemaphore)> {
        self.calls.iter().map(|(name, calls)| (name.as_str(), &**calls))
    }

    /// `None` when no prices are configured.
    pub fn prices(&self, name: &str) -> Option<Prices> {
        self.prices.get(name).copied()
    }

    /// Removes the models' API keys from a text or JSON. `None` when it contains none.
    pub fn without_keys(&self, text: &str) -> Option<String> {
        let mut clean = None;
        for key in self.keys.iter().map(Secret::reveal).filter(|key| key.len() >= MIN_KEY_BYTES) {
            let in_json = key.replace('\\', r"\\").replace('"', r#"\""#);
            for spelling in [key, &in_json] {
                let text = clean.as_deref().unwrap_or(text);
                if text.contains(spelling) {
                    clean = Some(text.replace(spelling, "[removed]"));
                }
            }
        }
        clean
    }
}

/// The stored API key of a model whose settings have none.
pub async fn model_key(secrets: &dyn Secrets, name: &str) -> anyhow::Result<Option<Secret>> {
    let Some(bytes) = secrets.secret(SECRET_OWNER, name).await? else { return Ok(None) };
    let key = std::str::from_utf8(&bytes).ok().and_then(Secret::parse);
    Ok(Some(key.with_context(|| format!("the stored API key of the model `{name}` is not valid"))?))
}

pub async fn store_model_key(secrets: &dyn Secrets, name: &str, key: &Secret) -> store::Result<()> {
    secrets.put_secret(SECRET_OWNER, name, key.reveal().as_bytes()).await
}

/// Returns false when there is none.
pub async fn remove_model_key(secrets: &dyn Secrets, name: &str) -> store::Result<bool> {
    secrets.remove_secret(SECRET_OWNER, name).await
}
