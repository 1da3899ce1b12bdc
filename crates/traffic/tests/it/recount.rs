//! Computes reports from the events themselves, and compares them with those of the store.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use jiff::{Timestamp, tz::TimeZone};
use traffic::{Class, Event, Interval, Kind, ListQuery, Range, Reports, SqliteViews, Tally};

use crate::random::StoredEvent;
use crate::views::{CLAUDE, FIREFOX, GPTBOT};

const HOUR: i64 = 3_600_000;
const MINUTE: i64 = 60_000;

fn inside<'a>(events: &'a [StoredEvent], kind: Kind, range: &Range) -> impl Iterator<Item = &'a StoredEvent> {
    let range = *range;
    events.iter().filter(move |kept| kept.event.kind() == kind && range.contains(kept.event.at()))
}

/// The tally of a single event; `None` if it is neither human nor AI.
fn tally(event: &Event) -> Option<Tally> {
    match event.class() {
        Class::Human => Some(Tally { human: 1, ai: 0 }),
        Class::Assistant => Some(Tally { human: 0, ai: 1 }),
        _ => None,
    }
}

fn add(sum: &mut Tally, more: Tally) {
    (sum.human, sum.ai) = (sum.human + more.human, sum.ai + more.ai);
}

fn total<'a>(tallies: impl IntoIterator<Item = &'a Tally>) -> Tally {
    tallies.into_iter().fold(Tally::default(), |mut sum, tally| {
        add(&mut sum, *tally);
        sum
    })
}

pub(crate) async fn check_names(views: &SqliteViews, range: &Range, events: &[StoredEvent], limit: u32) {
    check_agents(views, range, events, limit).await;
    check_referrers(views, range, events, limit).await;
    check_not_found(views, range, events, limit).await;
}

async fn check_agents(views: &SqliteViews, range: &Range, events: &[StoredEvent], limit: u32) {
    let mut expected = BTreeMap::<(&str, Class), u64>::new();
    for kept in inside(events, Kind::Read, range) {
        let product = match kept.sent.agent {
            FIREFOX => "(browsers)",
            CLAUDE => "Claude-Code",
            GPTBOT => "GPTBot",
            "curl/8.5.0" => "curl",
            _ => "(no user agent)",
        };
        *expected.entry((product, kept.event.class())).or_default() += 1;
    }
    let all: u64 = expected.values().sum();
    let mut expected: Vec<_> = expected.into_iter().collect();
    expected.sort_by_key(|(_, reads)| Reverse(*reads));
    let mut reported = Vec::new();
    loop {
        let query = ListQuery::new(limit, reported.len() as u64);
        let agents = views.agents("acme", range, &query).await.unwrap();
        if !agents.classes.is_empty() {
            assert_eq!(agents.classes.iter().map(|(_, reads)| reads).sum::<u64>(), all);
        }
        reported.extend(agents.agents);
        if !agents.has_more {
            break;
        }
    }
    let reported: Vec<_> =
        reported.iter().map(|agent| ((&*agent.product, agent.class), agent.reads)).collect();
    assert_eq!(reported, expected, "{range:?}");
}

async fn check_referrers(views: &SqliteViews, range: &Range, events: &[StoredEvent], limit: u32) {
    let mut expected = BTreeMap::<&str, Tally>::new();
    for kept in inside(events, Kind::Read, range) {
        let host = kept.sent.referrer.map_or("(none)", |url| url.split('/').nth(2).unwrap());
        tally(&kept.event).into_iter().for_each(|read| add(expected.entry(host).or_default(), read));
    }
    let totals = total(expected.values());
    let mut expected: Vec<_> = expected.into_iter().map(|(host, reads)| (host.to_owned(), reads)).collect();
    expected.sort_by_key(|(_, reads)| Reverse(reads.total()));
    let mut reported = Vec::new();
    loop {
        let query = ListQuery::new(limit, reported.len() as u64);
        let referrers = views.referrers("acme", range, &query).await.unwrap();
        assert_eq!(referrers.totals, totals, "{range:?}");
        reported.extend(referrers.hosts);
        if !referrers.has_more {
            break;
        }
    }
    assert_eq!(reported, expected, "{range:?}");
}

