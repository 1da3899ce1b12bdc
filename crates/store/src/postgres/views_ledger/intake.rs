//! Takes batches of views: import progress, event ids, pages, salts, and the outbox.

use std::collections::{HashMap, HashSet};

use async_trait::async_trait;
use base::Cutoff;
use sqlx::Acquire;
use traffic::FilePart;
use traffic::ledger::{IdHash, Intake, LedgerError, LedgerProject};

use super::{LedgerWork, ledger_error};
use crate::sql::lock_number;

/// Held, shared, by every transaction that claims ids, so that no table is emptied meanwhile.
const IDS: &[&str] = &["views ids"];

#[async_trait]
impl Intake for LedgerWork {
    async fn project(&mut self, name: &str) -> Result<LedgerProject, LedgerError> {
        let select = "SELECT id, pages_epoch FROM views_projects WHERE name = $1 FOR KEY SHARE";
        let create = "INSERT INTO views_projects (name) VALUES ($1) ON CONFLICT DO NOTHING";
        loop {
            let known: Option<(i64, i64)> = sqlx::query_as(select)
                .bind(name)
                .fetch_optional(&mut *self.tx)
                .await
                .map_err(ledger_error)?;
            if let Some((id, pages_epoch)) = known {
                return Ok(LedgerProject { id, pages_epoch });
            }
            sqlx::query(create).bind(name).execute(&mut *self.tx).await.map_err(ledger_error)?;
        }
    }

    async fn lock_import(&mut self, project: i64, file: &str) -> Result<u64, LedgerError> {
        let create = "INSERT INTO views_imports (project, file, bytes, hash) VALUES ($1, $2, 0, '')
            ON CONFLICT DO NOTHING";
        let lock = "SELECT bytes FROM views_imports WHERE project = $1 AND file = $2 FOR UPDATE";
        sqlx::query(create).bind(project).bind(file).execute(&mut *self.tx).await.map_err(ledger_error)?;
        let bytes = sqlx::query_scalar(lock).bind(project).bind(file).fetch_one(&mut *self.tx).await;
        bytes.map(i64::unsigned_abs).map_err(ledger_error)
    }

    async fn record_import(&mut self, project: i64, part: &FilePart) -> Result<(), LedgerError> {
        let record = "UPDATE views_imports SET bytes = $3, hash = $4 WHERE project = $1 AND file = $2";
        let record = sqlx::query(record).bind(project).bind(&part.file);
        let record = record.bind(i64::try_from(part.to.bytes).unwrap_or(i64::MAX)).bind(&part.to.hash);
        record.execute(&mut *self.tx).await.map(drop).map_err(ledger_error)
    }

    async fn claim(
        &mut self,
        project: i64,
        ids: &[IdHash],
        expired: &Cutoff,
    ) -> Result<HashSet<IdHash>, LedgerError> {
        if ids.is_empty() {
            return Ok(HashSet::new());
        }
        let share = sqlx::query("SELECT pg_advisory_xact_lock_shared($1)").bind(lock_number(IDS));
        share.execute(&mut *self.tx).await.map_err(ledger_error)?;
        let is_b = sqlx::query_scalar("SELECT is_b FROM views_ids_current");
        let is_b: bool = is_b.fetch_one(&mut *self.tx).await.map_err(ledger_error)?;
        let claim = sqlx::query_scalar(if is_b { CLAIM_IN_B } else { CLAIM_IN_A });
        let claim = claim.bind(project).bind(ids.iter().map(|id| id.to_vec()).collect::<Vec<_>>());
        let claim = claim.bind(self.now).bind(expired.before).bind(expired.kept_from).bind(expired.kept_to);
        let free: Vec<Vec<u8>> = claim.fetch_all(&mut *self.tx).await.map_err(ledger_error)?;
        Ok(free.into_iter().filter_map(|id| id.try_into().ok()).collect())
    }

    async fn known_pages(&mut self, project: i64, paths: &[&str]) -> Result<HashSet<String>, LedgerError> {
        let known = "SELECT path FROM views_pages WHERE project = $1 AND path = ANY($2)";
        let known = sqlx::query_scalar(known).bind(project).bind(paths).fetch_all(&mut *self.tx).await;
        known.map(HashSet::from_iter).map_err(ledger_error)
    }

    async fn lock_added_pages(&mut self, project: i64, day: i64) -> Result<u32, LedgerError> {
        let lock = "SELECT pages_day, pages_added FROM views_projects WHERE id = $1 FOR NO KEY UPDATE";
        let (last, added): (i64, i64) =
            sqlx::query_as(lock).bind(project).fetch_one(&mut *self.tx).await.map_err(ledger_error)?;
        Ok(if last == day { u32::try_from(added).unwrap_or(u32::MAX) } else { 0 })
    }

    async fn add_pages(&mut self, project: i64, day: i64, paths: &[String]) -> Result<(), LedgerError> {
        let add = "INSERT INTO views_pages (project, path) SELECT $1, unnest($2::text[])";
        sqlx::query(add).bind(project).bind(paths).execute(&mut *self.tx).await.map_err(ledger_error)?;
        let count = "UPDATE views_projects SET pages_day = $2,
                pages_added = CASE WHEN pages_day = $2 THEN pages_added ELSE 0 END + $3
            WHERE id = $1";
        let count = sqlx::query(count).bind(project).bind(day).bind(paths.len() as i64);
        count.execute(&mut *self.tx).await.map(drop).map_err(ledger_error)
    }

