//! One story on every host, and the troubles that hosts make. The web ones are real git over HTTP with a
//! stateful API in front of it (`fakehost`).

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

/// A team, and the host that its repository is on; `None` for the embedded one.
pub(crate) struct Place {
    pub(crate) server: TestServer,
    pub(crate) team: Team,
    pub(crate) host: Option<FakeHost>,
}

/// What there is of a pull request, whoever keeps it.
pub(crate) struct Pull {
    number: u64,
    pub(crate) is_open: bool,
    pub(crate) body: String,
}

impl Place {
    pub(crate) async fn local() -> Self {
        let server = TestServer::start().await;
        let team = server.team("acme", &PAGES).await;
        Self { server, team, host: None }
    }

    pub(crate) async fn on(kind: Kind) -> Self {
        let server = TestServer::start_with(|settings| {
            settings.hosts.allow_private = true;
            settings.host_pause = Duration::from_millis(1);
        })
        .await;
        let host = FakeHost::start(kind).await;
        net::quote_test_host(host.url().trim_start_matches("http://").parse().unwrap());
        host.set_time(server.clock.now());
        host.token(TOKEN, Access::Full);
        let repository = host.repository(NAME, &PAGES).await;
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

    /// As a person does, at the host.
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
        let asked = self.server.ask(&self.team, job, "message", &json!({ "prompt": prompt })).await;
        assert_eq!(asked.status, 200, "{asked}");
    }

    /// Runs what is queued, and what is put off, for as long as `hours`.
    pub(crate) async fn settle(&self, job: &Value) -> Value {
        for _ in 0..40 {
            self.server.run_queued_jobs().await;
            let now = self.server.job(&self.team, &job["id"]).await;
            if now["status"] != "active" {
                return now;
            }
            self.server.clock.advance(SignedDuration::from_mins(6));
        }
        panic!("it did not end: {:?}", self.events(job).await.last())
    }

    pub(crate) async fn events(&self, job: &Value) -> Vec<Value> {
        self.server.events(&self.team, &job["id"]).await
    }

