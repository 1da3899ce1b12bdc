//! Tracks which of several servers on one database stores the page views: one of them, or each of them in ClickHouse.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use store::{SHARED_VIEWS, StoreError, ViewsChoice, ViewsDirectory, ViewsHome};
use tokio_util::sync::CancellationToken;
use traffic::{Lag, Views};

const RENEW_INTERVAL: Duration = Duration::from_secs(5);
/// A server that said nothing for so long doesn't run, as far as the others know.
pub const MAX_SILENCE: Duration = Duration::from_secs(60);
/// The number of renewals between two log lines about a server that doesn't run.
const REMINDER_INTERVAL: u32 = 60;
/// For how long a server acknowledges page views after the database confirmed its epoch. A server that takes over waits
/// for as long before it serves.
const CONFIRMATION: Duration = Duration::from_secs(2);
/// The epoch of a server that stores no page views.
const NO_EPOCH: i64 = 0;
/// Page views that wait for longer mean that ClickHouse is away or too slow.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// The id of a server's data directory, and what the database has as the home of the page views that it stores: the same
/// id, or [`SHARED_VIEWS`].
pub(crate) struct DirectoryIds<'a> {
    pub(crate) own: &'a str,
    pub(crate) home: &'a str,
}

/// Whether this server stores the page views. Another server may take them over.
#[derive(Clone)]
pub struct ViewsOwner {
    store: Arc<dyn ViewsDirectory>,
    directory_id: Arc<str>,
    home: Arc<str>,
    choice: ViewsChoice,
    epoch: Arc<AtomicI64>,
    /// Its page views are outdated, so it stores none until it starts again.
    was_replaced: Arc<AtomicBool>,
    /// When the database was last asked and confirmed the epoch.
    confirmed: Arc<Mutex<Option<Instant>>>,
    views: Arc<dyn Views>,
    /// For how many milliseconds the server that stores them has said nothing.
    silence: Arc<AtomicU64>,
    /// What waits for ClickHouse.
    lag: Arc<Mutex<Lag>>,
}

impl ViewsOwner {
    pub(crate) async fn claim(
        store: Arc<dyn ViewsDirectory>,
        ids: DirectoryIds<'_>,
        choice: ViewsChoice,
        views: Arc<dyn Views>,
    ) -> anyhow::Result<Self> {
        let before = store.views_home(ids.home).await?;
        let home = store.claim_views(ids.home, choice).await?;
        if matches!((before, home), (ViewsHome::Elsewhere { .. }, ViewsHome::Here { .. })) && choice.takes() {
            tokio::time::sleep(CONFIRMATION).await;
        }
        // A choice to take applies once. Afterwards another server may take the page views over.
        let choice = if choice.takes() { ViewsChoice::IfFree } else { choice };
        let owner = Self {
            store,
            directory_id: ids.own.into(),
            home: ids.home.into(),
            choice,
            epoch: Arc::default(),
            was_replaced: Arc::default(),
            confirmed: Arc::default(),
            views,
            silence: Arc::default(),
            lag: Arc::default(),
        };
        owner.record(home).await?;
        owner.remember(home);
        Ok(owner)
    }

    /// The id of this server's data directory.
    pub fn directory_id(&self) -> &str {
        &self.directory_id
    }

    pub fn is_this_server(&self) -> bool {
        self.epoch.load(Ordering::Relaxed) != NO_EPOCH
    }

    /// Whether every server stores page views, in ClickHouse.
    pub fn is_shared(&self) -> bool {
        &*self.home == SHARED_VIEWS
    }

