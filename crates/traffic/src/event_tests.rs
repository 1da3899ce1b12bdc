//! Tests which input is a valid page view, and how its fields are parsed.

use super::*;

const CHROME: &str = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36";

fn received() -> Timestamp {
    "2026-03-01T12:00:00.123456Z".parse().unwrap()
}

fn view(path: &str) -> RawEvent {
    RawEvent { path: Some(path.into()), user_agent: Some(CHROME.into()), ..RawEvent::default() }
}

fn accept(raw: RawEvent) -> Event {
    parse_event(raw, received()).unwrap()
}

#[track_caller]
fn assert_refused(raw: RawEvent, sentence: &str) {
    assert_eq!(parse_event(raw, received()).unwrap_err().to_string(), sentence);
}

#[test]
fn a_view_with_only_a_path_is_accepted() {
    let event = accept(view("/guides/?a=1"));
    assert_eq!(event.path(), "/guides");
    assert_eq!(event.at(), 1_772_366_400_123);
    assert_eq!((event.kind(), event.class(), event.markdown), (Kind::Read, Class::Human, false));
}

#[test]
fn the_page_is_taken_from_path_or_url() {
    let url = Some("https://docs.acme.dev/b".to_owned());
    assert_eq!(accept(RawEvent { url: url.clone(), ..view("/a") }).path(), "/a");
    assert_eq!(accept(RawEvent { url, path: None, ..view("") }).path(), "/b");
    assert_refused(RawEvent::default(), "an event needs `path` or `url`");
    let no_page = "a page is a path that begins with `/`, or an http or https URL";
    assert_refused(view("guides"), no_page);
    let url = Some("guides".to_owned());
    assert_refused(RawEvent { url, path: None, ..view("") }, no_page);
}

#[test]
fn timestamps_are_validated() {
    let at = |text: &str| RawEvent { timestamp: Some(text.parse().unwrap()), ..view("/") };
    assert_eq!(accept(at("2026-01-01T00:00:00.9999Z")).at(), 1_767_225_600_999);
    assert_eq!(accept(at("2000-01-01T00:00:00Z")).at(), MIN_TIMESTAMP_MS);
    accept(at("2026-03-02T12:00:00.123456Z"));
    assert_refused(
        at("2026-03-02T12:00:00.123457Z"),
        "timestamp 2026-03-02T12:00:00.123457Z is more than a day ahead of the server's clock",
    );
    assert_refused(
        at("1999-12-31T23:59:59.999Z"),
        "timestamp 1999-12-31T23:59:59.999Z is before the year 2000",
    );
    assert_refused(
        at("-009999-01-02T01:59:59Z"),
        "timestamp -009999-01-02T01:59:59Z is before the year 2000",
    );
}

#[test]
fn the_kind_depends_on_method_status_and_path() {
    #[track_caller]
    fn check(method: Option<&str>, status: Option<u16>, path: &str, expected: Kind) {
        let raw = RawEvent { method: method.map(str::to_owned), status, ..view(path) };
        assert_eq!(accept(raw).kind(), expected, "{method:?} {status:?} {path}");
    }
    check(None, None, "/a", Kind::Read);
    check(Some("GET"), Some(200), "/a", Kind::Read);
    check(Some("get"), Some(206), "/a", Kind::Read);
    check(None, Some(304), "/a", Kind::Read);
    check(None, Some(404), "/a", Kind::NotFound);
    check(None, Some(410), "/a", Kind::NotFound);
    for status in [301, 302, 303, 307, 308] {
        check(None, Some(status), "/a", Kind::Redirected);
        check(Some("POST"), Some(status), "/a", Kind::Other);
        check(None, Some(status), "/a.png", Kind::Other);
    }
    check(None, Some(300), "/a", Kind::Other);
    check(None, Some(304), "/a", Kind::Read);
    check(None, Some(403), "/a", Kind::Other);
    check(None, Some(500), "/a", Kind::Other);
    check(None, Some(100), "/a", Kind::Other);
    check(Some("HEAD"), Some(200), "/a", Kind::Other);
    check(Some("POST"), Some(404), "/a", Kind::Other);
    check(Some(""), None, "/a", Kind::Other);
    check(None, Some(200), "/a.png", Kind::Other);
    check(None, Some(404), "/a.png", Kind::Other);
    check(None, Some(200), "/llms.txt", Kind::Read);
}

#[test]
fn markdown_is_detected() {
    let class = |raw| accept(raw).class();
    assert_eq!(class(view("/a.md")), Class::Assistant);
    assert_eq!(class(RawEvent { accept: Some("text/markdown, */*".into()), ..view("/a") }), Class::Assistant);
    assert_eq!(class(RawEvent { accept: Some("text/html".into()), ..view("/a") }), Class::Human);
    assert_eq!(class(RawEvent { from_page_script: true, ..view("/a.md") }), Class::Human);
    assert_eq!(class(RawEvent { user_agent: None, ..view("/a.md") }), Class::Assistant);
    assert_eq!(class(RawEvent { user_agent: Some("-".into()), ..view("/a") }), Class::Bot);
    assert_eq!(class(RawEvent { user_agent: Some("GPTBot/1.0".into()), ..view("/a.md") }), Class::AiTraining);
}

#[test]
fn values_out_of_bounds_are_refused() {
    assert_refused(RawEvent { status: Some(99), ..view("/") }, "status must be between 100 and 599, got 99");
    assert_refused(
        RawEvent { status: Some(600), ..view("/") },
        "status must be between 100 and 599, got 600",
    );
    let ip = |text: &str| RawEvent { ip: Some(text.into()), ..view("/") };
    accept(ip("192.0.2.1"));
    accept(ip("2001:db8::1"));
    assert_refused(ip("192.0.2"), "ip must be an IPv4 or IPv6 address");
    let id = |text: String| RawEvent { event_id: Some(text), ..view("/") };
    accept(id("é".repeat(255)));
    assert_refused(id("é".repeat(256)), "eventId must be 1 to 255 characters long");
    assert_refused(id(String::new()), "eventId must be 1 to 255 characters long");
    let long = accept(RawEvent { user_agent: Some("é".repeat(5000)), ..view("/") });
    assert_eq!(long.user_agent.map(|text| text.len()), Some(1024));
}

#[test]
fn referrers_are_reduced_to_host_and_path() {
    #[track_caller]
    fn check(referrer: &str, expected: Option<&str>) {
        let raw = RawEvent { referrer: Some(referrer.into()), ..view("/") };
        assert_eq!(accept(raw).referrer.as_deref(), expected, "{referrer}");
    }
    check("https://www.Google.com/search?q=secret#x", Some("www.google.com/search"));
    check("https://user:secret@git.dev/A/", Some("git.dev/A"));
    check("https://news.dev", Some("news.dev"));
    check("https://news.dev?x", Some("news.dev"));
    check("android-app://com.slack/", Some("com.slack"));
    check("-", None);
    check("", None);
    check("about:blank", None);
    check("https:///path", None);
    check("https://a.dev/\n", Some("a.dev"));
    check("https://a.dev/b\nc", None);
    check(&format!("https://a.dev/{}", "é".repeat(600)), Some(&format!("a.dev/{}", "é".repeat(253))));
}
