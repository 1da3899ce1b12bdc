//! Tests `docwright import`: each line of a log counts once, in any form of its file and after any interruption.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Client, Serving, docwright, home};

const AGENT: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";

/// A server with a project, and a folder for logs.
struct Site {
    serving: Serving,
    home: TempDir,
    client: (String, String, String),
}

impl Site {
    fn open() -> Self {
        let home = home();
        let serving = Serving::start_with(home.path(), "127.0.0.1:0", |command| {
            command.args(["--reads-per-hour", "100000"]);
        });
        let client = Client::of(home.path(), &serving);
        let command = client.docwright();
        let variable = |name: &str| {
            let found = command.get_envs().find(|(key, _)| *key == name).unwrap().1;
            found.unwrap().to_str().unwrap().to_owned()
        };
        let client = (variable("DOCWRIGHT_URL"), variable("DOCWRIGHT_API_KEY"), client.project.clone());
        Self { serving, home, client }
    }

    fn docwright(&self, command: &str) -> Command {
        let (url, key, project) = &self.client;
        let mut docwright = docwright(self.home.path());
        docwright.env("DOCWRIGHT_URL", url).env("DOCWRIGHT_API_KEY", key).args([command, project]);
        docwright
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.home.path().join(name), content).unwrap();
    }

    fn run(&self, args: &[&str]) -> Output {
        self.docwright("import").args(args).arg("--json").output().unwrap()
    }

    /// Imports one file. Returns its report and the messages.
    fn import(&self, args: &[&str]) -> (Value, String) {
        let output = self.run(args);
        let messages = String::from_utf8(output.stderr).unwrap();
        let mut report: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{messages}"));
        assert_eq!(output.status.success(), report["files"][0]["trouble"].is_null(), "{report} {messages}");
        (report["files"][0].take(), messages)
    }

    /// Added, before, malformed.
    #[track_caller]
    fn check(&self, args: &[&str], expected: [u64; 3]) -> String {
        let (report, messages) = self.import(args);
        let got = ["added", "before", "malformed"].map(|name| report[name].as_u64().unwrap());
        assert_eq!(got, expected, "{report} {messages}");
        messages
    }

    fn human(&self) -> u64 {
        let output = self.docwright("views").arg("--json").output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["totals"]["human"].as_u64().unwrap()
    }
}

/// Lines of nginx's log.
fn lines(numbers: std::ops::Range<u64>) -> String {
    let line = |n: u64| {
        let (minute, second) = (n / 60 % 60, n % 60);
        format!(
            "192.0.2.{} - - [14/Nov/2026:{:02}:{minute:02}:{second:02} +0000] \"GET /p{} HTTP/1.1\" 200 {n} \"-\" \"{AGENT}\"\n",
            n % 200,
            n / 3600 % 24,
            n % 50,
        )
    };
    numbers.map(line).collect()
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(text).unwrap();
    packed.finish().unwrap()
}

#[test]
fn a_line_counts_once_in_every_form_of_its_file() {
    let site = Site::open();
    site.write("access.log", lines(0..100));
    site.check(&["access.log"], [100, 0, 0]);
    site.check(&["access.log"], [0, 100, 0]);
    assert_eq!(site.human(), 100);
    // It has grown.
    site.write("access.log", lines(0..150));
    site.check(&["access.log"], [50, 100, 0]);
    // It was rotated and packed, in one piece or in two, and written on in between.
    site.write("access.log.1.gz", gzip(lines(0..160).as_bytes()));
    site.check(&["access.log.1.gz"], [10, 150, 0]);
    let members = [gzip(lines(0..80).as_bytes()), gzip(lines(80..170).as_bytes())].concat();
    site.write("access.log.2.gz", members);
    site.check(&["access.log.2.gz"], [10, 160, 0]);
    site.write("packed", zstd::encode_all(lines(0..180).as_bytes(), 3).unwrap());
    site.check(&["packed"], [10, 170, 0]);
    assert_eq!(site.human(), 180);
    // Another log, and one that begins like the first.
    site.write("other.log", lines(1000..1010));
    site.check(&["other.log"], [10, 0, 0]);
    site.write("twin.log", lines(0..1) + &lines(2000..2300));
    site.check(&["twin.log"], [301, 0, 0]);
    site.check(&["twin.log"], [0, 301, 0]);
    site.check(&["packed"], [0, 180, 0]);
}

