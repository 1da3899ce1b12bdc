//! Runs jobs on every kind of host, and with failing hosts. The web hosts are real git over HTTP with a
//! stateful API (`fakehost`).

use std::path::PathBuf;
use std::time::Duration;

use base::Clock as _;
use fakehost::{Access, Effect, FakeHost, Fault, Kind, PullState};
use forge::Host as _;
use jiff::SignedDuration;
use serde_json::{Value, json};
use server::{Admin, HOOK_SECRET, HOST_KEY, Settings};
use store::Hosting;

use crate::pages::Browser;
use crate::support::{Team, TestServer, git, send};

pub(crate) const NAME: &str = "acme/docs";
pub(crate) const TOKEN: &str = "tok-canary-5d41402abc4b2a76b9719d911017c592";
pub(crate) const PAGES: [(&str, &str); 2] = [("a.md", "one two three\n"), ("b.md", "b\n")];
pub(crate) const WEB: [Kind; 4] = [Kind::GitHub, Kind::GitLab, Kind::Gitea, Kind::Forgejo];

/// A team, and the host of its repository. `None` for the embedded host.
pub(crate) struct HostFixture {
    pub(crate) server: TestServer,
    pub(crate) team: Team,
    pub(crate) host: Option<FakeHost>,
}

/// A pull request of any host.
pub(crate) struct Pull {
    number: u64,
    pub(crate) is_open: bool,
    pub(crate) body: String,
}

impl HostFixture {
    pub(crate) async fn local() -> Self {
        let server = TestServer::start().await;
        let team = server.team("acme", &PAGES).await;
        Self { server, team, host: None }
    }

    pub(crate) async fn on(kind: Kind) -> Self {
        Self::with(kind, &PAGES, |_| {}).await
    }

    pub(crate) async fn with(kind: Kind, pages: &[(&str, &str)], shape: impl FnOnce(&mut Settings)) -> Self {
        let server = TestServer::start_with(|settings| {
            settings.hosts.allow_private = true;
            settings.host_retry_delay = Duration::from_millis(1);
            shape(settings);
        })
        .await;
        let host = FakeHost::start(kind).await;
        net::quote_test_host(host.url().trim_start_matches("http://").parse().unwrap());
        host.set_time(server.clock.now());
        host.token(TOKEN, Access::Full);
        let repository = host.repository(NAME, pages).await;
        let mut team = server.team("acme", &[]).await;
        team.repository = repository.git_dir;
        let url = repository.clone_url.trim_end_matches(".git").to_owned();
        team.project = server
            .project(&team, |new| {
                new.repository = url;
                new.hosting = Hosting { kind: Some(name(kind).into()), ..Hosting::default() };
            })
            .await;
        server.app.secrets.put_secret(&team.project.id.0, HOST_KEY, TOKEN.as_bytes()).await.unwrap();
        Self { server, team, host: Some(host) }
    }

    pub(crate) fn fake(&self) -> &FakeHost {
        self.host.as_ref().unwrap()
    }

    pub(crate) async fn pulls(&self) -> Vec<Pull> {
        match &self.host {
            Some(host) => host
                .pulls(NAME)
                .into_iter()
                .map(|pull| Pull {
                    number: pull.number,
                    is_open: pull.state == PullState::Open,
                    body: pull.body,
                })
                .collect(),
            None => self
                .server
                .app
                .pulls
                .pulls(&self.team.project.id, 10)
                .await
                .unwrap()
                .into_iter()
                .map(|pull| Pull {
                    number: pull.number,
                    is_open: pull.state == store::PullState::Open,
                    body: pull.body,
                })
                .collect(),
        }
    }

    /// Merges the pull request on the host, as a person does.
    pub(crate) async fn merge(&self, number: u64) {
        match &self.host {
            Some(host) => drop(host.merge_pull(NAME, number).await),
            None => {
                let settings = Settings::new(self.server.data());
                let admin = Admin::open(&settings, self.server.clock.clone()).await.unwrap();
                admin.host(&self.team.project).await.unwrap().merge(number, None).await.unwrap();
            }
        }
    }

