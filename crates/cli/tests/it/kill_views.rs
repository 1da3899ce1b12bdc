//! Tests SIGKILL during ingest and compaction of page views: after the next start, all acknowledged views are there, and
//! a batch that is sent again counts once.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use reqwest::blocking::Client;
use serde_json::{Value, json};

use crate::support::{Serving, home, json, repository};

/// `DOCWRIGHT_TEST_KILLS=1000` takes longer and finds more.
const KILLS: u64 = 8;
const SENDERS: u64 = 3;
/// Batches that are acknowledged between two kills.
const BATCHES_PER_KILL: usize = 5;
const BATCH: u64 = 200;
const PAGES: u64 = 50;

struct Project {
    http: Client,
    key: String,
    analytics: String,
}

impl Project {
    fn set_up(home: &Path) -> Self {
        let repository = repository(home, &[("a.md".into(), "One.\n".into())]);
        let project =
            json(home, &["project", "create", "--name", "D", "--repository", &repository, "--json"]);
        let key = json(home, &["key", "create", "--name", "K", "--json"]);
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self {
            http: Client::builder().timeout(Duration::from_secs(30)).build().unwrap(),
            key: key["key"].as_str().unwrap().to_owned(),
            analytics: format!("/v1/analytics/{}", project["id"].as_str().unwrap()),
        }
    }

    /// The number of duplicates in the batch; `None` if it was not acknowledged.
    fn send(&self, base: &str, batch: u64) -> Option<u64> {
        let event = |n: u64| {
            let id = batch * BATCH + n;
            let at = format!("2026-10-{:02}T{:02}:00:00Z", id % 28 + 1, id % 24);
            json!({ "path": format!("/p{}", id % PAGES), "timestamp": at, "eventId": format!("e{id}"),
                "userAgent": "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0" })
        };
        let events: Vec<Value> = (0..BATCH).map(event).collect();
        let url = format!("{base}{}/events", self.analytics);
        let answer = self.http.post(url).bearer_auth(&self.key).json(&events).send().ok()?;
        let taken: Value = answer.json().ok()?;
        assert_eq!(taken["accepted"], BATCH, "{taken}");
        taken["duplicates"].as_u64()
    }

    fn ask(&self, base: &str, what: &str) -> Option<Value> {
        let url = format!("{base}{}/{what}?limit=250", self.analytics);
        self.http.get(url).bearer_auth(&self.key).send().ok()?.json().ok()
    }
}

/// Sends one batch after the other, each until it is acknowledged.
fn send_batches(
    project: &Project,
    base: &Mutex<String>,
    done: &AtomicBool,
    mine: u64,
    acknowledged: Sender<()>,
) {
    for batch in (mine..).step_by(SENDERS as usize) {
        while project.send(&base.lock().unwrap().clone(), batch).is_none() {
            std::thread::yield_now();
        }
        acknowledged.send(()).unwrap();
        if done.load(Ordering::SeqCst) {
            return;
        }
    }
}

fn start(home: &Path) -> Serving {
    Serving::start_with(home, "127.0.0.1:0", |command| {
        command.args(["--reads-per-hour", "100000000"]);
    })
}

#[test]
fn page_views_survive_sigkill_and_count_once() {
    let kills = std::env::var("DOCWRIGHT_TEST_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let home = home();
    let project = Project::set_up(home.path());
    let mut serving = start(home.path());
    let (base, done) = (Mutex::new(serving.url.clone()), AtomicBool::new(false));
    let (tell, acknowledged) = channel();
    let mut batches = 0;
    std::thread::scope(|scope| {
        for mine in 0..SENDERS {
            let (project, base, done, tell) = (&project, &base, &done, tell.clone());
            scope.spawn(move || send_batches(project, base, done, mine, tell));
        }
        // Requests for visitors trigger a compaction, so that kills also interrupt that.
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                project.ask(&base.lock().unwrap().clone(), "visitors");
            }
        });
        for _ in 0..kills {
            batches += acknowledged.iter().take(BATCHES_PER_KILL).count();
            serving.signal("-KILL");
            serving.child.wait().unwrap();
            serving = start(home.path());
            *base.lock().unwrap() = serving.url.clone();
        }
        done.store(true, Ordering::SeqCst);
    });
    drop(tell);
    batches += acknowledged.iter().count();
    check(&project, &serving.url, batches as u64);
}

/// All batches were acknowledged in the end, so every view is there once.
fn check(project: &Project, base: &str, batches: u64) {
    for what in ["views", "visitors"] {
        let answer = project.ask(base, what).unwrap();
        assert_eq!(answer["hasMore"], false);
        assert_eq!(answer[what].as_array().unwrap().len() as u64, PAGES);
    }
    let views = project.ask(base, "views").unwrap();
    assert_eq!(views["totals"]["human"], batches * BATCH);
    let pages = views["views"].as_array().unwrap();
    assert!(pages.iter().all(|page| page["human"] == batches * BATCH / PAGES), "{views}");
}
