//! Tests of PostgreSQL only: several servers at once, and a database that becomes unavailable.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use base::SystemClock;
use base::sqlite::Schema;
use futures_util::future::join_all;
use machine::Cause;
use store::{
    Accounts, DatabaseUrl, IdempotencyKey, Job, JobId, JobStore, Limit, MasterKey, NewEvent, NewJob,
    PostgresStore, ProjectId, Prompt, PullState, Pulls, Queue, Rates, Receipt, Render, Secrets, Status,
    StoreError, Terms,
};
use tokio::time::timeout;

use crate::follow_ups::{follow_up, leased};
use crate::jobs::{done, job, new_job, page, worker};
use crate::pulls::{LINK, published, pull_states};
use crate::{PostgresTest, cluster, open_postgres, project};

/// Far longer than anything here takes.
const SOON: Duration = Duration::from_secs(20);

/// What several workers have their hands on at one time.
#[derive(Default)]
struct Floor {
    branches: HashSet<String>,
    leased: HashSet<JobId>,
    done: usize,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn eight_workers_never_have_one_job_or_one_branch_at_once() {
    let kept = PostgresTest::new().await;
    let other = open_postgres(&kept.database, &kept.dir, kept.clock.clone()).await.unwrap();
    let project = project(&kept.store, "acme").await;
    for n in 0..200 {
        // At the end all of them want the same two branches.
        let branch = (n >= 100).then(|| format!("topic-{}", n % 2));
        kept.store.insert(&NewJob { branch, ..new_job(&project) }, &Terms::default()).await.unwrap();
    }
    let floor = Arc::new(Mutex::new(Floor::default()));
    let workers = (0..8).map(|n| {
        let store = if n % 2 == 0 { kept.store.clone() } else { other.clone() };
        tokio::spawn(work(store, n, floor.clone()))
    });
    for worker in timeout(SOON * 3, join_all(workers)).await.unwrap() {
        worker.unwrap();
    }
    assert_eq!(floor.lock().unwrap().leased.len(), 200);
    let counts = kept.store.counts().await.unwrap();
    assert_eq!((counts.completed, counts.active), (200, 0));
}

async fn work(store: PostgresStore, n: u8, floor: Arc<Mutex<Floor>>) {
    while floor.lock().unwrap().done < 200 {
        let Some(lease) = store.lease_next(&worker(n)).await.unwrap() else {
            tokio::task::yield_now().await;
            continue;
        };
        {
            let mut floor = floor.lock().unwrap();
            assert!(floor.leased.insert(lease.job.id.clone()), "one job, two leases");
            assert!(floor.branches.insert(lease.job.branch.clone()), "one branch, two jobs");
        }
        store.record(&lease, vec![]).await.unwrap();
        floor.lock().unwrap().branches.remove(&lease.job.branch);
        store.finish(&lease, done(None), 0).await.unwrap();
        floor.lock().unwrap().done += 1;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn a_message_is_never_lost_to_an_end_at_the_same_time() {
    let kept = PostgresTest::new().await;
    let store = &kept.store;
    let project = project(store, "acme").await;
    for _ in 0..50 {
        let made = job(store, &project).await;
        let lease = leased(store).await;
        let (_, next) = tokio::join!(follow_up(store, &made, "More"), store.finish(&lease, done(None), 0));
        let job = store.find(&project.id, &made.id).await.unwrap().unwrap();
        assert_eq!((job.status, job.run), (Status::Active, 2));
        let next = match next.unwrap() {
            Some(next) => next,
            None => leased(store).await,
        };
        assert_eq!(store.unread(&next).await.unwrap().len(), 1);
        assert!(store.finish(&next, done(None), 1).await.unwrap().is_none());
        let events = store.events(&project.id, &made.id, 0).await.unwrap().unwrap();
        assert!(events.iter().map(|event| event.number).eq(1..=events.len() as u64));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn the_same_news_many_times_at_once_are_one_event() {
    let kept = PostgresTest::new().await;
    let other = open_postgres(&kept.database, &kept.dir, kept.clock.clone()).await.unwrap();
    let project = project(&kept.store, "acme").await;
    let job = published(&kept.store, &project).await;
    published(&kept.store, &project).await;
    follow_up(&kept.store, &job, "More").await;
    let lease = leased(&kept.store).await;
    let working = async {
        for _ in 0..20 {
            kept.store.record(&lease, vec![NewEvent::new("step", "One more")]).await.unwrap();
        }
    };
    let noted = (0..8).map(|n| {
        let store = if n % 2 == 0 { &kept.store } else { &other };
        store.record_pull_state(&project.id, LINK, PullState::Merged)
    });
    let (noted, ()) = tokio::join!(join_all(noted), working);
    assert_eq!(noted.into_iter().map(Result::unwrap).sum::<usize>(), 2, "each of two jobs once");
    assert_eq!(pull_states(&kept.store, &job).await, ["merged"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn the_same_request_many_times_at_once_is_one_job() {
    let kept = PostgresTest::new().await;
    let project = project(&kept.store, "acme").await;
    let render = Render(Arc::new(|job: &Job| job.id.to_string()));
    let limit = Limit { bucket: "jobs".into(), max: 100 };
    let terms = Terms {
        once: Some((IdempotencyKey::new("k", b"body"), render)),
        limit: Some(limit.clone()),
        actor: None,
    };
    let new = new_job(&project);
    let receipts = join_all((0..8).map(|_| kept.store.insert(&new, &terms))).await;
    let made = receipts.iter().filter(|receipt| matches!(receipt, Ok(Receipt::Done { .. }))).count();
    let replayed = receipts.iter().filter(|receipt| matches!(receipt, Ok(Receipt::Replayed(_)))).count();
    assert_eq!((made, replayed), (1, 7));
    assert_eq!(kept.store.list(&project.id, &page(10, 0)).await.unwrap().items.len(), 1);
    assert_eq!(kept.store.count(&limit).await.unwrap().unwrap().left, 98, "the replays cost nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn a_limit_holds_whoever_comes_at_once() {
    let kept = PostgresTest::new().await;
    let limit = Limit { bucket: "jobs".into(), max: 5 };
    let counted = join_all((0..20).map(|_| kept.store.count(&limit))).await;
    assert_eq!(counted.into_iter().filter(|usage| usage.as_ref().unwrap().is_ok()).count(), 5);
    let none = Limit { bucket: "none".into(), max: 0 };
    assert!(kept.store.count(&none).await.unwrap().is_err());
}

/// Returns once `here` was woken; the bell can have rung before for something else.
async fn hears(here: &PostgresStore) {
    timeout(SOON, async { tokio::join!(here.wait_for_work(), here.wait_for_events()) }).await.unwrap();
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn other_servers_hear_of_work_and_of_news_also_after_a_cut() {
    let kept = PostgresTest::new().await;
    let here = open_postgres(&kept.database, &kept.dir, kept.clock.clone()).await.unwrap();
    let project = project(&kept.store, "acme").await;
    let made = job(&kept.store, &project).await;
    tokio::join!(hears(&here), follow_up(&kept.store, &made, "More"));
    // Every connection of both is cut; listening again rings both bells.
    tokio::join!(hears(&here), async { cut(&kept.database) });
    tokio::join!(hears(&here), follow_up(&kept.store, &made, "More"));
}

fn cut(database: &cluster::Database) {
    let all =
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'docwright'
        AND datname = current_database()";
    assert_ne!(database.sql(all), "0");
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn a_cut_connection_is_made_anew_and_a_closed_database_is_an_error() {
    let kept = PostgresTest::new().await;
    let project = project(&kept.store, "acme").await;
    cut(&kept.database);
    let made = job(&kept.store, &project).await;
    assert!(kept.store.find(&project.id, &made.id).await.unwrap().is_some());
    kept.database.close();
    let refused = kept.store.find(&project.id, &made.id).await;
    assert!(matches!(refused, Err(StoreError::Database(_))), "{refused:?}");
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn two_who_make_the_schema_at_once_make_it_once() {
    let database = cluster::Database::create();
    let dir = tempfile::tempdir().unwrap();
    let clock = || Arc::new(base::TestClock::at("2026-11-15T12:00:00Z".parse().unwrap()));
    // The key is there before, so that both have the same one.
    MasterKey::load_or_create(&dir.path().join("master.key")).unwrap();
    let open = || open_postgres(&database, &dir, clock());
    let (one, two) = tokio::join!(open(), open());
    one.unwrap().create_organization("acme").await.unwrap();
    assert_eq!(two.unwrap().organizations().await.unwrap().len(), 1);
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn a_schema_that_does_not_fit_is_refused_with_a_sentence() {
    let database = cluster::Database::create();
    let dir = tempfile::tempdir().unwrap();
    let refusal = async |schema: Schema| {
        let url: DatabaseUrl = database.url().parse().unwrap();
        let master = MasterKey::load_or_create(&dir.path().join("master.key")).unwrap();
        PostgresStore::open(&url, schema, master, Arc::new(SystemClock)).await.err().unwrap().to_string()
    };
    // Whoever must not change it makes none.
    assert!(refusal(Schema::MustMatch).await.contains("has the schema of an older version (0;"));
    assert!(refusal(Schema::Existing).await.contains("is empty. Check that it is the right one"));
    assert_eq!(database.sql("SELECT to_regclass('jobs') IS NULL"), "t");

    let url: DatabaseUrl = database.url().parse().unwrap();
    let master = MasterKey::load_or_create(&dir.path().join("master.key")).unwrap();
    let running = PostgresStore::open(&url, Schema::Migrate, master, Arc::new(SystemClock)).await.unwrap();
    database.sql("UPDATE docwright_schema SET version = version - 1");
    let refused = refusal(Schema::Migrate).await;
    assert!(refused.contains("a server is using it. Stop that server first"), "{refused}");
    database.sql("UPDATE docwright_schema SET version = version + 100");
    let refused = refusal(Schema::Migrate).await;
    assert!(refused.contains("was written by a newer version of Docwright (schema 1"), "{refused}");
    drop(running);
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn a_wrong_master_key_is_refused_and_a_secret_is_kept_sealed() {
    let kept = PostgresTest::new().await;
    kept.store.put_secret("prj_1", "forge-token", b"canary").await.unwrap();
    assert_eq!(kept.store.secret("prj_1", "forge-token").await.unwrap().unwrap().as_slice(), b"canary");
    assert_eq!(
        kept.database.sql("SELECT position('canary'::bytea IN sealed) FROM secrets WHERE owner = 'prj_1'"),
        "0"
    );
    assert!(kept.store.remove_secret("prj_1", "forge-token").await.unwrap());
    assert!(kept.store.secret("prj_1", "forge-token").await.unwrap().is_none());
    let other = tempfile::tempdir().unwrap();
    let refused = open_postgres(&kept.database, &other, kept.clock.clone()).await.err().unwrap();
    assert!(refused.to_string().contains("DOCWRIGHT_MASTER_KEY_FILE"), "{refused}");
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn a_wrong_password_is_a_sentence_without_it() {
    let database = cluster::Database::create();
    database.sql("DO $$ BEGIN CREATE ROLE guarded LOGIN PASSWORD 'right'; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$");
    let url: DatabaseUrl = database.url_of("guarded:s3cret").parse().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let master = MasterKey::load_or_create(&dir.path().join("master.key")).unwrap();
    let refused =
        PostgresStore::open(&url, Schema::Migrate, master, Arc::new(SystemClock)).await.err().unwrap();
    let refused = refused.to_string();
    assert!(refused.contains("password authentication failed for user \"guarded\""), "{refused}");
    assert!(!refused.contains("s3cret"), "{refused}");
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn time_is_the_databases_when_no_test_stands_on_the_clock() {
    let database = cluster::Database::create();
    let dir = tempfile::tempdir().unwrap();
    let master = MasterKey::load_or_create(&dir.path().join("master.key")).unwrap();
    let url: DatabaseUrl = database.url().parse().unwrap();
    let store = PostgresStore::open(&url, Schema::Migrate, master, Arc::new(SystemClock)).await.unwrap();
    let now =
        || database.sql("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)").parse::<i64>().unwrap();
    let before = now();
    let made = store.create_organization("acme").await.unwrap().created_at.as_millisecond();
    assert!((before..=now()).contains(&made));
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn a_text_with_nul_is_kept_without_and_finds_nothing() {
    let kept = PostgresTest::new().await;
    let project = project(&kept.store, "acme").await;
    let new = NewJob { prompt: Prompt::parse("Fix\0links").unwrap(), ..new_job(&project) };
    let Receipt::Done { job, .. } = kept.store.insert(&new, &Terms::default()).await.unwrap() else {
        panic!()
    };
    assert_eq!(job.prompt, "Fix\u{fffd}links");
    assert_eq!(kept.store.find(&project.id, &job.id).await.unwrap().unwrap().prompt, job.prompt);
    follow_up(&kept.store, &job, "And\0images").await;
    assert!(kept.store.find(&project.id, &JobId("\0".into())).await.unwrap().is_none());
    assert!(kept.store.project(&ProjectId("prj\0".into())).await.unwrap().is_none());
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn what_the_database_breaks_off_is_known_by_its_code() {
    use sqlx::Connection;
    let database = cluster::Database::create();
    let mut db = sqlx::PgConnection::connect(&database.url()).await.unwrap();
    for (raise, again) in [
        ("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40P01'; END $$", true),
        ("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$", true),
        ("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '23505'; END $$", false),
    ] {
        let error = StoreError::from(sqlx::raw_sql(raise).execute(&mut db).await.unwrap_err());
        assert_eq!(matches!(error, StoreError::Aborted), again, "{error}");
    }
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn what_can_be_better_later_is_told_from_what_cannot() {
    let database = cluster::Database::create();
    database.sql("DO $$ BEGIN CREATE ROLE guarded LOGIN PASSWORD 'right'; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$");
    let hint = async |url: &str| {
        let refused = PostgresStore::reach(&url.parse().unwrap()).await.err()?;
        Some(refused.retry_hint().unwrap_or("none").to_owned())
    };
    assert_eq!(hint(&database.url()).await, None);
    let away = hint("postgres://dw@127.0.0.1:1/docs").await.unwrap();
    assert!(away.starts_with("start the database"), "{away}");
    let password = hint(&database.url_of("guarded:s3cret")).await.unwrap();
    assert!(password.starts_with("check the user and the password"), "{password}");
    let unknown = hint(&database.url().replace("localhost/t", "localhost/no_t")).await.unwrap();
    assert!(unknown.starts_with("create the database"), "{unknown}");
    database.close();
    assert_eq!(hint(&database.url()).await.unwrap(), away);
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn trouble_of_the_databases_machine_is_known_by_its_code() {
    use sqlx::Connection;
    let database = cluster::Database::create();
    let mut db = sqlx::PgConnection::connect(&database.url()).await.unwrap();
    for (raise, cause) in [
        ("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '53100'; END $$", Some(Cause::DiskFull)),
        ("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '58030'; END $$", Some(Cause::DiskError)),
        ("SELECT nonsense", None),
        ("BEGIN READ ONLY; CREATE TABLE t (v INT)", Some(Cause::ReadOnly)),
    ] {
        let error = StoreError::from(sqlx::raw_sql(raise).execute(&mut db).await.unwrap_err());
        let found = if let StoreError::Machine(trouble) = &error { Some(trouble.cause) } else { None };
        assert_eq!(found, cause, "{error}");
    }
}
