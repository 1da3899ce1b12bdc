//! Property test: after random events, restarts and commands, every report equals a recount of the events.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use base::{Clock, TestClock};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use traffic::{
    Class, Counts, Event, Kind, Limits, ListQuery, PageCount, PathGlob, Range, RawEvent, Readers,
    RemovalProgress, Tally, Views, Visitors, parse_event,
};

use crate::backend::{Home, RemoteHome, SqliteHome};
use crate::recount;
use crate::views::{CLAUDE, FIREFOX, GPTBOT, clock, event};

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;
/// An address that OpenAI publishes for GPTBot.
const OF_GPTBOT: &str = "132.196.86.9";
const ELSEWHERE: &str = "9.9.9.9";
const LIMITS: fn() -> Limits = || Limits { raw_days: 3, memory: 0, ..Limits::default() };

/// Uses few values, so that events share pages, ids, visitors and the ends of ranges.
#[derive(Debug, Clone)]
pub(crate) struct SentEvent {
    path: &'static str,
    pub(crate) agent: &'static str,
    status: Option<u16>,
    ago: i64,
    id: Option<u8>,
    ip: Option<&'static str>,
    pub(crate) referrer: Option<&'static str>,
    /// Its class in another table of agents.
    class: Option<Class>,
}

#[derive(Debug, Clone)]
enum Step {
    Take(Vec<SentEvent>),
    Tidy,
    Restart,
    Wait(i64),
    Reclassify,
    ForgetPaths(&'static str),
    Forget,
}

fn any_sent() -> impl Strategy<Value = SentEvent> {
    let path = prop::sample::select(vec!["/", "/a", "/a.md", "/a/b", "/é", "/index.html", "/x.png"]);
    let agent = prop::sample::select(vec![FIREFOX, FIREFOX, CLAUDE, GPTBOT, "curl/8.5.0", ""]);
    let status = prop::option::of(prop::sample::select(vec![200, 304, 301, 308, 404, 500]));
    let ip = prop::option::of(prop::sample::select(vec![
        "192.0.2.1",
        "192.0.2.2",
        "2001:db8::1",
        OF_GPTBOT,
        ELSEWHERE,
    ]));
    let referrer = prop::option::of(prop::sample::select(vec![
        "https://chatgpt.com/",
        "https://duck.example/a?q=1",
        "https://duck.example/b",
    ]));
    let class = prop::sample::select(vec![Class::Human, Class::Assistant, Class::Bot]);
    let class = prop::option::weighted(0.2, class);
    (path, agent, status, any_ago(), prop::option::of(0..20_u8), ip, referrer, class).prop_map(
        |(path, agent, status, ago, id, ip, referrer, class)| SentEvent {
            path,
            agent,
            status,
            ago,
            id,
            ip,
            referrer,
            class,
        },
    )
}

/// From a day ahead to a few days ago, often close to a full hour.
fn any_ago() -> impl Strategy<Value = i64> {
    (-24..6 * 24_i64, prop::sample::select(vec![0, 0, 1, HOUR - 1, HOUR / 2]))
        .prop_map(|(hours, more)| hours * HOUR + more)
}

fn any_glob() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["/a", "/a{,/**}", "/*", "/é", "/**", "/x.png", "/none"])
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => prop::collection::vec(any_sent(), 0..25).prop_map(Step::Take),
        2 => Just(Step::Tidy),
        1 => Just(Step::Restart),
        1 => Just(Step::Reclassify),
        1 => any_glob().prop_map(Step::ForgetPaths),
        2 => any_ago().prop_map(|ago| Step::Wait(ago.max(0))),
        1 => prop::bool::weighted(0.1).prop_map(|forget| if forget { Step::Forget } else { Step::Tidy }),
    ]
}

/// A stored event with its input.
pub(crate) struct StoredEvent {
    pub(crate) event: Event,
    pub(crate) sent: SentEvent,
    pub(crate) visitor: String,
    /// Its class in the current table of agents.
    truth: Class,
    /// Its path was removed after its raw event: it counts only in reads by product and by host.
    pub(crate) is_forgotten: bool,
}

