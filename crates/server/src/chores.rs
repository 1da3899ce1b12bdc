//! What a server sees to beside requests and jobs, every few seconds, by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use store::{ViewsHome, ViewsWish};
use tokio_util::sync::CancellationToken;

use crate::app::App;

const EVERY: Duration = Duration::from_secs(5);
/// A job that was not begun after so long is told that it waits.
const LONG: Duration = Duration::from_secs(5);

/// Whether page views are kept here; another server may take them over.
#[derive(Clone)]
pub(crate) struct Home {
    store: Arc<dyn ViewsHome>,
    dir: Arc<str>,
    wish: ViewsWish,
    here: Arc<AtomicBool>,
}

impl Home {
    pub(crate) async fn settle(
        store: Arc<dyn ViewsHome>,
        dir: &str,
        wish: ViewsWish,
    ) -> Result<Self, store::StoreError> {
        let here = Arc::new(AtomicBool::new(store.settle_views(dir, wish).await?));
        // Who was told to take them did so; from now on somebody else may be told the same.
        let wish = if wish == ViewsWish::Take { ViewsWish::IfFree } else { wish };
        Ok(Self { store, dir: dir.into(), wish, here })
    }

    pub(crate) fn is_here(&self) -> bool {
        self.here.load(Ordering::Relaxed)
    }

    async fn look(&self) {
        match self.store.settle_views(&self.dir, self.wish).await {
            Ok(here) => self.here.store(here, Ordering::Relaxed),
            Err(error) => tracing::warn!("it is not known who keeps page views: {error}"),
        }
    }
}

/// Until `stop`.
pub(crate) async fn go_on(app: &App, stop: &CancellationToken) {
    while stop.run_until_cancelled(tokio::time::sleep(EVERY)).await.is_some() {
        stop.run_until_cancelled(once(app)).await;
    }
}

async fn once(app: &App) {
    app.home.look().await;
    tell_waiting(app).await;
}

async fn tell_waiting(app: &App) {
    loop {
        match app.queue.tell_waiting(LONG).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => return tracing::warn!("jobs that wait are not told so: {error}"),
        }
    }
}
