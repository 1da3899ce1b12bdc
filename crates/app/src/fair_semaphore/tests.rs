use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::FutureExt as _;

use super::{Claimant, FairSemaphore, Permit};

type Pending = Pin<Box<dyn Future<Output = Permit>>>;

/// `acme/docs` is the project `docs` of the organization `acme`; `-` is nobody yet.
fn claimant(name: &str) -> Option<Claimant> {
    let (organization, _) = name.split_once('/')?;
    Some(Claimant { organization: organization.into(), project: name.into() })
}

/// Joins the queue, so that the order of calls is the order of arrival.
fn request(semaphore: &Arc<FairSemaphore>, name: &str) -> Pending {
    let (semaphore, claimant) = (semaphore.clone(), claimant(name));
    Box::pin(async move {
        match &claimant {
            Some(claimant) => semaphore.acquire(claimant).await,
            None => semaphore.acquire_unassigned().await,
        }
    })
}

/// Each permit is released at once. Returns the order in which the names got one.
fn order(permits: usize, names: &[&str]) -> Vec<String> {
    let semaphore = Arc::new(FairSemaphore::new(0));
    let mut waiting: Vec<_> = names.iter().map(|name| (*name, request(&semaphore, name))).collect();
    assert!(waiting.iter_mut().all(|(_, pending)| pending.now_or_never().is_none()));
    semaphore.resize(permits);
    let mut order = Vec::new();
    while !waiting.is_empty() {
        let mut granted = Vec::new();
        waiting.retain_mut(|(name, pending)| match pending.now_or_never() {
            Some(permit) => {
                granted.push(((*name).to_owned(), permit));
                false
            }
            None => true,
        });
        assert!(!granted.is_empty() && granted.len() <= permits);
        order.extend(granted.into_iter().map(|(name, _permit)| name));
    }
    order
}

#[test]
fn organizations_take_turns_and_so_do_their_projects() {
    let crowd = ["a/1"; 6];
    let names = [&crowd[..], &["a/2", "b/1", "c/1", "b/1"]].concat();
    assert_eq!(
        order(1, &names),
        ["a/1", "b/1", "c/1", "a/2", "b/1", "a/1", "a/1", "a/1", "a/1", "a/1"],
        "one project with many waiters delays each other organization by one turn"
    );
}

#[test]
fn new_jobs_alternate_with_resumed_ones() {
    let names = ["a/1", "a/1", "a/1", "-", "-", "a/1"];
    assert_eq!(order(1, &names), ["-", "a/1", "-", "a/1", "a/1", "a/1"]);
}

#[test]
fn the_organization_with_the_fewest_permits_is_first() {
    let semaphore = Arc::new(FairSemaphore::new(3));
    let [first, _second, _third] =
        ["b/1", "a/1", "a/2"].map(|name| request(&semaphore, name).now_or_never().unwrap());
    let (mut of_a, mut of_b) = (request(&semaphore, "a/3"), request(&semaphore, "b/2"));
    assert!((&mut of_a).now_or_never().is_none() && (&mut of_b).now_or_never().is_none());
    drop(first);
    assert!((&mut of_a).now_or_never().is_none() && (&mut of_b).now_or_never().is_some());
}

#[test]
fn one_project_cannot_take_all_permits_of_a_semaphore_with_a_reserve() {
    for (permits, most) in [(16, 12), (4, 3), (2, 2), (1, 1)] {
        let semaphore = Arc::new(FairSemaphore::with_reserve(permits));
        let mut crowd: Vec<_> = (0..permits).map(|_| request(&semaphore, "a/1")).collect();
        let held: Vec<_> = crowd.iter_mut().filter_map(|pending| pending.now_or_never()).collect();
        assert_eq!(held.len(), most);
        assert_eq!(request(&semaphore, "a/2").now_or_never().is_some(), permits > most);
    }
}

#[test]
fn a_canceled_waiter_takes_no_permit() {
    let semaphore = Arc::new(FairSemaphore::new(1));
    let held = request(&semaphore, "a/1").now_or_never().unwrap();
    let (mut canceled, mut granted, mut next) =
        (request(&semaphore, "b/1"), request(&semaphore, "c/1"), request(&semaphore, "d/1"));
    for pending in [&mut canceled, &mut granted, &mut next] {
        assert!(pending.now_or_never().is_none());
    }
    drop(canceled);
    assert_eq!(semaphore.waiting(), 2);
    drop(held);
    // This one has the permit, and is dropped before it noticed.
    drop(granted);
    assert!((&mut next).now_or_never().is_some());
    assert_eq!((semaphore.in_use(), semaphore.waiting()), (0, 0));
}

/// Random requests, releases and cancellations: a permit is never lost, never handed out twice, and never idle while
/// somebody may have it.
#[test]
fn permits_are_neither_lost_nor_handed_out_twice() {
    let names = ["a/1", "a/2", "b/1", "c/1", "-"];
    for seed in 1..200_u64 {
        let mut random = seed;
        let mut next = |below: usize| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random % below as u64) as usize
        };
        let permits = 1 + next(6);
        let semaphore = Arc::new(FairSemaphore::with_reserve(permits));
        let (mut waiting, mut held) = (Vec::<(&str, Pending)>::new(), Vec::<(&str, Permit)>::new());
        for _ in 0..300 {
            match next(4) {
                0 | 1 => {
                    let name = names[next(names.len())];
                    waiting.push((name, request(&semaphore, name)));
                }
                2 if !held.is_empty() => drop(held.swap_remove(next(held.len()))),
                3 if !waiting.is_empty() => drop(waiting.swap_remove(next(waiting.len()))),
                _ => {}
            }
            // Some tasks don't run for a while.
            if next(3) > 0 {
                let polled = std::mem::take(&mut waiting);
                for (name, mut pending) in polled {
                    match (&mut pending).now_or_never() {
                        Some(permit) => held.push((name, permit)),
                        None => waiting.push((name, pending)),
                    }
                }
                check(&semaphore, permits, &waiting, &held);
            }
        }
        drop(waiting);
        drop(held);
        assert_eq!((semaphore.in_use(), semaphore.waiting()), (0, 0), "seed {seed}");
    }
}

fn check(semaphore: &FairSemaphore, permits: usize, waiting: &[(&str, Pending)], held: &[(&str, Permit)]) {
    assert_eq!((semaphore.in_use(), semaphore.waiting()), (held.len(), waiting.len()));
    assert!(held.len() <= permits);
    let mut by_project = HashMap::<&str, usize>::new();
    for (name, _) in held.iter().filter(|(name, _)| *name != "-") {
        *by_project.entry(name).or_default() += 1;
    }
    let most = permits - permits / 4;
    assert!(by_project.values().all(|count| *count <= most));
    let may_have = |name: &str| name == "-" || by_project.get(name).copied().unwrap_or_default() < most;
    assert!(held.len() == permits || !waiting.iter().any(|(name, _)| may_have(name)), "an idle permit");
}
