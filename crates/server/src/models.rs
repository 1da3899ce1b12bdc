//! The models that jobs can be given, by name: each stands for an editor.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent::model::{self, Secret};
use agent::{Agent, Editor, Limits, Offline};
use anyhow::anyhow;

/// The one that needs no model at all.
pub const OFFLINE: &str = "offline";

pub struct Models {
    editors: BTreeMap<String, Arc<dyn Editor>>,
    /// The keys of all of them: none may be in what a job makes.
    pub(crate) keys: Vec<Secret>,
}

impl Models {
    /// A model that cannot be used is told of at the start, not by the first job that wants it.
    pub(crate) fn open(models: &BTreeMap<String, model::Settings>, limits: Limits) -> anyhow::Result<Self> {
        let mut editors: BTreeMap<String, Arc<dyn Editor>> = BTreeMap::new();
        editors.insert(OFFLINE.to_owned(), Arc::new(Offline));
        for (name, settings) in models {
            let model =
                model::open(settings).map_err(|why| anyhow!("the model `{name}` cannot be used: {why}"))?;
            editors.insert(name.clone(), Arc::new(Agent::new(model, limits)));
        }
        let keys = models.values().filter_map(|settings| settings.api_key.clone()).collect();
        Ok(Self { editors, keys })
    }

    /// `None` when this server has no such model.
    pub(crate) fn editor(&self, name: &str) -> Option<Arc<dyn Editor>> {
        self.editors.get(name).cloned()
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        self.editors.keys().map(String::as_str).collect()
    }
}
