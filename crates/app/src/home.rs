//! Tells which of several servers on one database keeps the page views.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use store::{ViewsChoice, ViewsDirectory};

/// Whether page views are kept here; another server may take them over.
#[derive(Clone)]
pub struct Home {
    store: Arc<dyn ViewsDirectory>,
    dir: Arc<str>,
    wish: ViewsChoice,
    here: Arc<AtomicBool>,
}

impl Home {
    pub async fn settle(
        store: Arc<dyn ViewsDirectory>,
        dir: &str,
        wish: ViewsChoice,
    ) -> Result<Self, store::StoreError> {
        let here = Arc::new(AtomicBool::new(store.claim_views(dir, wish).await?));
        // Who was told to take them did so; from now on somebody else may be told the same.
        let wish = if wish == ViewsChoice::Take { ViewsChoice::IfFree } else { wish };
        Ok(Self { store, dir: dir.into(), wish, here })
    }

    /// The id of the data directory.
    pub fn dir(&self) -> &str {
        &self.dir
    }

    pub fn is_here(&self) -> bool {
        self.here.load(Ordering::Relaxed)
    }

    pub async fn look(&self) {
        match self.store.claim_views(&self.dir, self.wish).await {
            Ok(here) => self.here.store(here, Ordering::Relaxed),
            Err(error) => tracing::warn!("it is not known who keeps page views: {error}"),
        }
    }
}
