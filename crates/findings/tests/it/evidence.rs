use findings::{Evidence, MAX_DAYS, MAX_MEMBERS, MAX_PAGES, MAX_REFERRERS};
use proptest::prelude::*;

use crate::{day, requests};

/// Requests of a path on a day: path, day, requests, referrer.
type Row = (u8, i64, u64, u8);

fn evidence(rows: &[Row]) -> Evidence {
    let mut evidence = Evidence::default();
    for (path, number, count, referrer) in rows {
        let referrers = [(format!("from-{referrer}"), *count)];
        evidence.add(&format!("/{path}"), &[requests(*number, *count)], &referrers);
    }
    evidence
}

proptest! {
    #[test]
    fn merging_keeps_every_request_in_any_order(
        rows in prop::collection::vec((0u8..40, 0i64..300, 0u64..50, 0u8..4), 0..200),
        split in 0usize..200,
    ) {
        let (first, second) = rows.split_at(split.min(rows.len()));
        let (mut one, mut other) = (evidence(first), evidence(second));
        let copy = one.clone();
        one.merge(&other);
        other.merge(&copy);
        prop_assert_eq!(&one, &other);
        prop_assert_eq!(&one, &evidence(&rows));
        let total = |first, last| {
            rows.iter().filter(|row| (first..=last).contains(&row.1)).map(|row| row.2).sum::<u64>()
        };
        prop_assert_eq!(one.requests_between(day(50), day(120)), total(50, 120));
        prop_assert_eq!(one.human() + one.ai(), total(0, 300));
        prop_assert!(one.days.is_sorted_by(|a, b| a.day < b.day));
    }

    #[test]
    fn evidence_is_bounded_and_survives_storage(
        rows in prop::collection::vec((any::<u8>(), 0i64..2_000, 1u64..50, any::<u8>()), 0..600),
    ) {
        let mut evidence = evidence(&rows);
        rows.iter().for_each(|row| evidence.add_page(&format!("/{}", row.0)));
        prop_assert!(evidence.days.len() <= MAX_DAYS && evidence.members.len() <= MAX_MEMBERS);
        prop_assert!(evidence.referrers.len() <= MAX_REFERRERS && evidence.pages.len() <= MAX_PAGES);
        prop_assert_eq!(evidence.first_seen, rows.iter().map(|row| day(row.1)).min());
        prop_assert_eq!(evidence.last_seen, rows.iter().map(|row| day(row.1)).max());
        let text = serde_json::to_string(&evidence).unwrap();
        prop_assert_eq!(serde_json::from_str::<Evidence>(&text).unwrap(), evidence);
    }
}

#[test]
fn counting_a_day_again_replaces_it() {
    let mut evidence = Evidence::default();
    evidence.set_day(requests(2, 4));
    evidence.set_day(requests(1, 3));
    evidence.set_day(requests(2, 5));
    assert_eq!(evidence.days, [requests(1, 3), requests(2, 5)]);
    evidence.set_day(requests(1, 0));
    assert_eq!(evidence.days, [requests(2, 5)], "a day without requests is not kept");
    assert_eq!(evidence.active_days_between(day(0), day(9)), 1);
}

#[test]
fn the_most_requested_paths_are_kept_and_the_rest_is_counted() {
    let mut evidence = Evidence::default();
    for path in 0..80 {
        evidence.add(&format!("/{path}"), &[requests(0, 100 + path)], &[]);
    }
    assert_eq!((evidence.members.len(), evidence.more_members), (MAX_MEMBERS, 30));
    assert_eq!((evidence.members[0].path.as_str(), evidence.members[49].path.as_str()), ("/79", "/30"));
}
