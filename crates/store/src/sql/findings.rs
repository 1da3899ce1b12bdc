//! Findings, and the chores that keep them.

use std::time::Duration;

use async_trait::async_trait;
use findings::{FindingState, Kind, Settings, State};
use futures_util::FutureExt;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::{Backend, Connection, FromRow, Query, Row, chores, sql};
use crate::encoding::{damaged, from_ms, to_json, to_signed};
use crate::findings::{HurtReaders, MAX_FINDINGS};
use crate::{
    Actor, Chore, ChoreLease, Finding, FindingCount, FindingEvent, FindingFilter, FindingId, FindingJob,
    FindingPeriod, FindingUpdate, Findings, JobId, Page, ProjectId, PullState, Result, SiteScan, Status,
};

/// The columns of a finding and of its job. The tables are named `findings` and `jobs`.
macro_rules! columns {
    () => {
        "findings.id AS id, findings.project AS project, kind, key, subject, target, state, score, human, ai, evidence, lifecycle, job,
         version, found_at, changed_at, jobs.status AS job_status, jobs.pr_link AS pr_link, jobs.pr_state AS pr_state,
         jobs.merged_at AS merged_at"
    };
}

macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT ", columns!(), " FROM findings LEFT JOIN jobs ON jobs.id = findings.job ", $rest)
    };
}

/// Which findings a filter lists, without its order and its page. See [`bind_filter`].
macro_rules! matches_filter {
    () => {
        "project = $1 AND ($2 IS NULL OR state = $2) AND ($3 IS NULL OR kind = $3)
           AND ($4 = 'any' OR ($4 = 'human' AND human > 0) OR ($4 = 'ai' AND ai > 0))
           AND ($5 = 'any' OR (CASE $5 WHEN 'found' THEN found_at ELSE changed_at END >= $6
                               AND CASE $5 WHEN 'found' THEN found_at ELSE changed_at END < $7))"
    };
}

#[async_trait]
impl<B: Backend> Findings for B {
    async fn finding(&self, project: &ProjectId, id: &FindingId) -> Result<Option<Finding>> {
        let find = sql(select!("WHERE findings.project = $1 AND findings.id = $2"));
        self.optional(find.bind(&project.0).bind(&id.0)).await
    }

    async fn findings(&self, project: &ProjectId, filter: &FindingFilter) -> Result<Page<Finding>> {
        let mut items: Vec<Finding> = self.all(list(project, filter)).await?;
        let has_more = items.len() > filter.limit as usize;
        items.truncate(filter.limit as usize);
        Ok(Page { items, has_more })
    }

    async fn findings_by_id(&self, project: &ProjectId, ids: &[FindingId]) -> Result<Vec<Finding>> {
        let find = sql(select!("WHERE findings.id = ANY($1) AND findings.project = $2"));
        let ids: Vec<String> = ids.iter().map(|id| id.0.clone()).collect();
        self.all(find.bind(ids).bind(&project.0)).await
    }

    async fn findings_of_job(&self, project: &ProjectId, job: &JobId) -> Result<Vec<Finding>> {
        let find = sql(select!(
            "WHERE findings.id IN (SELECT finding FROM job_findings WHERE job_findings.job = $1)
               AND findings.project = $2 ORDER BY score DESC, findings.id"
        ));
        self.all(find.bind(&job.0).bind(&project.0)).await
    }

    async fn count_findings(&self, project: &ProjectId, filter: &FindingFilter) -> Result<u64> {
        let count = sql(concat!("SELECT count(*) AS n FROM findings WHERE ", matches_filter!()));
        self.row(bind_filter(count, project, filter)).await?.map_or(Ok(0), |row| row.number("n"))
    }

