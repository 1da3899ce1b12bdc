//! Findings, their jobs, and the chores that keep them.

use std::time::Duration;

use base::{Clock as _, TestClock};
use findings::{Day, Evidence, FindingState, Kind, Note, Settings, State};
use jiff::SignedDuration;
use jiff::civil::date;
use store::{
    Actor, Chore, ChoreLease, Finding, FindingEvent, FindingFilter, FindingId, FindingPeriod, FindingSort,
    FindingUpdate, HurtReaders, JobId, NewJob, Project, ProjectId, Prompt, PullState, Receipt, Store, Terms,
};

use crate::jobs::new_job;
use crate::{every_backend, project};

every_backend! {
    a_chore_belongs_to_one_server_at_a_time,
    a_hastened_chore_is_due_at_once,
    an_update_of_an_old_version_changes_nothing,
    a_server_that_lost_its_chore_writes_nothing,
    findings_are_filtered_sorted_and_counted,
    findings_of_another_project_do_not_exist,
    a_job_takes_the_findings_that_wait_for_one,
    a_repeated_request_gets_its_job_again,
    a_finding_whose_job_ended_without_a_pull_request_gets_another,
    a_dismissed_finding_keeps_its_reason,
    a_dismissed_finding_may_get_a_job,
    settings_and_scans_are_kept,
    only_the_highest_scores_are_kept,
}

const WAIT: Duration = Duration::from_secs(300);

fn update(key: &str, score: u64, version: u64) -> FindingUpdate {
    let mut evidence = Evidence::default();
    evidence.add(key, &[Day { day: date(2026, 11, 14), human: score, ai: 1 }], &[]);
    FindingUpdate {
        kind: Kind::NotFound,
        key: key.to_owned(),
        subject: key.to_owned(),
        target: None,
        lifecycle: FindingState::open(date(2026, 11, 15)),
        score,
        human: score,
        ai: 1,
        evidence,
        version,
        drops_job: false,
    }
}

async fn take(store: &dyn Store) -> ChoreLease {
    store.next_chore(Chore::RefreshFindings).await.unwrap().unwrap()
}

/// A project with findings of these keys and scores.
async fn with_findings(store: &dyn Store, findings: &[(&str, u64)]) -> Project {
    let project = project(store, "acme").await;
    let lease = take(store).await;
    let updates: Vec<_> = findings.iter().map(|(key, score)| update(key, *score, 0)).collect();
    assert!(store.save_findings(&lease, &updates).await.unwrap());
    project
}

async fn by_key(store: &dyn Store, project: &ProjectId, key: &str) -> Finding {
    let all = store.findings_after(project, Kind::NotFound, "", 1_000).await.unwrap();
    all.into_iter().find(|finding| finding.key == key).unwrap()
}

async fn a_chore_belongs_to_one_server_at_a_time(store: &dyn Store, clock: &TestClock) {
    assert!(store.next_chore(Chore::ScanSite).await.unwrap().is_none(), "there is no project");
    let project = project(store, "acme").await;
    let first = take(store).await;
    assert_eq!(first.project, project.id);
    assert!(store.next_chore(Chore::RefreshFindings).await.unwrap().is_none());
    assert!(store.next_chore(Chore::ScanSite).await.unwrap().is_none(), "nobody asked for a scan");
    store.request_scan(&project.id).await.unwrap();
    assert!(store.next_chore(Chore::ScanSite).await.unwrap().is_some(), "another chore is not affected");
    store.request_scan(&project.id).await.unwrap();
    assert!(store.next_chore(Chore::ScanSite).await.unwrap().is_none(), "it has a server already");
    // The server that took it died.
    clock.advance(jiff::SignedDuration::from_mins(6));
    let second = take(store).await;
    assert!(!store.finish_chore(&first, Duration::ZERO).await.unwrap());
    assert!(store.finish_chore(&second, WAIT).await.unwrap());
    assert!(store.next_chore(Chore::RefreshFindings).await.unwrap().is_none());
    clock.advance(jiff::SignedDuration::from_mins(5));
    take(store).await;
    store.delete_project(&project.id).await.unwrap();
    clock.advance(jiff::SignedDuration::from_mins(60));
    assert!(store.next_chore(Chore::RefreshFindings).await.unwrap().is_none(), "the project is deleted");
}

async fn a_hastened_chore_is_due_at_once(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    let lease = take(store).await;
    store.hasten_chores(&project.id).await.unwrap();
    assert!(!store.finish_chore(&lease, WAIT).await.unwrap(), "the news came while the server worked");
    let again = take(store).await;
    assert!(store.finish_chore(&again, WAIT).await.unwrap());
    assert!(store.next_chore(Chore::RefreshFindings).await.unwrap().is_none());
}

