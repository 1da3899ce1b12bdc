#![allow(clippy::unwrap_used)]

use super::*;

const LIMIT: usize = 1 << 20;

fn owner(name: &str) -> Owner {
    Owner::Organization(OrganizationId(name.into()))
}

async fn receive(budget: &Budget, name: &str, bytes: usize) -> Result<Receiving, BodyError> {
    let mut receiving = budget.receive(owner(name));
    receiving.push(&vec![b' '; bytes], LIMIT).await?;
    Ok(receiving)
}

fn is_evicted(receiving: &Receiving) -> bool {
    receiving.cut.is_cancelled()
}

#[tokio::test(start_paused = true)]
async fn an_owner_uses_idle_bytes_and_is_evicted_for_others() {
    let budget = Budget::new(64 << 10);
    let mut greedy = Vec::new();
    for _ in 0..8 {
        greedy.push(receive(&budget, "a", 8 << 10).await.unwrap());
    }
    assert!(receive(&budget, "a", 1).await.is_err(), "the owner has the whole budget");
    let other = receive(&budget, "b", 32 << 10).await.unwrap();
    assert_eq!(greedy.iter().filter(|body| is_evicted(body)).count(), 4, "as many as the other owner needs");
    assert_eq!(budget.free(), 0);
    assert!(receive(&budget, "b", 1).await.is_err(), "both have their share");
    let third = receive(&budget, "c", 8 << 10).await.unwrap();
    assert!(!is_evicted(&third));
    drop((greedy, other, third));
    assert_eq!(budget.free(), 64 << 10);
}

#[tokio::test(start_paused = true)]
async fn an_evicted_body_is_refused_and_frees_its_bytes_once() {
    let budget = Budget::new(32 << 10);
    let mut first = receive(&budget, "a", 20 << 10).await.unwrap();
    let second = receive(&budget, "b", 16 << 10).await.unwrap();
    assert!(is_evicted(&first));
    assert_eq!(first.push(b"more", LIMIT).await, Err(BodyError::OverBudget));
    assert!(first.finish().is_err());
    assert_eq!(budget.free(), 16 << 10);
    let (bytes, reservation) = second.finish().unwrap();
    assert_eq!((bytes.len(), budget.free()), (16 << 10, 16 << 10));
    drop(reservation);
    assert_eq!(budget.free(), 32 << 10);
}

#[tokio::test(start_paused = true)]
async fn a_slow_body_is_evicted_for_its_own_owner() {
    let budget = Budget::new(16 << 10);
    let slow = receive(&budget, "a", 16 << 10).await.unwrap();
    assert!(receive(&budget, "a", 4 << 10).await.is_err(), "the first body isn't slow yet");
    tokio::time::advance(SLOW_AFTER).await;
    let next = receive(&budget, "a", 4 << 10).await.unwrap();
    assert!(is_evicted(&slow) && !is_evicted(&next));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_makes_progress_is_not_slow() {
    let budget = Budget::new(128 << 10);
    let mut quick = budget.receive(owner("a"));
    for _ in 0..4 {
        tokio::time::advance(SLOW_AFTER / 2).await;
        quick.push(&[b' '; SLOW_BYTES], LIMIT).await.unwrap();
    }
    assert!(receive(&budget, "a", 4 << 10).await.is_err());
    assert!(!is_evicted(&quick));
}

#[tokio::test(start_paused = true)]
async fn an_owner_below_its_share_waits_for_complete_bodies() {
    let budget = Budget::new(16 << 10);
    let (_, complete) = receive(&budget, "a", 16 << 10).await.unwrap().finish().unwrap();
    let began = Instant::now();
    assert!(receive(&budget, "b", 4 << 10).await.is_err());
    assert_eq!(began.elapsed(), MAX_WAIT);
    let freeing = async {
        tokio::time::sleep(MAX_WAIT / 2).await;
        assert!(receive(&budget, "a", 4 << 10).await.is_err(), "an owner below its share waits");
        drop(complete);
        receive(&budget, "a", 16 << 10).await.is_err()
    };
    let (waited, greedy_is_refused) = tokio::join!(receive(&budget, "b", 4 << 10), freeing);
    assert!(waited.is_ok() && greedy_is_refused);
}
