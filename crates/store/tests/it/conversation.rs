//! Conversations of jobs with their model, and tokens.

use base::{Clock, TestClock};
use jiff::SignedDuration;
use serde_json::{Value, json};
use sqlx::ConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;
use store::{
    ConversationEntry, JobStore, LEASE, Lease, MAX_ENTRY_BYTES, NewEvent, Note, Queue, Store, StoreError,
    Tokens,
};

use crate::follow_ups::{follow_up, leased};
use crate::jobs::{MILLISECOND, done, job, worker};
use crate::{SqliteTest, every_backend, open, project};

every_backend! {
    entries_are_numbered_across_runs,
    entries_are_numbered_without_gaps,
    a_lease_of_an_earlier_run_adds_entries_to_the_current_run,
    a_conversation_of_another_project_is_not_found,
    a_lost_lease_adds_no_entry_and_no_tokens,
    tokens_are_counted_by_project_and_calendar_month,
    token_counts_saturate,
    a_refused_entry_counts_no_tokens,
    only_entries_of_the_current_run_are_deleted,
    notes_are_stored_in_order_or_not_at_all,
}

const COST: Tokens = Tokens { input: 100, output: 10, cached: 60 };

async fn conversation_entries(store: &dyn Store, lease: &Lease) -> Vec<ConversationEntry> {
    Queue::conversation(store, lease).await.unwrap()
}

/// Run, number and text of each.
fn lines(said: &[ConversationEntry]) -> Vec<(u32, u32, &str)> {
    said.iter().map(|said| (said.run, said.number, said.entry.as_str().unwrap())).collect()
}

async fn say(store: &dyn Store, lease: &Lease, text: &str) -> u64 {
    store.say(lease, &json!(text), COST).await.unwrap()
}

/// The job's next run, as a follow-up starts it.
async fn next_run(store: &dyn Store, lease: Lease) -> Lease {
    assert!(store.finish(&lease, done(None), 0).await.unwrap().is_none());
    follow_up(store, &lease.job, "More").await;
    leased(store).await
}

async fn entries_are_numbered_across_runs(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let made = job(store, &project).await;
    let lease = leased(store).await;
    assert!(conversation_entries(store, &lease).await.is_empty());
    let entry = json!({"z": ["é", null, -1.5], "a": {"text": "\u{0}\n"}});
    assert_eq!(store.say(&lease, &entry, COST).await.unwrap(), 110);
    assert_eq!(store.say(&lease, &json!("two"), Tokens::default()).await.unwrap(), 110);
    let lease = next_run(store, lease).await;
    assert_eq!(say(store, &lease, "three").await, 220);
    let at = Some(clock.now());
    // After `created` and `started`; then `ended`, `message` and `started` came.
    let expected = [
        ConversationEntry { run: 1, number: 1, entry, tokens: COST, at, after: 2 },
        ConversationEntry { run: 1, number: 2, entry: json!("two"), tokens: Tokens::default(), at, after: 2 },
        ConversationEntry { run: 2, number: 3, entry: json!("three"), tokens: COST, at, after: 5 },
    ];
    assert_eq!(conversation_entries(store, &lease).await, expected);
    assert_eq!(JobStore::conversation(store, &project.id, &made.id).await.unwrap().unwrap(), expected);
    for (number, entry) in (0..).zip(expected.map(Some).into_iter().chain([None])) {
        assert_eq!(store.entry_after(&project.id, &made.id, number).await.unwrap(), entry, "{number}");
    }
}

async fn entries_are_numbered_without_gaps(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    job(store, &project).await;
    job(store, &project).await;
    let (one, other) = (leased(store).await, leased(store).await);
    let both = (0..20).flat_map(|_| [say(store, &one, "one"), say(store, &other, "other")]);
    let months = futures_util::future::join_all(both).await;
    assert_eq!(months.into_iter().max(), Some(40 * 110));
    for lease in [&one, &other] {
        let numbers: Vec<_> =
            conversation_entries(store, lease).await.iter().map(|said| said.number).collect();
        assert_eq!(numbers, (1..=20).collect::<Vec<_>>());
    }
}

