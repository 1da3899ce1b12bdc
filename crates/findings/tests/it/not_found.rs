//! Missing paths are grouped by what they mean.

use findings::kinds::not_found::{MissingPath, detect};
use findings::{Candidate, Settings, SitePages};

use crate::{day, requests};

fn missing(path: &str, count: u64) -> MissingPath {
    MissingPath { path: path.to_owned(), days: vec![requests(0, count)], referrers: Vec::new() }
}

/// Every group of the paths, whatever its size.
fn groups(routes: &[&str], paths: &[&str]) -> Vec<Candidate> {
    let missing = paths.iter().enumerate().map(|(at, path)| missing(path, 1_000 - at as u64));
    detect(missing, |_| true, &SitePages::new(routes), day(0), &Settings::default())
}

#[test]
fn spellings_of_one_path_are_one_finding() {
    #[track_caller]
    fn check(paths: &[&str]) {
        let groups = groups(&["/guides/start", "/v2/start"], paths);
        let keys: Vec<_> = groups.iter().map(|group| &group.key).collect();
        assert_eq!(keys.len(), 1, "{keys:?}");
        assert_eq!(groups[0].subject, paths[0], "the most requested path");
        assert_eq!(groups[0].evidence.members.len(), paths.len());
    }
    check(&["/guides/Install", "/guides/install", "/GUIDES/INSTALL/", "/guides//install"]);
    check(&[
        "/guides/install",
        "/guides/install/index",
        "/guides/install/index.html",
        "/guides/install/README.md",
    ]);
    check(&[
        "/install.md",
        "/install.mdx",
        "/install.html",
        "/install.txt",
        "/install/index.html.md",
        "/install",
    ]);
    check(&["/install", "/install)", "/install).", "/install,", "/install\"", "/install…", "/install**"]);
    check(&["/install", "/install&quot;", "/install%22", "/install%22%3E", "/install%2522", "/install.md)"]);
    check(&[
        "/install",
        "/install](https://acme.dev/install",
        "/install</a>",
        "/install/amp",
        "/install/amp/",
    ]);
    check(&[
        "/install",
        "/docs/install",
        "/en/install",
        "/latest/install",
        "/v1/install",
        "/docs/en/v1.2/install",
    ]);
    check(&["/v2/install", "/docs/v2/install", "/en/v2/install.md"]);
    check(&["/wiki/rust_(language)", "/wiki/Rust_(language)", "/wiki/rust_%28language%29"]);
    check(&["/über", "/%C3%BCber", "/ÜBER"]);
    check(&["/", "/index.html", "/README"]);
}

#[test]
fn other_meanings_are_other_findings() {
    #[track_caller]
    fn check(paths: &[&str]) {
        let groups = groups(&["/v2/start", "/v3/start", "/fr/start"], paths);
        assert_eq!(groups.len(), paths.len(), "{groups:?}");
    }
    check(&["/v2/install", "/v3/install"]);
    check(&["/install", "/fr/install"]);
    check(&["/go/install", "/js/install"]);
    check(&["/install", "/install/linux"]);
    check(&["/wiki/rust_(language)", "/wiki/rust"]);
    check(&["/llms.txt", "/llms"]);
    check(&["/docs", "/v1", "/en"]);
    check(&["/2024/install", "/install"]);
    check(&["/amp", "/"]);
}

#[test]
fn a_page_with_the_same_meaning_is_the_target() {
    #[track_caller]
    fn check(path: &str, expected: Option<&str>) {
        let groups = groups(&["/docs/guides/install", "/faq", "/docs/guides/install-old"], &[path]);
        assert_eq!(groups[0].target.as_deref(), expected, "{path}");
    }
    check("/guides/install", Some("/docs/guides/install"));
    check("/en/guides/Install.md", Some("/docs/guides/install"));
    check("/faq).", Some("/faq"));
    check("/guides/instal", None);
}

#[test]
fn a_finding_needs_requests_on_enough_days_of_the_window() {
    let site = SitePages::new(["/install"]);
    let settings = Settings { min_days: 2, ..Settings::default() };
    let detected = |days: &[(i64, u64)], known: bool| {
        let days = days.iter().map(|(number, count)| requests(*number, *count)).collect();
        let path = MissingPath { path: "/instal".to_owned(), days, referrers: Vec::new() };
        detect([path], |_| known, &site, day(0), &settings).first().map(|candidate| candidate.is_present)
    };
    assert_eq!(detected(&[(0, 3), (-29, 2)], false), Some(true));
    assert_eq!(detected(&[(0, 3), (-30, 2)], false), None, "outside of the window");
    assert_eq!(detected(&[(0, 3), (-1, 1)], false), None, "too few requests");
    assert_eq!(detected(&[(0, 99)], false), None, "one day");
    assert_eq!(detected(&[(0, 99)], true), Some(false), "a known finding is reported as below the threshold");
}

#[test]
fn a_link_makes_a_strange_path_familiar() {
    let site = SitePages::new(["/install"]);
    let mut strange = missing("/zqx81k", 6);
    let count =
        |path: &MissingPath| detect([path.clone()], |_| false, &site, day(0), &Settings::default()).len();
    assert_eq!(count(&strange), 0);
    strange.referrers = vec![("acme.dev/blog".to_owned(), 1)];
    assert_eq!(count(&strange), 1);
}
