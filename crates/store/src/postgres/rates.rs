use async_trait::async_trait;
use sqlx::{PgConnection, Row};

use super::{PostgresStore, in_time, now, number};
use crate::terms::HOUR;
use crate::{Limit, Rates, Result, Usage};

#[async_trait]
impl Rates for PostgresStore {
    async fn count(&self, limit: &Limit) -> Result<Result<Usage, Usage>> {
        // Who is over the limit is told without a write: that is when there are many of them.
        if let Some(usage) = self.reached(limit).await? {
            return Ok(Err(usage));
        }
        in_time(async {
            let mut db = self.pool.acquire().await?;
            let now = now(&mut db).await?;
            count(&mut db, limit, now).await
        })
        .await
    }

    async fn reached(&self, limit: &Limit) -> Result<Option<Usage>> {
        let used = "SELECT docwright_now_ms() AS now,
            coalesce((SELECT used FROM rates WHERE bucket = $1 AND hour = docwright_now_ms() / $2), 0) AS used";
        let Some(row) = self.row(sqlx::query(used).bind(&limit.bucket).bind(HOUR)).await? else {
            return Ok(None);
        };
        let used = number(&row, "used")?;
        (used >= limit.most).then(|| limit.usage(used, row.try_get("now")?)).transpose()
    }
}

/// One statement, so that no two counts are the same one. Its row stays locked until the end of
/// the transaction of what is counted.
pub(super) async fn count(db: &mut PgConnection, limit: &Limit, now: i64) -> Result<Result<Usage, Usage>> {
    let counted = sqlx::query(
        "INSERT INTO rates SELECT $1, $2, 1 WHERE $3 > 0
         ON CONFLICT (bucket) DO UPDATE
         SET hour = excluded.hour, used = CASE WHEN rates.hour = excluded.hour THEN rates.used + 1 ELSE 1 END
         WHERE rates.hour <> excluded.hour OR rates.used < $3
         RETURNING used",
    )
    .bind(&limit.bucket)
    .bind(now / HOUR)
    .bind(i64::from(limit.most))
    .fetch_optional(db)
    .await?;
    Ok(match counted {
        Some(row) => Ok(limit.usage(number(&row, "used")?, now)?),
        None => Err(limit.usage(limit.most, now)?),
    })
}
