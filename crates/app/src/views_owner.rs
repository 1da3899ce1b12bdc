//! Tracks which of several servers on one database stores the page views.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use store::{ViewsChoice, ViewsDirectory};

/// Whether this server stores the page views. Another server may take them over.
#[derive(Clone)]
pub struct ViewsOwner {
    store: Arc<dyn ViewsDirectory>,
    directory_id: Arc<str>,
    choice: ViewsChoice,
    is_this_server: Arc<AtomicBool>,
}

impl ViewsOwner {
    pub async fn claim(
        store: Arc<dyn ViewsDirectory>,
        directory_id: &str,
        choice: ViewsChoice,
    ) -> Result<Self, store::StoreError> {
        let is_this_server = store.claim_views(directory_id, choice).await?;
        // `Take` applies once. Afterwards another server may take the page views over.
        let choice = if choice == ViewsChoice::Take { ViewsChoice::IfFree } else { choice };
        let is_this_server = Arc::new(AtomicBool::new(is_this_server));
        Ok(Self { store, directory_id: directory_id.into(), choice, is_this_server })
    }

    /// The id of this server's data directory.
    pub fn directory_id(&self) -> &str {
        &self.directory_id
    }

    pub fn is_this_server(&self) -> bool {
        self.is_this_server.load(Ordering::Relaxed)
    }

    /// Reads the owner from the store again.
    pub async fn refresh(&self) {
        match self.store.claim_views(&self.directory_id, self.choice).await {
            Ok(is_this_server) => self.is_this_server.store(is_this_server, Ordering::Relaxed),
            Err(error) => tracing::warn!("cannot read which server stores the page views: {error}"),
        }
    }
}
