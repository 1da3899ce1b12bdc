use async_trait::async_trait;
use futures_util::FutureExt;
use jiff::SignedDuration;
use sqlx::{Row, SqliteConnection};

use super::{SqliteStore, from_ms};
use crate::{Limit, Rates, Result, Usage};

const HOUR: i64 = 3_600_000;

#[async_trait]
impl Rates for SqliteStore {
    async fn count(&self, limit: &Limit) -> Result<Result<Usage, Usage>> {
        // Who is over the limit is told without a write: that is when there are many of them.
        if let Some(usage) = self.reached(limit).await? {
            return Ok(Err(usage));
        }
        let (limit, clock) = (limit.clone(), self.clock.clone());
        self.db.write(move |db| async move { count(db, &limit, clock.now_ms()).await }.boxed()).await
    }

    async fn reached(&self, limit: &Limit) -> Result<Option<Usage>> {
        let now = self.clock.now_ms();
        let used = used(&mut *self.db.reads().acquire().await?, limit, now).await?;
        (used >= limit.most).then(|| usage(limit, used, now)).transpose()
    }
}

/// Within the transaction of what is counted.
pub(super) async fn count(
    db: &mut SqliteConnection,
    limit: &Limit,
    now: i64,
) -> Result<Result<Usage, Usage>> {
    let used = used(db, limit, now).await?;
    if used >= limit.most {
        return Ok(Err(usage(limit, used, now)?));
    }
    sqlx::query("INSERT OR REPLACE INTO rates VALUES (?, ?, ?)")
        .bind(&limit.bucket)
        .bind(now / HOUR)
        .bind(used + 1)
        .execute(db)
        .await?;
    Ok(Ok(usage(limit, used + 1, now)?))
}

async fn used(db: &mut SqliteConnection, limit: &Limit, now: i64) -> Result<u32> {
    let row = sqlx::query("SELECT used FROM rates WHERE bucket = ? AND window = ?")
        .bind(&limit.bucket)
        .bind(now / HOUR)
        .fetch_optional(db)
        .await?;
    Ok(row.map(|row| row.try_get("used")).transpose()?.unwrap_or(0))
}

fn usage(limit: &Limit, used: u32, now: i64) -> Result<Usage> {
    let end = (now / HOUR + 1) * HOUR;
    Ok(Usage {
        most: limit.most,
        left: limit.most.saturating_sub(used),
        resets_at: from_ms(end)?,
        left_for: SignedDuration::from_millis(end - now),
    })
}
