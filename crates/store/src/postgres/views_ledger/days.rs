//! What reports need of the ledger: a snapshot of a project, and numbers by day.

use async_trait::async_trait;
use traffic::ledger::{DayRecord, Days, LedgerError, LedgerSnapshot};

use super::{LedgerWork, ledger_error};

#[async_trait]
impl Days for LedgerWork {
    async fn snapshot(
        &mut self,
        project: &str,
        max_events: u64,
    ) -> Result<Option<LedgerSnapshot>, LedgerError> {
        let select = "SELECT id, version, raw_from FROM views_projects WHERE name = $1";
        let found = sqlx::query_as(select).bind(project).fetch_optional(&mut *self.tx);
        let found: Option<(i64, i64, i64)> = found.await.map_err(ledger_error)?;
        let Some((project, version, raw_from)) = found else { return Ok(None) };
        let mut snapshot =
            LedgerSnapshot { project, now: self.now, version, raw_from, ..LedgerSnapshot::default() };
        self.add_waiting(&mut snapshot, max_events).await?;
        self.add_days(&mut snapshot).await?;
        Ok(Some(snapshot))
    }

    async fn version(&mut self, project: i64) -> Result<Option<i64>, LedgerError> {
        let version = sqlx::query_scalar("SELECT version FROM views_projects WHERE id = $1").bind(project);
        version.fetch_optional(&mut *self.tx).await.map_err(ledger_error)
    }

    async fn days(&mut self, project: i64, first: i64, end: i64) -> Result<Vec<DayRecord>, LedgerError> {
        let days = "SELECT day, folds, generation, visitors FROM views_days
            WHERE project = $1 AND day >= $2 AND day < $3 AND reads ORDER BY day";
        let days = sqlx::query_as(days).bind(project).bind(first).bind(end);
        let days: Vec<(i64, i64, i64, Option<Vec<u8>>)> =
            days.fetch_all(&mut *self.tx).await.map_err(ledger_error)?;
        let record = |(day, folds, generation, visitors)| DayRecord { day, folds, generation, visitors };
        Ok(days.into_iter().map(record).collect())
    }

    async fn next_day(&mut self, project: i64, from: i64) -> Result<Option<i64>, LedgerError> {
        let next = "SELECT min(day) FROM views_days WHERE project = $1 AND day >= $2";
        let next = sqlx::query_scalar(next).bind(project).bind(from);
        next.fetch_one(&mut *self.tx).await.map_err(ledger_error)
    }

    async fn touch_days(
        &mut self,
        project: i64,
        days: &[(i64, bool)],
        raw_from_day: i64,
    ) -> Result<(), LedgerError> {
        // The project may have been deleted meanwhile.
        let lock = sqlx::query("SELECT 1 FROM views_projects WHERE id = $1 FOR KEY SHARE").bind(project);
        if lock.fetch_optional(&mut *self.tx).await.map_err(ledger_error)?.is_none() {
            return Ok(());
        }
        // Late readers are added to days without raw events: the others are counted again.
        let touch = "INSERT INTO views_days AS kept (project, day, reads, folds)
            SELECT $1, day, reads, 1 FROM unnest($2::bigint[], $3::boolean[]) AS sent (day, reads) ORDER BY day
            ON CONFLICT (project, day) DO UPDATE SET folds = kept.folds + 1, reads = kept.reads OR excluded.reads,
                visitors = CASE WHEN kept.day < $4 OR NOT excluded.reads THEN kept.visitors END";
        let (numbers, reads): (Vec<i64>, Vec<bool>) = days.iter().copied().unzip();
        let touch = sqlx::query(touch).bind(project).bind(&numbers).bind(reads).bind(raw_from_day);
        touch.execute(&mut *self.tx).await.map_err(ledger_error)?;
        let oldest = "UPDATE views_projects SET raw_oldest = $2
            WHERE id = $1 AND (raw_oldest IS NULL OR raw_oldest > $2)";
        let oldest = sqlx::query(oldest).bind(project).bind(numbers.iter().min());
        oldest.execute(&mut *self.tx).await.map(drop).map_err(ledger_error)
    }

    async fn lock_visitors(&mut self, project: i64, day: i64) -> Result<Option<Vec<u8>>, LedgerError> {
        let lock = "SELECT visitors FROM views_days WHERE project = $1 AND day = $2 FOR UPDATE";
        let lock = sqlx::query_scalar(lock).bind(project).bind(day).fetch_optional(&mut *self.tx).await;
        lock.map(Option::flatten).map_err(ledger_error)
    }

    async fn set_visitors(&mut self, project: i64, day: i64, visitors: &[u8]) -> Result<(), LedgerError> {
        let set = sqlx::query("UPDATE views_days SET visitors = $3 WHERE project = $1 AND day = $2");
        let set = set.bind(project).bind(day).bind(visitors).execute(&mut *self.tx).await;
        set.map(drop).map_err(ledger_error)
    }

    async fn store_visitors(
        &mut self,
        project: i64,
        day: &DayRecord,
        visitors: &[u8],
    ) -> Result<(), LedgerError> {
        let store = "UPDATE views_days SET visitors = $5
            WHERE project = $1 AND day = $2 AND folds = $3 AND generation = $4 AND visitors IS NULL";
        let store = sqlx::query(store).bind(project).bind(day.day).bind(day.folds).bind(day.generation);
        let store = store.bind(visitors);
        store.execute(&mut *self.tx).await.map(drop).map_err(ledger_error)
    }
}

impl LedgerWork {
    async fn add_waiting(
        &mut self,
        snapshot: &mut LedgerSnapshot,
        max_events: u64,
    ) -> Result<(), LedgerError> {
        let waiting = "SELECT coalesce(sum(events) FILTER (WHERE shipment IS NULL), 0)::bigint,
                count(shipment) > 0
            FROM views_outbox WHERE project = $1";
        let waiting = sqlx::query_as(waiting).bind(snapshot.project).fetch_one(&mut *self.tx);
        let (events, is_shipping): (i64, bool) = waiting.await.map_err(ledger_error)?;
        (snapshot.waiting_events, snapshot.is_shipping) = (events.unsigned_abs(), is_shipping);
        if !is_shipping && (1..=max_events).contains(&snapshot.waiting_events) {
            let blocks = "SELECT block FROM views_outbox WHERE project = $1 ORDER BY n";
            let blocks = sqlx::query_scalar(blocks).bind(snapshot.project).fetch_all(&mut *self.tx);
            snapshot.blocks = blocks.await.map_err(ledger_error)?;
        }
        Ok(())
    }

    async fn add_days(&mut self, snapshot: &mut LedgerSnapshot) -> Result<(), LedgerError> {
        let rewritten =
            "SELECT day, generation FROM views_days WHERE project = $1 AND generation > 0 ORDER BY day";
        let rewritten = sqlx::query_as(rewritten).bind(snapshot.project).fetch_all(&mut *self.tx);
        snapshot.generations = rewritten.await.map_err(ledger_error)?;
        let read = "SELECT (SELECT day FROM views_days WHERE project = $1 AND reads ORDER BY day LIMIT 1),
            (SELECT day FROM views_days WHERE project = $1 AND reads ORDER BY day DESC LIMIT 1)";
        let read = sqlx::query_as(read).bind(snapshot.project).fetch_one(&mut *self.tx);
        let (first, last): (Option<i64>, Option<i64>) = read.await.map_err(ledger_error)?;
        snapshot.read_days = first.zip(last);
        Ok(())
    }
}
