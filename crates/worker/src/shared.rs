//! Holds the state that the jobs of one worker process share, in addition to [`App`].

use std::ops::Deref;
use std::sync::Arc;

use app::App;
use tokio::sync::RwLock;

use crate::backoff::DelayCounts;
use crate::path_index_cache::PathIndexCache;
use crate::vocabulary_cache::VocabularyCache;

#[derive(Clone)]
pub(crate) struct Shared {
    app: App,
    pub(crate) path_indexes: Arc<PathIndexCache>,
    pub(crate) vocabularies: Arc<VocabularyCache>,
    pub(crate) delays: Arc<DelayCounts>,
    /// Exclusive for a job that must run alone.
    pub(crate) access: Arc<RwLock<()>>,
}

impl Shared {
    pub(crate) fn new(app: App) -> Self {
        Self {
            app,
            path_indexes: Arc::default(),
            vocabularies: Arc::default(),
            delays: Arc::default(),
            access: Arc::default(),
        }
    }
}

impl Deref for Shared {
    type Target = App;

    fn deref(&self) -> &App {
        &self.app
    }
}
