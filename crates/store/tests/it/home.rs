//! Page views are at home in one data directory.

use base::TestClock;
use store::{Store, ViewsHome, ViewsWish};

use crate::every_backend;

every_backend! { whoever_does_not_want_page_views_does_not_keep_them }

async fn whoever_does_not_want_page_views_does_not_keep_them(store: &dyn Store, _: &TestClock) {
    assert!(!store.settle_views("here", ViewsWish::Leave).await.unwrap());
    assert!(store.settle_views("here", ViewsWish::IfFree).await.unwrap());
    assert!(store.settle_views("here", ViewsWish::Take).await.unwrap());
    assert!(!store.settle_views("here", ViewsWish::Leave).await.unwrap());
}

#[tokio::test]
async fn the_first_keeps_them_until_another_is_told_to() {
    let Some(kept) = crate::OnPostgres::new().await else { return };
    let settle = |dir, wish| kept.store.settle_views(dir, wish);
    assert!(settle("here", ViewsWish::IfFree).await.unwrap());
    assert!(!settle("there", ViewsWish::IfFree).await.unwrap());
    assert!(settle("here", ViewsWish::IfFree).await.unwrap());
    assert!(!settle("there", ViewsWish::Leave).await.unwrap(), "it leaves only what it has");
    assert!(settle("here", ViewsWish::IfFree).await.unwrap());

    assert!(settle("there", ViewsWish::Take).await.unwrap());
    assert!(!settle("here", ViewsWish::IfFree).await.unwrap());
    assert!(!settle("there", ViewsWish::Leave).await.unwrap());
    assert!(settle("here", ViewsWish::IfFree).await.unwrap(), "they are free again");
}

#[tokio::test]
async fn who_keeps_them_can_be_asked_without_a_change() {
    let Some(kept) = crate::OnPostgres::new().await else { return };
    assert!(!kept.store.is_views_home("here").await.unwrap());
    assert!(kept.store.settle_views("here", ViewsWish::IfFree).await.unwrap());
    assert!(kept.store.is_views_home("here").await.unwrap());
    assert!(!kept.store.is_views_home("there").await.unwrap());
}