    async fn finding_counts(&self, project: &ProjectId) -> Result<Vec<FindingCount>> {
        let count = sql("SELECT kind, state, count(*) AS n FROM findings WHERE project = $1
             GROUP BY kind, state ORDER BY kind, state");
        self.all(count.bind(&project.0)).await
    }

    async fn findings_after(
        &self,
        project: &ProjectId,
        kind: Kind,
        key: &str,
        limit: u32,
    ) -> Result<Vec<Finding>> {
        let find =
            sql(select!("WHERE findings.project = $1 AND kind = $2 AND key > $3 ORDER BY key LIMIT $4"));
        self.all(find.bind(&project.0).bind(kind.as_str()).bind(key).bind(limit)).await
    }

    async fn dismiss_finding(
        &self,
        project: &ProjectId,
        id: &FindingId,
        reason: &str,
        actor: &Actor,
    ) -> Result<Option<Finding>> {
        let input = (project.clone(), id.clone(), reason.to_owned(), actor.clone());
        self.transaction(input, |db, (project, id, reason, actor)| {
            dismiss(db, project, id, reason, actor).boxed()
        })
        .await
    }

    async fn finding_settings(&self, project: &ProjectId) -> Result<Settings> {
        settings(self.row(settings_query(project)).await?)
    }

    async fn set_finding_settings(&self, project: &ProjectId, settings: &Settings) -> Result<()> {
        let set = sql("INSERT INTO finding_settings (project, settings) VALUES ($1, $2)
             ON CONFLICT (project) DO UPDATE SET settings = excluded.settings");
        self.execute(set.bind(&project.0).bind(to_json(settings))).await?;
        self.hasten_chores(project).await
    }

    async fn next_chore(&self, chore: Chore) -> Result<Option<ChoreLease>> {
        chores::take(self, chore).await
    }

    async fn request_scan(&self, project: &ProjectId) -> Result<()> {
        chores::request_scan(self, project).await
    }

    async fn hasten_chores(&self, project: &ProjectId) -> Result<()> {
        self.execute(chores::hasten(project)).await.map(drop)
    }

    async fn finish_chore(&self, lease: &ChoreLease, wait: Duration) -> Result<bool> {
        chores::finish(self, lease, wait).await
    }

    async fn save_findings(&self, lease: &ChoreLease, updates: &[FindingUpdate]) -> Result<bool> {
        let input = (lease.clone(), updates.to_vec());
        self.transaction(input, |db, (lease, updates)| {
            async move {
                if !chores::is_held(db, lease).await? {
                    return Ok(false);
                }
                for update in updates {
                    save(db, &lease.project, update).await?;
                }
                remove_lowest(db, &lease.project).await?;
                Ok(true)
            }
            .boxed()
        })
        .await
    }

    async fn save_site_scan(&self, lease: &ChoreLease, commit: &str, scan: &str) -> Result<bool> {
        let save = sql("INSERT INTO site_scans (project, commit_id, scan, scanned_at)
             VALUES ($1, $2, $3, docwright_now_ms())
             ON CONFLICT (project) DO UPDATE
             SET commit_id = excluded.commit_id, scan = excluded.scan, scanned_at = excluded.scanned_at")
        .bind(&lease.project.0)
        .bind(commit)
        .bind(scan);
        self.transaction((lease.clone(), save), |db, (lease, save)| {
            async move {
                if !chores::is_held(db, lease).await? {
                    return Ok(false);
                }
                db.execute(save.clone()).await?;
                Ok(true)
            }
            .boxed()
        })
        .await
    }

    async fn site_scan(&self, project: &ProjectId) -> Result<Option<SiteScan>> {
        let find = sql("SELECT commit_id, scan, scanned_at FROM site_scans WHERE project = $1");
        self.optional(find.bind(&project.0)).await
    }
}

/// Chooses the rows before it reads them, because the evidence is most of a row. One row more shows whether there are more.
fn list(project: &ProjectId, filter: &FindingFilter) -> Query {
    let query = concat!(
        "WITH chosen AS (
           SELECT findings.id AS chosen_id,
             CASE $8 WHEN 'human' THEN human WHEN 'ai' THEN ai WHEN 'total' THEN human + ai
                     WHEN 'newest' THEN found_at ELSE score END AS sort_key
           FROM findings WHERE ",
        matches_filter!(),
        " ORDER BY sort_key DESC, findings.id LIMIT $9 OFFSET $10)
         SELECT ",
        columns!(),
        " FROM chosen JOIN findings ON findings.id = chosen_id LEFT JOIN jobs ON jobs.id = findings.job
          ORDER BY sort_key DESC, findings.id"
    );
    bind_filter(sql(query), project, filter)
        .bind(filter.sort.as_str())
        .bind(i64::from(filter.limit) + 1)
        .bind(to_signed(filter.offset))
}

/// Binds $1 to $7, for `matches_filter!`.
fn bind_filter(query: Query, project: &ProjectId, filter: &FindingFilter) -> Query {
    let event = filter.period.map_or("any", |period| match period.what {
        FindingEvent::Found => "found",
        FindingEvent::Changed => "changed",
    });
    let ms = |at: fn(&FindingPeriod) -> Timestamp| {
        filter.period.as_ref().map_or(0, |period| at(period).as_millisecond())
    };
    query
        .bind(&project.0)
        .bind(filter.state.map(State::as_str))
        .bind(filter.kind.map(Kind::as_str))
        .bind(match filter.readers {
            None => "any",
            Some(HurtReaders::Human) => "human",
            Some(HurtReaders::Ai) => "ai",
        })
        .bind(event)
        .bind(ms(|period| period.from))
        .bind(ms(|period| period.to))
}

/// Marks the findings that a new job is to fix. Answers false, without a change, when none of them waits for a job.
pub(super) async fn assign_to_job(
    db: &mut Connection<'_>,
    project: &ProjectId,
    ids: &[FindingId],
    job: &JobId,
    now: i64,
) -> Result<bool> {
    let ids: Vec<String> = ids.iter().map(|id| id.0.clone()).collect();
    db.lock(
        sql("SELECT id FROM findings WHERE id = ANY($1) AND project = $2 ORDER BY id FOR UPDATE")
            .bind(ids.clone())
            .bind(&project.0),
    )
    .await?;
    let find = sql(select!("WHERE findings.id = ANY($1) AND findings.project = $2 ORDER BY findings.id"));
    let mut findings: Vec<Finding> = db.all(find.bind(ids).bind(&project.0)).await?;
    findings.retain(Finding::waits_for_job);
    for finding in &findings {
        let proposed = finding.lifecycle.propose(day(now)?);
        set_lifecycle(db, &finding.id, &proposed, Some(job), now).await?;
        let keep = sql("INSERT INTO job_findings (job, finding) VALUES ($1, $2)");
        db.execute(keep.bind(&job.0).bind(&finding.id.0)).await?;
    }
    Ok(!findings.is_empty())
}

/// Makes the findings of a job due that ended: they may be in review now, or open again.
pub(super) async fn hasten_findings_of(db: &mut Connection<'_>, job: &JobId) -> Result<()> {
    let hasten = sql("UPDATE project_chores SET due_at = 0 WHERE chore = $1
           AND project IN (SELECT project FROM findings WHERE findings.job = $2)");
    db.execute(hasten.bind(Chore::RefreshFindings.as_str()).bind(&job.0)).await.map(drop)
}

async fn dismiss(
    db: &mut Connection<'_>,
    project: &ProjectId,
    id: &FindingId,
    reason: &str,
    actor: &Actor,
) -> Result<Option<Finding>> {
    db.lock(sql("SELECT id FROM findings WHERE id = $1 FOR UPDATE").bind(&id.0)).await?;
    let find = sql(select!("WHERE findings.project = $1 AND findings.id = $2"));
    let find = find.bind(&project.0).bind(&id.0);
    let Some(finding) = db.optional::<Finding>(find.clone()).await? else { return Ok(None) };
    if finding.lifecycle.state == State::Dismissed {
        return Ok(Some(finding));
    }
    let now = db.now().await?;
    let settings = settings(db.row(settings_query(project)).await?)?;
    let dismissed = finding.lifecycle.dismiss(reason, &finding.evidence, day(now)?, &settings);
    set_lifecycle(db, id, &dismissed, None, now).await?;
    let record = sql(
        "INSERT INTO deeds (organization, at, who, what, about)
         SELECT organization, $1, $2, 'dismissed the finding', name || ' ' || $3 FROM projects WHERE id = $4",
    );
    let subject = db.stored_text(&finding.subject);
    db.execute(record.bind(now).bind(actor.to_string()).bind(subject).bind(&project.0)).await?;
    db.optional(find).await
}

/// Stores a new state. Without a job, the finding keeps the one that it has.
async fn set_lifecycle(
    db: &mut Connection<'_>,
    id: &FindingId,
    lifecycle: &FindingState,
    job: Option<&JobId>,
    now: i64,
) -> Result<()> {
    let set =
        sql("UPDATE findings SET state = $1, lifecycle = $2, job = coalesce($3, job), version = version + 1,
           changed_at = $4 WHERE id = $5")
        .bind(lifecycle.state.as_str())
        .bind(to_json(lifecycle))
        .bind(job.map(|job| &job.0))
        .bind(now)
        .bind(&id.0);
    db.execute(set).await.map(drop)
}

fn settings_query(project: &ProjectId) -> Query {
    sql("SELECT settings FROM finding_settings WHERE project = $1").bind(&project.0)
}

fn settings(row: Option<Row>) -> Result<Settings> {
    row.map(|row| row.json("settings")).transpose().map(Option::unwrap_or_default)
}

/// The day in UTC, as page views count days.
fn day(now: i64) -> Result<Date> {
    Ok(from_ms(now)?.to_zoned(TimeZone::UTC).date())
}

/// Inserts a new finding, or updates the expected version of an existing one.
async fn save(db: &mut Connection<'_>, project: &ProjectId, update: &FindingUpdate) -> Result<()> {
    let save = sql("INSERT INTO findings (id, project, kind, key, subject, target, state, score, human, ai, evidence, lifecycle, version,
           found_at, changed_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 1, docwright_now_ms(), docwright_now_ms())
         ON CONFLICT (project, kind, key) DO UPDATE
         SET subject = excluded.subject, target = excluded.target, state = excluded.state, score = excluded.score, human = excluded.human, ai = excluded.ai,
             evidence = excluded.evidence, lifecycle = excluded.lifecycle, version = findings.version + 1,
             job = CASE WHEN $13 THEN NULL ELSE findings.job END,
             changed_at = CASE WHEN findings.state = excluded.state THEN findings.changed_at ELSE excluded.changed_at END
         WHERE findings.version = $14")
    .bind(FindingId::random().0)
    .bind(&project.0)
    .bind(update.kind.as_str())
    .bind(&update.key)
    .bind(&update.subject)
    .bind(&update.target)
    .bind(update.lifecycle.state.as_str())
    .bind(to_signed(update.score))
    .bind(to_signed(update.human))
    .bind(to_signed(update.ai))
    .bind(to_json(&update.evidence))
    .bind(to_json(&update.lifecycle))
    .bind(update.drops_job)
    .bind(to_signed(update.version));
    db.execute(save).await.map(drop)
}

/// Removes the findings beyond the project's maximum that nothing was done about.
async fn remove_lowest(db: &mut Connection<'_>, project: &ProjectId) -> Result<()> {
    let remove = sql("DELETE FROM findings WHERE state IN ('open', 'resolved') AND id IN (
           SELECT id FROM findings WHERE project = $1 ORDER BY score DESC, id LIMIT 1000000 OFFSET $2)");
    db.execute(remove.bind(&project.0).bind(MAX_FINDINGS)).await.map(drop)
}

impl FromRow for Finding {
    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self {
            id: FindingId(row.get("id")?),
            project: ProjectId(row.get("project")?),
            kind: Kind::parse(row.get("kind")?).ok_or_else(|| damaged("the kind of a finding"))?,
            key: row.get("key")?,
            subject: row.get("subject")?,
            target: row.get("target")?,
            lifecycle: row.json("lifecycle")?,
            score: row.number("score")?,
            human: row.number("human")?,
            ai: row.number("ai")?,
            evidence: row.json("evidence")?,
            job: job(row)?,
            found_at: row.time("found_at")?,
            changed_at: row.time("changed_at")?,
            version: row.number("version")?,
        })
    }
}

fn job(row: &Row) -> Result<Option<FindingJob>> {
    let Some(id) = row.get::<Option<String>>("job")? else { return Ok(None) };
    let status = match row.get::<Option<&str>>("job_status")? {
        // One transaction creates several jobs, and inserts them last.
        None => Status::Active,
        Some(status) => Status::parse(status).ok_or_else(|| damaged("the status of a finding's job"))?,
    };
    Ok(Some(FindingJob {
        id: JobId(id),
        status,
        pr_link: row.get("pr_link")?,
        pr_state: row.get::<Option<&str>>("pr_state")?.and_then(PullState::parse),
        merged_at: row.time_or_none("merged_at")?,
    }))
}

impl FromRow for FindingCount {
    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self {
            kind: Kind::parse(row.get("kind")?).ok_or_else(|| damaged("the kind of a finding"))?,
            state: State::parse(row.get("state")?).ok_or_else(|| damaged("the state of a finding"))?,
            count: row.number("n")?,
        })
    }
}

impl FromRow for SiteScan {
    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self {
            commit: row.get("commit_id")?,
            scan: row.get("scan")?,
            scanned_at: row.time("scanned_at")?,
        })
    }
}