async fn a_lease_of_an_earlier_run_adds_entries_to_the_current_run(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    let made = job(store, &project).await;
    let lease = leased(store).await;
    say(store, &lease, "one").await;
    follow_up(store, &made, "More").await;
    // The same lease goes on, with one run more.
    assert!(store.finish(&lease, done(None), 0).await.unwrap().is_some());
    say(store, &lease, "two").await;
    assert_eq!(lines(&conversation_entries(store, &lease).await), [(1, 1, "one"), (2, 2, "two")]);
}

async fn a_conversation_of_another_project_is_not_found(store: &dyn Store, _: &TestClock) {
    let (mine, theirs) = (project(store, "acme").await, project(store, "globex").await);
    let made = job(store, &mine).await;
    assert!(JobStore::conversation(store, &theirs.id, &made.id).await.unwrap().is_none());
    assert!(JobStore::conversation(store, &mine.id, &made.id).await.unwrap().unwrap().is_empty());
}

async fn a_lost_lease_adds_no_entry_and_no_tokens(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    job(store, &project).await;
    let lost = leased(store).await;
    say(store, &lost, "in time").await;
    let refused = async || {
        let late = store.say(&lost, &json!("late"), COST).await;
        assert!(matches!(late, Err(StoreError::LeaseLost(_))));
        assert!(matches!(store.forget_from(&lost, 1).await, Err(StoreError::LeaseLost(_))));
    };
    clock.advance(LEASE);
    refused().await;
    let next = store.lease_next(&worker(2)).await.unwrap().unwrap();
    store.heartbeat(&lost.worker).await.unwrap(); // it wakes up, too late
    refused().await;
    assert_eq!(lines(&conversation_entries(store, &next).await), [(1, 1, "in time")]);
    assert_eq!(store.tokens_this_month(&project.id).await.unwrap(), 110);
}

async fn tokens_are_counted_by_project_and_calendar_month(store: &dyn Store, clock: &TestClock) {
    let (mine, theirs) = (project(store, "acme").await, project(store, "globex").await);
    job(store, &mine).await;
    let lease = leased(store).await;
    say(store, &lease, "on the 15th").await;
    let alive = async |by| {
        clock.advance(by);
        store.heartbeat(&lease.worker).await.unwrap();
    };
    // From noon of the 15th to the last millisecond of November.
    alive(SignedDuration::from_hours(15 * 24 + 12) - MILLISECOND).await;
    assert_eq!(say(store, &lease, "at the end of November").await, 220);
    alive(MILLISECOND).await;
    assert_eq!(store.tokens_this_month(&mine.id).await.unwrap(), 0);
    assert_eq!(say(store, &lease, "at the start of December").await, 110);
    assert_eq!(store.tokens_this_month(&mine.id).await.unwrap(), 110);
    assert_eq!(store.tokens_this_month(&theirs.id).await.unwrap(), 0);
    // The same month of another year is another month.
    alive(SignedDuration::from_hours(365 * 24)).await;
    assert_eq!(store.tokens_this_month(&mine.id).await.unwrap(), 0);
}

async fn token_counts_saturate(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    job(store, &project).await;
    let lease = leased(store).await;
    let absurd = Tokens { input: u64::MAX, output: u64::MAX, cached: u64::MAX };
    let most = i64::MAX.unsigned_abs();
    for _ in 0..2 {
        assert_eq!(store.say(&lease, &Value::Null, absurd).await.unwrap(), most);
    }
    assert_eq!(say(store, &lease, "one more").await, most);
    assert_eq!(
        conversation_entries(store, &lease).await[0].tokens,
        Tokens { input: most, output: most, cached: most }
    );
}

async fn a_refused_entry_counts_no_tokens(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    job(store, &project).await;
    let lease = leased(store).await;
    let text = |length| json!("x".repeat(length));
    let deep = (0..128).fold(Value::Null, |inner, _| json!([inner]));
    for entry in [text(MAX_ENTRY_BYTES - 1), deep] {
        assert!(matches!(store.say(&lease, &entry, COST).await, Err(StoreError::BadEntry(_))));
    }
    assert_eq!(store.tokens_this_month(&project.id).await.unwrap(), 0);
    let longest = text(MAX_ENTRY_BYTES - 2);
    store.say(&lease, &longest, COST).await.unwrap();
    assert!(
        conversation_entries(store, &lease).await[0].entry == longest,
        "the longest entry came back as another"
    );
}