    async fn keep(&mut self, project: i64, events: u64, block: Vec<u8>) -> Result<(), LedgerError> {
        let keep =
            "INSERT INTO views_outbox (project, received, events, bytes, block) VALUES ($1, $2, $3, $4, $5)";
        let keep = sqlx::query(keep).bind(project).bind(self.now).bind(events.cast_signed());
        let keep = keep.bind(block.len() as i64).bind(block).execute(&mut *self.tx);
        keep.await.map(drop).map_err(ledger_error)
    }

    async fn salts(
        &mut self,
        new: &[(i64, [u8; 32])],
        expired_before: Option<i64>,
    ) -> Result<HashMap<i64, [u8; 32]>, LedgerError> {
        if let Some(day) = expired_before {
            let delete = "DELETE FROM views_salts WHERE day < $1 OR day > $1 + 1";
            sqlx::query(delete).bind(day).execute(&mut *self.tx).await.map_err(ledger_error)?;
        }
        for (day, salt) in new {
            let create = "INSERT INTO views_salts (day, salt) VALUES ($1, $2) ON CONFLICT DO NOTHING";
            let create = sqlx::query(create).bind(day).bind(salt.as_slice());
            create.execute(&mut *self.tx).await.map_err(ledger_error)?;
        }
        let kept: Vec<(i64, Vec<u8>)> = sqlx::query_as("SELECT day, salt FROM views_salts")
            .fetch_all(&mut *self.tx)
            .await
            .map_err(ledger_error)?;
        Ok(kept.into_iter().filter_map(|(day, salt)| Some((day, salt.try_into().ok()?))).collect())
    }

    async fn rotate_ids(&mut self, expired: &Cutoff) -> Result<(), LedgerError> {
        let current = sqlx::query_as("SELECT is_b, since FROM views_ids_current");
        let (is_b, since): (bool, i64) = current.fetch_one(&mut *self.tx).await.map_err(ledger_error)?;
        let has_misdated = expired.kept_from <= expired.kept_to;
        if has_misdated || !expired.has_passed(since) {
            return Ok(());
        }
        let lock = sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(lock_number(IDS));
        lock.execute(&mut *self.tx).await.map_err(ledger_error)?;
        // A backup reads a table for as long as it takes. Waiting for it would keep every server from taking views.
        let mut attempt = self.tx.begin().await.map_err(ledger_error)?;
        let lock = if is_b { LOCK_A } else { LOCK_B };
        match sqlx::query(lock).execute(&mut *attempt).await {
            Ok(_) => attempt.commit().await.map_err(ledger_error)?,
            Err(error) if is_lock_not_available(&error) => {
                return attempt.rollback().await.map_err(ledger_error);
            }
            Err(error) => return Err(ledger_error(error)),
        }
        // Another server may have rotated them meanwhile.
        let rotate =
            "UPDATE views_ids_current SET is_b = NOT is_b, since = $1 WHERE since = $2 RETURNING is_b";
        let rotated = sqlx::query_scalar(rotate).bind(self.now).bind(since).fetch_optional(&mut *self.tx);
        let rotated: Option<bool> = rotated.await.map_err(ledger_error)?;
        if let Some(is_b) = rotated {
            let empty = if is_b { "TRUNCATE views_ids_b" } else { "TRUNCATE views_ids_a" };
            sqlx::query(empty).execute(&mut *self.tx).await.map_err(ledger_error)?;
        }
        Ok(())
    }
}

const LOCK_A: &str = "LOCK TABLE views_ids_a IN ACCESS EXCLUSIVE MODE NOWAIT";
const LOCK_B: &str = "LOCK TABLE views_ids_b IN ACCESS EXCLUSIVE MODE NOWAIT";

fn is_lock_not_available(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(|error| error.code()).is_some_and(|code| code == "55P03")
}

/// Takes an id that neither table has, or only with a time that expired. A concurrent claim of the same id waits.
macro_rules! claim_in {
    ($new:literal, $old:literal) => {
        concat!(
            "INSERT INTO ",
            $new,
            " AS new (project, id, received)
            SELECT $1, sent.id, $3 FROM unnest($2::bytea[]) AS sent (id)
            WHERE NOT EXISTS (SELECT 1 FROM ",
            $old,
            " AS old WHERE old.project = $1 AND old.id = sent.id
                AND (old.received > $4 OR old.received BETWEEN $5 AND $6))
            ORDER BY sent.id
            ON CONFLICT (project, id) DO UPDATE SET received = excluded.received
                WHERE new.received <= $4 AND NOT new.received BETWEEN $5 AND $6
            RETURNING new.id"
        )
    };
}

const CLAIM_IN_A: &str = claim_in!("views_ids_a", "views_ids_b");
const CLAIM_IN_B: &str = claim_in!("views_ids_b", "views_ids_a");