#[test]
fn an_unfinished_line_is_read_when_it_is_complete() {
    let site = Site::open();
    let whole = lines(0..3);
    let last = lines(0..2).len();
    let cuts: Vec<_> = (last + 1..whole.len()).step_by(7).chain([whole.len() - 1]).collect();
    for (n, cut) in cuts.into_iter().enumerate() {
        let (name, number) = (format!("{n}.log"), 10_000 + n as u64 * 10);
        let (begin, text) = (lines(number..number + 1), &whole[..cut]);
        site.write(&name, format!("{begin}{text}"));
        let messages = site.check(&[&name], [3, 0, 0]);
        assert!(messages.contains("line 4: it has no line end yet"), "{messages}");
        site.write(&name, format!("{begin}{whole}"));
        site.check(&[&name], [1, 3, 0]);
    }
}

#[test]
fn an_older_copy_adds_nothing_without_distinct() {
    let site = Site::open();
    site.write("access.log", lines(0..100));
    site.check(&["access.log"], [100, 0, 0]);
    site.write("copy.log", lines(0..60));
    let messages = site.check(&["copy.log"], [0, 0, 0]);
    assert!(messages.contains("copy.log: it begins like a longer file that was imported"), "{messages}");
    site.check(&["copy.log", "--distinct"], [60, 0, 0]);
    site.check(&["copy.log", "--distinct"], [0, 60, 0]);
    assert_eq!(site.human(), 160);
}

