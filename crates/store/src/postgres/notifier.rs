//! Notifies waiting workers and clients, here and at other servers, by `LISTEN` and `NOTIFY`. A notification can get
//! lost, because waiters also poll; so it never delays a write.

use std::sync::Arc;
use std::time::Duration;

use sqlx::PgPool;
use sqlx::postgres::{PgConnectOptions, PgListener, PgPoolOptions};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use super::ACQUIRE_TIMEOUT;
use super::migrate::{self, User};
use crate::id::random_base62;

const WORK: &str = "docwright_work";
const EVENTS: &str = "docwright_news";
/// The wait before a lost connection is opened again.
const RECONNECT_DELAY: Duration = Duration::from_secs(1);
/// A connection that was silent for so long is pinged.
const PING_AFTER: Duration = Duration::from_secs(30);

/// The notifications of one store. Dropping it ends its tasks.
pub(super) struct Notifier {
    local: Arc<Local>,
    tasks: [AbortHandle; 3],
}

#[derive(Default)]
struct Local {
    /// A job was queued.
    work: Notify,
    /// A job may have a new event, or a key or a session ended.
    events: Notify,
    publish_work: Notify,
    publish_events: Notify,
}

impl Local {
    fn notify(&self, channel: &str) {
        match channel {
            WORK => self.work.notify_one(),
            _ => self.events.notify_waiters(),
        }
    }
}

impl Notifier {
    pub(super) fn start(pool: PgPool, options: PgConnectOptions, listener: Listener) -> Arc<Self> {
        let local = Arc::new(Local::default());
        let sender = random_base62(16);
        let work = publish(pool.clone(), sender.clone(), WORK, local.clone());
        let events = publish(pool, sender.clone(), EVENTS, local.clone());
        let tasks = [
            tokio::spawn(listen(options, listener, sender, local.clone())).abort_handle(),
            tokio::spawn(work).abort_handle(),
            tokio::spawn(events).abort_handle(),
        ];
        Arc::new(Self { local, tasks })
    }

    pub(super) fn notify_work(&self) {
        self.local.notify(WORK);
        self.local.publish_work.notify_one();
    }

    pub(super) fn notify_events(&self) {
        self.local.notify(EVENTS);
        self.local.publish_events.notify_one();
    }

    pub(super) async fn work_notified(&self) {
        self.local.work.notified().await;
    }

    pub(super) async fn events_notified(&self) {
        self.local.events.notified().await;
    }
}

impl Drop for Notifier {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

/// Notifies the other servers. Notifications that arrive while one is sent share the next one.
async fn publish(pool: PgPool, sender: String, channel: &'static str, local: Arc<Local>) {
    let pending = if channel == WORK { &local.publish_work } else { &local.publish_events };
    loop {
        pending.notified().await;
        let notify = sqlx::query("SELECT pg_notify($1, $2)").bind(channel).bind(&sender).execute(&pool);
        if let Ok(Err(error)) = timeout(ACQUIRE_TIMEOUT, notify).await {
            tracing::debug!("other servers could not be notified: {error}");
        }
    }
}

async fn listen(options: PgConnectOptions, mut listener: Listener, sender: String, local: Arc<Local>) {
    let user = listener.user;
    loop {
        let error = listener.run(&sender, &local).await;
        tracing::warn!("the database is not heard any more: {error}");
        listener = loop {
            match Listener::open(&options, user).await {
                Ok(listener) => break listener,
                Err(error) => tracing::warn!("the database cannot be listened to: {error}"),
            }
            sleep(RECONNECT_DELAY).await;
        };
        // Notifications may have got lost meanwhile.
        [WORK, EVENTS].iter().for_each(|channel| local.notify(channel));
    }
}

/// A connection that listens. It holds the lock that marks the database as in use.
pub(super) struct Listener {
    listener: PgListener,
    user: User,
}

impl Listener {
    pub(super) async fn open(options: &PgConnectOptions, user: User) -> Result<Self, sqlx::Error> {
        // Each listener has its own pool, because it does not notice when its connection hangs.
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .idle_timeout(None)
            .max_lifetime(None)
            .after_connect(move |db, _| Box::pin(migrate::hold(db, user)))
            .connect_lazy_with(options.clone());
        let mut listener = PgListener::connect_with(&pool).await?;
        listener.eager_reconnect(false);
        listener.listen_all([WORK, EVENTS]).await?;
        Ok(Self { listener, user })
    }

    /// Passes on notifications of other servers until the connection fails.
    async fn run(mut self, sender: &str, local: &Local) -> sqlx::Error {
        loop {
            match timeout(PING_AFTER, self.listener.try_recv()).await {
                Ok(Ok(Some(notice))) if notice.payload() != sender => local.notify(notice.channel()),
                Ok(Ok(Some(_))) => {}
                Ok(Ok(None)) => return sqlx::Error::Io(std::io::ErrorKind::ConnectionAborted.into()),
                Ok(Err(error)) => return error,
                Err(_) => {
                    match timeout(ACQUIRE_TIMEOUT, sqlx::query("SELECT 1").execute(&mut self.listener)).await
                    {
                        Ok(Ok(_)) => {}
                        Ok(Err(error)) => return error,
                        Err(_) => return sqlx::Error::PoolTimedOut,
                    }
                }
            }
        }
    }
}
