//! Who waits for work or for news, here and at other servers: `LISTEN` and `NOTIFY`. A bell can go
//! unheard, since whoever waits also looks from time to time; so it never holds a write up.

use std::sync::Arc;
use std::time::Duration;

use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use super::{ACQUIRE, migrate};
use crate::id::random_base62;

const WORK: &str = "docwright_work";
const NEWS: &str = "docwright_news";
/// How long to wait before one listens again, after the connection was cut.
const AGAIN: Duration = Duration::from_secs(1);
/// After so long a silence the connection is tried.
const SILENCE: Duration = Duration::from_secs(30);

/// The bells of one store, until it is dropped.
pub(super) struct Bells {
    here: Arc<Here>,
    tasks: [AbortHandle; 3],
}

#[derive(Default)]
struct Here {
    /// Rung when a job comes in, so that a worker starts it at once.
    work: Notify,
    /// Rung when a job may have an event more, for those who watch it, and when a key or a session ended.
    news: Notify,
    tell_work: Notify,
    tell_news: Notify,
}

impl Here {
    fn ring(&self, channel: &str) {
        match channel {
            WORK => self.work.notify_one(),
            _ => self.news.notify_waiters(),
        }
    }
}

impl Bells {
    pub(super) fn hang(pool: PgPool, options: PgConnectOptions, ear: Ear) -> Arc<Self> {
        let here = Arc::new(Here::default());
        let me = random_base62(16);
        let (ringer, teller) = (here.clone(), here.clone());
        let work = tell(pool.clone(), me.clone(), WORK, here.clone());
        let news = tell(pool, me.clone(), NEWS, teller);
        let tasks = [
            tokio::spawn(listen(options, ear, me, ringer)).abort_handle(),
            tokio::spawn(work).abort_handle(),
            tokio::spawn(news).abort_handle(),
        ];
        Arc::new(Self { here, tasks })
    }

    pub(super) fn work(&self) {
        self.here.ring(WORK);
        self.here.tell_work.notify_one();
    }

    pub(super) fn news(&self) {
        self.here.ring(NEWS);
        self.here.tell_news.notify_one();
    }

    pub(super) async fn work_came(&self) {
        self.here.work.notified().await;
    }

    pub(super) async fn news_came(&self) {
        self.here.news.notified().await;
    }
}

impl Drop for Bells {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

/// Tells the other servers; what rings while one telling is on its way is told by the next.
async fn tell(pool: PgPool, me: String, channel: &'static str, here: Arc<Here>) {
    let rung = if channel == WORK { &here.tell_work } else { &here.tell_news };
    loop {
        rung.notified().await;
        let tell = sqlx::query("SELECT pg_notify($1, $2)").bind(channel).bind(&me).execute(&pool);
        if let Ok(Err(error)) = timeout(ACQUIRE, tell).await {
            tracing::debug!("other servers could not be told of something new: {error}");
        }
    }
}

async fn listen(options: PgConnectOptions, mut ear: Ear, me: String, here: Arc<Here>) {
    loop {
        let cut = ear.hear(&me, &here).await;
        tracing::warn!("the database is not heard any more: {cut}");
        ear = loop {
            match Ear::open(&options).await {
                Ok(ear) => break ear,
                Err(error) => tracing::warn!("the database cannot be listened to: {error}"),
            }
            sleep(AGAIN).await;
        };
        // Whatever was rung while nobody listened.
        [WORK, NEWS].iter().for_each(|channel| here.ring(channel));
    }
}

/// A connection that listens, and that says by a lock that the database is in use.
pub(super) struct Ear(PgListener);

impl Ear {
    pub(super) async fn open(options: &PgConnectOptions) -> Result<Self, sqlx::Error> {
        // A pool of its own each time: a listener is not told when its connection hangs.
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(ACQUIRE)
            .idle_timeout(None)
            .max_lifetime(None)
            .after_connect(|db, _| Box::pin(migrate::hold(db)))
            .connect_lazy_with(options.clone());
        let mut listener = PgListener::connect_with(&pool).await?;
        listener.eager_reconnect(false);
        listener.listen_all([WORK, NEWS]).await?;
        Ok(Self(listener))
    }

    /// Rings for others, until the connection is cut; answers why.
    async fn hear(mut self, me: &str, here: &Here) -> sqlx::Error {
        loop {
            match timeout(SILENCE, self.0.try_recv()).await {
                Ok(Ok(Some(told))) if told.payload() != me => here.ring(told.channel()),
                Ok(Ok(Some(_))) => {}
                Ok(Ok(None)) => return sqlx::Error::Io(std::io::ErrorKind::ConnectionAborted.into()),
                Ok(Err(error)) => return error,
                Err(_) => match timeout(ACQUIRE, sqlx::query("SELECT 1").execute(&mut self.0)).await {
                    Ok(Ok(_)) => {}
                    Ok(Err(error)) => return error,
                    Err(_) => return sqlx::Error::PoolTimedOut,
                },
            }
        }
    }
}
