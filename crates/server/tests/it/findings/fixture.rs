//! A project with readers: sends their requests day by day, and recounts what was sent.

use std::future::Future;
use std::pin::pin;
use std::sync::Mutex;
use std::task::Poll;

use app::findings::{SiteScan, refresh_due_findings};
use base::Clock as _;
use jiff::SignedDuration;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use store::{Chore, Expiry, ProjectId, PullState};

use crate::support::{Answer, Team, TestServer};

const CHROME: &str =
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36";
const CHATGPT: &str = "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; ChatGPT-User/1.0; +https://openai.com/bot";
/// A prompt that the built-in editor can carry out in the fixture's repository.
pub(super) const PROMPT: &str = "Replace \"one\" with \"eins\".";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Human,
    Ai,
}

/// Requests that were sent.
struct Sent {
    day: Date,
    path: String,
    status: u16,
    class: Class,
    count: u64,
}

pub(super) struct DocsSite {
    pub(super) server: TestServer,
    pub(super) team: Team,
    /// Whether every refresh is killed at each of its steps before one gets through.
    kills_refreshes: bool,
    sent: Mutex<Vec<Sent>>,
}

impl DocsSite {
    pub(super) async fn start() -> Self {
        Self::on(TestServer::start().await).await
    }

    pub(super) async fn on(server: TestServer) -> Self {
        let mut team = server.team("acme", &[("index.md", "one two\n"), ("guide.md", "one\n")]).await;
        // The stories take months.
        team.key = server.key(&team.organization, |new| new.expiry = Expiry::Never).await;
        Self { server, team, kills_refreshes: false, sent: Mutex::default() }
    }

    pub(super) fn with_kills(self) -> Self {
        Self { kills_refreshes: true, ..self }
    }

    /// Settings of the project, by their JSON names.
    pub(super) async fn set(&self, settings: Value) {
        let settings = serde_json::from_value(settings).unwrap();
        self.server.app.findings.set_finding_settings(&self.team.project.id, &settings).await.unwrap();
    }

    pub(super) fn today(&self) -> Date {
        self.server.clock.now().to_zoned(TimeZone::UTC).date()
    }

    pub(super) fn advance_days(&self, days: i64) {
        self.server.clock.advance(SignedDuration::from_hours(24 * days));
    }

    /// Sends requests of today.
    pub(super) async fn request(&self, path: &str, status: u16, class: Class, count: u64) {
        let agent = if class == Class::Human { CHROME } else { CHATGPT };
        let at = self.server.clock.now().to_string();
        let events: Vec<_> = (0..count)
            .map(|_| json!({ "path": path, "timestamp": at, "userAgent": agent, "status": status }))
            .collect();
        send(&self.server, &self.team.key, &self.team.project.id, events).await;
        self.sent.lock().unwrap().push(Sent { day: self.today(), path: path.into(), status, class, count });
    }

    /// What was sent from `first` to `last`: the requests that `is_counted` takes, by status and path.
    pub(super) fn recount(
        &self,
        (first, last): (&Value, &Value),
        class: Class,
        is_counted: impl Fn(u16, &str) -> bool,
    ) -> u64 {
        let day = |text: &Value| text.as_str().unwrap().parse::<Date>().unwrap();
        let sent = self.sent.lock().unwrap();
        let in_period = sent.iter().filter(|sent| (day(first)..=day(last)).contains(&sent.day));
        let counted = in_period.filter(|sent| sent.class == class && is_counted(sent.status, &sent.path));
        counted.map(|sent| sent.count).sum()
    }

    /// Brings the findings up to date, as the server's chore does.
    pub(super) async fn refresh(&self) {
        if self.kills_refreshes {
            for steps in 0.. {
                self.server.app.findings.hasten_chores(&self.team.project.id).await.unwrap();
                if is_done_within(refresh_due_findings(&self.server.app), steps).await {
                    break;
                }
            }
        }
        // One round makes at most one transition of each finding.
        for _ in 0..3 {
            refresh(&self.server, &self.team.project.id).await;
        }
    }

    pub(super) async fn get(&self, rest: &str) -> Answer {
        self.server.get(&self.team.key, &self.path(rest)).await
    }

    pub(super) async fn post(&self, rest: &str, body: &Value) -> Answer {
        self.server.post(&self.team.key, &self.path(rest), body).await
    }

    pub(super) fn path(&self, rest: &str) -> String {
        format!("/v1/findings/{}{rest}", self.team.project.id)
    }

    pub(super) async fn list(&self, query: &str) -> Value {
        let answer = self.get(query).await;
        assert_eq!(answer.status, 200, "{answer}");
        answer.json()
    }