    pub(crate) fn file(&self, branch: &str, name: &str) -> String {
        git(&self.team.repository, &["show", &format!("{branch}:{name}")])
    }

    pub(crate) async fn create(&self, prompt: &str) -> Value {
        self.server.create_job(&self.team, prompt).await
    }

    pub(crate) async fn follow_up(&self, job: &Value, prompt: &str) {
        let answer = self.server.ask(&self.team, job, "message", &json!({ "prompt": prompt })).await;
        assert_eq!(answer.status, 200, "{answer}");
    }

    /// Runs the job until it ends. Delayed jobs get up to four hours.
    pub(crate) async fn run_to_end(&self, job: &Value) -> Value {
        for _ in 0..40 {
            self.server.run_queued_jobs().await;
            let now = self.server.job(&self.team, &job["id"]).await;
            if now["status"] != "active" {
                return now;
            }
            self.server.clock.advance(SignedDuration::from_mins(6));
        }
        panic!("the job did not end: {:?}", self.events(job).await.last())
    }

    pub(crate) async fn events(&self, job: &Value) -> Vec<Value> {
        self.server.events(&self.team, &job["id"]).await
    }

    pub(crate) async fn run_to_completion(&self, job: &Value) -> Value {
        let ended = self.run_to_end(job).await;
        assert_eq!(ended["status"], "completed", "{:?}", self.events(job).await.last());
        ended
    }
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::GitHub => "github",
        Kind::GitLab => "gitlab",
        Kind::Gitea => "gitea",
        Kind::Forgejo => "forgejo",
    }
}

pub(crate) fn branch(job: &Value) -> &str {
    job["source"]["ref"].as_str().unwrap()
}

/// Runs a job, a follow-up, a merge, and the next job from the new tip.
async fn check_lifecycle(fixture: &HostFixture) {
    let job = fixture.create("Replace \"one\" with \"eins\".").await;
    let first = fixture.run_to_completion(&job).await;
    assert_eq!(fixture.file(branch(&job), "a.md"), "eins two three");
    let pulls = fixture.pulls().await;
    assert_eq!((pulls.len(), pulls[0].is_open), (1, true));
    assert!(pulls[0].body.contains("eins"), "{}", pulls[0].body);
    assert!(pulls[0].body.contains(&format!("Docwright-Job: {}", job["id"].as_str().unwrap())));
    let link = first["prLink"].as_str().unwrap();
    assert!(link.ends_with(&format!("/{}", pulls[0].number)), "{link}");

    fixture.follow_up(&job, "Replace \"two\" with \"zwei\".").await;
    let second = fixture.run_to_completion(&job).await;
    assert_eq!(second["prLink"], first["prLink"]);
    assert_eq!(fixture.file(branch(&job), "a.md"), "eins zwei three");
    let pulls = fixture.pulls().await;
    assert_eq!(pulls.len(), 1, "one pull request, ever");
    assert!(pulls[0].body.contains("zwei"), "the body describes both runs: {}", pulls[0].body);

    fixture.merge(pulls[0].number).await;
    assert_eq!(fixture.file("main", "a.md"), "eins zwei three");
    let next = fixture.create("Replace \"three\" with \"drei\".").await;
    fixture.run_to_completion(&next).await;
    assert_eq!(fixture.file(branch(&next), "a.md"), "eins zwei drei", "from the new tip");
    assert_eq!(fixture.pulls().await.len(), 2);

    // A merged pull request is not opened again.
    let again = json!({ "prompt": "Replace \"eins\" with \"one\"." });
    let mut answer = fixture.server.ask(&fixture.team, &job, "message", &again).await;
    if fixture.host.is_some() {
        // The host sent no webhook, so the run finds out.
        assert_eq!(fixture.run_to_end(&job).await["status"], "failed");
        let events = fixture.events(&job).await;
        let end = events.iter().rfind(|event| event["type"] == "ended").unwrap();
        assert!(end["message"].as_str().unwrap().contains("was merged; create a new job"), "{end}");
        answer = fixture.server.ask(&fixture.team, &job, "message", &again).await;
    }
    assert_eq!(answer.status, 409, "{answer}");
    assert_eq!(fixture.pulls().await.len(), 2);

    // No change, no branch, no pull request.
    let nothing = fixture.create("Replace \"not there\" with \"there\".").await;
    assert_eq!(fixture.run_to_completion(&nothing).await["prLink"], Value::Null);
    assert_eq!(fixture.pulls().await.len(), 2);
}

