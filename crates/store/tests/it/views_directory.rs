//! One data directory stores page views.

use std::time::Duration;

use base::TestClock;
use jiff::SignedDuration;
use store::{SHARED_VIEWS, Store, ViewsChoice, ViewsDirectory, ViewsHome};

use crate::every_backend;

every_backend! { a_server_that_declines_page_views_does_not_store_them }

fn is_here(home: ViewsHome) -> bool {
    matches!(home, ViewsHome::Here { .. })
}

fn epoch(home: ViewsHome) -> i64 {
    match home {
        ViewsHome::Here { epoch } => epoch,
        other => panic!("{other:?}"),
    }
}

async fn a_server_that_declines_page_views_does_not_store_them(store: &dyn Store, _: &TestClock) {
    assert!(!is_here(store.claim_views("here", ViewsChoice::Leave).await.unwrap()));
    let home = store.claim_views("here", ViewsChoice::IfFree).await.unwrap();
    assert!(store.is_views_epoch("here", epoch(home)).await.unwrap());
    assert_eq!(store.renew_views("here", epoch(home)).await.unwrap(), home);
    assert!(is_here(store.claim_views("here", ViewsChoice::Take).await.unwrap()));
    assert!(!is_here(store.claim_views("here", ViewsChoice::Leave).await.unwrap()));
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn the_first_keeps_them_until_another_is_told_to() {
    let kept = crate::PostgresTest::new().await;
    let settle = async |dir, wish| is_here(kept.store.claim_views(dir, wish).await.unwrap());
    assert!(settle("here", ViewsChoice::IfFree).await);
    assert!(!settle("there", ViewsChoice::IfFree).await);
    assert!(settle("here", ViewsChoice::IfFree).await);
    assert!(!settle("there", ViewsChoice::Leave).await, "it leaves only what it has");
    assert!(settle("here", ViewsChoice::IfFree).await);

    assert!(settle("there", ViewsChoice::Take).await);
    assert!(!settle("here", ViewsChoice::IfFree).await);
    assert!(!settle("there", ViewsChoice::Leave).await);
    assert_eq!(kept.store.views_home("here").await.unwrap(), ViewsHome::Nowhere);
    assert!(settle("here", ViewsChoice::IfFree).await, "they are free again");
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn who_keeps_them_can_be_asked_without_a_change() {
    let kept = crate::PostgresTest::new().await;
    assert_eq!(kept.store.views_home("here").await.unwrap(), ViewsHome::Nowhere);
    let home = kept.store.claim_views("here", ViewsChoice::IfFree).await.unwrap();
    assert_eq!(kept.store.views_home("here").await.unwrap(), home);
    let elsewhere = ViewsHome::Elsewhere { silent_for: Duration::ZERO };
    assert_eq!(kept.store.views_home("there").await.unwrap(), elsewhere);
    assert!(kept.store.is_views_epoch("here", epoch(home)).await.unwrap());
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn every_start_ends_the_epoch_before() {
    let kept = crate::PostgresTest::new().await;
    let start = async |dir, choice| epoch(kept.store.claim_views(dir, choice).await.unwrap());
    let first = start("here", ViewsChoice::IfFree).await;
    // The same directory, or a copy of it.
    let second = start("here", ViewsChoice::IfFree).await;
    let third = start("there", ViewsChoice::Take).await;
    kept.store.claim_views("there", ViewsChoice::Leave).await.unwrap();
    let fourth = start("here", ViewsChoice::IfFree).await;
    assert!(first < second && second < third && third < fourth, "{first} {second} {third} {fourth}");
    for old in [first, second, third] {
        assert!(!kept.store.is_views_epoch("here", old).await.unwrap());
        assert!(!is_here(kept.store.renew_views("here", old).await.unwrap()));
    }
    assert!(kept.store.is_views_epoch("here", fourth).await.unwrap());
    // After the database was restored from a backup, another server can have the same number.
    assert!(!kept.store.is_views_epoch("there", fourth).await.unwrap());
    assert!(!is_here(kept.store.renew_views("there", fourth).await.unwrap()));
    assert_eq!(kept.store.views_epoch().await.unwrap(), Some(fourth));
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn the_others_know_since_when_a_server_is_silent() {
    let kept = crate::PostgresTest::new().await;
    let home = kept.store.claim_views("here", ViewsChoice::IfFree).await.unwrap();
    let silence = async || match kept.store.views_home("there").await.unwrap() {
        ViewsHome::Elsewhere { silent_for } => silent_for,
        other => panic!("{other:?}"),
    };
    kept.clock.advance(SignedDuration::from_secs(90));
    assert_eq!(silence().await, Duration::from_secs(90));
    assert!(is_here(kept.store.renew_views("here", epoch(home)).await.unwrap()));
    assert_eq!(silence().await, Duration::ZERO);
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn servers_that_share_page_views_have_the_same_epoch() {
    let kept = crate::PostgresTest::new().await;
    let start = async |dir, choice| epoch(kept.store.claim_views(dir, choice).await.unwrap());
    let in_directory = start("here", ViewsChoice::IfFree).await;
    assert!(!is_here(kept.store.claim_views(SHARED_VIEWS, ViewsChoice::IfFree).await.unwrap()));
    let first = start(SHARED_VIEWS, ViewsChoice::TakeEmpty).await;
    assert!(in_directory < first);
    for choice in [ViewsChoice::IfFree, ViewsChoice::Take, ViewsChoice::TakeEmpty] {
        assert_eq!(start(SHARED_VIEWS, choice).await, first);
    }
    assert!(kept.store.is_views_epoch(SHARED_VIEWS, first).await.unwrap());
    assert!(!kept.store.is_views_epoch("here", in_directory).await.unwrap());
    for dir in ["here", "there"] {
        assert_eq!(kept.store.views_home(dir).await.unwrap(), ViewsHome::Shared);
    }
    let taken_back = start("here", ViewsChoice::TakeEmpty).await;
    assert!(!kept.store.is_views_epoch(SHARED_VIEWS, first).await.unwrap());
    assert!(first < taken_back);
}