    /// The subjects of a list, in its order.
    pub(super) async fn subjects(&self, query: &str) -> String {
        let list = self.list(query).await;
        let findings = list["findings"].as_array().unwrap().iter();
        findings.map(|finding| finding["subject"].as_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    /// The details of the only finding about this path.
    pub(super) async fn finding(&self, subject: &str) -> Value {
        let list = self.list("").await;
        let mut all = list["findings"].as_array().unwrap().iter();
        let found = all.find(|finding| finding["subject"] == subject);
        let found = found.unwrap_or_else(|| panic!("no finding about {subject}: {list}"));
        self.get(&format!("/{}", found["id"].as_str().unwrap())).await.json()
    }

    pub(super) async fn id(&self, subject: &str) -> String {
        self.finding(subject).await["id"].as_str().unwrap().to_owned()
    }

    /// The state of the finding, and its note.
    pub(super) async fn state(&self, subject: &str) -> (String, Value) {
        let finding = self.finding(subject).await;
        (finding["state"].as_str().unwrap().to_owned(), finding["note"].clone())
    }

    /// Starts a job for the finding, and runs it. Returns the link of its pull request.
    pub(super) async fn propose(&self, subject: &str) -> String {
        let path = format!("/{}/job", self.id(subject).await);
        let job = self.post(&path, &json!({ "prompt": PROMPT })).await;
        self.finish(&job).await
    }

    async fn finish(&self, job: &Answer) -> String {
        assert_eq!(job.status, 201, "{job}");
        self.server.run_queued_jobs().await;
        let job = self.server.job(&self.team, &job.json()["id"]).await;
        job["prLink"].as_str().unwrap_or_else(|| panic!("no pull request: {job}")).to_owned()
    }

    /// The link of a pull request that changes pages for no finding.
    pub(super) async fn propose_change(&self) -> String {
        let created = format!("/v2/agent/{}/job", self.team.project.id);
        let prompt = "Replace \"one\" with \"uno\".";
        let job = self.server.post(&self.team.key, &created, &json!({ "prompt": prompt })).await;
        self.finish(&job).await
    }

    pub(super) async fn end_pull(&self, link: &str, state: PullState) {
        let pulls = &self.server.app.pulls;
        pulls.record_pull_state(&self.team.project.id, link, state).await.unwrap();
    }

    /// Stores what the docs contain, as the worker's scan does.
    pub(super) async fn scan(&self, scan: Value) {
        let app = &self.server.app;
        let scan: SiteScan = serde_json::from_value(scan).unwrap();
        app.findings.request_scan(&self.team.project.id).await.unwrap();
        app.findings.hasten_chores(&self.team.project.id).await.unwrap();
        let lease = app.findings.next_chore(Chore::ScanSite).await.unwrap().unwrap();
        let text = serde_json::to_string(&scan).unwrap();
        assert!(app.findings.save_site_scan(&lease, "c0ffee", &text).await.unwrap());
    }
}

/// Polls a future `steps` times, then drops it, as a kill does. Whether it ended before.
async fn is_done_within(future: impl Future<Output = anyhow::Result<()>>, steps: u32) -> bool {
    let (mut future, mut left) = (pin!(future), steps);
    std::future::poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(false);
        }
        left -= 1;
        future.as_mut().poll(context).map(|done| {
            done.unwrap();
            true
        })
    })
    .await
}

async fn refresh(server: &TestServer, project: &ProjectId) {
    server.app.findings.hasten_chores(project).await.unwrap();
    refresh_due_findings(&server.app).await.unwrap();
}

async fn send(server: &TestServer, key: &str, project: &ProjectId, events: Vec<Value>) {
    let path = format!("/v1/analytics/{project}/events");
    let answer = server.post(key, &path, &json!(events)).await;
    assert_eq!((answer.status, &answer.json()["rejected"]), (202, &json!([])), "{answer}");
}

/// Lets five readers miss a page, and returns the ID of the finding.
pub(crate) async fn open_finding(server: &TestServer, key: &str, project: &ProjectId, path: &str) -> String {
    let event = json!({ "path": path, "userAgent": CHROME, "status": 404 });
    send(server, key, project, vec![event; 5]).await;
    let list = format!("/v1/findings/{project}?sort=newest");
    loop {
        refresh(server, project).await;
        let found = server.get(key, &list).await.json();
        let mut found = found["findings"].as_array().unwrap().iter();
        if let Some(found) = found.find(|found| found["subject"] == path) {
            return found["id"].as_str().unwrap().to_owned();
        }
        tokio::task::yield_now().await; // the server's own chore refreshes it
    }
}
