//! Tests each promise of `Views` for every backend. A new backend is added to `every_backend!` as a function
//! that opens it with a clock.

use std::sync::Arc;

use base::{Clock, TestClock};
use jiff::{SignedDuration, Timestamp};
use traffic::{
    Counts, Event, ListQuery, PageCount, Range, RawEvent, Receipt, SqliteViews, Tally, Views, parse_bound,
    parse_event,
};

pub(crate) const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";
pub(crate) const CLAUDE: &str = "Claude-User (claude-code/2.1.86; +https://support.anthropic.com/)";
pub(crate) const GPTBOT: &str =
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)";

const DAY: SignedDuration = SignedDuration::from_hours(24);
const MILLISECOND: SignedDuration = SignedDuration::from_millis(1);

macro_rules! every_backend {
    ($($promise:ident),+ $(,)?) => {
        mod sqlite_backend {
            $(#[tokio::test]
            async fn $promise() {
                let folder = tempfile::tempdir().unwrap();
                let clock = super::clock();
                let views = super::open(&folder.path().join("views.db"), &clock).await;
                super::$promise(&views, &clock).await;
            })+
        }

        mod remote_backend {
            $(#[tokio::test]
            #[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
            async fn $promise() {
                let clock = super::clock();
                let home = crate::backend::RemoteHome::new(clock.clone()).await;
                super::$promise(&home.quiet_server(), &clock).await;
            })+
        }
    };
}

every_backend! {
    reads_are_counted_by_page_and_reader,
    only_reads_by_humans_and_assistants_count,
    a_range_includes_its_start_and_not_its_end,
    the_largest_page_comes_first_and_then_the_smaller_path,
    pages_are_paginated,
    an_unknown_project_has_no_views,
    projects_do_not_see_each_other,
    an_event_id_counts_once,
    an_event_id_counts_once_within_a_batch,
    an_event_id_counts_again_after_seven_days,
    an_event_id_belongs_to_its_project,
    events_without_an_id_always_count,
    a_forgotten_project_leaves_nothing,
    a_large_batch_is_stored_completely,
    an_empty_batch_stores_nothing,
    spellings_of_a_url_count_as_one_page,
}

pub(crate) fn clock() -> Arc<TestClock> {
    Arc::new(TestClock::at("2026-03-01T12:00:00Z".parse().unwrap()))
}

pub(crate) async fn open(path: &std::path::Path, clock: &Arc<TestClock>) -> SqliteViews {
    SqliteViews::open(path, clock.clone()).await.unwrap()
}

pub(crate) fn raw(path: &str, user_agent: &str) -> RawEvent {
    RawEvent { path: Some(path.into()), user_agent: Some(user_agent.into()), ..RawEvent::default() }
}

pub(crate) fn event(raw: RawEvent) -> Event {
    parse_event(raw, clock().now()).unwrap()
}

pub(crate) fn view(path: &str, user_agent: &str) -> Event {
    event(raw(path, user_agent))
}

pub(crate) fn with_id(path: &str, id: &str) -> Event {
    event(RawEvent { event_id: Some(id.into()), ..raw(path, FIREFOX) })
}

fn at(time: &str) -> Event {
    let time: Timestamp = time.parse().unwrap();
    event(RawEvent { timestamp: Some(time), ..raw("/a", FIREFOX) })
}

pub(crate) fn page(path: &str, human: u64, ai: u64) -> PageCount {
    PageCount { path: path.into(), human, ai }
}

pub(crate) async fn all(views: &dyn Views, project: &str) -> Counts {
    views.count(project, &Range::default(), &ListQuery::new(250, 0)).await.unwrap()
}

async fn total(views: &dyn Views, project: &str) -> u64 {
    all(views, project).await.totals.total()
}

async fn reads_are_counted_by_page_and_reader(views: &dyn Views, _: &TestClock) {
    let batch = vec![view("/a", FIREFOX), view("/a", CLAUDE), view("/b", FIREFOX), view("/a", FIREFOX)];
    let receipt = views.ingest("acme", batch).await.unwrap();
    assert_eq!(receipt, Receipt { accepted: 4, duplicates: 0 });
    let expected = Counts {
        totals: Tally { human: 3, ai: 1 },
        pages: vec![page("/a", 2, 1), page("/b", 1, 0)],
        has_more: false,
    };
    assert_eq!(all(views, "acme").await, expected);
}

