use std::collections::BTreeMap;

use async_trait::async_trait;
use futures_util::FutureExt;
use sqlx::{SqliteConnection, SqlitePool};

use super::SqliteStore;
use crate::terms::HOUR;
use crate::{Limit, Rates, Result, Usage};

#[async_trait]
impl Rates for SqliteStore {
    async fn count(&self, limit: &Limit) -> Result<Result<Usage, Usage>> {
        // Who is over the limit is told without a write: that is when there are many of them.
        if let Some(usage) = self.reached(limit).await? {
            return Ok(Err(usage));
        }
        let (limit, clock) = (limit.clone(), self.clock.clone());
        self.db
            .write(move |db| {
                async move {
                    let mut counts = Counts::default();
                    let usage = counts.one_more(db, &limit, clock.now_ms()).await?;
                    counts.keep(db).await?;
                    Ok(usage)
                }
                .boxed()
            })
            .await
    }

    async fn reached(&self, limit: &Limit) -> Result<Option<Usage>> {
        let now = self.clock.now_ms();
        let used = self.rates.read((limit.bucket.clone(), now / HOUR)).await?;
        (used >= limit.most).then(|| limit.usage(used, now)).transpose()
    }
}

/// What one transaction counts: each bucket is read once, and written once at the end.
#[derive(Default)]
pub(super) struct Counts(BTreeMap<Window, u32>);

/// A bucket, and the hour that it counts.
pub(super) type Window = (String, i64);

impl Counts {
    pub(super) async fn one_more(
        &mut self,
        db: &mut SqliteConnection,
        limit: &Limit,
        now: i64,
    ) -> Result<Result<Usage, Usage>> {
        let window = (limit.bucket.clone(), now / HOUR);
        let before = match self.0.get(&window) {
            Some(used) => *used,
            None => used(db, &window).await?,
        };
        if before >= limit.most {
            return Ok(Err(limit.usage(before, now)?));
        }
        self.0.insert(window, before + 1);
        Ok(Ok(limit.usage(before + 1, now)?))
    }

    /// In the order of the hours: a bucket has a row for the last one alone.
    pub(super) async fn keep(self, db: &mut SqliteConnection) -> Result<()> {
        for ((bucket, hour), used) in self.0 {
            let keep = sqlx::query("INSERT OR REPLACE INTO rates VALUES (?, ?, ?)");
            keep.bind(bucket).bind(hour).bind(used).execute(&mut *db).await?;
        }
        Ok(())
    }
}

/// For those who only ask.
pub(super) async fn used_of(reads: SqlitePool, window: Window) -> Result<u32> {
    used(&mut *reads.acquire().await?, &window).await
}

async fn used(db: &mut SqliteConnection, (bucket, hour): &Window) -> Result<u32> {
    let used = sqlx::query_scalar("SELECT used FROM rates WHERE bucket = ? AND window = ?");
    Ok(used.bind(bucket).bind(hour).fetch_optional(db).await?.unwrap_or(0))
}
