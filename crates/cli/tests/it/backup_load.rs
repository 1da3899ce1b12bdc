//! Tests backups under load: clients create jobs and send views meanwhile, and a server runs on the restored data.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::backup::data;
use crate::support::{Serving, home, json, repository, run};

/// `DOCWRIGHT_TEST_BACKUPS=20` takes longer and finds more.
const BACKUPS: u64 = 3;
const CLIENTS: usize = 8;
/// Jobs that are acknowledged between two backups.
const JOBS_PER_BACKUP: usize = 40;

struct Api {
    http: reqwest::blocking::Client,
    key: String,
    project: String,
    /// The client of each job, by the job's ID.
    jobs: Mutex<HashMap<String, usize>>,
}

impl Api {
    fn set_up(home: &Path) -> Self {
        let repository = repository(home, &[("a.md".into(), "One.\n".into())]);
        let project =
            json(home, &["project", "create", "--name", "D", "--repository", &repository, "--json"]);
        let key = json(home, &["key", "create", "--name", "K", "--json"]);
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self {
            http: reqwest::blocking::Client::builder().timeout(Duration::from_secs(60)).build().unwrap(),
            key: key["key"].as_str().unwrap().to_owned(),
            project: project["id"].as_str().unwrap().to_owned(),
            jobs: Mutex::default(),
        }
    }

    fn post(&self, url: String, body: &Value) -> Value {
        let answer = self.http.post(url).bearer_auth(&self.key).json(body).send().unwrap();
        assert!(answer.status().is_success(), "{answer:?}");
        answer.json().unwrap()
    }

    fn get(&self, url: String) -> Value {
        self.http.get(url).bearer_auth(&self.key).send().unwrap().json().unwrap()
    }

    fn send_view(&self, base: &str, client: usize, number: u64) {
        let agent = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";
        let event = json!([{ "path": format!("/c{client}"), "eventId": format!("{client}-{number}"), "userAgent": agent }]);
        let taken = self.post(format!("{base}/v1/analytics/{}/events", self.project), &event);
        assert_eq!((&taken["accepted"], &taken["duplicates"]), (&1.into(), &0.into()), "{taken}");
    }

    fn create_job(&self, base: &str, client: usize, number: u64) {
        let body = json!({ "prompt": format!("Replace \"client {client} number {number}\" with \"x\".") });
        let job = self.post(format!("{base}/v2/agent/{}/job", self.project), &body);
        self.jobs.lock().unwrap().insert(job["id"].as_str().unwrap().to_owned(), client);
    }

    /// The numbers of views and jobs of each client on a server.
    fn counts(&self, base: &str) -> Vec<Counts> {
        let mut counts = vec![Counts::default(); CLIENTS];
        let views = self.get(format!("{base}/v1/analytics/{}/views?limit=250", self.project));
        for page in views["views"].as_array().unwrap() {
            let client: usize = page["path"].as_str().unwrap()[2..].parse().unwrap();
            counts[client].views = page["human"].as_u64().unwrap();
        }
        for offset in (0..).step_by(100) {
            let jobs = self.get(format!("{base}/v2/agent/{}/jobs?limit=100&offset={offset}", self.project));
            for job in jobs["jobs"].as_array().unwrap() {
                let client = self.jobs.lock().unwrap()[job["id"].as_str().unwrap()];
                counts[client].jobs += 1;
            }
            if jobs["hasMore"] == false {
                return counts;
            }
        }
        unreachable!()
    }
}

#[derive(Debug, Default, Clone)]
struct Counts {
    views: u64,
    jobs: u64,
}

/// Responses to a client.
#[derive(Default)]
struct Acknowledged {
    views: AtomicU64,
    jobs: AtomicU64,
}

/// Sends a view, then a job, and so on, each after the previous response.
fn send_requests(
    api: &Api,
    base: &str,
    client: usize,
    acknowledged_by_client: &Acknowledged,
    done: &AtomicBool,
    sender: Sender<()>,
) {
    for number in 0.. {
        if done.load(Ordering::SeqCst) {
            return;
        }
        api.send_view(base, client, number);
        acknowledged_by_client.views.fetch_add(1, Ordering::SeqCst);
        api.create_job(base, client, number);
        acknowledged_by_client.jobs.fetch_add(1, Ordering::SeqCst);
        sender.send(()).unwrap();
    }
}

fn start(home: &Path) -> Serving {
    Serving::start_with(home, "127.0.0.1:0", |command| {
        command.args(["--jobs-per-hour", "100000000", "--reads-per-hour", "100000000"]);
        command.args(["--workers", if home.join("docs.git").exists() { "2" } else { "0" }]);
    })
}

#[test]
fn a_backup_under_load_has_everything_that_was_acknowledged_before() {
    let backups = std::env::var("DOCWRIGHT_TEST_BACKUPS").map_or(BACKUPS, |text| text.parse().unwrap());
    let home = home();
    let api = Api::set_up(home.path());
    let serving = start(home.path());
    let (acknowledged_by_client, done): ([Acknowledged; CLIENTS], _) =
        (Default::default(), AtomicBool::new(false));
    let (sender, acknowledged) = channel();
    std::thread::scope(|scope| {
        for (client, acknowledged_by_client) in acknowledged_by_client.iter().enumerate() {
            let (api, base, done, sender) = (&api, &serving.url, &done, sender.clone());
            scope.spawn(move || send_requests(api, base, client, acknowledged_by_client, done, sender));
        }
        let stop = StopAtEnd(&done);
        for round in 0..backups {
            acknowledged.iter().take(JOBS_PER_BACKUP).for_each(drop);
            let before = acknowledged_by_client.iter().map(|acknowledged_by_client| Counts {
                views: acknowledged_by_client.views.load(Ordering::SeqCst),
                jobs: acknowledged_by_client.jobs.load(Ordering::SeqCst),
            });
            back_up_and_restore(&api, home.path(), round, &before.collect::<Vec<_>>());
        }
        drop(stop);
    });
}

/// Stops the clients, also when an assertion fails.
struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn back_up_and_restore(api: &Api, from: &Path, round: u64, before: &[Counts]) {
    let elsewhere = home();
    let name = if round.is_multiple_of(2) { "copy" } else { "copy.tar.zst" };
    let backup = elsewhere.path().join(name);
    let backup = backup.to_str().unwrap();
    let begin = Instant::now();
    let made = run(from, &["backup", backup]);
    let took = begin.elapsed();
    assert!(made.status.success(), "{made:?}");
    let restored = run(elsewhere.path(), &["restore", backup]);
    assert!(restored.status.success(), "{restored:?}");
    std::fs::copy(data(from).join("master.key"), data(elsewhere.path()).join("master.key")).unwrap();
    let serving = start(elsewhere.path());
    let found = api.counts(&serving.url);
    for (client, (before, found)) in before.iter().zip(&found).enumerate() {
        let which = format!("backup {round}, client {client}: {before:?} before, {found:?} restored");
        assert!(found.views >= before.views && found.jobs >= before.jobs, "lost: {which}");
        assert!(found.views == found.jobs || found.views == found.jobs + 1, "of two moments: {which}");
    }
    serving.stop();
    let sum = |counts: &[Counts]| {
        counts.iter().fold((0, 0), |sum, counts| (sum.0 + counts.views, sum.1 + counts.jobs))
    };
    println!(
        "backup {round} took {took:?}: {:?} views and jobs before, {:?} restored",
        sum(before),
        sum(&found)
    );
}