async fn check_not_found(views: &SqliteViews, range: &Range, events: &[StoredEvent], limit: u32) {
    let mut expected = BTreeMap::<&str, (Tally, BTreeMap<&str, u64>)>::new();
    for kept in inside(events, Kind::NotFound, range) {
        let Some(look) = tally(&kept.event) else { continue };
        let (requests, referrers) = expected.entry(kept.event.path()).or_default();
        add(requests, look);
        let referrer = kept.sent.referrer.map(|url| url.trim_start_matches("https://"));
        let referrer = referrer.map(|url| url.split('?').next().unwrap().trim_end_matches('/'));
        referrer.into_iter().for_each(|url| *referrers.entry(url).or_default() += 1);
    }
    let mut expected: Vec<_> = expected.into_iter().collect();
    expected.sort_by_key(|(_, (requests, _))| Reverse(requests.total()));
    let mut reported = Vec::new();
    loop {
        let query = ListQuery::new(limit, reported.len() as u64);
        let missing = views.not_found("acme", range, &query).await.unwrap();
        assert_eq!(missing.totals, total(expected.iter().map(|(_, (requests, _))| requests)), "{range:?}");
        reported.extend(missing.pages);
        if !missing.has_more {
            break;
        }
    }
    assert_eq!(reported.len(), expected.len(), "{range:?}");
    for (reported, (path, (requests, referrers))) in reported.iter().zip(expected) {
        let mut referrers: Vec<_> = referrers.into_iter().collect();
        referrers.sort_by_key(|(_, times)| Reverse(*times));
        let named: Vec<_> = reported.referrers.iter().map(|(url, times)| (&**url, *times)).collect();
        assert_eq!((&*reported.path, reported.requests, named), (path, requests, referrers), "{range:?}");
    }
}

/// The start of the step that contains a time, computed with a calendar.
fn step_start(interval: Interval, at: i64) -> i64 {
    let date = Timestamp::from_millisecond(at).unwrap().to_zoned(TimeZone::UTC).date();
    let first = match interval {
        Interval::Hour => return at - at % HOUR,
        Interval::Day => date,
        Interval::Week => date - jiff::Span::new().days(date.weekday().to_monday_zero_offset()),
        Interval::Month => date.first_of_month(),
    };
    first.to_zoned(TimeZone::UTC).unwrap().timestamp().as_millisecond()
}

pub(crate) async fn check_series(views: &SqliteViews, range: &Range, events: &[StoredEvent]) {
    for interval in [Interval::Hour, Interval::Day, Interval::Week, Interval::Month] {
        for path in [None, Some("/a")] {
            let mut expected = BTreeMap::<i64, Tally>::new();
            let wanted = |kept: &&StoredEvent| path.is_none_or(|path| kept.event.path().starts_with(path));
            let with_page = |kept: &&StoredEvent| !kept.is_forgotten && wanted(kept);
            for kept in inside(events, Kind::Read, range).filter(with_page) {
                let at = step_start(interval, kept.event.at());
                tally(&kept.event).into_iter().for_each(|read| add(expected.entry(at).or_default(), read));
            }
            let series = views.series("acme", range, interval, path).await.unwrap();
            assert_eq!(series.totals, total(expected.values()), "{interval:?} {range:?}");
            for pair in series.points.windows(2) {
                assert_eq!(step_start(interval, pair[1].at - 1), pair[0].at, "a step is left out");
            }
            let some = series.points.iter().filter(|point| point.reads.total() > 0);
            let some: BTreeMap<i64, Tally> = some.map(|point| (point.at, point.reads)).collect();
            assert_eq!(some, expected, "{interval:?} {path:?} {range:?}");
        }
    }
}

pub(crate) async fn check_live(views: &SqliteViews, now: i64, events: &[StoredEvent]) {
    let from = now - now % MINUTE - 29 * MINUTE;
    let range = Range::new(Some(from), Some(from + 30 * MINUTE)).unwrap();
    let (mut minutes, mut readers) = (BTreeMap::<i64, Tally>::new(), HashSet::new());
    for kept in inside(events, Kind::Read, &range) {
        if let Some(read) = tally(&kept.event) {
            add(minutes.entry(kept.event.at() / MINUTE * MINUTE).or_default(), read);
            readers.insert(&kept.visitor);
        }
    }
    let live = views.live("acme").await.unwrap();
    assert_eq!((live.minutes.len(), live.minutes[0].at), (30, from));
    assert_eq!(live.totals, total(minutes.values()));
    assert_eq!(live.readers.total, readers.len() as u64);
    let some = live.minutes.iter().filter(|point| point.reads.total() > 0);
    assert_eq!(some.map(|point| (point.at, point.reads)).collect::<BTreeMap<_, _>>(), minutes);
    let pages = live.pages.iter().map(|page| page.human + page.ai).sum::<u64>();
    assert_eq!(pages, live.totals.total());
}