#[test]
fn standard_input_is_a_file_too() {
    let site = Site::open();
    let piped = |text: &[u8]| {
        let mut child = site
            .docwright("import")
            .args(["-", "--json"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(text).unwrap();
        let output = child.wait_with_output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        json!([
            report["files"][0]["added"],
            report["files"][0]["before"],
            report["files"][0]["trouble"].is_null()
        ])
    };
    assert_eq!(piped(lines(0..30).as_bytes()), json!([30, 0, true]));
    assert_eq!(piped(&gzip(lines(0..40).as_bytes())), json!([10, 30, true]));
    site.write("access.log", lines(0..40));
    site.check(&["access.log"], [0, 40, 0]);
    let other = lines(0..1) + &lines(5000..5100);
    assert_eq!(piped(other.as_bytes()), json!([0, 0, false]), "standard input cannot be read again");
}

#[test]
fn a_truncated_file_is_imported_up_to_its_end() {
    let site = Site::open();
    // More than one batch.
    let whole = lines(0..25_000);
    let packed = gzip(whole.as_bytes());
    site.write("access.log.gz", &packed[..packed.len() / 2]);
    let (report, messages) = site.import(&["access.log.gz"]);
    let first = report["added"].as_u64().unwrap();
    assert!((1_000..24_000).contains(&first), "{report}");
    assert!(
        messages.contains("access.log.gz: it is cut off. The lines before that are imported"),
        "{messages}"
    );
    assert_eq!(site.human(), first);
    site.write("access.log.gz", &packed);
    site.check(&["access.log.gz"], [25_000 - first, first, 0]);
    // A line that was being written.
    site.write("now.log", lines(30_000..30_010).trim_end().strip_suffix("8.0\"").unwrap());
    site.check(&["now.log"], [9, 0, 0]);
    site.write("now.log", lines(30_000..30_020).trim_end());
    site.check(&["now.log"], [10, 9, 0]);
    site.write("now.log", lines(30_000..30_022));
    site.check(&["now.log"], [3, 19, 0]);
    assert_eq!(site.human(), 25_022);
    let mut damaged = packed.clone();
    damaged[packed.len() / 2] ^= 0xff;
    let zeros = vec![0; 4096];
    damaged.splice(packed.len() / 2..packed.len() / 2 + 4096, zeros);
    site.write("damaged.gz", damaged);
    let (report, _) = site.import(&["damaged.gz"]);
    assert_eq!(report["added"], 0);
    assert!(!report["trouble"].is_null());
}

#[test]
fn an_interrupted_import_continues_where_it_stopped() {
    let site = Site::open();
    for (round, signal) in ["-INT", "-KILL"].into_iter().enumerate() {
        let begin = round as u64 * 40_000;
        let mut child = site
            .docwright("import")
            .arg("-")
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // One batch and a half; the pipe stays open, so that the second does not come to its end.
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(lines(begin..begin + 15_000).as_bytes()).unwrap();
        while site.human() < round as u64 * 20_000 + 10_000 {}
        let id = child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        drop(pipe);
        if signal == "-INT" {
            assert_eq!(output.status.code(), Some(1));
            let messages = String::from_utf8(output.stderr).unwrap();
            assert_eq!(
                messages,
                "error: the import was stopped: run the same command again to continue from there\n"
            );
        }
        site.write("access.log", lines(begin..begin + 20_000));
        site.check(&["access.log"], [10_000, 10_000, 0]);
    }
    assert_eq!(site.human(), 40_000);
}

#[test]
fn a_server_that_is_killed_meanwhile_counts_each_line_once() {
    let mut site = Site::open();
    site.write("access.log", lines(0..30_000));
    let import =
        site.docwright("import").args(["access.log", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    while site.human() == 0 {}
    let listen = site.client.0.strip_prefix("http://").unwrap().to_owned();
    site.serving.signal("-KILL");
    site.serving.child.wait().unwrap();
    site.serving = Serving::start_at(site.home.path(), &listen);
    let output = import.wait_with_output().unwrap();
    assert!(output.status.success());
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["files"][0]["added"], 30_000, "{report}");
    assert_eq!(site.human(), 30_000);
}

#[test]
fn two_concurrent_imports_count_each_line_once() {
    let site = Site::open();
    site.write("access.log", lines(0..20_001));
    let start = || {
        site.docwright("import")
            .arg("access.log")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let both = [start(), start()].map(|child| child.wait_with_output().unwrap());
    assert!(both.iter().any(|output| output.status.success()), "{both:?}");
    for output in both.iter().filter(|output| !output.status.success()) {
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(messages.contains("another import of this file runs at the same time"), "{messages}");
    }
    assert_eq!(site.human(), 20_001);
}

#[test]
fn malformed_lines_are_counted_and_printed() {
    let site = Site::open();
    let mut log = lines(0..2).into_bytes();
    log.extend([b"junk\n".as_slice(), &b"x".repeat(10_000_000), b"\n", b"\xff\x00\x1b[31m\n"].concat());
    log.extend(lines(2..4).replace("2026", "2126").into_bytes());
    log.extend(lines(4..5).into_bytes());
    site.write("access.log", &log);
    let messages = site.check(&["access.log"], [3, 0, 5]);
    assert_eq!(
        messages.lines().collect::<Vec<_>>(),
        [
            "access.log, line 3: no [time] found",
            "access.log, line 4: longer than 256 KiB",
            "access.log, line 5: no [time] found",
            "access.log, line 6: timestamp 2126-11-14T00:00:02Z is more than a day ahead of the server's clock",
            "access.log, line 7: timestamp 2126-11-14T00:00:03Z is more than a day ahead of the server's clock",
        ]
    );
    site.check(&["access.log"], [0, 8, 0]);
    let junk: Vec<u8> = (0..200_000_u64).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let unknown = "its first lines have no known format: name the format with --format";
    let half = gzip(b"a")[..5].to_vec();
    for (name, content, says) in
        [("junk", junk, unknown), ("half.gz", half, "it is cut off"), ("empty", vec![], "")]
    {
        site.write(name, content);
        let messages = site.check(&[name], [0, 0, 0]);
        assert!(messages.contains(says) && messages.is_empty() == says.is_empty(), "{messages}");
    }
    let (report, _) = site.import(&["junk", "--format", "combined"]);
    assert!(report["malformed"].as_u64().unwrap() > 0 && report["trouble"].is_null(), "{report}");
    assert_eq!(site.human(), 3);
}

#[test]
fn every_format_is_detected() {
    let site = Site::open();
    let caddy = json!({ "ts": 1763100000.5, "logger": "http.log.access", "status": 200, "request": {
        "remote_ip": "192.0.2.1", "method": "GET", "uri": "/a", "headers": { "User-Agent": [AGENT] } } });
    let vercel = json!({ "id": "1", "timestamp": 1763100000500_u64, "requestId": "r1", "proxy": {
        "method": "GET", "path": "/a", "statusCode": 200, "userAgent": [AGENT], "clientIp": "192.0.2.1" } });
    let cloudflare = json!({ "EdgeStartTimestamp": "2026-11-14T00:00:00Z", "ClientRequestURI": "/a?b",
        "ClientRequestMethod": "GET", "EdgeResponseStatus": 200, "ClientRequestUserAgent": AGENT, "RayID": "x" });
    let csv = format!("time,url,user agent\n2026-11-14 00:00:00,https://docs.acme.dev/a,\"{AGENT}\"\n");
    let files = [
        ("combined", lines(0..1)),
        ("caddy", format!("{{\"logger\":\"tls\"}}\n{caddy}\n")),
        ("vercel", format!("{vercel}\n{vercel}\n")),
        ("cloudflare", cloudflare.to_string()),
        ("csv", csv.clone()),
    ];
    for (format, text) in &files {
        site.write(format, text);
        let (report, messages) = site.import(&[format]);
        assert_eq!((&report["format"], &report["added"]), (&json!(format), &json!(1)), "{report} {messages}");
    }
    assert_eq!(site.human(), files.len() as u64);
    site.write("csv", csv.clone() + &csv[csv.find('\n').unwrap() + 1..]);
    site.check(&["csv"], [1, 2, 0]);
}

#[test]
fn a_missing_file_does_not_stop_the_import_of_others() {
    let site = Site::open();
    site.write("a.log", lines(0..3));
    let output = site.docwright("import").args(["a.log", "missing.log", "a.log"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let table = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<Vec<_>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[1], ["a.log", "combined", "3", "0", "0", "0", "0"]);
    assert_eq!(rows[2], ["missing.log", "-", "0", "0", "0", "0", "0"]);
    assert_eq!(rows[3], ["a.log", "combined", "0", "3", "0", "0", "0"]);
    let messages = String::from_utf8(output.stderr).unwrap();
    assert!(messages.starts_with("error: missing.log: it cannot be opened: No such file"), "{messages}");
}

#[test]
fn an_import_without_a_server_says_what_to_do() {
    let site = Site::open();
    site.write("a.log", lines(0..3));
    let Site { serving, home, client } = site;
    serving.stop();
    let output = docwright(home.path())
        .envs([("DOCWRIGHT_URL", &client.0), ("DOCWRIGHT_API_KEY", &client.1)])
        .args(["import", &client.2, "a.log"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let messages = String::from_utf8(output.stderr).unwrap();
    assert!(messages.contains("start the server with `docwright serve`"), "{messages}");
}

#[test]
fn the_error_for_an_unknown_project_lists_the_projects() {
    let site = Site::open();
    site.write("access.log", lines(0..3));
    let (url, key, project) = &site.client;
    let import = |url: &str| {
        let mut command = docwright(site.home.path());
        command.env("DOCWRIGHT_URL", url).env("DOCWRIGHT_API_KEY", key);
        let output = command.args(["import", "prj_nowhere", "access.log"]).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    let messages = import(url);
    assert!(
        messages.contains("no such project") && messages.contains(&format!("Known projects: {project} (")),
        "{messages}"
    );
    let elsewhere = import(&url.replace("127.0.0.1", "localhost"));
    assert!(elsewhere.contains("no such project") && !elsewhere.contains(project), "{elsewhere}");
}
