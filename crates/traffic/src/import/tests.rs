use proptest::prelude::*;

use super::*;

const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";

/// Formats a view as one line: time, method, path, status, user agent, address, referrer.
fn format_event(event: &RawEvent) -> String {
    let or = |text: &Option<String>| text.clone().unwrap_or_else(|| "none".into());
    let when = event.timestamp.map_or("none".into(), |at| at.to_string());
    let status = event.status.map_or("none".into(), |status| status.to_string());
    let path = or(if event.path.is_some() { &event.path } else { &event.url });
    let [method, agent, ip, referrer] =
        [&event.method, &event.user_agent, &event.ip, &event.referrer].map(or);
    format!("{when} {method} {path} {status} | {agent} | {ip} | {referrer}")
}

#[track_caller]
fn check(format: Format, line: &str, expected: &str) {
    let got = match Parser::new(format).line(line.as_bytes()) {
        Ok(Some(event)) => format_event(&event),
        Ok(None) => "nothing".into(),
        Err(why) => format!("malformed: {why}"),
    };
    assert_eq!(got, expected, "{line}");
}

#[test]
fn nginx_and_apache_lines_are_parsed() {
    #[track_caller]
    fn line(line: &str, expected: &str) {
        check(Format::Combined, line, expected);
    }
    line(
        &format!(
            r#"192.0.2.7 - - [15/Nov/2026:13:55:36 +0000] "GET /guide HTTP/1.1" 200 5120 "-" "{FIREFOX}""#
        ),
        &format!("2026-11-15T13:55:36Z GET /guide 200 | {FIREFOX} | 192.0.2.7 | -"),
    );
    line(
        r#"2001:db8::1 - anna [01/Jan/2026:00:30:00 +0530] "GET /a?b=[c] HTTP/2.0" 304 0 "https://www.example.com/q?x=%22" "curl/8.5.0""#,
        "2025-12-31T19:00:00Z GET /a?b=[c] 304 | curl/8.5.0 | 2001:db8::1 | https://www.example.com/q?x=%22",
    );
    line(
        r#"192.0.2.7 - - [28/Feb/2026:23:59:60 -0330] "GET /a HTTP/1.1" 200 1 "-" "A \"quoted\" one \\ \x22here\x5C \xd7 \q""#,
        "2026-03-01T03:29:59Z GET /a 200 | A \"quoted\" one \\ \"here\\ \u{fffd} \\q | 192.0.2.7 | -",
    );
    // `common`, and additional fields at the end of both.
    line(
        r#"192.0.2.7 - - [15/Nov/2026:13:55:36 +0000] "GET /guide HTTP/1.0" 200 -"#,
        "2026-11-15T13:55:36Z GET /guide 200 | none | 192.0.2.7 | none",
    );
    line(
        r#"192.0.2.7 - - [15/Nov/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 12 0.003 -"#,
        "2026-11-15T13:55:36Z GET / 200 | none | 192.0.2.7 | none",
    );
    line(
        r#"192.0.2.7 - - [15/Nov/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 12 "-" "x" "203.0.113.9" rt=0.1"#,
        "2026-11-15T13:55:36Z GET / 200 | x | 192.0.2.7 | -",
    );
    // `vhost_combined`, names for addresses, ISO times.
    line(
        r#"docs.acme.dev:443 192.0.2.7 - - [15/Nov/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 12 "-" "x""#,
        "2026-11-15T13:55:36Z GET / 200 | x | 192.0.2.7 | -",
    );
    line(
        r#"host.example - - [2026-11-15T14:55:36+01:00] "POST /a b HTTP/1.1" 404 12 "-" "-""#,
        "2026-11-15T13:55:36Z POST /a b 404 | - | none | -",
    );
    // Requests without a page.
    line(r#"192.0.2.7 - - [15/Nov/2026:13:55:36 +0000] "-" 400 0 "-" "-""#, "nothing");
    line(r#"192.0.2.7 - - [15/Nov/2026:13:55:36 +0000] "\x16\x03\x01" 400 157 "-" "-""#, "nothing");
    line(r#"192.0.2.7 - - [15/Nov/2026:13:55:36 +0000] "OPTIONS * HTTP/1.1" 200 0 "-" "-""#, "nothing");
    line("", "nothing");
    line("\r\n", "nothing");
    // Malformed lines.
    line("2026/11/15 13:55:36 [error] 7#7: *1 open() failed", "malformed: invalid timestamp");
    line("hello", "malformed: no [time] found");
    line("a - - [15/Nov/2026:13:55:36 +0000", "malformed: the [time] is not closed");
    line(r#"a - - [31/Feb/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 1"#, "malformed: invalid timestamp");
    line("a - - [15/Nov/2026:13:55:36 +0000] GET /", "malformed: no \"request\" after the time");
    line(
        r#"a - - [15/Nov/2026:13:55:36 +0000] "GET / HTTP/1.1" ok"#,
        "malformed: no status after the request",
    );
    line(
        r#"a - - [15/Nov/2026:13:55:36 +0000] "GET / HTTP/1.1" 200 1 "-" "Mozil"#,
        "malformed: the line is incomplete",
    );
}

#[test]
fn caddy_lines_are_parsed() {
    #[track_caller]
    fn line(line: &str, expected: &str) {
        check(Format::Caddy, line, expected);
    }
    line(
        r#"{"level":"info","ts":1646861401.5241024,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"127.0.0.1","remote_port":"41342","client_ip":"2001:db8::2","proto":"HTTP/2.0","method":"GET","host":"localhost","uri":"/guide?a=b","headers":{"User-Agent":["curl/7.82.0"],"Accept":["*/*"],"Referer":["https://a.example/"],"Accept-Encoding":["gzip, deflate, br"]},"tls":{"resumed":false,"version":772}},"bytes_read":0,"user_id":"","duration":0.000929675,"size":10900,"status":200,"resp_headers":{"Server":["Caddy"]}}"#,
        "2022-03-09T21:30:01.524Z GET /guide?a=b 200 | curl/7.82.0 | 2001:db8::2 | https://a.example/",
    );
    line(
        r#"{"ts":"2026/11/15 13:55:36","request":{"remote_ip":"192.0.2.7","method":"HEAD","uri":"/","headers":{"user-agent":["a \"b\" \u00e9"]}},"status":404}"#,
        "2026-11-15T13:55:36Z HEAD / 404 | a \"b\" é | 192.0.2.7 | none",
    );
    line(
        r#"{"ts":1700000000123,"request":{"remote_ip":"@","uri":"/"}}"#,
        "2023-11-14T22:13:20.123Z none / none | none | none | none",
    );
    line(r#"{"level":"info","ts":1646861401.5,"logger":"tls","msg":"cleaning storage"}"#, "nothing");
    line(r#"{"request":{"uri":"/"}}"#, "malformed: it has no timestamp");
    let wrong = Parser::new(Format::Caddy).line(br#"{"ts":{},"request":{"uri":"/"}}"#).unwrap_err();
    assert!(wrong.0.starts_with("unexpected JSON: invalid type: map"), "{wrong}");
}

#[test]
fn vercel_lines_are_parsed() {
    #[track_caller]
    fn line(line: &str, expected: &str) {
        check(Format::Vercel, line, expected);
    }
    let request = r#"{"id":"1573817187330377061717300000","deploymentId":"dpl_233","source":"static","host":"docs.acme.dev","timestamp":1573817187330,"projectId":"prj_1","level":"info","requestId":"643af4e3","statusCode":200,"path":"/guide","proxy":{"timestamp":1573817250172,"method":"GET","scheme":"https","host":"docs.acme.dev","path":"/guide?s=1","userAgent":["Claude-User/1.0"],"referer":"https://a.example/b","statusCode":200,"clientIp":"120.75.16.101","region":"sfo1"}}"#;
    line(
        request,
        "2019-11-15T11:27:30.172Z GET /guide?s=1 200 | Claude-User/1.0 | 120.75.16.101 | https://a.example/b",
    );
    let event = Parser::new(Format::Vercel).line(request.as_bytes()).unwrap().unwrap();
    assert_eq!(event.event_id.as_deref(), Some("643af4e3"));
    line(
        r#"{"id":"1","timestamp":1573817187330,"proxy":{"path":"/","userAgent":"x","statusCode":404}}"#,
        "2019-11-15T11:26:27.33Z none / 404 | x | none | none",
    );
    line(r#"{"id":"1","timestamp":1573817187330,"proxy":{"path":"/","statusCode":-1}}"#, "nothing");
    line(
        r#"{"id":"1","source":"build","timestamp":1573817187330,"message":"Installing","deploymentId":"d"}"#,
        "nothing",
    );
}

#[test]
fn cloudflare_lines_are_parsed() {
    #[track_caller]
    fn line(line: &str, expected: &str) {
        check(Format::Cloudflare, line, expected);
    }
    for at in [r#""2026-11-15T13:55:36Z""#, "1794750936", "1794750936000000000", "1794750936000"] {
        let text = format!(
            r#"{{"ClientIP":"2001:db8::9","ClientRequestHost":"docs.acme.dev","ClientRequestMethod":"GET","ClientRequestURI":"/guide?x","ClientRequestPath":"/guide","ClientRequestUserAgent":"x","ClientRequestReferer":"","EdgeResponseStatus":200,"EdgeStartTimestamp":{at},"RayID":"41ddf1740f67442d"}}"#
        );
        line(&text, "2026-11-15T13:55:36Z GET /guide?x 200 | x | 2001:db8::9 | ");
        let event = Parser::new(Format::Cloudflare).line(text.as_bytes()).unwrap().unwrap();
        assert_eq!(event.event_id.as_deref(), Some("41ddf1740f67442d"));
    }
    line(
        r#"{"ClientRequestPath":"/a","EdgeStartTimestamp":1794750936123456789,"EdgeResponseStatus":0}"#,
        "2026-11-15T13:55:36.123Z none /a 499 | none | none | none",
    );
    line(
        r#"{"ClientRequestPath":"/a","EdgeStartTimestamp":1794750936,"ClientRequestSource":"edgeWorkerFetch"}"#,
        "nothing",
    );
    line(r#"{"ClientRequestPath":"/a","EdgeResponseStatus":200}"#, "malformed: it has no timestamp");
}

#[test]
fn csv_lines_are_parsed() {
    #[track_caller]
    fn rows(text: &str, expected: &[&str]) {
        let mut parser = Parser::new(Format::Csv);
        let got: Vec<_> = text
            .lines()
            .filter_map(|line| match parser.line(line.as_bytes()) {
                Ok(event) => event.as_ref().map(format_event),
                Err(why) => Some(format!("malformed: {why}")),
            })
            .collect();
        assert_eq!(got, expected, "{text}");
    }
    rows(
        "timestamp,path,status,userAgent,ip,referrer\n2026-11-15T13:55:36Z,/a,200,\"a, \"\"b\"\"\",192.0.2.7,\n",
        &["2026-11-15T13:55:36Z none /a 200 | a, \"b\" | 192.0.2.7 | none"],
    );
    rows(
        "\u{feff}Time;Page URL;User-Agent;Remote Addr;HTTP_REFERER;cookies\r\n1794750936;https://a.example/b;x;::1;https://c.example;1\r\n",
        &["2026-11-15T13:55:36Z none https://a.example/b none | x | ::1 | https://c.example"],
    );
    rows(
        "at\tpage\tmethod\tstatus_code\n2026-11-15 13:55:36\t/a\tGET\t\n1794750936.5\t/a\tGET\t404\n20261115\t/a\t\t\n",
        &[
            "2026-11-15T13:55:36Z GET /a none | none | none | none",
            "2026-11-15T13:55:36.5Z GET /a 404 | none | none | none",
            "2026-11-15T00:00:00Z none /a none | none | none | none",
        ],
    );
    rows(
        "time,path\n1794750936,/a,b\n1794750936,\"/a\nnever,/a\n,/a\n",
        &[
            "malformed: 3 columns, but the first line has 2",
            "malformed: a quoted value is not closed",
            "malformed: invalid timestamp",
            "malformed: it has no timestamp",
        ],
    );
    rows("a,b\n", &["malformed: the first line must name the columns, including `path` or `url`"]);
}

#[test]
fn a_format_is_detected_by_its_first_lines() {
    #[track_caller]
    fn check(text: &str, expected: Option<Format>) {
        assert_eq!(Format::detect(text.split('\n').map(str::as_bytes)), expected, "{text}");
    }
    check("a - - [15/Nov/2026:13:55:36 +0000] \"GET / HTTP/1.1\" 200 -", Some(Format::Combined));
    check("junk\n\na - - [15/Nov/2026:13:55:36 +0000] \"GET / HTTP/1.1\" 200 -", Some(Format::Combined));
    check("{\"msg\":\"serving\"}\n{\"ts\":1,\"request\":{\"uri\":\"/\"}}", Some(Format::Caddy));
    check("{\"source\":\"build\"}\n{\"proxy\":{\"path\":\"/\"}}", Some(Format::Vercel));
    check("{\"ClientRequestPath\":\"/\",\"ClientRequestURI\":\"/\"}", Some(Format::Cloudflare));
    check("a - - [15/Nov/2026:13:55:36 +0000] \"-\" 400 0 \"-\" \"-\"", Some(Format::Combined));
    check("path,time", Some(Format::Csv));
    check("\n\u{feff}\"URL\";\"time\"", Some(Format::Csv));
    check("", None);
    check("{\"a\":1}\n[]\nhello", None);
    check("\u{1}\u{2}", None);
    assert!(Format::ALL.iter().all(|format| Format::from_name(format.name()) == Some(*format)));
}

#[test]
fn the_examples_in_the_docs_are_parsed() {
    let docs = include_str!("../../../../docs/import.md");
    for format in Format::ALL {
        let (_, section) = docs.split_once(&format!("\n### {}:", format.name())).unwrap();
        let (_, example) = section.split_once("```log\n").unwrap();
        let lines: Vec<_> = example.split_once("\n```").unwrap().0.lines().collect();
        assert_eq!(Format::detect(lines.iter().map(|line| line.as_bytes())), Some(format));
        let mut parser = Parser::new(format);
        let parsed: Vec<_> = lines.iter().map(|line| parser.line(line.as_bytes()).unwrap()).collect();
        assert!(parsed.last().unwrap().is_some(), "{format:?}");
    }
}

proptest! {
    #[test]
    fn junk_does_not_panic(junk in proptest::collection::vec(any::<u8>(), 0..200), cut in 0..400_usize) {
        let good = r#"a - - [15/Nov/2026:13:55:36 +0000] "GET /\x22 HTTP/1.1" 200 1 "-" "\"é""#;
        let object = r#"{"ts":1e300,"request":{"uri":"/"},"proxy":{"path":"/"},"EdgeStartTimestamp":-9}"#;
        for text in [&b""[..], good.as_bytes(), object.as_bytes(), b"path,time\n"] {
            let text = &text[..cut.min(text.len())];
            let lines = [[text, &junk].concat(), [&junk, text].concat(), text.to_vec()];
            Format::detect(lines.iter().map(Vec::as_slice));
            for format in Format::ALL {
                let mut parser = Parser::new(format);
                for line in &lines {
                    let _ = parser.line(line);
                }
            }
        }
    }

    #[test]
    fn invalid_times_do_not_panic(text in "[0-9:/ +.TZ-]{0,30}|[0-9]{1,40}") {
        let _ = (timestamp::parse_common_log_time(&text), timestamp::parse_text(&text));
    }
}