async fn an_update_of_an_old_version_changes_nothing(store: &dyn Store, clock: &TestClock) {
    let project = with_findings(store, &[("/a", 10)]).await;
    let found = by_key(store, &project.id, "/a").await;
    assert_eq!((found.version, found.score, found.lifecycle.state), (1, 10, State::Open));
    clock.advance(jiff::SignedDuration::from_mins(6));
    let lease = take(store).await;
    store.save_findings(&lease, &[update("/a", 20, 1)]).await.unwrap();
    // Both a late server and one that does not know the finding change nothing.
    store.save_findings(&lease, &[update("/a", 30, 1), update("/a", 40, 0)]).await.unwrap();
    let found = by_key(store, &project.id, "/a").await;
    assert_eq!((found.version, found.score, found.human), (2, 20, 20));
    assert_eq!(found.evidence, update("/a", 20, 1).evidence);
    assert!(found.changed_at < clock.now(), "the state is the same");
}

async fn a_server_that_lost_its_chore_writes_nothing(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let slow = take(store).await;
    clock.advance(jiff::SignedDuration::from_mins(6));
    let next = take(store).await;
    assert!(!store.save_findings(&slow, &[update("/a", 10, 0)]).await.unwrap());
    assert!(store.findings(&project.id, &all()).await.unwrap().items.is_empty());
    assert!(store.save_findings(&next, &[update("/a", 10, 0)]).await.unwrap());
    store.request_scan(&project.id).await.unwrap();
    let slow = store.next_chore(Chore::ScanSite).await.unwrap().unwrap();
    clock.advance(jiff::SignedDuration::from_mins(6));
    store.next_chore(Chore::ScanSite).await.unwrap().unwrap();
    assert!(!store.save_site_scan(&slow, "abc", "{}").await.unwrap());
    assert!(store.site_scan(&project.id).await.unwrap().is_none());
}

fn all() -> FindingFilter {
    FindingFilter { limit: 100, ..FindingFilter::default() }
}

async fn findings_are_filtered_sorted_and_counted(store: &dyn Store, clock: &TestClock) {
    let project = with_findings(store, &[("/a", 10), ("/b", 30), ("/c", 20)]).await;
    let keys = async |filter: FindingFilter| {
        let page = store.findings(&project.id, &filter).await.unwrap();
        (page.items.into_iter().map(|finding| finding.key).collect::<Vec<_>>().join(" "), page.has_more)
    };
    assert_eq!(keys(all()).await, ("/b /c /a".to_owned(), false));
    assert_eq!(keys(FindingFilter { limit: 2, ..all() }).await, ("/b /c".to_owned(), true));
    assert_eq!(keys(FindingFilter { offset: 2, ..all() }).await, ("/a".to_owned(), false));
    assert_eq!(keys(FindingFilter { offset: u64::MAX, ..all() }).await.0, "");
    assert_eq!(keys(FindingFilter { kind: Some(Kind::Stale), ..all() }).await.0, "");
    let dismissed = by_key(store, &project.id, "/c").await;
    store.dismiss_finding(&project.id, &dismissed.id, "old", &member()).await.unwrap();
    assert_eq!(keys(FindingFilter { state: Some(State::Open), ..all() }).await.0, "/b /a");
    assert_eq!(keys(FindingFilter { state: Some(State::Dismissed), ..all() }).await.0, "/c");
    for sort in FindingSort::NAMES {
        let sort = FindingSort::from_name(sort).unwrap();
        assert_eq!(keys(FindingFilter { sort, ..all() }).await.0.len(), "/a /b /c".len(), "{sort:?}");
    }
    assert!(keys(FindingFilter { readers: Some(HurtReaders::Ai), ..all() }).await.0.contains("/a"));
    let (now, later) = (clock.now(), clock.now() + SignedDuration::from_millis(1));
    for what in [FindingEvent::Found, FindingEvent::Changed] {
        for (from, to, expected) in [(now, later, 3), (later, later, 0), (now, now, 0)] {
            let period = Some(FindingPeriod { what, from, to });
            let filter = FindingFilter { period, limit: 1, ..all() };
            let count = store.count_findings(&project.id, &filter).await.unwrap();
            let listed = store.findings(&project.id, &FindingFilter { limit: 100, ..filter }).await.unwrap();
            assert_eq!((count, listed.items.len()), (expected, expected as usize), "{what:?} {from} {to}");
        }
    }
    let counts = store.finding_counts(&project.id).await.unwrap();
    let counts: Vec<_> = counts.iter().map(|count| (count.state, count.count)).collect();
    assert_eq!(counts, [(State::Dismissed, 1), (State::Open, 2)]);
}

