//! Receives the page views of a data directory.

use async_trait::async_trait;
use traffic::Progress;
use traffic::ledger::{IdHash, LedgerError, Transfers};

use super::{LedgerWork, ledger_error};
use crate::transfer::{save_step, step_state};

#[async_trait]
impl Transfers for LedgerWork {
    async fn create_project(&mut self, id: i64, name: &str, raw_from: i64) -> Result<(), LedgerError> {
        let create =
            "INSERT INTO views_projects (id, name, raw_from) OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3)
            ON CONFLICT DO NOTHING";
        let create = sqlx::query(create).bind(id).bind(name).bind(raw_from).execute(&mut *self.tx);
        create.await.map_err(ledger_error)?;
        // Later projects get other numbers, also than projects that were deleted.
        let next = "SELECT setval(sequence, greatest($1, nextval(sequence)))
            FROM (SELECT pg_get_serial_sequence('views_projects', 'id')::regclass AS sequence) AS numbers";
        sqlx::query(next).bind(id).execute(&mut *self.tx).await.map(drop).map_err(ledger_error)
    }

    async fn add_imports(&mut self, project: i64, files: &[(String, Progress)]) -> Result<(), LedgerError> {
        let add = "INSERT INTO views_imports (project, file, bytes, hash)
            SELECT $1, sent.* FROM unnest($2::text[], $3::bigint[], $4::text[]) AS sent (file, bytes, hash)
            ON CONFLICT (project, file) DO UPDATE SET bytes = excluded.bytes, hash = excluded.hash";
        let names: Vec<&str> = files.iter().map(|(file, _)| file.as_str()).collect();
        let bytes = files.iter().map(|(_, progress)| i64::try_from(progress.bytes).unwrap_or(i64::MAX));
        let hashes: Vec<&str> = files.iter().map(|(_, progress)| progress.hash.as_str()).collect();
        let add = sqlx::query(add).bind(project).bind(names).bind(bytes.collect::<Vec<_>>()).bind(hashes);
        add.execute(&mut *self.tx).await.map(drop).map_err(ledger_error)
    }

    async fn add_ids(&mut self, project: i64, ids: &[(IdHash, i64)]) -> Result<(), LedgerError> {
        let add = if self.has_ids_in_b().await? { ADD_TO_B } else { ADD_TO_A };
        let (hashes, received) = columns(ids);
        let add = sqlx::query(add).bind(project).bind(hashes).bind(received);
        add.execute(&mut *self.tx).await.map(drop).map_err(ledger_error)
    }

    async fn imports(
        &mut self,
        project: i64,
        after: Option<&str>,
        limit: i64,
    ) -> Result<Vec<(String, Progress)>, LedgerError> {
        let select = "SELECT file, bytes, hash FROM views_imports
            WHERE project = $1 AND ($2::text IS NULL OR file > $2) ORDER BY file LIMIT $3";
        let select = sqlx::query_as(select).bind(project).bind(after).bind(limit);
        let files: Vec<(String, i64, String)> =
            select.fetch_all(&mut *self.tx).await.map_err(ledger_error)?;
        let import =
            |(file, bytes, hash): (_, i64, _)| (file, Progress { bytes: bytes.unsigned_abs(), hash });
        Ok(files.into_iter().map(import).collect())
    }

    async fn count_known_ids(&mut self, project: i64, ids: &[(IdHash, i64)]) -> Result<u64, LedgerError> {
        let count = if self.has_ids_in_b().await? { COUNT_KNOWN_IN_B } else { COUNT_KNOWN_IN_A };
        let (hashes, received) = columns(ids);
        let count = sqlx::query_scalar(count).bind(project).bind(hashes).bind(received);
        count.fetch_one(&mut *self.tx).await.map(i64::unsigned_abs).map_err(ledger_error)
    }

    async fn count_ids(
        &mut self,
        project: i64,
        from: &[u8],
        below: Option<&[u8]>,
    ) -> Result<u64, LedgerError> {
        let count = "SELECT count(*) FROM (SELECT project, id FROM views_ids_a UNION ALL
                SELECT project, id FROM views_ids_b) AS both_tables
            WHERE project = $1 AND id >= $2 AND ($3::bytea IS NULL OR id < $3)";
        let count = sqlx::query_scalar(count).bind(project).bind(from).bind(below);
        count.fetch_one(&mut *self.tx).await.map(i64::unsigned_abs).map_err(ledger_error)
    }

    async fn step(&mut self, step: &str) -> Result<Option<String>, LedgerError> {
        step_state(&mut self.tx, step).await.map_err(ledger_error)
    }

    async fn save_step(&mut self, step: &str, state: &str) -> Result<(), LedgerError> {
        save_step(&mut self.tx, step, state).await.map_err(ledger_error)
    }
}

impl LedgerWork {
    async fn has_ids_in_b(&mut self) -> Result<bool, LedgerError> {
        let is_b = sqlx::query_scalar("SELECT is_b FROM views_ids_current").fetch_one(&mut *self.tx);
        is_b.await.map_err(ledger_error)
    }
}

fn columns(ids: &[(IdHash, i64)]) -> (Vec<Vec<u8>>, Vec<i64>) {
    ids.iter().map(|(hash, received)| (hash.to_vec(), *received)).unzip()
}

macro_rules! add_to {
    ($table:literal) => {
        concat!(
            "INSERT INTO ",
            $table,
            " AS kept (project, id, received)
            SELECT $1, sent.id, sent.received FROM unnest($2::bytea[], $3::bigint[]) AS sent (id, received)
            ON CONFLICT (project, id) DO UPDATE SET received = greatest(kept.received, excluded.received)"
        )
    };
}

const ADD_TO_A: &str = add_to!("views_ids_a");
const ADD_TO_B: &str = add_to!("views_ids_b");

macro_rules! count_known_in {
    ($table:literal) => {
        concat!(
            "SELECT count(*) FROM unnest($2::bytea[], $3::bigint[]) AS sent (id, received) JOIN ",
            $table,
            " AS kept ON kept.project = $1 AND kept.id = sent.id AND kept.received >= sent.received"
        )
    };
}

const COUNT_KNOWN_IN_A: &str = count_known_in!("views_ids_a");
const COUNT_KNOWN_IN_B: &str = count_known_in!("views_ids_b");
