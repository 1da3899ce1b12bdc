//! The models that jobs can be given, by name: each stands for an editor, and for what it costs.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent::model::{self, Model, Prices, Secret};
use agent::{Agent, Editor, Limits, Offline};
use anyhow::{Context, anyhow};
use store::{Project, Secrets};

/// The one that needs no model at all.
pub const OFFLINE: &str = "offline";
/// Whose the sealed keys of models are; each has its model's name.
const SEALED: &str = "model";

/// A shorter key, such as one for a model on the same machine, may be a word that pages have.
const MIN_KEY: usize = 12;

pub struct Models {
    editors: BTreeMap<String, Arc<dyn Editor>>,
    models: BTreeMap<String, Arc<dyn Model>>,
    prices: BTreeMap<String, Prices>,
    /// Tokens that a project may use in a month.
    pub month: Option<u64>,
    /// The keys of all of them: none may be in what a job makes.
    pub keys: Vec<Secret>,
}

impl Models {
    /// A model that cannot be used is told of at the start, not by the first job that wants it.
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
            keys: Vec::new(),
        };
        all.editors.insert(OFFLINE.to_owned(), Arc::new(Offline));
        for (name, settings) in models {
            let mut settings = settings.clone();
            if settings.api_key.is_none() {
                settings.api_key = model_key(secrets, name).await?;
            }
            let model =
                model::open(&settings).map_err(|why| anyhow!("the model `{name}` cannot be used: {why}"))?;
            all.models.insert(name.clone(), model.clone());
            all.editors.insert(name.clone(), Arc::new(Agent::new(model, limits)));
            all.prices.extend(settings.prices.map(|prices| (name.clone(), prices)));
            all.keys.extend(settings.api_key);
        }
        Ok(all)
    }

    pub fn names(&self) -> Vec<&str> {
        self.editors.keys().map(String::as_str).collect()
    }

    /// Whether the model answers as jobs need it, and a sentence about that.
    pub async fn probe(&self, name: &str) -> (bool, String) {
        match self.models.get(name) {
            Some(model) => {
                let tried = model::probe(&**model).await;
                (tried.ok, self.without_keys(&tried.sentence).unwrap_or(tried.sentence))
            }
            None => (true, "needs no model and no network: it always works".into()),
        }
    }

    /// What the project's jobs may name, of what this server has.
    pub fn allowed(&self, project: &Project) -> Vec<&str> {
        self.editors.keys().map(String::as_str).filter(|name| project.allows(name)).collect()
    }

    /// For a job of the project; a model can have gone, or been taken from the project, since it was
    /// asked for. Then a sentence.
    pub fn editor(&self, project: &Project, name: &str) -> Result<Arc<dyn Editor>, String> {
        if !project.allows(name) {
            return Err(format!("the project does not allow the model {name} any more; create a new job"));
        }
        let gone = || format!("this server has no model named {name}; give the project another one");
        self.editors.get(name).cloned().ok_or_else(gone)
    }

    /// `None` when nobody said what it costs.
    pub fn prices(&self, name: &str) -> Option<Prices> {
        self.prices.get(name).copied()
    }

    /// The text, or JSON, without the keys that somebody has put there; `None` when there is none.
    pub fn without_keys(&self, text: &str) -> Option<String> {
        let mut clean = None;
        for key in self.keys.iter().map(Secret::reveal).filter(|key| key.len() >= MIN_KEY) {
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

/// The key that is kept for a model whose settings name none.
pub async fn model_key(secrets: &dyn Secrets, name: &str) -> anyhow::Result<Option<Secret>> {
    let Some(bytes) = secrets.secret(SEALED, name).await? else { return Ok(None) };
    let key = std::str::from_utf8(&bytes).ok().and_then(Secret::parse);
    Ok(Some(key.with_context(|| format!("what is kept as the key of the model {name} is no key"))?))
}

pub async fn keep_model_key(secrets: &dyn Secrets, name: &str, key: &Secret) -> store::Result<()> {
    secrets.put_secret(SEALED, name, key.reveal().as_bytes()).await
}

/// False when there is none.
pub async fn remove_model_key(secrets: &dyn Secrets, name: &str) -> store::Result<bool> {
    secrets.remove_secret(SEALED, name).await
}