    /// The page views that wait for ClickHouse, as of a few seconds ago.
    pub fn lag(&self) -> Lag {
        *self.lag.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the operator should know: a sentence if no server that stores the page views runs, as far as is known, or if
    /// ClickHouse does not take them.
    pub fn trouble(&self) -> Option<String> {
        if self.is_shared() && self.is_this_server() {
            return lag_sentence(&self.lag());
        }
        let silence = Duration::from_millis(self.silence.load(Ordering::Relaxed));
        (silence > MAX_SILENCE && !self.is_this_server()).then(|| silent_sentence(silence))
    }

    /// Whether the database confirmed a moment ago that this server stores the page views.
    pub fn is_confirmed(&self) -> bool {
        self.confirmed.lock().is_ok_and(|at| at.is_some_and(|at| at.elapsed() < CONFIRMATION))
    }

    /// Whether this server still stores the page views. Writes ask before they are acknowledged, so that a server that
    /// was replaced acknowledges nothing.
    pub async fn confirm(&self) -> Result<bool, StoreError> {
        let epoch = self.epoch.load(Ordering::Relaxed);
        if epoch == NO_EPOCH {
            return Ok(false);
        }
        let asked = Instant::now();
        let is_current = self.store.is_views_epoch(&self.home, epoch).await?;
        if let Ok(mut confirmed) = self.confirmed.lock() {
            *confirmed = is_current.then_some(asked);
        }
        if !is_current {
            self.remember(ViewsHome::Elsewhere { silent_for: Duration::ZERO });
        }
        Ok(is_current)
    }

    /// Says that this server runs, or reads again which one stores the page views.
    pub async fn renew(&self) -> anyhow::Result<()> {
        let home = match self.epoch.load(Ordering::Relaxed) {
            NO_EPOCH => self.store.views_home(&self.home).await?,
            epoch => self.store.renew_views(&self.home, epoch).await?,
        };
        let home = match home {
            ViewsHome::Nowhere if self.may_claim() => {
                let home = self.store.claim_views(&self.home, self.choice).await?;
                self.record(home).await?;
                home
            }
            // A server on a copy of this directory.
            ViewsHome::Here { .. } if !self.is_this_server() && !self.is_shared() => {
                ViewsHome::Elsewhere { silent_for: Duration::ZERO }
            }
            home => home,
        };
        self.remember(home);
        if self.is_shared() {
            let lag = self.views.health().await;
            *self.lag.lock().unwrap_or_else(PoisonError::into_inner) = lag?;
        }
        Ok(())
    }

    pub async fn renew_until_stopped(&self, stop: &CancellationToken) {
        let mut failures = 0_u32;
        while stop.run_until_cancelled(tokio::time::sleep(RENEW_INTERVAL)).await.is_some() {
            if let Err(error) = self.renew().await {
                tracing::warn!("cannot read which server stores the page views: {error}");
            }
            match self.trouble() {
                Some(trouble) if failures.is_multiple_of(REMINDER_INTERVAL) => tracing::error!("{trouble}"),
                None if failures > 0 => tracing::warn!("page views are stored again"),
                _ => {}
            }
            failures = if self.trouble().is_some() { failures.saturating_add(1) } else { 0 };
        }
    }

    /// Writes the epoch beside the page views, so that an older copy of the file can be told from the latest one.
    async fn record(&self, home: ViewsHome) -> anyhow::Result<()> {
        match (home, self.store.views_epoch().await?) {
            (ViewsHome::Here { epoch }, Some(_)) => Ok(self.views.set_epoch(epoch).await?),
            _ => Ok(()),
        }
    }

    fn may_claim(&self) -> bool {
        self.choice != ViewsChoice::Leave && !self.was_replaced.load(Ordering::Relaxed)
    }

    fn remember(&self, home: ViewsHome) {
        let (epoch, silence) = match home {
            ViewsHome::Here { epoch } => (epoch, Duration::ZERO),
            ViewsHome::Elsewhere { silent_for } => (NO_EPOCH, silent_for),
            // Every server declines them, or this one isn't connected to ClickHouse.
            ViewsHome::Nowhere | ViewsHome::Shared => (NO_EPOCH, Duration::ZERO),
        };
        let silence = u64::try_from(silence.as_millis()).unwrap_or(u64::MAX);
        if self.epoch.swap(epoch, Ordering::Relaxed) != NO_EPOCH && epoch == NO_EPOCH {
            self.was_replaced.store(true, Ordering::Relaxed);
            tracing::error!(
                "another server stores the page views now: this one refuses them until it starts again"
            );
        }
        self.silence.store(silence, Ordering::Relaxed);
    }
}

/// Says what happened and what to do.
pub fn silent_sentence(silence: Duration) -> String {
    let minutes = silence.as_secs() / 60;
    format!(
        "the server that stores the page views hasn't run for {minutes} min; start it, or copy its views.db to another server and start that one with --page-views yes"
    )
}

/// Says what waits for ClickHouse, and what doesn't work meanwhile.
pub fn lag_sentence(lag: &Lag) -> Option<String> {
    let waiting = match lag.waiting_events {
        0 => String::new(),
        1 => "; 1 page view waits for it".to_owned(),
        events => format!("; {events} page views wait for it"),
    };
    if lag.engine_is_away {
        return Some(format!(
            "ClickHouse doesn't answer, so reports on page views fail{waiting}; start it, or look for the cause with docwright doctor"
        ));
    }
    let age = lag.oldest_age.filter(|age| *age > MAX_WAIT)?;
    let minutes = age.as_secs() / 60;
    Some(format!(
        "ClickHouse has taken page views too slowly for {minutes} min{waiting}; look for the cause in the server's log"
    ))
}
