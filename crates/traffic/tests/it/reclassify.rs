//! Tests of reclassifying raw events with a new table of agents.

use traffic::{Class, Event, Limits, ListQuery, Range, RawEvent, ReclassifyProgress, parse_bound};

use crate::backend::{Backend, Home, every_home};
use crate::views::{CLAUDE, FIREFOX, all, event, page, raw};

every_home! {
    each_day_is_reclassified_once,
    missing_paths_beyond_the_limit_count_as_other,
}

fn at(time: &str, path: &str, agent: &str) -> Event {
    let timestamp = Some(time.parse().unwrap());
    event(RawEvent { timestamp, ..raw(path, agent) })
}

async fn reclassify(views: &dyn Backend, from: &str) -> (u64, u64) {
    let ReclassifyProgress { events, changed, next } =
        views.reclassify("acme", parse_bound(from).unwrap()).await.unwrap();
    assert_eq!(next, None);
    (events, changed)
}

async fn each_day_is_reclassified_once(home: &dyn Home) {
    let views = &*home.open(Limits::default()).await;
    let mistaken = |time: &str| at(time, "/a", CLAUDE).with_class(Class::Bot);
    let events = vec![
        mistaken("2026-02-27T10:00:00Z"),
        mistaken("2026-02-28T23:59:59.999Z"),
        at("2026-02-28T12:00:00Z", "/a", FIREFOX),
        mistaken("2026-03-01T00:00:00Z"),
    ];
    views.ingest("acme", events).await.unwrap();
    assert_eq!(all(views, "acme").await.pages, [page("/a", 1, 0)]);
    assert_eq!(reclassify(views, "2026-02-28T18:00:00Z").await, (3, 2), "from the day's beginning on");
    assert_eq!(all(views, "acme").await.pages, [page("/a", 1, 2)]);
    assert_eq!(reclassify(views, "2026-01-01").await, (4, 1));
    assert_eq!(all(views, "acme").await.pages, [page("/a", 1, 3)]);
    assert_eq!(reclassify(views, "2026-01-01").await, (4, 0));
    let visitors = views.visitors("acme", &Range::default(), &ListQuery::new(9, 0)).await.unwrap();
    assert_eq!((visitors.totals.human, visitors.totals.ai), (1, 3));
    let agents = views.agents("acme", &Range::default(), &ListQuery::new(9, 0)).await.unwrap();
    let agents: Vec<_> =
        agents.agents.iter().map(|agent| (&*agent.product, agent.class, agent.reads)).collect();
    assert_eq!(agents, [("Claude-Code", Class::Assistant, 3), ("(browsers)", Class::Human, 1)]);
    assert_eq!(views.reclassify("nobody", 0).await.unwrap(), ReclassifyProgress::default());
}

async fn missing_paths_beyond_the_limit_count_as_other(home: &dyn Home) {
    let views = &*home.open(Limits::default()).await;
    let guess = |n: u32| event(RawEvent { status: Some(404), ..raw(&format!("/{n:06}"), FIREFOX) });
    for thousand in 0..11 {
        let guesses = (0..1000).map(|n| guess(thousand * 1000 + n)).collect();
        views.ingest("acme", guesses).await.unwrap();
        views.run_maintenance().await;
    }
    let missing = views.not_found("acme", &Range::default(), &ListQuery::new(2, 0)).await.unwrap();
    assert_eq!((missing.totals.human, missing.has_more), (11_000, true));
    let (first, second) = (&missing.pages[0], &missing.pages[1]);
    assert_eq!((&*first.path, first.requests.human), (traffic::OTHER_NAMES, 1000));
    assert_eq!((&*second.path, second.requests.human), ("/000000", 1), "who came first keeps a name");
}