#[tokio::test]
async fn the_lifecycle_of_jobs_on_the_embedded_host() {
    check_lifecycle(&HostFixture::local().await).await;
}

#[tokio::test]
async fn the_lifecycle_of_jobs_on_github() {
    check_lifecycle(&HostFixture::on(Kind::GitHub).await).await;
}

#[tokio::test]
async fn the_lifecycle_of_jobs_on_gitlab() {
    check_lifecycle(&HostFixture::on(Kind::GitLab).await).await;
}

#[tokio::test]
async fn the_lifecycle_of_jobs_on_gitea() {
    check_lifecycle(&HostFixture::on(Kind::Gitea).await).await;
}

#[tokio::test]
async fn the_lifecycle_of_jobs_on_forgejo() {
    check_lifecycle(&HostFixture::on(Kind::Forgejo).await).await;
}

/// Whatever branch a job names, the base and the default branch change only through pull requests.
#[tokio::test]
async fn nothing_is_pushed_to_a_branch_that_pull_requests_are_merged_into() {
    for fixture in
        [HostFixture::local().await, HostFixture::on(Kind::GitHub).await, HostFixture::on(Kind::GitLab).await]
    {
        let before = git(&fixture.team.repository, &["rev-parse", "main"]);
        let path = format!("/v2/agent/{}/job", fixture.team.project.id);
        for more in [json!({}), json!({ "ref": "dev" })] {
            let mut body = json!({ "prompt": "Replace \"one\" with \"eins\".", "branch": "main" });
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let job = fixture.server.post(&fixture.team.key, &path, &body).await.json();
            assert_eq!(fixture.run_to_end(&job).await["status"], "failed");
            let last = fixture.events(&job).await.pop().unwrap();
            assert!(last["message"].as_str().unwrap().contains("create a job with another branch"), "{last}");
        }
        let both = json!({ "prompt": "Anything.", "branch": "dev", "ref": "dev" });
        assert_eq!(fixture.server.post(&fixture.team.key, &path, &both).await.status, 400);
        assert_eq!(git(&fixture.team.repository, &["rev-parse", "main"]), before);
    }
}

/// Each request is a round trip to a host that may be far away.
#[tokio::test]
async fn a_job_sends_no_request_to_its_host_twice() {
    let fixture = HostFixture::on(Kind::GitHub).await;
    fixture.run_to_completion(&fixture.create("Replace \"two\" with \"zwei\".").await).await;
    let short = |path: &str| path.split("acme/docs").nth(1).unwrap().split('?').next().unwrap().to_owned();
    let requests = fixture.fake().requests().into_iter();
    let requests: Vec<_> =
        requests.map(|request| format!("{} {}", request.method, short(&request.path))).collect();
    let fetched = "POST .git/git-upload-pack, POST .git/git-upload-pack";
    let published = "POST .git/git-receive-pack, GET /pulls, POST /pulls";
    assert_eq!(requests.join(", "), format!("{fetched}, {published}"));
}

/// Drops the response to each request of a job once, after the host has executed the request.
async fn check_dropped_responses(kind: Kind) {
    let fixture = HostFixture::on(kind).await;
    let job = fixture.create("Replace \"one\" with \"eins\".").await;
    fixture.run_to_completion(&job).await;
    let calls: Vec<_> =
        fixture.fake().requests().into_iter().map(|request| (request.method, request.path)).collect();
    assert!(calls.len() >= 5, "{calls:?}");
    for (n, (method, path)) in calls.iter().enumerate() {
        // Cuts off the name of the other job's branch.
        let path = path.split(['?']).next().unwrap().split("docwright").next().unwrap();
        fixture.fake().faults().next(1, method, path, Effect::DropAfter);
        let job = fixture.create(&format!("Replace \"two\" with \"zwei {n}\".")).await;
        let done = fixture.run_to_completion(&job).await;
        assert!(fixture.fake().faults().pending().is_empty(), "{method} {path} was not requested");
        let own =
            fixture.pulls().await.into_iter().filter(|pull| pull.body.contains(job["id"].as_str().unwrap()));
        assert_eq!(own.count(), 1, "{method} {path}");
        assert!(done["prLink"].is_string());
        assert_eq!(fixture.file(branch(&job), "a.md"), format!("one zwei {n} three"));
    }
}

