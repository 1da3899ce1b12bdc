//! Retention and deletion, also after an interruption.

use std::time::Duration;

use base::TestClock;
use jiff::SignedDuration;
use serde_json::json;
use store::{
    Allow, Expiry, JobStore, NewEvent, NewJob, NewKey, Project, PullState, Scope, Store, Terms, Tokens,
};

use crate::follow_ups::{change, follow_up, leased};
use crate::jobs::{done, job, new_job};
use crate::{every_backend, project};

every_backend! {
    an_old_job_loses_its_transcript_and_stays,
    a_deleted_project_is_hidden_at_once_and_then_purged,
    a_deleted_organization_takes_everything_with_it,
    a_settled_branch_is_answered_until_it_is_gone,
    probe_write_changes_nothing,
}

async fn probe_write_changes_nothing(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    for _ in 0..3 {
        store.probe_write().await.unwrap();
    }
    assert_eq!(store.projects(None).await.unwrap().len(), 1);
    assert_eq!(store.project(&project.id).await.unwrap().unwrap().name, project.name);
}

const QUARTER: Duration = Duration::from_secs(90 * 24 * 60 * 60);

async fn an_old_job_loses_its_transcript_and_stays(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let made = job(store, &project).await;
    let lease = leased(store).await;
    store.say(&lease, &json!({ "role": "user" }), Tokens::default()).await.unwrap();
    store.record(&lease, vec![NewEvent::new("read", "Read secret.md")]).await.unwrap();
    store.set_change(&lease, &change(), 0).await.unwrap();
    store.finish(&lease, done(None), 0).await.unwrap();
    let said = async || JobStore::conversation(store, &project.id, &made.id).await.unwrap().unwrap().len();
    let told = async || {
        let events = store.events(&project.id, &made.id, 0).await.unwrap().unwrap();
        assert!(events.iter().map(|event| event.number).eq(1..=events.len() as u64));
        events.into_iter().map(|event| event.data["message"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    clock.advance(SignedDuration::from_hours(24 * 90 - 1));
    assert!(!store.trim(QUARTER).await.unwrap());
    assert_eq!((said().await, told().await[2].as_str()), (1, "Read secret.md"));
    clock.advance(SignedDuration::from_hours(1));
    store.trim(QUARTER).await.unwrap();
    assert_eq!(said().await, 0);
    assert_eq!(told().await, ["The job was created", "Attempt 1 began", "No longer kept", "Done"]);
    assert_eq!(store.diff(&project.id, &made.id).await.unwrap().unwrap(), "diff");
    // A follow-up begins a new one, which is kept as long.
    follow_up(store, &made, "And images").await;
    let lease = leased(store).await;
    store.say(&lease, &json!({ "role": "user" }), Tokens::default()).await.unwrap();
    store.finish(&lease, done(None), 1).await.unwrap();
    store.trim(QUARTER).await.unwrap();
    assert_eq!(said().await, 1);
}

async fn key(store: &dyn Store, of: &[&Project]) -> store::KeyText {
    let new = NewKey {
        organization: of[0].organization.clone(),
        name: "CI".into(),
        scope: Scope::Write,
        projects: Some(of.iter().map(|project| project.id.clone()).collect()),
        allow: Allow::default(),
        expiry: Expiry::Days(7),
        creator: None,
    };
    store.create_key(&new).await.unwrap().1
}

async fn a_deleted_project_is_hidden_at_once_and_then_purged(store: &dyn Store, clock: &TestClock) {
    let (gone, stays) = (project(store, "acme").await, project(store, "globex").await);
    let (alone, both) = (key(store, &[&gone]).await, key(store, &[&gone, &stays]).await);
    store.put_secret(&gone.id.0, "forge-token", b"canary").await.unwrap();
    for _ in 0..3 {
        store.insert(&new_job(&gone), &Terms::default()).await.unwrap();
    }
    let kept = job(store, &stays).await;
    let running = leased(store).await;

    assert!(store.delete_project(&gone.id).await.unwrap());
    assert!(!store.delete_project(&gone.id).await.unwrap(), "once");
    assert!(store.project(&gone.id).await.unwrap().is_none());
    assert!(store.projects(None).await.unwrap().iter().all(|one| one.id != gone.id));
    assert!(store.key(&alone).await.unwrap().is_none());
    let narrowed = store.key(&both).await.unwrap().unwrap().projects.unwrap();
    assert_eq!(narrowed, std::slice::from_ref(&stays.id));
    assert!(store.secret(&gone.id.0, "forge-token").await.unwrap().is_none());
    if running.job.project == gone.id {
        assert!(store.record(&running, vec![NewEvent::new("step", "late")]).await.is_err());
    }
    assert!(store.to_purge().await.unwrap().is_empty(), "somebody may still be using it");

    clock.advance(SignedDuration::from_mins(2));
    assert_eq!(store.to_purge().await.unwrap(), std::slice::from_ref(&gone.id));
    while store.purge_jobs(&gone.id).await.unwrap() {}
    let again = store.to_purge().await.unwrap();
    assert_eq!(again, std::slice::from_ref(&gone.id), "cut off here, it is gone on with");
    store.purge_project(&gone.id).await.unwrap();
    store.purge_project(&gone.id).await.unwrap();
    assert!(store.to_purge().await.unwrap().is_empty());
    let counts = store.counts().await.unwrap();
    assert_eq!((counts.active, counts.archived, counts.failed), (1, 0, 0));
    assert!(store.find(&stays.id, &kept.id).await.unwrap().is_some());
    // What was not deleted is not removed by a slip.
    assert!(!store.purge_jobs(&stays.id).await.unwrap());
    store.purge_project(&stays.id).await.unwrap();
    assert!(store.find(&stays.id, &kept.id).await.unwrap().is_some());
}

async fn a_deleted_organization_takes_everything_with_it(store: &dyn Store, clock: &TestClock) {
    let gone = project(store, "acme").await;
    let all = key(store, &[&gone]).await;
    let link = store.create_login(&gone.organization).await.unwrap();
    job(store, &gone).await;
    assert!(store.delete_organization(&gone.organization).await.unwrap());
    assert!(store.organizations().await.unwrap().is_empty());
    assert!(store.projects(None).await.unwrap().is_empty());
    assert!(store.key(&all).await.unwrap().is_none());
    assert!(!store.login_works(&link).await.unwrap());
    let again = store.create_organization("acme").await.unwrap();
    assert_ne!(again.id, gone.organization, "its name is free");

    clock.advance(SignedDuration::from_mins(2));
    for project in store.to_purge().await.unwrap() {
        while store.purge_jobs(&project).await.unwrap() {}
        store.purge_project(&project).await.unwrap();
    }
    assert_eq!(store.counts().await.unwrap().active, 0);
    // One without projects is gone at once.
    assert!(store.delete_organization(&again.id).await.unwrap());
    assert!(!store.delete_organization(&again.id).await.unwrap());
    assert!(store.organizations().await.unwrap().is_empty());
}

async fn a_settled_branch_is_answered_until_it_is_gone(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let link = |n: usize| format!("https://x/pulls/{n}");
    let mut made = Vec::new();
    let adopts = NewJob { branch: Some("topic".into()), ..new_job(&project) };
    for (n, new) in [new_job(&project), new_job(&project), adopts].iter().enumerate() {
        store.insert(new, &Terms::default()).await.unwrap();
        let lease = leased(store).await;
        store.finish(&lease, done(Some(&link(n))), 0).await.unwrap();
        made.push(lease.job.id);
    }
    // The first is merged, the second is open, the third is on a branch of somebody's.
    store.record_pull_state(&project.id, &link(0), PullState::Merged).await.unwrap();
    store.record_pull_state(&project.id, &link(2), PullState::Closed).await.unwrap();
    assert!(store.next_settled(QUARTER).await.unwrap().is_none(), "not yet");
    clock.advance(SignedDuration::from_hours(24 * 90));
    assert_eq!(store.next_settled(QUARTER).await.unwrap().unwrap().id, made[0]);
    assert!(store.next_settled(QUARTER).await.unwrap().is_none());
    store.record_pull_state(&project.id, &link(1), PullState::Closed).await.unwrap();
    assert_eq!(store.next_settled(QUARTER).await.unwrap().unwrap().id, made[1]);
    // The first is removed, the second cannot be.
    store.branch_is_gone(&made[0]).await.unwrap();
    for _ in 0..4 {
        assert!(store.next_settled(QUARTER).await.unwrap().is_none());
        clock.advance(SignedDuration::from_hours(1));
        assert_eq!(store.next_settled(QUARTER).await.unwrap().unwrap().id, made[1]);
    }
    clock.advance(SignedDuration::from_hours(1));
    assert!(store.next_settled(QUARTER).await.unwrap().is_none(), "it was tried often enough");
}
