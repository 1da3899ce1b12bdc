//! Proposals: of jobs with equal changes, one has the change.

use base::TestClock;
use store::{
    ClaimKind, Ending, Job, Lease, NewEvent, Note, Outcome, Project, Proposal, ProposalHolder, PullState,
    Status, Store,
};

use crate::failed_diffs::failed;
use crate::follow_ups::{change, follow_up, leased};
use crate::jobs::{done, job, worker};
use crate::pulls::LINK;
use crate::{every_backend, project};

every_backend! {
    one_of_two_equal_jobs_has_the_change,
    concurrent_claims_have_one_winner,
    changes_of_other_branches_and_projects_differ,
    the_claim_of_an_ended_job_is_taken_over,
    only_the_run_that_made_a_change_publishes_it,
    a_claim_stores_notes_and_replaces_earlier_claims,
    an_equal_job_keeps_the_link_of_the_other_job,
    a_merge_reaches_every_job_with_the_link,
}

fn proposal(tree: &str, claim: ClaimKind) -> Proposal {
    Proposal { base_ref: "main".into(), tree: tree.into(), head_commit: "c0ffee".into(), claim }
}

fn pushing() -> NewEvent {
    NewEvent::new("pushing", "Pushing")
}

async fn claim(store: &dyn Store, lease: &Lease, proposal: &Proposal) -> Option<ProposalHolder> {
    store.claim_proposal(lease, Vec::new(), proposal, pushing()).await.unwrap()
}

async fn leased_job(store: &dyn Store, project: &Project) -> Lease {
    job(store, project).await;
    leased(store).await
}

async fn find(store: &dyn Store, lease: &Lease) -> Job {
    store.find(&lease.job.project, &lease.job.id).await.unwrap().unwrap()
}

async fn one_of_two_equal_jobs_has_the_change(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    let (first, second) = (leased_job(store, &project).await, leased_job(store, &project).await);
    let equal = proposal("7ree", ClaimKind::Exclusive);
    assert!(claim(store, &first, &equal).await.is_none());
    assert!(claim(store, &first, &equal).await.is_none(), "an attempt that was interrupted claims it again");
    let holder = claim(store, &second, &equal).await.unwrap();
    assert_eq!((&holder.job, holder.status), (&first.job.id, Status::Active));
    assert_eq!(
        (&holder.branch, &holder.head_commit[..], holder.pr_link),
        (&first.job.branch, "c0ffee", None)
    );
    store.finish(&first, done(Some(LINK)), 0).await.unwrap();
    let holder = claim(store, &second, &equal).await.unwrap();
    assert_eq!((holder.status, holder.pr_link.as_deref()), (Status::Completed, Some(LINK)));
    let kinds = async |lease: &Lease| {
        let events = store.events(&project.id, &lease.job.id, 0).await.unwrap().unwrap();
        events.iter().filter(|event| event.kind == "pushing").count()
    };
    assert_eq!((kinds(&first).await, kinds(&second).await), (2, 0), "only the claim is announced");
}

async fn concurrent_claims_have_one_winner(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    let mut leases = Vec::new();
    for _ in 0..8 {
        leases.push(leased_job(store, &project).await);
    }
    let equal = proposal("7ree", ClaimKind::Exclusive);
    let claims = futures_util::future::join_all(leases.iter().map(|lease| claim(store, lease, &equal))).await;
    let winners: Vec<_> = (0..8).filter(|n| claims[*n].is_none()).collect();
    assert_eq!(winners.len(), 1);
    let winner = &leases[winners[0]].job.id;
    assert!(claims.iter().flatten().all(|holder| holder.job == *winner));
}

async fn changes_of_other_branches_and_projects_differ(store: &dyn Store, _: &TestClock) {
    let (acme, globex) = (project(store, "acme").await, project(store, "globex").await);
    let first = leased_job(store, &acme).await;
    assert!(claim(store, &first, &proposal("7ree", ClaimKind::Exclusive)).await.is_none());
    let other = leased_job(store, &acme).await;
    let other_base = Proposal { base_ref: "next".into(), ..proposal("7ree", ClaimKind::Exclusive) };
    assert!(claim(store, &other, &other_base).await.is_none());
    let other = leased_job(store, &acme).await;
    assert!(claim(store, &other, &proposal("07her", ClaimKind::Exclusive)).await.is_none());
    let other = leased_job(store, &globex).await;
    assert!(claim(store, &other, &proposal("7ree", ClaimKind::Exclusive)).await.is_none());
}

async fn the_claim_of_an_ended_job_is_taken_over(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    let first = leased_job(store, &project).await;
    assert!(claim(store, &first, &proposal("7ree", ClaimKind::Exclusive)).await.is_none());
    store.finish(&first, failed(None), 0).await.unwrap();
    let (second, third) = (leased_job(store, &project).await, leased_job(store, &project).await);
    let holder = claim(store, &second, &proposal("7ree", ClaimKind::Exclusive)).await.unwrap();
    assert_eq!(holder.status, Status::Failed);
    let take_over = proposal("7ree", ClaimKind::TakeOver(first.job.id.clone()));
    assert!(claim(store, &second, &take_over).await.is_none());
    let holder = claim(store, &third, &take_over).await.unwrap();
    assert_eq!(holder.job, second.job.id, "another job was faster");
}

