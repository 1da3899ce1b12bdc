//! One data directory stores page views.

use base::TestClock;
use store::{Store, ViewsChoice, ViewsDirectory};

use crate::every_backend;

every_backend! { a_server_that_declines_page_views_does_not_store_them }

async fn a_server_that_declines_page_views_does_not_store_them(store: &dyn Store, _: &TestClock) {
    assert!(!store.claim_views("here", ViewsChoice::Leave).await.unwrap());
    assert!(store.claim_views("here", ViewsChoice::IfFree).await.unwrap());
    assert!(store.claim_views("here", ViewsChoice::Take).await.unwrap());
    assert!(!store.claim_views("here", ViewsChoice::Leave).await.unwrap());
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn the_first_keeps_them_until_another_is_told_to() {
    let kept = crate::PostgresTest::new().await;
    let settle = |dir, wish| kept.store.claim_views(dir, wish);
    assert!(settle("here", ViewsChoice::IfFree).await.unwrap());
    assert!(!settle("there", ViewsChoice::IfFree).await.unwrap());
    assert!(settle("here", ViewsChoice::IfFree).await.unwrap());
    assert!(!settle("there", ViewsChoice::Leave).await.unwrap(), "it leaves only what it has");
    assert!(settle("here", ViewsChoice::IfFree).await.unwrap());

    assert!(settle("there", ViewsChoice::Take).await.unwrap());
    assert!(!settle("here", ViewsChoice::IfFree).await.unwrap());
    assert!(!settle("there", ViewsChoice::Leave).await.unwrap());
    assert!(settle("here", ViewsChoice::IfFree).await.unwrap(), "they are free again");
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn who_keeps_them_can_be_asked_without_a_change() {
    let kept = crate::PostgresTest::new().await;
    assert!(!kept.store.is_views_directory("here").await.unwrap());
    assert!(kept.store.claim_views("here", ViewsChoice::IfFree).await.unwrap());
    assert!(kept.store.is_views_directory("here").await.unwrap());
    assert!(!kept.store.is_views_directory("there").await.unwrap());
}
