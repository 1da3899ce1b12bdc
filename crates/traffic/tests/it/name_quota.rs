//! Tests that one network cannot use up the names that a day keeps.

use traffic::{Event, Limits, ListQuery, OTHER_NAMES, Range, RawEvent};

use crate::backend::{Home, every_home};
use crate::views::{FIREFOX, event, raw};

every_home! { one_network_cannot_use_up_the_names_of_a_day }

fn request(path: &str, status: u16, ip: &str) -> Event {
    event(RawEvent { status: Some(status), ip: Some(ip.into()), ..raw(path, FIREFOX) })
}

async fn one_network_cannot_use_up_the_names_of_a_day(home: &dyn Home) {
    let views = home.open(Limits::default()).await;
    for status in [404, 308] {
        let flood =
            (0..12_000).map(|n| request(&format!("/junk/{n}"), status, &format!("203.0.113.{}", n % 250)));
        views.ingest("acme", flood.collect()).await.unwrap();
    }
    views.run_maintenance().await;
    for ip in ["198.51.100.7", "192.0.2.1", "203.0.113.9"] {
        let batch = [404, 308].map(|status| request("/setup", status, ip));
        views.ingest("acme", batch.to_vec()).await.unwrap();
    }
    // What waits and what is compacted counts the same.
    for _ in 0..2 {
        let missing = views.not_found("acme", &Range::default(), &ListQuery::new(3, 0)).await.unwrap();
        let found: Vec<(&str, u64)> =
            missing.pages.iter().map(|page| (page.path.as_str(), page.requests.human)).collect();
        assert_eq!(found, [(OTHER_NAMES, 11_000), ("/setup", 3), ("/junk/0", 1)]);
        assert_eq!(missing.totals.human, 12_003);
        let redirected = views.redirected("acme", &Range::default(), &ListQuery::new(3, 0)).await.unwrap();
        let found: Vec<(&str, u64)> =
            redirected.pages.iter().map(|(path, counts)| (path.as_str(), counts.human)).collect();
        assert_eq!(found, [(OTHER_NAMES, 11_000), ("/setup", 3), ("/junk/0", 1)]);
        views.run_maintenance().await;
    }
}