fn member() -> Actor {
    Actor::Member { name: "Ann".into() }
}

async fn findings_of_another_project_do_not_exist(store: &dyn Store, _: &TestClock) {
    let mine = with_findings(store, &[("/a", 10)]).await;
    let other = project(store, "globex").await;
    let found = by_key(store, &mine.id, "/a").await;
    assert!(store.finding(&other.id, &found.id).await.unwrap().is_none());
    assert!(store.findings_by_id(&other.id, std::slice::from_ref(&found.id)).await.unwrap().is_empty());
    assert!(store.findings(&other.id, &all()).await.unwrap().items.is_empty());
    assert!(store.dismiss_finding(&other.id, &found.id, "x", &member()).await.unwrap().is_none());
    let new = NewJob { project: other.id.clone(), findings: vec![found.id.clone()], ..new_job(&mine) };
    assert!(matches!(store.insert(&new, &Terms::default()).await.unwrap(), Receipt::Refused(_)));
    assert_eq!(by_key(store, &mine.id, "/a").await.lifecycle.state, State::Open);
}

async fn insert(store: &dyn Store, project: &Project, findings: Vec<FindingId>, terms: &Terms) -> Receipt {
    let new = NewJob { findings, prompt: Prompt::parse("Add redirects").unwrap(), ..new_job(project) };
    store.insert(&new, terms).await.unwrap()
}

async fn a_job_takes_the_findings_that_wait_for_one(store: &dyn Store, clock: &TestClock) {
    let project = with_findings(store, &[("/a", 10), ("/b", 20)]).await;
    let (a, b) = (by_key(store, &project.id, "/a").await.id, by_key(store, &project.id, "/b").await.id);
    let Receipt::Done { job, .. } = insert(store, &project, vec![a.clone()], &Terms::default()).await else {
        panic!("not created")
    };
    let taken = store.finding(&project.id, &a).await.unwrap().unwrap();
    assert_eq!(taken.lifecycle.state, State::Proposed);
    assert_eq!(taken.job.unwrap().id, job.id);
    // The first job keeps its finding.
    let Receipt::Done { job: second, .. } =
        insert(store, &project, vec![a.clone(), b], &Terms::default()).await
    else {
        panic!("not created")
    };
    let of = async |job: &JobId| {
        let found = store.findings_of_job(&project.id, job).await.unwrap();
        found.into_iter().map(|finding| finding.key).collect::<Vec<_>>()
    };
    assert_eq!((of(&job.id).await, of(&second.id).await), (vec!["/a".to_owned()], vec!["/b".to_owned()]));
    // Nothing is left to fix, so there is no job.
    let before = store.counts().await.unwrap();
    assert!(matches!(insert(store, &project, vec![a], &Terms::default()).await, Receipt::Refused(_)));
    assert_eq!(store.counts().await.unwrap(), before);

    // A merge makes the chores due, so that the finding is followed up.
    let lease = take_after(store, clock).await;
    assert!(store.finish_chore(&lease, WAIT).await.unwrap());
    assert!(store.next_chore(Chore::RefreshFindings).await.unwrap().is_none());
    let lease = crate::follow_ups::leased(store).await;
    store.finish(&lease, crate::jobs::done(Some("https://x/pulls/1")), 0).await.unwrap();
    store.record_pull_state(&project.id, "https://x/pulls/1", PullState::Merged).await.unwrap();
    take(store).await;
    let merged = store.merged_at(&project.id, &lease.job.id).await.unwrap();
    assert_eq!(merged, Some(clock.now()));
}

async fn take_after(store: &dyn Store, clock: &TestClock) -> ChoreLease {
    clock.advance(jiff::SignedDuration::from_mins(6));
    take(store).await
}

async fn a_repeated_request_gets_its_job_again(store: &dyn Store, _: &TestClock) {
    let project = with_findings(store, &[("/a", 10)]).await;
    let finding = by_key(store, &project.id, "/a").await.id;
    let render = store::Render(std::sync::Arc::new(|job: &store::Job| job.id.0.clone()));
    let terms = Terms { once: Some((store::IdempotencyKey::new("k", b"{}"), render)), ..Terms::default() };
    let Receipt::Done { job, .. } = insert(store, &project, vec![finding.clone()], &terms).await else {
        panic!("not created")
    };
    let Receipt::Replayed(answer) = insert(store, &project, vec![finding], &terms).await else {
        panic!("not replayed")
    };
    assert_eq!(answer, job.id.0);
}