impl StoredEvent {
    /// Whether the address verifies the agent or contradicts it. Only GPTBot has known ranges here.
    pub(crate) fn is_verified(&self) -> Option<bool> {
        match (self.sent.agent, self.sent.ip) {
            (GPTBOT, Some(OF_GPTBOT)) => Some(true),
            (GPTBOT, Some(ELSEWHERE)) => Some(false),
            _ => None,
        }
    }
}

/// The reference model.
#[derive(Default)]
struct Model {
    events: Vec<StoredEvent>,
    ids: HashMap<u8, i64>,
    /// Pages with a name.
    pages: HashSet<String>,
}

impl Model {
    /// Returns the events and the number of duplicates.
    fn ingest(&mut self, sent: &[SentEvent], clock: &TestClock) -> (Vec<Event>, u64) {
        let (now, mut events, mut duplicates) = (clock.now_ms(), Vec::new(), 0);
        for sent in sent {
            let event = parse_event(raw(sent, clock), clock.now()).unwrap();
            let truth = event.class();
            let event = event.with_class(sent.class.unwrap_or(truth));
            events.push(event.clone());
            let known = sent.id.and_then(|id| self.ids.get(&id)).is_some_and(|first| now - first <= 7 * DAY);
            if known {
                duplicates += 1;
                continue;
            }
            sent.id.map(|id| self.ids.insert(id, now));
            let (day, today) = (event.at().div_euclid(DAY), now.div_euclid(DAY));
            let visitor = format!("{} {} {:?} {}", day, day.max(today), sent.ip, sent.agent);
            if event.kind() == Kind::Read {
                self.pages.insert(event.path().to_owned());
            }
            self.events.push(StoredEvent { event, sent: sent.clone(), visitor, truth, is_forgotten: false });
        }
        (events, duplicates)
    }

    /// Returns the number of events whose class changed. Days whose raw events may be deleted stay unchanged.
    fn reclassify(&mut self, clock: &TestClock) -> u64 {
        let (from, mut changed) = ((clock.now_ms().div_euclid(DAY) - 3) * DAY, 0);
        for kept in self.events.iter_mut().filter(|kept| kept.event.at() >= from) {
            changed += u64::from(kept.event.class() != kept.truth);
            kept.event = kept.event.clone().with_class(kept.truth);
        }
        changed
    }

    /// Removes paths, where raw events before `raw_from` are deleted.
    fn forget_paths(&mut self, paths: &PathGlob, raw_from: i64) -> RemovalProgress {
        let named = self.pages.len();
        self.pages.retain(|path| !paths.is_match(path));
        let mut removed =
            RemovalProgress { pages: (named - self.pages.len()) as u64, ..RemovalProgress::default() };
        self.events.retain_mut(|kept| {
            let (event, is_raw) = (&kept.event, kept.event.at() >= raw_from);
            if kept.is_forgotten || !paths.is_match(event.path()) {
                return true;
            }
            let is_counted = match event.kind() {
                Kind::Read => true,
                Kind::NotFound | Kind::Redirected => matches!(event.class(), Class::Human | Class::Assistant),
                Kind::Other => false,
            };
            removed.views += u64::from(is_raw || is_counted);
            kept.is_forgotten = !is_raw && event.kind() == Kind::Read;
            kept.is_forgotten
        });
        removed
    }

    fn count(&self, range: &Range) -> (Tally, Vec<PageCount>) {
        let events: Vec<&Event> =
            self.events.iter().filter(|kept| !kept.is_forgotten).map(|kept| &kept.event).collect();
        recount(&events, range)
    }