#[tokio::test]
async fn a_job_survives_each_dropped_response_of_github() {
    check_dropped_responses(Kind::GitHub).await;
}

#[tokio::test]
async fn a_job_survives_each_dropped_response_of_gitlab() {
    check_dropped_responses(Kind::GitLab).await;
}

#[tokio::test]
async fn a_job_survives_each_dropped_response_of_gitea() {
    check_dropped_responses(Kind::Gitea).await;
}

#[tokio::test]
async fn a_host_that_is_down_delays_a_job() {
    for kind in WEB {
        let fixture = HostFixture::on(kind).await;
        let down = Fault { method: None, path: String::new(), times: None, effect: Effect::status(503) };
        fixture.fake().faults().add(down);
        let job = fixture.create("Replace \"one\" with \"eins\".").await;
        let began = fixture.server.clock.now();
        while fixture.server.clock.now() < began + SignedDuration::from_mins(11) {
            fixture.server.run_queued_jobs().await;
            assert_eq!(fixture.server.job(&fixture.team, &job["id"]).await["status"], "active");
            fixture.server.clock.advance(SignedDuration::from_secs(30));
        }
        let waits = fixture.events(&job).await.into_iter().filter(|event| event["type"] == "waiting").count();
        assert!((3..15).contains(&waits), "{waits} waits");
        fixture.fake().faults().clear();
        fixture.run_to_completion(&job).await;
        assert_eq!(fixture.pulls().await.len(), 1);
    }
}

#[tokio::test]
async fn a_job_waits_as_long_as_its_host_says() {
    let fixture = HostFixture::on(Kind::GitHub).await;
    fixture.fake().faults().next(1, "POST", "/pulls", Effect::secondary_limit(600));
    let job = fixture.create("Replace \"one\" with \"eins\".").await;
    fixture.server.run_queued_jobs().await;
    let waiting = fixture.events(&job).await.pop().unwrap();
    assert_eq!((&waiting["type"], &waiting["seconds"]), (&json!("waiting"), &json!(600)), "{waiting}");
    fixture.server.clock.advance(SignedDuration::from_secs(599));
    fixture.server.run_queued_jobs().await;
    assert_eq!(fixture.server.job(&fixture.team, &job["id"]).await["status"], "active");
    fixture.server.clock.advance(SignedDuration::from_secs(1));
    fixture.server.run_queued_jobs().await;
    assert_eq!(fixture.server.job(&fixture.team, &job["id"]).await["status"], "completed");
}

/// The kind of a self-hosted server can't always be detected.
#[tokio::test]
async fn settings_are_saved_on_a_host_whose_kind_is_set() {
    for kind in WEB {
        let fixture = HostFixture::on(kind).await;
        let browser = Browser::signed_in(&fixture.server, &fixture.team).await;
        let settings = format!("/p/{}/settings/repository", fixture.team.project.id);
        let (address, weak_token) = (fixture.team.project.repository.clone(), "tok-that-may-not-push");
        fixture.fake().token(weak_token, Access::ReadOnlyOfWriter);
        let save = async |token: &str| {
            let fields = [("name", "Renamed"), ("repository", address.as_str()), ("token", token)];
            browser.post(&settings, &fields).await
        };
        assert_eq!(save("").await.status, 303, "{kind:?}");
        assert_eq!(save(TOKEN).await.status, 303, "{kind:?}");
        let refused = save(weak_token).await;
        assert_eq!(refused.status, 400, "{kind:?}");
        assert!(
            refused.body.contains("the token for acme/docs") && !refused.body.contains(weak_token),
            "{kind:?}"
        );
    }
}