    pub(crate) async fn completed(&self, job: &Value) -> Value {
        let done = self.settle(job).await;
        assert_eq!(done["status"], "completed", "{:?}", self.events(job).await.last());
        done
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

/// Create, branch, pull request, follow-up, merge, and the next job from the new tip.
async fn story(place: &Place) {
    let job = place.create("Replace \"one\" with \"eins\".").await;
    let first = place.completed(&job).await;
    assert_eq!(place.file(branch(&job), "a.md"), "eins two three");
    let pulls = place.pulls().await;
    assert_eq!((pulls.len(), pulls[0].is_open), (1, true));
    assert!(pulls[0].body.contains("eins"), "{}", pulls[0].body);
    assert!(pulls[0].body.contains(&format!("Docwright-Job: {}", job["id"].as_str().unwrap())));
    let link = first["prLink"].as_str().unwrap();
    assert!(link.ends_with(&format!("/{}", pulls[0].number)), "{link}");

    place.follow_up(&job, "Replace \"two\" with \"zwei\".").await;
    let second = place.completed(&job).await;
    assert_eq!(second["prLink"], first["prLink"]);
    assert_eq!(place.file(branch(&job), "a.md"), "eins zwei three");
    let pulls = place.pulls().await;
    assert_eq!(pulls.len(), 1, "one pull request, ever");
    assert!(pulls[0].body.contains("zwei"), "a reviewer reads of both: {}", pulls[0].body);

    place.merge(pulls[0].number).await;
    assert_eq!(place.file("main", "a.md"), "eins zwei three");
    let next = place.create("Replace \"three\" with \"drei\".").await;
    place.completed(&next).await;
    assert_eq!(place.file(branch(&next), "a.md"), "eins zwei drei", "from the new tip");
    assert_eq!(place.pulls().await.len(), 2);

    // A pull request that a person has settled is not opened again.
    let again = json!({ "prompt": "Replace \"eins\" with \"one\"." });
    let mut asked = place.server.ask(&place.team, &job, "message", &again).await;
    if place.host.is_some() {
        // Nobody has told us yet: the run finds out.
        assert_eq!(place.settle(&job).await["status"], "failed");
        let told = place.events(&job).await;
        let end = told.iter().rfind(|event| event["type"] == "ended").unwrap();
        assert!(end["message"].as_str().unwrap().contains("was merged; create a new job"), "{end}");
        asked = place.server.ask(&place.team, &job, "message", &again).await;
    }
    assert_eq!(asked.status, 409, "{asked}");
    assert_eq!(place.pulls().await.len(), 2);

    // No change, no branch, no pull request.
    let nothing = place.create("Replace \"not there\" with \"there\".").await;
    assert_eq!(place.completed(&nothing).await["prLink"], Value::Null);
    assert_eq!(place.pulls().await.len(), 2);
}

#[tokio::test]
async fn the_story_on_the_embedded_host() {
    story(&Place::local().await).await;
}

#[tokio::test]
async fn the_story_on_github() {
    story(&Place::on(Kind::GitHub).await).await;
}

#[tokio::test]
async fn the_story_on_gitlab() {
    story(&Place::on(Kind::GitLab).await).await;
}

#[tokio::test]
async fn the_story_on_gitea() {
    story(&Place::on(Kind::Gitea).await).await;
}

#[tokio::test]
async fn the_story_on_forgejo() {
    story(&Place::on(Kind::Forgejo).await).await;
}

/// Whatever a job is told to work on, what people have is changed by pull request alone.
#[tokio::test]
async fn nothing_is_pushed_to_a_branch_that_is_merged_into() {
    for place in [Place::local().await, Place::on(Kind::GitHub).await, Place::on(Kind::GitLab).await] {
        let before = git(&place.team.repository, &["rev-parse", "main"]);
        let path = format!("/v2/agent/{}/job", place.team.project.id);
        for more in [json!({}), json!({ "ref": "dev" })] {
            let mut body = json!({ "prompt": "Replace \"one\" with \"eins\".", "branch": "main" });
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            let job = place.server.post(&place.team.key, &path, &body).await.json();
            assert_eq!(place.settle(&job).await["status"], "failed");
            let last = place.events(&job).await.pop().unwrap();
            assert!(last["message"].as_str().unwrap().contains("one of its own"), "{last}");
        }
        let both = json!({ "prompt": "Anything.", "branch": "dev", "ref": "dev" });
        assert_eq!(place.server.post(&place.team.key, &path, &both).await.status, 400);
        assert_eq!(git(&place.team.repository, &["rev-parse", "main"]), before);
    }
}

/// Each is a way to the host and back, and it may be far away.
#[tokio::test]
async fn a_host_is_asked_nothing_twice() {
    let place = Place::on(Kind::GitHub).await;
    place.completed(&place.create("Replace \"two\" with \"zwei\".").await).await;
    let short = |path: &str| path.split("acme/docs").nth(1).unwrap().split('?').next().unwrap().to_owned();
    let seen = place.fake().requests().into_iter();
    let asked: Vec<_> = seen.map(|seen| format!("{} {}", seen.method, short(&seen.path))).collect();
    let fetched = "POST .git/git-upload-pack, POST .git/git-upload-pack";
    let published = "POST .git/git-receive-pack, GET /pulls, POST /pulls";
    assert_eq!(asked.join(", "), format!("{fetched}, {published}"));
}

/// Every request that a job makes loses its answer once, after the host has done what was asked.
async fn every_reply_dropped(kind: Kind) {
    let place = Place::on(kind).await;
    let job = place.create("Replace \"one\" with \"eins\".").await;
    place.completed(&job).await;
    let calls: Vec<_> = place.fake().requests().into_iter().map(|seen| (seen.method, seen.path)).collect();
    assert!(calls.len() >= 5, "{calls:?}");
    for (n, (method, path)) in calls.iter().enumerate() {
        // What names the other job's branch is asked for this one's.
        let path = path.split(['?']).next().unwrap().split("docwright").next().unwrap();
        place.fake().faults().next(1, method, path, Effect::DropAfter);
        let job = place.create(&format!("Replace \"two\" with \"zwei {n}\".")).await;
        let done = place.completed(&job).await;
        assert!(place.fake().faults().pending().is_empty(), "{method} {path} was not asked");
        let own =
            place.pulls().await.into_iter().filter(|pull| pull.body.contains(job["id"].as_str().unwrap()));
        assert_eq!(own.count(), 1, "{method} {path}");
        assert!(done["prLink"].is_string());
        assert_eq!(place.file(branch(&job), "a.md"), format!("one zwei {n} three"));
    }
}

#[tokio::test]
async fn every_reply_of_github_is_dropped_once() {
    every_reply_dropped(Kind::GitHub).await;
}

#[tokio::test]
async fn every_reply_of_gitlab_is_dropped_once() {
    every_reply_dropped(Kind::GitLab).await;
}

#[tokio::test]
async fn every_reply_of_gitea_is_dropped_once() {
    every_reply_dropped(Kind::Gitea).await;
}

#[tokio::test]
async fn a_host_that_is_down_delays_a_job() {
    for kind in WEB {
        let place = Place::on(kind).await;
        let down = Fault { method: None, path: String::new(), times: None, effect: Effect::status(503) };
        place.fake().faults().add(down);
        let job = place.create("Replace \"one\" with \"eins\".").await;
        let began = place.server.clock.now();
        while place.server.clock.now() < began + SignedDuration::from_mins(11) {
            place.server.run_queued_jobs().await;
            assert_eq!(place.server.job(&place.team, &job["id"]).await["status"], "active");
            place.server.clock.advance(SignedDuration::from_secs(30));
        }
        let waits = place.events(&job).await.into_iter().filter(|event| event["type"] == "waiting").count();
        assert!((3..15).contains(&waits), "{waits} waits");
        place.fake().faults().clear();
        place.completed(&job).await;
        assert_eq!(place.pulls().await.len(), 1);
    }
}

#[tokio::test]
async fn a_host_that_says_when_is_asked_then() {
    let place = Place::on(Kind::GitHub).await;
    place.fake().faults().next(1, "POST", "/pulls", Effect::secondary_limit(600));
    let job = place.create("Replace \"one\" with \"eins\".").await;
    place.server.run_queued_jobs().await;
    let waiting = place.events(&job).await.pop().unwrap();
    assert_eq!((&waiting["type"], &waiting["seconds"]), (&json!("waiting"), &json!(600)), "{waiting}");
    place.server.clock.advance(SignedDuration::from_secs(599));
    place.server.run_queued_jobs().await;
    assert_eq!(place.server.job(&place.team, &job["id"]).await["status"], "active");
    place.server.clock.advance(SignedDuration::from_secs(1));
    place.server.run_queued_jobs().await;
    assert_eq!(place.server.job(&place.team, &job["id"]).await["status"], "completed");
}

/// A host of one's own cannot always be asked what it is.
#[tokio::test]
async fn settings_are_saved_on_a_host_that_was_named() {
    for kind in WEB {
        let place = Place::on(kind).await;
        let browser = Browser::signed_in(&place.server, &place.team).await;
        let settings = format!("/p/{}/settings/repository", place.team.project.id);
        let (address, less) = (place.team.project.repository.clone(), "tok-that-may-not-push");
        place.fake().token(less, Access::ReadOnlyOfWriter);
        let save = async |token: &str| {
            let fields = [("name", "Renamed"), ("repository", address.as_str()), ("token", token)];
            browser.post(&settings, &fields).await
        };
        assert_eq!(save("").await.status, 303, "{kind:?}");
        assert_eq!(save(TOKEN).await.status, 303, "{kind:?}");
        let refused = save(less).await;
        assert_eq!(refused.status, 400, "{kind:?}");
        assert!(refused.body.contains("the token for acme/docs") && !refused.body.contains(less), "{kind:?}");
    }
}

#[tokio::test]
async fn what_a_host_refuses_fails_with_a_sentence() {
    for kind in WEB {
        let place = Place::on(kind).await;
        place.fake().revoke(TOKEN);
        let job = place.create("Replace \"one\" with \"eins\".").await;
        assert_eq!(place.settle(&job).await["status"], "failed");
        let end = place.events(&job).await.pop().unwrap();
        let told = end["message"].as_str().unwrap();
        assert!(told.contains("token") && !told.contains(TOKEN), "{told}");
        assert!(place.pulls().await.is_empty());
    }
}

#[tokio::test]
async fn a_hook_tells_what_became_of_a_pull_request() {
    for kind in WEB {
        let place = Place::on(kind).await;
        let (project, secret) = (&place.team.project.id, "hook-secret-0123456789");
        place.server.app.secrets.put_secret(&project.0, HOOK_SECRET, secret.as_bytes()).await.unwrap();
        let url = format!("{}/hooks/{}/{project}", place.server.url, name(kind));
        place.fake().hook(&url, secret);
        let job = place.create("Replace \"one\" with \"eins\".").await;
        place.completed(&job).await;
        let number = place.pulls().await[0].number;
        place.fake().close_pull(NAME, number);
        place.fake().reopen_pull(NAME, number);
        place.merge(number).await;
        let sent = place.fake().deliveries().await;
        assert!(sent.iter().all(|delivery| delivery.status == Some(204)), "{sent:?}");
        // The host is asked what is so: how many of the steps are seen depends on how fast it goes.
        let told: Vec<_> =
            place.events(&job).await.into_iter().filter(|event| event["type"] == "pull_request").collect();
        assert_eq!(told.last().map(|event| &event["state"]), Some(&json!("merged")), "{told:?}");

        // What is not signed as it should be learns nothing, not even whether there is such a project.
        let mut answers = Vec::new();
        for path in [
            format!("/hooks/{}/{project}", name(kind)),
            "/hooks/github/prj_none".into(),
            format!("/hooks/bitbucket/{project}"),
            format!("/hooks/github/{}", "x".repeat(300)),
        ] {
            let request =
                place.server.request(reqwest::Method::POST, &path).json(&json!({ "action": "closed" }));
            answers.push(send(request.header("x-hub-signature-256", "sha256=00")).await.to_string());
        }
        assert!(answers[0].starts_with("403"), "{}", answers[0]);
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    }
}

/// The token is in the store, sealed, and in what is sent to the host; and nowhere else.
#[tokio::test]
async fn token_in_config() {
    for kind in WEB {
        let place = Place::on(kind).await;
        let job = place.create("Replace \"one\" with \"eins\".").await;
        place.completed(&job).await;
        place.fake().revoke(TOKEN);
        place.follow_up(&job, "Replace \"two\" with \"zwei\".").await;
        place.settle(&job).await;
        let sent = place.fake().requests();
        assert!(sent.iter().any(|seen| seen.authorization.is_some()));
        assert!(sent.iter().all(|seen| !seen.path.contains("canary")));
        let told =
            json!([place.events(&job).await, place.server.job(&place.team, &job["id"]).await]).to_string();
        let bodies: String = place.pulls().await.into_iter().map(|pull| pull.body).collect();
        assert!(!told.contains("canary") && !bodies.contains("canary"));
        for file in files(place.server.data()) {
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