    fn visitors(&self, range: &Range) -> (Readers, Vec<(String, Readers)>) {
        let mut pages = BTreeMap::<(i64, &str), BTreeMap<&str, (bool, bool)>>::new();
        for StoredEvent { event, visitor, .. } in self.events.iter().filter(|kept| !kept.is_forgotten) {
            let day = event.at().div_euclid(DAY);
            let who = (event.class() == Class::Human, event.class() == Class::Assistant);
            if event.kind() != Kind::Read || !range.contains(day * DAY) || who == (false, false) {
                continue;
            }
            for page in ["", event.path()] {
                let seen = pages.entry((day, page)).or_default().entry(visitor).or_default();
                *seen = (seen.0 | who.0, seen.1 | who.1);
            }
        }
        let mut sums = BTreeMap::<&str, Readers>::new();
        for ((_, page), visitors) in pages {
            let sum = sums.entry(page).or_default();
            sum.human += visitors.values().filter(|(human, _)| *human).count() as u64;
            sum.ai += visitors.values().filter(|(_, ai)| *ai).count() as u64;
            sum.total += visitors.len() as u64;
        }
        let site = sums.remove("").unwrap_or_default();
        let mut pages: Vec<_> = sums.into_iter().map(|(path, sum)| (path.to_owned(), sum)).collect();
        pages.sort_by_key(|(_, readers)| Reverse(readers.total));
        (site, pages)
    }
}

fn raw(sent: &SentEvent, clock: &TestClock) -> RawEvent {
    RawEvent {
        path: Some(sent.path.into()),
        user_agent: Some(sent.agent.into()),
        status: sent.status,
        timestamp: Some(clock.now() - SignedDuration::from_millis(sent.ago)),
        event_id: sent.id.map(|id| id.to_string()),
        ip: sent.ip.map(str::to_owned),
        referrer: sent.referrer.map(str::to_owned),
        ..RawEvent::default()
    }
}

