use async_trait::async_trait;
use futures_util::FutureExt;
use sqlx::{Row, SqliteConnection};

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
        self.db.write(move |db| async move { count(db, &limit, clock.now_ms()).await }.boxed()).await
    }

    async fn reached(&self, limit: &Limit) -> Result<Option<Usage>> {
        let now = self.clock.now_ms();
        let used = used(&mut *self.db.reads().acquire().await?, limit, now).await?;
        (used >= limit.most).then(|| limit.usage(used, now)).transpose()
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
        return Ok(Err(limit.usage(used, now)?));
    }
    sqlx::query("INSERT OR REPLACE INTO rates VALUES (?, ?, ?)")
        .bind(&limit.bucket)
        .bind(now / HOUR)
        .bind(used + 1)
        .execute(db)
        .await?;
    Ok(Ok(limit.usage(used + 1, now)?))
}

async fn used(db: &mut SqliteConnection, limit: &Limit, now: i64) -> Result<u32> {
    let row = sqlx::query("SELECT used FROM rates WHERE bucket = ? AND window = ?")
        .bind(&limit.bucket)
        .bind(now / HOUR)
        .fetch_optional(db)
        .await?;
    Ok(row.map(|row| row.try_get("used")).transpose()?.unwrap_or(0))
}