async fn a_finding_whose_job_ended_without_a_pull_request_gets_another(store: &dyn Store, clock: &TestClock) {
    let project = with_findings(store, &[("/a", 10)]).await;
    let a = by_key(store, &project.id, "/a").await.id;
    let Receipt::Done { job: first, .. } = insert(store, &project, vec![a.clone()], &Terms::default()).await
    else {
        panic!("not created")
    };
    let chore = take_after(store, clock).await;
    assert!(store.finish_chore(&chore, WAIT).await.unwrap());
    let lease = crate::follow_ups::leased(store).await;
    store.finish(&lease, crate::jobs::done(None), 0).await.unwrap();
    take(store).await;
    // Before the refresh is done, the finding is still proposed.
    let Receipt::Done { job: second, .. } = insert(store, &project, vec![a.clone()], &Terms::default()).await
    else {
        panic!("not created")
    };
    for job in [&first.id, &second.id] {
        let found = store.findings_of_job(&project.id, job).await.unwrap();
        assert_eq!(found.len(), 1, "each job keeps the findings that it was created for");
        assert_eq!(found[0].job.as_ref().unwrap().id, second.id);
    }
}

async fn a_dismissed_finding_may_get_a_job(store: &dyn Store, _: &TestClock) {
    let project = with_findings(store, &[("/a", 10)]).await;
    let a = by_key(store, &project.id, "/a").await.id;
    store.dismiss_finding(&project.id, &a, "an old product", &member()).await.unwrap();
    assert!(matches!(
        insert(store, &project, vec![a.clone()], &Terms::default()).await,
        Receipt::Done { .. }
    ));
    let taken = store.finding(&project.id, &a).await.unwrap().unwrap();
    assert_eq!((taken.lifecycle.state, taken.lifecycle.note), (State::Proposed, None));
}

async fn a_dismissed_finding_keeps_its_reason(store: &dyn Store, _: &TestClock) {
    let project = with_findings(store, &[("/a", 10)]).await;
    let found = by_key(store, &project.id, "/a").await;
    let dismissed =
        store.dismiss_finding(&project.id, &found.id, "an old product", &member()).await.unwrap().unwrap();
    assert_eq!(dismissed.lifecycle.state, State::Dismissed);
    let reason = Note::DismissedByPerson { reason: "an old product".into() };
    assert_eq!(dismissed.lifecycle.note, Some(reason.clone()));
    assert_eq!(
        dismissed.lifecycle.baseline, 48,
        "11 in the first 7 of 30 days: it comes back only if they grow"
    );
    let again = store.dismiss_finding(&project.id, &found.id, "other", &member()).await.unwrap().unwrap();
    assert_eq!(again.lifecycle.note, Some(reason));
    let log = store.audit_log(&project.organization, None, 10).await.unwrap();
    let entries: Vec<_> = log.iter().map(|entry| (entry.what.as_str(), entry.about.as_str())).collect();
    assert_eq!(entries, [("dismissed the finding", format!("{} /a", project.name).as_str())]);
}

async fn settings_and_scans_are_kept(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    assert_eq!(store.finding_settings(&project.id).await.unwrap(), Settings::default());
    let settings = Settings { min_requests: 3, ..Settings::default() };
    store.set_finding_settings(&project.id, &settings).await.unwrap();
    assert_eq!(store.finding_settings(&project.id).await.unwrap(), settings);
    store.request_scan(&project.id).await.unwrap();
    let lease = store.next_chore(Chore::ScanSite).await.unwrap().unwrap();
    for scan in ["{}", "{\"pages\":[]}"] {
        assert!(store.save_site_scan(&lease, "abc", scan).await.unwrap());
        let kept = store.site_scan(&project.id).await.unwrap().unwrap();
        assert_eq!((kept.commit.as_str(), kept.scan.as_str(), kept.scanned_at), ("abc", scan, clock.now()));
    }
}

async fn only_the_highest_scores_are_kept(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    let lease = take(store).await;
    let count = u64::from(store::MAX_FINDINGS) + 50;
    let updates: Vec<_> = (0..count).map(|n| update(&format!("/{n}"), n, 0)).collect();
    for updates in updates.chunks(2_000) {
        store.save_findings(&lease, updates).await.unwrap();
    }
    let counts = store.finding_counts(&project.id).await.unwrap();
    assert_eq!(counts.iter().map(|count| count.count).sum::<u64>(), u64::from(store::MAX_FINDINGS));
    let lowest = FindingFilter { offset: u64::from(store::MAX_FINDINGS) - 1, limit: 1, ..all() };
    assert_eq!(store.findings(&project.id, &lowest).await.unwrap().items[0].key, "/50");
}
