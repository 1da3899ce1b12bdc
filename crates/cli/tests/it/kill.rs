//! Tests SIGKILL and SIGTERM while a job runs: after the next start, the job ends with one pull request.

use std::cell::Cell;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Serving, git, home, json, repository};

/// Enough pages for a run to be caught in the middle.
const PAGES: usize = 400;
/// The events after which the server is killed.
const KILL_EVENTS: &[&str] = &["created", "started", "fetched", "read", "edit", "pushing", "opening"];
const DEADLINE: Duration = Duration::from_secs(60);

struct Api {
    http: reqwest::blocking::Client,
    key: String,
    project: String,
    /// The number of created jobs. Each makes another change: equal ones would share one pull request.
    created: Cell<usize>,
}

impl Api {
    fn get(&self, base: &str, path: &str) -> Value {
        let url = format!("{base}/v2/agent/{}/job{path}", self.project);
        self.http.get(url).bearer_auth(&self.key).send().unwrap().json().unwrap()
    }

    fn create(&self, base: &str) -> String {
        let url = format!("{base}/v2/agent/{}/job", self.project);
        let number = self.created.replace(self.created.get() + 1);
        let body = json!({ "prompt": format!("Replace \"one\" with \"two {number}\".") });
        let job: Value =
            self.http.post(url).bearer_auth(&self.key).json(&body).send().unwrap().json().unwrap();
        job["id"].as_str().unwrap().to_owned()
    }

    /// Polls until the job has an event of that kind, or has ended.
    fn wait_for(&self, base: &str, job: &str, kind: &str) {
        poll(|| {
            let events = self.get(base, &format!("/{job}/events"));
            let events = events.as_array().unwrap();
            events.iter().any(|event| event["type"] == kind || event["type"] == "ended").then_some(())
        });
    }

    fn end(&self, base: &str, job: &str) -> Value {
        poll(|| Some(self.get(base, &format!("/{job}"))).filter(|job| job["status"] != "active"))
    }
}

/// Polls until `ask` returns something, or fails after the deadline.
fn poll<T>(mut ask: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(start.elapsed() < DEADLINE, "not in time");
        std::thread::yield_now();
    }
}

fn set_up(home: &Path) -> (Api, String) {
    let pages: Vec<_> = (0..PAGES).map(|n| (format!("p{n}.md"), "This is one page.\n".repeat(40))).collect();
    let repository = repository(home, &pages);
    let project = json(home, &["project", "create", "--name", "D", "--repository", &repository, "--json"]);
    let key = json(home, &["key", "create", "--name", "K", "--json"]);
    let _ = rustls::crypto::ring::default_provider().install_default();
    let api = Api {
        http: reqwest::blocking::Client::new(),
        key: key["key"].as_str().unwrap().to_owned(),
        project: project["id"].as_str().unwrap().to_owned(),
        created: Cell::new(0),
    };
    (api, repository)
}

fn check_end(api: &Api, base: &str, repository: &str, jobs: &[String]) {
    let mut links: Vec<_> = jobs
        .iter()
        .map(|job| {
            let ended = api.end(base, job);
            assert_eq!(ended["status"], "completed", "{ended}");
            ended["prLink"].as_str().unwrap().to_owned()
        })
        .collect();
    links.sort();
    links.dedup();
    assert_eq!(links.len(), jobs.len(), "each job has a pull request of its own");
    let numbers = links.iter().map(|link| link.rsplit('/').next().unwrap().parse::<usize>().unwrap());
    assert_eq!(numbers.max(), Some(jobs.len()), "and there are no others");
    let branches = git(Path::new(repository), &["branch", "--list", "docwright/*", "--format=%(refname)"]);
    assert_eq!(branches.lines().count(), jobs.len());
    for job in jobs {
        let events = api.get(base, &format!("/{job}/events"));
        let numbers: Vec<_> =
            events.as_array().unwrap().iter().map(|e| e["number"].as_u64().unwrap()).collect();
        assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
        git(Path::new(repository), &["cat-file", "-e", &format!("docwright/{job}:p0.md")]);
    }
}

#[test]
fn a_job_survives_sigkill_at_any_moment_with_one_pull_request() {
    let home = home();
    let (api, repository) = set_up(home.path());
    let mut serving = Serving::start(home.path());
    let mut jobs = Vec::new();
    for event in KILL_EVENTS {
        let job = api.create(&serving.url);
        api.wait_for(&serving.url, &job, event);
        serving.signal("-KILL");
        serving.child.wait().unwrap();
        serving = Serving::start(home.path());
        // One job at a time, so that each is interrupted after its own event.
        api.end(&serving.url, &job);
        jobs.push(job);
    }
    check_end(&api, &serving.url, &repository, &jobs);
}

/// Four kills in four different steps do not count as the job's fault.
#[test]
fn a_job_that_progresses_between_kills_is_not_given_up() {
    let home = home();
    let (api, repository) = set_up(home.path());
    let mut serving = Serving::start(home.path());
    let job = api.create(&serving.url);
    for event in ["started", "fetched", "pushing", "opening"] {
        api.wait_for(&serving.url, &job, event);
        serving.signal("-KILL");
        serving.child.wait().unwrap();
        serving = Serving::start(home.path());
    }
    check_end(&api, &serving.url, &repository, &[job]);
}

#[test]
fn a_stale_lock_of_a_killed_server_is_ignored() {
    let home = home();
    let (api, repository) = set_up(home.path());
    let mut serving = Serving::start(home.path());
    let job = api.create(&serving.url);
    api.wait_for(&serving.url, &job, "fetched");
    serving.signal("-KILL");
    serving.child.wait().unwrap();
    let pins =
        home.path().join(format!(".local/share/docwright/repos/{}.git/refs/docwright/pins", api.project));
    std::fs::write(pins.join(format!("{job}.lock")), "").unwrap();
    let serving = Serving::start(home.path());
    check_end(&api, &serving.url, &repository, &[job]);
}

#[test]
fn a_stopped_server_requeues_its_job_and_exits_cleanly() {
    let home = home();
    let (api, repository) = set_up(home.path());
    let mut jobs = Vec::new();
    for _ in 0..4 {
        let mut serving = Serving::start(home.path());
        let job = api.create(&serving.url);
        api.wait_for(&serving.url, &job, "fetched");
        serving.signal("-TERM");
        assert!(serving.child.wait().unwrap().success());
        jobs.push(job);
    }
    let serving = Serving::start(home.path());
    check_end(&api, &serving.url, &repository, &jobs);
}
