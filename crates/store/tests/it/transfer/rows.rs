//! Rows in every table of the source, with values that the databases store in different ways.

use std::path::Path;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, SqliteConnection};

const ROWS: &str = "
INSERT INTO organizations (id, name, created_at) VALUES ('org_1', 'Acme', 1000), ('org_2', 'Gone', 1000);
INSERT INTO projects (id, organization, name, repository, sites, model, created_at)
    VALUES ('project_1', 'org_1', 'Docs', '/srv/docs', '[]', 'offline', 1000);
INSERT INTO deletions (id, at) VALUES ('org_2', 2000);
INSERT INTO keys (id, organization, name, hash, hint, scope, allow, created_at)
    VALUES ('key_1', 'org_1', 'CI', x'00ff07', 'dw_…', 'read', '[]', 1000);
INSERT INTO people (id, organization, name, role, password, created_at)
    VALUES ('person_1', 'org_1', 'ada', 'owner', '$argon2id$', 1000);
INSERT INTO sign_in_networks (person, network, at) VALUES ('person_1', '192.0.2.0/24', 1000);
INSERT INTO invites (hash, organization, role, expires_at, id) VALUES (x'01', 'org_1', 'member', 2000, 'inv_1');
INSERT INTO login_links (hash, organization, expires_at, name) VALUES (x'02', 'org_1', 2000, 'laptop');
INSERT INTO sessions (hash, organization, created_at, expires_at, person, operator, id)
    VALUES (x'03', 'org_1', 1000, 2000, 'person_1', 0, 'ses_1'), (x'04', 'org_1', 1000, 2000, NULL, 1, 'ses_2');
INSERT INTO deeds (number, organization, at, who, what, about)
    VALUES (7, 'org_1', 1000, 'ada', 'signed in', ''), (40, 'org_1', 1000, 'ada', 'signed out', '');
DELETE FROM deeds WHERE number = 40;
INSERT INTO workers (id, alive_until) VALUES ('worker_1', 9223372036854775807);
INSERT INTO jobs (id, project, status, prompt, branch, model, created_at, ended_at, draft)
    VALUES ('job_1', 'project_1', 'completed', 'Fix' || char(0) || 'it', 'docwright/job_1', 'offline', 1000, 2000, 1);
INSERT INTO jobs (id, project, status, prompt, branch, model, created_at, worker, lease, attempt)
    VALUES ('job_2', 'project_1', 'active', 'Use pnpm', 'docwright/job_2', 'offline', 1000, 'worker_1', 3, 1);
INSERT INTO job_events (job, number, at, kind, data) VALUES ('job_1', 1, 1000, 'created', '{}'), ('job_1', 2, 1000, 'ended', '{}');
INSERT INTO messages (job, number, prompt, created_at, read) VALUES ('job_1', 1, 'And é', 1000, 1);
INSERT INTO job_changes (job, head_commit, title, body, report, diff, run, pushed)
    VALUES ('job_1', 'c0', 'Fix it', '', '', '+fixed', 1, 1);
INSERT INTO failed_diffs (job, diff) VALUES ('job_2', '-broken');
INSERT INTO conversation (job, number, run, entry, input, output, cached, at, after)
    VALUES ('job_1', 1, 1, '{}', 5, 6, 7, NULL, 0), ('job_1', 2, 1, '{}', 9223372036854775807, 0, 0, 1234, 1);
INSERT INTO tokens_by_month (project, month, tokens) VALUES ('project_1', '2026-11', 11);
INSERT INTO turns (project, turn) VALUES ('project_1', 12);
INSERT INTO pulls (project, number, job, title, body, head, base, head_commit, base_commit, state, created_at)
    VALUES ('project_1', 1, 'job_1', 'Fix it', '', 'docwright/job_1', 'main', 'c0', 'b0', 'open', 1000);
INSERT INTO proposals (project, base_ref, tree, job, head_commit) VALUES ('project_1', 'main', 't0', 'job_1', 'c0');
INSERT INTO findings (id, project, kind, key, subject, state, score, human, ai, evidence, lifecycle, job, version, found_at, changed_at)
    VALUES ('finding_1', 'project_1', 'missing', '/a', '/a', 'open', 3, 2, 1, '{}', '{}', 'job_1', 1, 1000, 1000);
INSERT INTO job_findings (job, finding) VALUES ('job_1', 'finding_1');
INSERT INTO finding_settings (project, settings) VALUES ('project_1', '{}');
INSERT INTO site_scans (project, commit_id, scan, scanned_at) VALUES ('project_1', 'c0', '{}', 1000);
INSERT INTO project_chores (project, chore, due_at, fence) VALUES ('project_1', 'refresh', 1000, 4);
INSERT INTO answers (project, operation, key, request, answer, created_at)
    VALUES ('project_1', 'create', 'key', x'05', '{}', 1000);
INSERT INTO rates (bucket, \"window\", used) VALUES ('jobs project_1', 455000, 7);
";

pub(super) async fn insert(database: &Path) {
    let mut db = connect(database).await;
    sqlx::raw_sql(ROWS).execute(&mut db).await.unwrap();
    db.close().await.unwrap();
}

/// Enough events of a job for several pieces.
pub(super) async fn insert_events(database: &Path, events: u32) {
    let mut db = connect(database).await;
    let insert = format!(
        "WITH RECURSIVE n (n) AS (SELECT 3 UNION ALL SELECT n + 1 FROM n WHERE n < {})
        INSERT INTO job_events (job, number, at, kind, data) SELECT 'job_1', n, 1000 + n, 'step', '{{}}' FROM n",
        events + 2
    );
    sqlx::raw_sql(AssertSqlSafe(insert)).execute(&mut db).await.unwrap();
    db.close().await.unwrap();
}

async fn connect(database: &Path) -> SqliteConnection {
    SqliteConnectOptions::new().filename(database).connect().await.unwrap()
}
