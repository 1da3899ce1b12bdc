//! Computes reports from the events themselves, and compares them with those of the store.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use jiff::{Timestamp, tz::TimeZone};
use traffic::{
    AgentCount, Class, DayCounts, Event, Interval, Kind, ListQuery, PathDays, PathDaysQuery, Range, Readers,
    Tally,
};

use crate::backend::Backend;
use crate::random::StoredEvent;
use crate::views::{CLAUDE, FIREFOX, GPTBOT};

const HOUR: i64 = 3_600_000;
const MINUTE: i64 = 60_000;
const DAY: i64 = 24 * HOUR;
/// Pages, a path that is never requested, and a path twice.
const PATHS: [&str; 6] = ["/a", "/", "/none", "/é", "/a/b", "/a"];

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

pub(crate) async fn check_names(views: &dyn Backend, range: &Range, events: &[StoredEvent], limit: u32) {
    check_agents(views, range, events, limit).await;
    check_referrers(views, range, events, limit).await;
    check_ai_referrals(views, range, events).await;
    check_not_found(views, range, events, limit).await;
    check_redirected(views, range, events, limit).await;
}

async fn check_agents(views: &dyn Backend, range: &Range, events: &[StoredEvent], limit: u32) {
    let mut expected = BTreeMap::<(&str, Class), [u64; 3]>::new();
    for kept in inside(events, Kind::Read, range) {
        let product = match kept.sent.agent {
            FIREFOX => "(browsers)",
            CLAUDE => "Claude-Code",
            GPTBOT => "GPTBot",
            "curl/8.5.0" => "curl",
            _ => "(no user agent)",
        };
        let counts = expected.entry((product, kept.event.class())).or_default();
        counts[0] += 1;
        counts[1] += u64::from(kept.is_verified() == Some(true));
        counts[2] += u64::from(kept.is_verified() == Some(false));
    }
    let all: u64 = expected.values().map(|counts| counts[0]).sum();
    let mut expected: Vec<_> = expected.into_iter().collect();
    expected.sort_by_key(|(_, counts)| Reverse(counts[0]));
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
    let counts = |agent: &AgentCount| [agent.reads, agent.verified, agent.claimed];
    let reported: Vec<_> =
        reported.iter().map(|agent| ((&*agent.product, agent.class), counts(agent))).collect();
    assert_eq!(reported, expected, "{range:?}");
}