/// Counts from the events themselves.
fn recount(events: &[&Event], range: &Range) -> (Tally, Vec<PageCount>) {
    let mut pages = BTreeMap::<&str, Tally>::new();
    let mut totals = Tally::default();
    for event in events.iter().filter(|event| event.kind() == Kind::Read && range.contains(event.at())) {
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

async fn count_all_pages(views: &dyn Views, range: &Range, limit: u32) -> (Tally, Vec<PageCount>) {
    let mut all = Vec::new();
    loop {
        let Counts { totals, pages, has_more } =
            views.count("acme", range, &ListQuery::new(limit, all.len() as u64)).await.unwrap();
        assert!(!has_more || pages.len() == limit as usize);
        all.extend(pages);
        if !has_more {
            return (totals, all);
        }
    }
}

async fn visitors_of_all_pages(
    views: &dyn Views,
    range: &Range,
    limit: u32,
) -> (Readers, Vec<(String, Readers)>) {
    let mut all = Vec::new();
    loop {
        let Visitors { totals, pages, has_more } =
            views.visitors("acme", range, &ListQuery::new(limit, all.len() as u64)).await.unwrap();
        all.extend(pages);
        if !has_more {
            return (totals, all);
        }
    }
}

/// A range between two times. Ends are full hours where raw events may be deleted.
fn range(ends: &(Option<i64>, Option<i64>), clock: &TestClock) -> Range {
    let now = clock.now_ms();
    let raw_from = (now.div_euclid(DAY) - 3) * DAY;
    let end =
        |ago: i64| Some(now - ago).map(|at| if at < raw_from { at.div_euclid(HOUR) * HOUR } else { at });
    let (from, to) = (ends.0.and_then(end), ends.1.and_then(end));
    Range::new(from, to).or_else(|_| Range::new(to, from)).unwrap()
}

/// Restricts a range to days whose raw events are all stored.
fn with_raw(range: &Range, clock: &TestClock) -> Range {
    let raw_from = (clock.now_ms().div_euclid(DAY) - 3) * DAY;
    let from = range.from().unwrap_or(raw_from).max(raw_from);
    Range::new(Some(from), range.to().map(|to| to.max(from))).unwrap()
}

/// Rounds the ends of a range to full days where raw events may be deleted.
fn of_days(range: &Range, clock: &TestClock) -> Range {
    let raw_from = (clock.now_ms().div_euclid(DAY) - 3) * DAY;
    let end = |at: i64| if at < raw_from { at.div_euclid(DAY) * DAY } else { at };
    Range::new(range.from().map(end), range.to().map(end)).unwrap()
}

async fn run_steps(home: &dyn Home, steps: &[Step], ranges: &[(Option<i64>, Option<i64>)], limit: u32) {
    let clock = home.clock();
    let mut views = home.open(LIMITS()).await;
    let mut model = Model::default();
    for step in steps {
        match step {
            Step::Take(sent) => {
                let (events, duplicates) = model.ingest(sent, clock);
                // Using another project evicts this one from memory.
                views.ingest("globex", events.clone()).await.unwrap();
                let receipt = views.ingest("acme", events).await.unwrap();
                assert_eq!((receipt.accepted, receipt.duplicates), (sent.len() as u64, duplicates));
            }
            Step::Tidy => views.run_maintenance().await,
            Step::Restart => {
                drop(views);
                views = home.open(LIMITS()).await;
            }
            Step::Wait(ms) => clock.advance(SignedDuration::from_millis(*ms)),
            Step::Reclassify => {
                let done = views.reclassify("acme", 0).await.unwrap();
                assert_eq!((done.changed, done.next), (model.reclassify(clock), None));
            }
            Step::ForgetPaths(glob) => {
                let paths = PathGlob::parse(glob).unwrap();
                let expected = model.forget_paths(&paths, home.raw_from("acme").await);
                let (views, paths) = (&*views, &paths);
                let run = async |dry_run| views.forget_paths("acme", paths, i64::MIN, dry_run).await.unwrap();
                assert_eq!((run(true).await, run(false).await), (expected, expected), "{glob}");
                assert_eq!(run(false).await, RemovalProgress::default(), "{glob} again");
            }
            Step::Forget => {
                views.forget("acme").await.unwrap();
                model = Model::default();
            }
        }
        for ends in ranges {
            let range = range(ends, clock);
            assert_eq!(count_all_pages(&*views, &range, limit).await, model.count(&range), "{range:?}");
        }
    }
    for ends in ranges {
        let range = with_raw(&range(ends, clock), clock);
        recount::check_visitors_by_day(&*views, &range, |day| model.visitors(day)).await;
        assert_eq!(visitors_of_all_pages(&*views, &range, limit).await, model.visitors(&range), "{range:?}");
    }
    for ends in ranges {
        let range = range(ends, clock);
        recount::check_series(&*views, &range, &model.events).await;
        recount::check_path_days(&*views, &range, &model.events).await;
        let range = of_days(&range, clock);
        recount::check_names(&*views, &range, &model.events, limit).await;
    }
    recount::check_live(&*views, clock.now_ms(), &model.events).await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_report_equals_a_recount(
        steps in prop::collection::vec(any_step(), 0..12),
        ranges in prop::collection::vec((prop::option::of(any_ago()), prop::option::of(any_ago())), 1..6),
        limit in 1..4_u32,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { run_steps(&SqliteHome::new(clock()), &steps, &ranges, limit).await });
    }
}

/// Histories of the second backend: each needs databases of its own, so there are fewer.
fn remote_cases() -> u32 {
    std::env::var("DOCWRIGHT_TEST_HISTORIES").map_or(40, |cases| cases.parse().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 200, ..ProptestConfig::with_cases(remote_cases()) })]

    #[test]
    #[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
    fn every_remote_report_equals_a_recount(
        steps in prop::collection::vec(any_step(), 0..12),
        ranges in prop::collection::vec((prop::option::of(any_ago()), prop::option::of(any_ago())), 1..4),
        limit in 1..4_u32,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { run_steps(&RemoteHome::new(clock()).await, &steps, &ranges, limit).await });
    }
}

#[test]
fn the_recount_agrees_with_a_manual_count() {
    let at = |path: &str, agent: &str| {
        let raw = RawEvent {
            path: Some(path.into()),
            user_agent: Some(agent.into()),
            timestamp: Some(Timestamp::from_second(1_700_000_000).unwrap()),
            ..RawEvent::default()
        };
        event(raw)
    };
    let events = [at("/b", FIREFOX), at("/a", CLAUDE), at("/a", GPTBOT), at("/b", CLAUDE)];
    let (totals, pages) = recount(&events.iter().collect::<Vec<_>>(), &Range::default());
    assert_eq!(totals, Tally { human: 1, ai: 2 });
    let expected = [("/b", 1, 1), ("/a", 0, 1)];
    assert_eq!(pages, expected.map(|(path, human, ai)| PageCount { path: path.into(), human, ai }));
}
