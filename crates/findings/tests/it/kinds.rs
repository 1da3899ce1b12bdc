//! Moved pages, dead links and stale pages.

use findings::kinds::dead_link::{self, DeadLink};
use findings::kinds::moved::{self, Rename};
use findings::kinds::stale::{self, AgedPage};
use findings::{Candidate, Day, Kind, Settings, SitePages, StaleTier, State};

use crate::{day, requests};

#[test]
fn names_are_read_as_they_are_written() {
    assert_eq!(Kind::ALL.map(Kind::as_str), ["not-found", "moved", "dead-link", "stale"]);
    for kind in Kind::ALL {
        assert_eq!(Kind::parse(kind.as_str()), Some(kind));
        assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{}\"", kind.as_str()));
    }
    for state in State::ALL {
        assert_eq!(State::parse(state.as_str()), Some(state));
        assert_eq!(serde_json::to_string(&state).unwrap(), format!("\"{}\"", state.as_str()));
    }
    assert_eq!((Kind::parse("Moved"), State::parse("in review")), (None, None));
}

fn targets(candidates: &[Candidate]) -> Vec<(&str, &str)> {
    let target = |candidate: &'_ Candidate| candidate.target.clone().unwrap_or_default();
    let pairs = candidates.iter().map(|candidate| (candidate.subject.as_str(), target(candidate)));
    pairs.map(|(subject, target)| (subject, &*target.leak())).collect()
}

#[test]
fn a_renamed_page_leads_to_where_it_is_now() {
    #[track_caller]
    fn check(renames: &[(i64, &str, &str)], routes: &[&str], expected: &[(&str, &str)]) {
        let renames: Vec<_> = renames.iter().map(|(number, from, to)| rename(*number, from, to)).collect();
        let site = SitePages::new(routes);
        let is_redirected = |path: &str| path == "/redirected";
        let found = moved::detect(
            &renames,
            is_redirected,
            |_| false,
            |_| vec![],
            &site,
            day(99),
            &Settings::default(),
        );
        assert_eq!(targets(&found), expected);
    }
    fn rename(number: i64, from: &str, to: &str) -> Rename {
        Rename { on: day(number), from: from.to_owned(), to: to.to_owned() }
    }
    check(&[(1, "/a", "/b")], &["/b"], &[("/a", "/b")]);
    check(&[(1, "/a", "/b"), (2, "/b", "/c")], &["/c"], &[("/a", "/c"), ("/b", "/c")]);
    check(&[(2, "/b", "/c"), (1, "/a", "/b")], &["/c"], &[("/a", "/c"), ("/b", "/c")]);
    check(&[(1, "/a", "/b")], &["/a", "/b"], &[]);
    check(&[(1, "/a", "/b"), (2, "/b", "/a")], &["/a"], &[("/b", "/a")]);
    check(&[(1, "/a", "/b"), (2, "/b", "/a")], &[], &[]);
    check(&[(1, "/redirected", "/b")], &["/b"], &[]);
    check(&[(1, "/a", "/b")], &["/x"], &[]);
    // Another page was at `/b` before, and went to `/c`.
    check(&[(1, "/b", "/c"), (5, "/a", "/b")], &["/c"], &[("/b", "/c")]);
    // A page was removed, another took its path and moved on.
    check(&[(1, "/a", "/b"), (5, "/a", "/c")], &["/b", "/c"], &[("/a", "/c")]);
}

#[test]
fn moved_pages_sort_by_the_requests_of_their_old_paths() {
    let rename = |from: &str| Rename { on: day(0), from: from.to_owned(), to: "/new".to_owned() };
    let count = |path: &str| vec![requests(1, if path == "/much" { 60 } else { 3 })];
    let site = SitePages::new(["/new"]);
    let renames = [rename("/little"), rename("/much")];
    let found = moved::detect(&renames, |_| false, |_| false, count, &site, day(2), &Settings::default());
    assert_eq!(targets(&found), [("/much", "/new"), ("/little", "/new")]);
    assert_eq!(found[0].score, 2.0, "60 requests in 30 days");
}

#[test]
fn links_to_one_missing_page_are_one_finding() {
    let link = |page: &str, target: &str| DeadLink { page: page.to_owned(), target: target.to_owned() };
    let links = [
        link("/a", "/gone"),
        link("/b", "/gone"),
        link("/a", "/gone"),
        link("/a", "/here"),
        link("/c", "/x"),
    ];
    let views = |page: &str| vec![requests(0, if page == "/c" { 1 } else { 300 })];
    let site = SitePages::new(["/a", "/b", "/c", "/here"]);
    let found = dead_link::detect(&links, |_| false, views, &site, day(0), &Settings::default());
    let subjects: Vec<_> = found.iter().map(|candidate| candidate.subject.as_str()).collect();
    assert_eq!(subjects, ["/gone", "/x"]);
    assert_eq!(found[0].evidence.pages, ["/a", "/b"]);
    assert_eq!(found[0].score, 1.0, "5% of 20 views per day");
}

fn aged(path: &str, age: i64, views: u64) -> AgedPage {
    let views: Vec<Day> = (1..=10).map(|number| requests(-number, views / 10)).collect();
    AgedPage { path: path.to_owned(), changed_on: day(-age), views }
}

#[test]
fn a_page_is_stale_when_it_is_read_and_older_than_its_tier() {
    let tier = |glob: &str, days| StaleTier { glob: glob.to_owned(), days };
    let settings =
        Settings { stale_tiers: vec![tier("/api/**", 30), tier("/blog/**", 3_650)], ..Settings::default() };
    let pages = [
        aged("/api/users", 60, 300),
        aged("/api/new", 30, 300),
        aged("/blog/hello", 900, 3_000),
        aged("/guide", 730, 300),
        aged("/unread", 730, 40),
        aged("/old", 3_650_000, 300),
    ];
    let found = stale::detect(pages.clone(), |_| false, day(0), &settings).unwrap();
    let scores: Vec<_> =
        found.iter().map(|candidate| (candidate.subject.as_str(), candidate.score)).collect();
    assert_eq!(scores, [("/old", 1.0), ("/api/users", 0.2), ("/guide", 0.2)]);
    let known = stale::detect(pages, |path| path == "/api/new", day(0), &settings).unwrap();
    assert!(known.iter().any(|candidate| candidate.key == "/api/new" && !candidate.is_present));
}

#[test]
fn beyond_the_limit_only_known_findings_are_reported() {
    let settings = Settings { max_findings: 2, ..Settings::default() };
    let pages = [aged("/a", 400, 100), aged("/b", 400, 400), aged("/c", 400, 300), aged("/d", 400, 200)];
    let found = stale::detect(pages, |path| path == "/a", day(0), &settings).unwrap();
    let all: Vec<_> =
        found.iter().map(|candidate| (candidate.subject.as_str(), candidate.is_over_limit)).collect();
    assert_eq!(all, [("/b", false), ("/c", false), ("/a", true)]);
}
