//! Whatever comes in, a count is a recount of it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use base::Clock;
use jiff::Timestamp;
use proptest::prelude::*;
use traffic::{Class, Counts, Event, Kind, PageCount, Range, RawEvent, Tally, Views};

use crate::views::{CLAUDE, FIREFOX, GPTBOT, clock, event, open};

/// Few values, so that events meet on pages, on ids and at the ends of ranges.
fn any_event() -> impl Strategy<Value = (Event, Option<u8>)> {
    let path = prop::sample::select(vec!["/", "/a", "/a.md", "/a/b", "/é", "/index.html", "/x.png"]);
    let agent = prop::sample::select(vec![FIREFOX, FIREFOX, CLAUDE, GPTBOT, "curl/8.5.0", ""]);
    let status = prop::option::of(prop::sample::select(vec![200, 304, 301, 404, 500]));
    let id = prop::option::of(0..20_u8);
    (path, agent, status, 0..40_i64, id).prop_map(|(path, agent, status, at, id)| {
        let raw = RawEvent {
            path: Some(path.into()),
            user_agent: Some(agent.into()),
            status,
            timestamp: Some(clock().now() - jiff::SignedDuration::from_millis(at)),
            event_id: id.map(|id| id.to_string()),
            ..RawEvent::default()
        };
        (event(raw), id)
    })
}

fn any_range() -> impl Strategy<Value = Range> {
    let end = || prop::option::of(-42..3_i64);
    (end(), end()).prop_map(|(from, to)| {
        let now = clock().now().as_millisecond();
        let (from, to) = (from.map(|ms| now + ms), to.map(|ms| now + ms));
        Range::new(from, to).or_else(|_| Range::new(to, from)).unwrap()
    })
}

/// Counts the slow way, from the events themselves.
fn recount(events: &[(Event, Option<u8>)], range: &Range) -> (Tally, Vec<PageCount>) {
    let mut ids = HashSet::new();
    let mut pages = BTreeMap::<&str, Tally>::new();
    let mut totals = Tally::default();
    for (event, id) in events {
        let first = id.is_none_or(|id| ids.insert(id));
        if !first || event.kind() != Kind::Read || !range.contains(event.at()) {
            continue;
        }
        let counted = match event.class() {
            Class::Human => Tally { human: 1, ai: 0 },
            Class::Assistant => Tally { human: 0, ai: 1 },
            _ => continue,
        };
        for tally in [&mut totals, pages.entry(event.path()).or_default()] {
            tally.human += counted.human;
            tally.ai += counted.ai;
        }
    }
    let page =
        |(path, tally): (&str, Tally)| PageCount { path: path.into(), human: tally.human, ai: tally.ai };
    let mut pages: Vec<PageCount> = pages.into_iter().map(page).collect();
    pages.sort_by_key(|page| Reverse(page.human + page.ai));
    (totals, pages)
}

async fn every_portion(views: &dyn Views, range: &Range, limit: u32) -> (Tally, Vec<PageCount>) {
    let mut all = Vec::new();
    loop {
        let Counts { totals, pages, has_more } =
            views.count("acme", range, limit, all.len() as u64).await.unwrap();
        assert!(!has_more || pages.len() == limit as usize);
        all.extend(pages);
        if !has_more {
            return (totals, all);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_count_is_a_recount(
        batches in prop::collection::vec(prop::collection::vec(any_event(), 0..25), 0..5),
        ranges in prop::collection::vec(any_range(), 1..6),
        limit in 1..4_u32,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let views = open(&folder.path().join("views.db"), &clock()).await;
            for batch in &batches {
                let events = batch.iter().map(|(event, _)| event.clone()).collect();
                views.take("acme", events).await.unwrap();
            }
            let events = batches.concat();
            for range in &ranges {
                assert_eq!(every_portion(&views, range, limit).await, recount(&events, range));
            }
        });
    }
}

#[test]
fn a_recount_agrees_with_a_count_by_hand() {
    let at = |path: &str, agent: &str| {
        let raw = RawEvent {
            path: Some(path.into()),
            user_agent: Some(agent.into()),
            timestamp: Some(Timestamp::from_second(1_700_000_000).unwrap()),
            ..RawEvent::default()
        };
        (event(raw), None)
    };
    let events = [at("/b", FIREFOX), at("/a", CLAUDE), at("/a", GPTBOT), at("/b", CLAUDE)];
    let (totals, pages) = recount(&events, &Range::default());
    assert_eq!(totals, Tally { human: 1, ai: 2 });
    let expected = [("/b", 1, 1), ("/a", 0, 1)];
    assert_eq!(pages, expected.map(|(path, human, ai)| PageCount { path: path.into(), human, ai }));
}