async fn check_referrers(views: &dyn Backend, range: &Range, events: &[StoredEvent], limit: u32) {
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

/// Claude's reads, GPTBot's reads, and humans from chatgpt.com.
async fn check_ai_referrals(views: &dyn Backend, range: &Range, events: &[StoredEvent]) {
    let mut expected = BTreeMap::<&str, (u64, u64)>::new();
    for kept in inside(events, Kind::Read, range) {
        let is_ai = matches!(kept.event.class(), Class::Assistant | Class::AiTraining);
        match kept.sent.agent {
            CLAUDE if is_ai => expected.entry("Anthropic").or_default().0 += 1,
            GPTBOT if is_ai => expected.entry("OpenAI").or_default().0 += 1,
            _ => {}
        }
        if kept.event.class() == Class::Human && kept.sent.referrer == Some("https://chatgpt.com/") {
            expected.entry("OpenAI").or_default().1 += 1;
        }
    }
    let reported = views.ai_referrals("acme", range).await.unwrap();
    let reported: BTreeMap<_, _> =
        reported.iter().map(|counts| (counts.operator, (counts.reads, counts.referrals))).collect();
    assert_eq!(reported, expected, "{range:?}");
}

async fn check_not_found(views: &dyn Backend, range: &Range, events: &[StoredEvent], limit: u32) {
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

async fn check_redirected(views: &dyn Backend, range: &Range, events: &[StoredEvent], limit: u32) {
    let mut expected = BTreeMap::<&str, Tally>::new();
    for kept in inside(events, Kind::Redirected, range) {
        let requests = tally(&kept.event).into_iter();
        requests.for_each(|request| add(expected.entry(kept.event.path()).or_default(), request));
    }
    let totals = total(expected.values());
    let mut expected: Vec<_> = expected.into_iter().map(|(path, sum)| (path.to_owned(), sum)).collect();
    expected.sort_by_key(|(_, requests)| Reverse(requests.total()));
    let mut reported = Vec::new();
    loop {
        let query = ListQuery::new(limit, reported.len() as u64);
        let redirected = views.redirected("acme", range, &query).await.unwrap();
        assert_eq!(redirected.totals, totals, "{range:?}");
        reported.extend(redirected.pages);
        if !redirected.has_more {
            break;
        }
    }
    assert_eq!(reported, expected, "{range:?}");
}

/// Compares the counts of every day that begins in a range, for the site and for [`PATHS`].
pub(crate) async fn check_path_days(views: &dyn Backend, range: &Range, events: &[StoredEvent]) {
    let mut expected = BTreeMap::<(&str, i64), DayCounts>::new();
    for StoredEvent { event, is_forgotten, .. } in events {
        let at = event.at().div_euclid(DAY) * DAY;
        let Some(counted) = tally(event).filter(|_| !is_forgotten && range.contains(at)) else { continue };
        for path in ["", event.path()] {
            let entry = || DayCounts { at, ..DayCounts::default() };
            match event.kind() {
                Kind::Read => add(&mut expected.entry((path, at)).or_insert_with(entry).views, counted),
                Kind::NotFound => {
                    add(&mut expected.entry((path, at)).or_insert_with(entry).not_found, counted)
                }
                Kind::Redirected => {
                    add(&mut expected.entry((path, at)).or_insert_with(entry).redirected, counted)
                }
                Kind::Other => {}
            }
        }
    }
    let days = |path: &str| -> Vec<DayCounts> {
        expected.iter().filter(|((of, _), _)| *of == path).map(|(_, counts)| *counts).collect()
    };
    let reported = path_days(views, range, false).await;
    assert_eq!(reported.site, days(""), "{range:?}");
    for (reported, path) in reported.paths.iter().zip(PATHS) {
        assert_eq!((&*reported.path, &reported.days), (path, &days(path)), "{range:?}");
    }
}

/// Compares the visitors of every day that begins in a range. `expected` counts the site and the pages.
pub(crate) async fn check_visitors_by_day(
    views: &dyn Backend,
    range: &Range,
    expected: impl Fn(&Range) -> (Readers, Vec<(String, Readers)>),
) {
    let visitors = |days: &[DayCounts], at: i64| {
        days.iter().find(|day| day.at == at).map(|day| day.visitors).unwrap_or_default()
    };
    let reported = path_days(views, range, true).await;
    for at in reported.site.iter().map(|day| day.at) {
        let (site, pages) = expected(&Range::new(Some(at), Some(at + DAY)).unwrap());
        assert_eq!(visitors(&reported.site, at), site, "{range:?}, {at}");
        for path in &reported.paths {
            let page = pages.iter().find(|(page, _)| *page == path.path).map(|(_, readers)| *readers);
            assert_eq!(
                visitors(&path.days, at),
                page.unwrap_or_default(),
                "{range:?}, {} at {at}",
                path.path
            );
        }
    }
    let all = expected(range).0.total;
    assert_eq!(reported.site.iter().map(|day| day.visitors.total).sum::<u64>(), all, "{range:?}");
}

async fn path_days(views: &dyn Backend, range: &Range, with_visitors: bool) -> PathDays {
    let paths = PATHS.map(str::to_owned);
    let query = PathDaysQuery { paths: &paths, with_visitors };
    views.path_days("acme", range, &query).await.unwrap()
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

pub(crate) async fn check_series(views: &dyn Backend, range: &Range, events: &[StoredEvent]) {
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

pub(crate) async fn check_live(views: &dyn Backend, now: i64, events: &[StoredEvent]) {
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