#[tokio::test]
async fn a_refusal_of_the_host_fails_the_job_with_a_sentence() {
    for kind in WEB {
        let fixture = HostFixture::on(kind).await;
        fixture.fake().revoke(TOKEN);
        let job = fixture.create("Replace \"one\" with \"eins\".").await;
        assert_eq!(fixture.run_to_end(&job).await["status"], "failed");
        let end = fixture.events(&job).await.pop().unwrap();
        let message = end["message"].as_str().unwrap();
        assert!(message.contains("token") && !message.contains(TOKEN), "{message}");
        assert!(fixture.pulls().await.is_empty());
    }
}

#[tokio::test]
async fn a_webhook_updates_the_state_of_a_pull_request() {
    for kind in WEB {
        let fixture = HostFixture::on(kind).await;
        let (project, secret) = (&fixture.team.project.id, "hook-secret-0123456789");
        fixture.server.app.secrets.put_secret(&project.0, HOOK_SECRET, secret.as_bytes()).await.unwrap();
        let url = format!("{}/hooks/{}/{project}", fixture.server.url, name(kind));
        fixture.fake().hook(&url, secret);
        let job = fixture.create("Replace \"one\" with \"eins\".").await;
        fixture.run_to_completion(&job).await;
        let number = fixture.pulls().await[0].number;
        fixture.fake().close_pull(NAME, number);
        fixture.fake().reopen_pull(NAME, number);
        fixture.merge(number).await;
        let sent = fixture.fake().deliveries().await;
        assert!(sent.iter().all(|delivery| delivery.status == Some(204)), "{sent:?}");
        // The server asks the host for the state, so the number of events depends on timing.
        let events: Vec<_> =
            fixture.events(&job).await.into_iter().filter(|event| event["type"] == "pull_request").collect();
        assert_eq!(events.last().map(|event| &event["state"]), Some(&json!("merged")), "{events:?}");

        // A request with a wrong signature learns nothing, not even whether the project exists.
        let mut answers = Vec::new();
        for path in [
            format!("/hooks/{}/{project}", name(kind)),
            "/hooks/github/prj_none".into(),
            format!("/hooks/bitbucket/{project}"),
            format!("/hooks/github/{}", "x".repeat(300)),
        ] {
            let request =
                fixture.server.request(reqwest::Method::POST, &path).json(&json!({ "action": "closed" }));
            answers.push(send(request.header("x-hub-signature-256", "sha256=00")).await.to_string());
        }
        assert!(answers[0].starts_with("403"), "{}", answers[0]);
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    }
}

/// The token is only in the store, encrypted, and in requests to the host.
#[tokio::test]
async fn token_in_config() {
    for kind in WEB {
        let fixture = HostFixture::on(kind).await;
        let job = fixture.create("Replace \"one\" with \"eins\".").await;
        fixture.run_to_completion(&job).await;
        fixture.fake().revoke(TOKEN);
        fixture.follow_up(&job, "Replace \"two\" with \"zwei\".").await;
        fixture.run_to_end(&job).await;
        let sent = fixture.fake().requests();
        assert!(sent.iter().any(|request| request.authorization.is_some()));
        assert!(sent.iter().all(|request| !request.path.contains("canary")));
        let answers =
            json!([fixture.events(&job).await, fixture.server.job(&fixture.team, &job["id"]).await])
                .to_string();
        let bodies: String = fixture.pulls().await.into_iter().map(|pull| pull.body).collect();
        assert!(!answers.contains("canary") && !bodies.contains("canary"));
        for file in files(fixture.server.data()) {
            let bytes = std::fs::read(&file).unwrap();
            let found = bytes.windows(10).any(|window| window == &TOKEN.as_bytes()[..10]);
            assert!(!found, "the token is in {}", file.display());
        }
    }
}

fn files(dir: PathBuf) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(path) } else { vec![path] }).collect()
}