async fn only_entries_of_the_current_run_are_deleted(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    job(store, &project).await;
    let lease = leased(store).await;
    say(store, &lease, "one").await;
    say(store, &lease, "two").await;
    let lease = next_run(store, lease).await;
    for text in ["three", "four", "five"] {
        say(store, &lease, text).await;
    }
    store.forget_from(&lease, 5).await.unwrap();
    say(store, &lease, "another five").await;
    let kept = conversation_entries(store, &lease).await;
    let run_1 = [(1, 1, "one"), (1, 2, "two")];
    assert_eq!(
        lines(&kept),
        [&run_1[..], &[(2, 3, "three"), (2, 4, "four"), (2, 5, "another five")]].concat()
    );
    store.forget_from(&lease, 1).await.unwrap();
    assert_eq!(lines(&conversation_entries(store, &lease).await), run_1);
    store.forget_from(&lease, 3).await.unwrap(); // nothing is left to forget
    say(store, &lease, "another three").await;
    assert_eq!(lines(&conversation_entries(store, &lease).await).last(), Some(&(2, 3, "another three")));
    assert_eq!(store.tokens_this_month(&project.id).await.unwrap(), 7 * 110, "what was spent stays counted");
}

#[tokio::test]
async fn a_restart_finds_what_was_said() {
    let SqliteTest { store, clock, dir } = SqliteTest::new().await;
    let project = project(&store, "acme").await;
    job(&store, &project).await;
    say(&store, &leased(&store).await, "one").await;
    drop(store);

    let store = open(&dir, clock).await;
    store.void_leases().await.unwrap();
    let lease = leased(&store).await;
    assert_eq!((lease.job.run, lease.job.attempt), (1, 2));
    assert_eq!(say(&store, &lease, "two").await, 220);
    assert_eq!(lines(&conversation_entries(&store, &lease).await), [(1, 1, "one"), (1, 2, "two")]);
}

/// No trait deletes a project yet; the schema must be ready for it.
#[tokio::test]
async fn a_conversation_goes_with_its_project() {
    let SqliteTest { store, dir, .. } = SqliteTest::new().await;
    let (gone, stays) = (project(&store, "acme").await, project(&store, "globex").await);
    for project in [&gone, &stays] {
        job(&store, project).await;
        let lease = leased(&store).await;
        say(&store, &lease, "one").await;
        store.finish(&lease, crate::failed_diffs::failed(Some("diff")), 0).await.unwrap();
    }
    let file = SqliteConnectOptions::new().filename(dir.path().join("docwright.db")).foreign_keys(true);
    let mut db = file.connect().await.unwrap();
    let delete = sqlx::query("DELETE FROM projects WHERE id = ?").bind(&gone.id.0);
    delete.execute(&mut db).await.unwrap();
    for count in [
        "SELECT count(*) FROM conversation",
        "SELECT count(*) FROM tokens_by_month",
        "SELECT count(*) FROM failed_diffs",
    ] {
        assert_eq!(sqlx::query_scalar::<_, i64>(count).fetch_one(&mut db).await.unwrap(), 1, "{count}");
    }
    assert_eq!(store.tokens_this_month(&stays.id).await.unwrap(), 110);
}

async fn notes_are_stored_in_order_or_not_at_all(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    let made = job(store, &project).await;
    let lease = leased(store).await;
    let notes = |last: Value| {
        vec![
            Note::Entry(json!("one"), COST),
            Note::Event(NewEvent::new("step", "first")),
            Note::Event(NewEvent::new("step", "second")),
            Note::Entry(last, COST),
        ]
    };
    let nested = (0..200).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
    assert!(matches!(store.note(&lease, notes(nested)).await, Err(StoreError::BadEntry(_))));
    assert!(conversation_entries(store, &lease).await.is_empty());

    assert_eq!(store.note(&lease, notes(json!("two"))).await.unwrap(), 220);
    assert_eq!(store.note(&lease, vec![]).await.unwrap(), 0);
    let all = conversation_entries(store, &lease).await;
    assert_eq!(lines(&all), [(1, 1, "one"), (1, 2, "two")]);
    assert_eq!([all[0].after, all[1].after], [2, 4], "the events came between them");
    let events = store.events(&project.id, &made.id, 2).await.unwrap().unwrap();
    let told: Vec<_> = events.iter().map(|event| event.data["message"].as_str().unwrap()).collect();
    assert_eq!(told, ["first", "second"]);
}