async fn only_reads_by_humans_and_assistants_count(views: &dyn Views, _: &TestClock) {
    let missing = RawEvent { status: Some(404), ..raw("/gone", FIREFOX) };
    let post = RawEvent { method: Some("POST".into()), ..raw("/form", FIREFOX) };
    let batch = vec![
        view("/a", GPTBOT),
        view("/a", "Googlebot/2.1"),
        view("/b", "curl/8.5.0"),
        view("/logo.png", FIREFOX),
        event(missing),
        event(post),
    ];
    assert_eq!(views.ingest("acme", batch).await.unwrap().accepted, 6);
    assert_eq!(all(views, "acme").await, Counts::default());
}

async fn a_range_includes_its_start_and_not_its_end(views: &dyn Views, _: &TestClock) {
    let batch = [
        "2026-01-31T23:59:59.999Z",
        "2026-02-01T00:00:00Z",
        "2026-02-01T23:59:59.9999Z",
        "2026-02-02T00:00:00Z",
    ];
    views.ingest("acme", batch.map(at).to_vec()).await.unwrap();
    let check = async |from: Option<&str>, to: Option<&str>, expected: u64| {
        let range =
            Range::new(from.map(|day| parse_bound(day).unwrap()), to.map(|day| parse_bound(day).unwrap()));
        let counts = views.count("acme", &range.unwrap(), &ListQuery::new(50, 0)).await.unwrap();
        assert_eq!(counts.totals.human, expected, "{from:?} to {to:?}");
        assert_eq!(counts.pages.iter().map(|page| page.human).sum::<u64>(), expected);
    };
    check(Some("2026-02-01"), Some("2026-02-02"), 2).await;
    check(Some("2026-02-01"), None, 3).await;
    check(None, Some("2026-02-01"), 1).await;
    check(Some("2026-02-01"), Some("2026-02-01"), 0).await;
    check(Some("2026-02-01T00:00:00.0001Z"), Some("2026-02-02"), 1).await;
    check(None, None, 4).await;
}

async fn the_largest_page_comes_first_and_then_the_smaller_path(views: &dyn Views, _: &TestClock) {
    let paths = ["/b", "/B", "/é", "/a/b", "/a", "/a-b", "/z", "/z"];
    let batch = paths.map(|path| view(path, FIREFOX)).to_vec();
    views.ingest("acme", batch).await.unwrap();
    let pages = all(views, "acme").await.pages;
    let order: Vec<&str> = pages.iter().map(|page| page.path.as_str()).collect();
    assert_eq!(order, ["/z", "/B", "/a", "/a-b", "/a/b", "/b", "/é"]);
}

async fn pages_are_paginated(views: &dyn Views, _: &TestClock) {
    let batch = (0..5).map(|number| view(&format!("/{number}"), FIREFOX)).collect();
    views.ingest("acme", batch).await.unwrap();
    let check = async |limit: u32, offset: u64, first: Option<&str>, length: usize, more: bool| {
        let counts = views.count("acme", &Range::default(), &ListQuery::new(limit, offset)).await.unwrap();
        let found = counts.pages.first().map(|page| page.path.as_str());
        assert_eq!((found, counts.pages.len(), counts.has_more), (first, length, more));
        assert_eq!(counts.totals, Tally { human: 5, ai: 0 }, "totals are the site's");
    };
    check(2, 0, Some("/0"), 2, true).await;
    check(2, 2, Some("/2"), 2, true).await;
    check(2, 4, Some("/4"), 1, false).await;
    check(5, 0, Some("/0"), 5, false).await;
    check(1, 4, Some("/4"), 1, false).await;
    check(2, 5, None, 0, false).await;
    check(2, u64::MAX, None, 0, false).await;
}

async fn an_unknown_project_has_no_views(views: &dyn Views, _: &TestClock) {
    assert_eq!(all(views, "nowhere").await, Counts::default());
    views.forget("nowhere").await.unwrap();
}

