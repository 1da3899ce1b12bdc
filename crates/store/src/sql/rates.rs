//! Rate limits: a counter for each bucket and hour.

use std::collections::BTreeMap;

use async_trait::async_trait;
use futures_util::FutureExt;

use super::{Backend, Connection, Fetch, sql_for};
use crate::encoding::damaged;
use crate::terms::HOUR;
use crate::{Limit, Rates, Result, Usage};

#[async_trait]
impl<B: Backend> Rates for B {
    async fn count(&self, limit: &Limit) -> Result<Result<Usage, Usage>> {
        // A refusal needs no write: refusals are the frequent case when a client makes too many requests.
        if let Some(usage) = self.reached(limit).await? {
            return Ok(Err(usage));
        }
        self.transaction(limit.clone(), |db, limit| {
            async move {
                let mut counts = Counts::default();
                let now = db.now().await?;
                let usage = counts.increment(db, limit, now).await?;
                counts.store(db).await?;
                Ok(usage)
            }
            .boxed()
        })
        .await
    }

    async fn reached(&self, limit: &Limit) -> Result<Option<Usage>> {
        let (used, now) = self.common().reads.rates.read(limit.bucket.clone()).await?;
        (used >= limit.max).then(|| limit.usage(used, now)).transpose()
    }
}

/// SQLite's column of the hour is named `window`.
macro_rules! with_hour {
    ($before:literal, $($after:literal),+) => {
        sql_for(concat!($before, $("window", $after),+), concat!($before, $("hour", $after),+))
    };
}

/// How much of this hour is used, and the time.
pub(super) async fn used(reads: impl Fetch, bucket: String) -> Result<(u32, i64)> {
    let used = with_hour!(
        "SELECT docwright_now_ms() AS now, coalesce((SELECT used FROM rates WHERE bucket = $1 AND ",
        " = docwright_now_ms() / $2), 0) AS used"
    );
    let row = reads.row(used.bind(bucket).bind(HOUR)).await?.ok_or_else(|| damaged("a count"))?;
    Ok((row.number("used")?, row.get("now")?))
}

/// The counters of one transaction: each is read and locked once, and written once at the end. The key is a bucket and
/// its hour, so the last hour is written last: a bucket has one row.
#[derive(Default)]
pub(super) struct Counts(BTreeMap<(String, i64), u32>);

impl Counts {
    /// `Err` when nothing is left.
    pub(super) async fn increment(
        &mut self,
        db: &mut Connection<'_>,
        limit: &Limit,
        now: i64,
    ) -> Result<Result<Usage, Usage>> {
        let key = (limit.bucket.clone(), now / HOUR);
        let before = match self.0.get(&key) {
            Some(used) => *used,
            None => read_locked(db, limit, now).await?,
        };
        let is_left = before < limit.max;
        let used = before + u32::from(is_left);
        self.0.insert(key, used);
        let usage = limit.usage(used, now)?;
        Ok(if is_left { Ok(usage) } else { Err(usage) })
    }

    pub(super) async fn store(self, db: &mut Connection<'_>) -> Result<()> {
        for ((bucket, hour), used) in self.0 {
            let update = with_hour!("UPDATE rates SET used = $3, ", " = $2 WHERE bucket = $1");
            db.execute(update.bind(bucket).bind(hour).bind(used)).await?;
        }
        Ok(())
    }
}

/// How much of this hour is used. The row stays locked until the end of the transaction.
async fn read_locked(db: &mut Connection<'_>, limit: &Limit, now: i64) -> Result<u32> {
    let read = with_hour!(
        "INSERT INTO rates (bucket, used, ",
        ") VALUES ($1, 0, $2) ON CONFLICT (bucket) DO UPDATE SET used = CASE WHEN rates.",
        " = excluded.",
        " THEN rates.used ELSE 0 END, ",
        " = excluded.",
        " RETURNING used"
    );
    let row = db.row(read.bind(&limit.bucket).bind(now / HOUR)).await?;
    row.ok_or_else(|| damaged("a count"))?.number("used")
}
