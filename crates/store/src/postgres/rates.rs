use std::collections::BTreeMap;

use async_trait::async_trait;
use sqlx::{PgConnection, Row};

use super::reads::Reads;
use super::{PostgresStore, now, number, write};
use crate::kept::damaged;
use crate::terms::HOUR;
use crate::{Limit, Rates, Result, Usage};

#[async_trait]
impl Rates for PostgresStore {
    async fn count(&self, limit: &Limit) -> Result<Result<Usage, Usage>> {
        // Who is over the limit is told without a write: that is when there are many of them.
        if let Some(usage) = self.reached(limit).await? {
            return Ok(Err(usage));
        }
        write(|| async {
            let (mut tx, mut counts) = (self.begin().await?, Counts::default());
            let now = now(&mut tx).await?;
            let usage = counts.one_more(&mut tx, limit, now).await?;
            counts.keep(&mut tx).await?;
            tx.commit().await?;
            Ok(usage)
        })
        .await
    }

    async fn reached(&self, limit: &Limit) -> Result<Option<Usage>> {
        let (used, now) = self.rates.read(limit.bucket.clone()).await?;
        (used >= limit.most).then(|| limit.usage(used, now)).transpose()
    }
}

/// How much of this hour is used, and what the time is.
pub(super) async fn used_of(reads: Reads, bucket: String) -> Result<(u32, i64)> {
    let used = "SELECT docwright_now_ms() AS now,
        coalesce((SELECT used FROM rates WHERE bucket = $1 AND hour = docwright_now_ms() / $2), 0) AS used";
    let row =
        reads.row(sqlx::query(used).bind(bucket).bind(HOUR)).await?.ok_or_else(|| damaged("a count"))?;
    Ok((number(&row, "used")?, row.try_get("now")?))
}

/// What one transaction counts: each bucket is read and locked once, so that no two counts are the same one, and
/// written once at the end.
#[derive(Default)]
pub(super) struct Counts(BTreeMap<String, u32>);

impl Counts {
    pub(super) async fn one_more(
        &mut self,
        db: &mut PgConnection,
        limit: &Limit,
        now: i64,
    ) -> Result<Result<Usage, Usage>> {
        let before = match self.0.get(&limit.bucket) {
            Some(used) => *used,
            None => locked(db, limit, now).await?,
        };
        if before >= limit.most {
            self.0.insert(limit.bucket.clone(), before);
            return Ok(Err(limit.usage(before, now)?));
        }
        self.0.insert(limit.bucket.clone(), before + 1);
        Ok(Ok(limit.usage(before + 1, now)?))
    }

    pub(super) async fn keep(self, db: &mut PgConnection) -> Result<()> {
        for (bucket, used) in self.0 {
            let keep = sqlx::query("UPDATE rates SET used = $2 WHERE bucket = $1");
            keep.bind(bucket).bind(i64::from(used)).execute(&mut *db).await?;
        }
        Ok(())
    }
}

/// How much of this hour is used. Nobody else counts before the end of the transaction.
async fn locked(db: &mut PgConnection, limit: &Limit, now: i64) -> Result<u32> {
    let row = sqlx::query(
        "INSERT INTO rates VALUES ($1, $2, 0)
         ON CONFLICT (bucket) DO UPDATE
         SET hour = excluded.hour, used = CASE WHEN rates.hour = excluded.hour THEN rates.used ELSE 0 END
         RETURNING used",
    );
    number(&row.bind(&limit.bucket).bind(now / HOUR).fetch_one(db).await?, "used")
}