async fn projects_do_not_see_each_other(views: &dyn Views, _: &TestClock) {
    views.ingest("acme", vec![view("/a", FIREFOX)]).await.unwrap();
    views.ingest("globex", vec![view("/a", CLAUDE), view("/b", CLAUDE)]).await.unwrap();
    assert_eq!(all(views, "acme").await.pages, [page("/a", 1, 0)]);
    assert_eq!(all(views, "globex").await.pages, [page("/a", 0, 1), page("/b", 0, 1)]);
}

async fn an_event_id_counts_once(views: &dyn Views, clock: &TestClock) {
    views.ingest("acme", vec![with_id("/a", "1")]).await.unwrap();
    clock.advance(DAY);
    let receipt = views.ingest("acme", vec![with_id("/a", "1"), with_id("/a", "2")]).await.unwrap();
    assert_eq!(receipt, Receipt { accepted: 2, duplicates: 1 });
    assert_eq!(total(views, "acme").await, 2);
}

async fn an_event_id_counts_once_within_a_batch(views: &dyn Views, _: &TestClock) {
    let batch = vec![with_id("/a", "1"), with_id("/b", "1"), with_id("/c", "2")];
    let receipt = views.ingest("acme", batch).await.unwrap();
    assert_eq!(receipt, Receipt { accepted: 3, duplicates: 1 });
    assert_eq!(all(views, "acme").await.pages, [page("/a", 1, 0), page("/c", 1, 0)]);
}

async fn an_event_id_counts_again_after_seven_days(views: &dyn Views, clock: &TestClock) {
    let again = async || views.ingest("acme", vec![with_id("/a", "1")]).await.unwrap().duplicates;
    assert_eq!(again().await, 0);
    clock.advance(DAY * 7);
    assert_eq!(again().await, 1);
    // The duplicate did not restart the seven days.
    clock.advance(MILLISECOND);
    assert_eq!(again().await, 0);
    assert_eq!(again().await, 1);
    assert_eq!(total(views, "acme").await, 2);
}

async fn an_event_id_belongs_to_its_project(views: &dyn Views, _: &TestClock) {
    views.ingest("acme", vec![with_id("/a", "1")]).await.unwrap();
    let receipt = views.ingest("globex", vec![with_id("/a", "1")]).await.unwrap();
    assert_eq!(receipt.duplicates, 0);
}

async fn events_without_an_id_always_count(views: &dyn Views, _: &TestClock) {
    for _ in 0..2 {
        let receipt = views.ingest("acme", vec![view("/a", FIREFOX), view("/a", FIREFOX)]).await;
        assert_eq!(receipt.unwrap(), Receipt { accepted: 2, duplicates: 0 });
    }
    assert_eq!(total(views, "acme").await, 4);
}

async fn a_forgotten_project_leaves_nothing(views: &dyn Views, _: &TestClock) {
    views.ingest("acme", vec![with_id("/a", "1")]).await.unwrap();
    views.ingest("globex", vec![with_id("/a", "1")]).await.unwrap();
    views.forget("acme").await.unwrap();
    assert_eq!(all(views, "acme").await, Counts::default());
    assert_eq!(total(views, "globex").await, 1);
    let receipt = views.ingest("acme", vec![with_id("/b", "1")]).await.unwrap();
    assert_eq!(receipt.duplicates, 0, "its event ids are gone too");
    assert_eq!(all(views, "acme").await.pages, [page("/b", 1, 0)]);
}

async fn a_large_batch_is_stored_completely(views: &dyn Views, _: &TestClock) {
    let number = |number: u32| with_id(&format!("/{}", number % 1500), &(number % 2600).to_string());
    let receipt = views.ingest("acme", (0..3000).map(number).collect()).await.unwrap();
    assert_eq!(receipt, Receipt { accepted: 3000, duplicates: 400 });
    assert_eq!(total(views, "acme").await, 2600);
}

async fn an_empty_batch_stores_nothing(views: &dyn Views, _: &TestClock) {
    assert_eq!(views.ingest("acme", Vec::new()).await.unwrap(), Receipt::default());
}

async fn spellings_of_a_url_count_as_one_page(views: &dyn Views, _: &TestClock) {
    let batch = ["/guides/", "/guides.md", "https://acme.dev/guides/index.html?x#y"];
    views.ingest("acme", batch.map(|path| view(path, FIREFOX)).to_vec()).await.unwrap();
    assert_eq!(all(views, "acme").await.pages, [page("/guides", 2, 1)]);
}