/// A follow-up makes the job active again, but it isn't about to open a pull request with the old change.
async fn only_the_run_that_made_a_change_publishes_it(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    let (first, second) = (leased_job(store, &project).await, leased_job(store, &project).await);
    let equal = proposal("7ree", ClaimKind::Exclusive);
    let made = vec![Note::Change(Box::new(change()), 0)];
    assert!(store.claim_proposal(&first, made, &equal, pushing()).await.unwrap().is_none());
    assert!(claim(store, &second, &equal).await.unwrap().is_publishing);
    store.finish(&first, done(Some(LINK)), 0).await.unwrap();
    assert!(!claim(store, &second, &equal).await.unwrap().is_publishing);
    follow_up(store, &first.job, "And images").await;
    let holder = claim(store, &second, &equal).await.unwrap();
    assert_eq!((holder.status, holder.is_publishing), (Status::Active, false));
}

async fn a_claim_stores_notes_and_replaces_earlier_claims(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    let (first, second) = (leased_job(store, &project).await, leased_job(store, &project).await);
    let made = || vec![Note::Change(Box::new(change()), 0)];
    let old = proposal("01d", ClaimKind::Exclusive);
    assert!(store.claim_proposal(&first, made(), &old, pushing()).await.unwrap().is_none());
    assert_eq!(store.last_change(&first).await.unwrap().unwrap().change, change());
    // The loser's change is stored, too: it does not run the agent again.
    assert!(store.claim_proposal(&second, made(), &old, pushing()).await.unwrap().is_some());
    assert!(store.last_change(&second).await.unwrap().is_some());
    // A run that pushes in any case replaces the claim, and doesn't wait for another job.
    assert!(claim(store, &first, &proposal("new", ClaimKind::Exclusive)).await.is_none());
    assert!(claim(store, &second, &old).await.is_none());
    assert!(claim(store, &first, &proposal("01d", ClaimKind::Shared)).await.is_none());
    let third = leased_job(store, &project).await;
    assert_eq!(claim(store, &third, &old).await.unwrap().job, second.job.id);

    store.release(&first).await.unwrap();
    let late = store.claim_proposal(&first, made(), &old, pushing()).await;
    assert!(matches!(late, Err(store::StoreError::LeaseLost(_))));
}

fn already_proposed() -> Ending {
    let outcome = Outcome::AlreadyProposed { pr_link: LINK.into(), head: "docwright/first".into() };
    Ending { outcome, ..done(None) }
}

async fn an_equal_job_keeps_the_link_of_the_other_job(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    let lease = leased_job(store, &project).await;
    store.set_change(&lease, &change(), 0).await.unwrap();
    store.finish(&lease, already_proposed(), 0).await.unwrap();
    let ended = find(store, &lease).await;
    assert_eq!((ended.status, ended.pr_state), (Status::Completed, Some(PullState::Open)));
    assert_eq!((ended.pr_link.as_deref(), ended.pr_head.as_deref()), (Some(LINK), Some("docwright/first")));
    let events = store.events(&project.id, &ended.id, 0).await.unwrap().unwrap();
    assert_eq!(events.last().unwrap().data["reason"], "already_proposed");

    // A follow-up opens the job's own pull request. A run without one keeps the link.
    follow_up(store, &ended, "And images").await;
    store.finish(&leased(store).await, done(None), 1).await.unwrap();
    assert_eq!(find(store, &lease).await.pr_head.as_deref(), Some("docwright/first"));
    follow_up(store, &ended, "And words").await;
    store.finish(&leased(store).await, done(Some("https://x/pulls/8")), 2).await.unwrap();
    let own = find(store, &lease).await;
    assert_eq!((own.pr_link.as_deref(), own.pr_head), (Some("https://x/pulls/8"), None));
}

async fn a_merge_reaches_every_job_with_the_link(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    let (first, second) = (leased_job(store, &project).await, leased_job(store, &project).await);
    let new = store::NewPull {
        job: first.job.id.0.clone(),
        title: "Fix links".into(),
        body: "All of them".into(),
        head: first.job.branch.clone(),
        base: "main".into(),
        head_commit: "c0ffee".into(),
        base_commit: "ba5e".into(),
    };
    store.open_pull(&project.id, &new).await.unwrap();
    store.finish(&first, done(Some(LINK)), 0).await.unwrap();
    store.finish(&second, already_proposed(), 0).await.unwrap();
    assert!(
        store.close_or_merge_pull(&project.id, 1, PullState::Merged, "c0ffee", Some("5ea1")).await.unwrap()
    );
    for lease in [&first, &second] {
        assert_eq!(find(store, lease).await.pr_state, Some(PullState::Merged));
    }
    assert!(store.lease_next(&worker(3)).await.unwrap().is_none());
}
