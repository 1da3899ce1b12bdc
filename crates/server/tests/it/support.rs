//! Starts a server for one test, with an empty data directory, and sends requests to it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::TestClock;
use jiff::Timestamp;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use server::{App, AppParts, Server, Settings, Worker};
use store::{Allow, Expiry, NewKey, NewProject, Organization, Project, Scope};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::openapi;

pub(crate) use fakehost::{bare_repository, git};

pub(crate) struct TestServer {
    pub(crate) app: App,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) url: String,
    http: reqwest::Client,
    dir: TempDir,
    stop: CancellationToken,
    running: JoinHandle<anyhow::Result<()>>,
}

/// An organization with a project, its docs repository, and an API key.
pub(crate) struct Team {
    pub(crate) organization: Organization,
    pub(crate) project: Project,
    pub(crate) key: String,
    pub(crate) repository: PathBuf,
}

/// A response. As text, it's the status and the body.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
    pub(crate) headers: reqwest::header::HeaderMap,
}

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.status, self.body)
    }
}

impl Answer {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("not JSON: {self}"))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

impl TestServer {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    pub(crate) async fn start_with(shape: impl FnOnce(&mut Settings)) -> Self {
        Self::start_from(shape, |_| {}).await
    }

    /// Replaces parts of the server with those of the test.
    pub(crate) async fn start_from(
        shape: impl FnOnce(&mut Settings),
        parts: impl FnOnce(&mut AppParts),
    ) -> Self {
        let now = "2026-11-15T12:00:00Z".parse().unwrap();
        Self::start_in(tempfile::tempdir().unwrap(), now, shape, parts).await
    }

    /// Starts in a directory that can already have a `data` directory, at the given time.
    pub(crate) async fn start_in(
        dir: TempDir,
        now: Timestamp,
        shape: impl FnOnce(&mut Settings),
        parts: impl FnOnce(&mut AppParts),
    ) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let clock = Arc::new(TestClock::at(now));
        let mut settings = Settings::new(dir.path().join("data"));
        settings.listen = "127.0.0.1:0".parse().unwrap();
        settings.workers = 0; // the test runs the jobs itself
        shape(&mut settings);
        let mut server = Server::open(&settings, clock.clone()).await.unwrap();
        server.app = server.app.with(parts);
        let (app, stop) = (server.app.clone(), CancellationToken::new());
        let running = tokio::spawn(server.run(stop.clone()));
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        Self { url: app.public_url.to_string(), app, clock, http, dir, stop, running }
    }

    /// Creates a team whose docs repository has these files.
    pub(crate) async fn team(&self, name: &str, files: &[(&str, &str)]) -> Team {
        let repository = self.dir.path().join(format!("{name}.git"));
        bare_repository(&repository, files);
        let organization = self.app.accounts.create_organization(name).await.unwrap();
        let project =
            self.app.accounts.create_project(&new_project(&organization, &repository)).await.unwrap();
        let key = self.key(&organization, |_| {}).await;
        Team { organization, project, key, repository }
    }

    /// Creates one more project with the team's repository.
    pub(crate) async fn project(&self, team: &Team, shape: impl FnOnce(&mut NewProject)) -> Project {
        let mut new = new_project(&team.organization, &team.repository);
        shape(&mut new);
        self.app.accounts.create_project(&new).await.unwrap()
    }

    pub(crate) async fn key(&self, organization: &Organization, shape: impl FnOnce(&mut NewKey)) -> String {
        let mut new = NewKey {
            organization: organization.id.clone(),
            name: "test".into(),
            scope: Scope::Write,
            projects: None,
            allow: Allow::default(),
            expiry: Expiry::Days(7),
            creator: None,
        };
        shape(&mut new);
        self.app.accounts.create_key(&new).await.unwrap().1.reveal().to_owned()
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.url))
    }

    pub(crate) async fn get(&self, key: &str, path: &str) -> Answer {
        send(self.request(Method::GET, path).bearer_auth(key)).await
    }

    pub(crate) async fn post(&self, key: &str, path: &str, body: &Value) -> Answer {
        send(self.request(Method::POST, path).bearer_auth(key).json(body)).await
    }

    pub(crate) async fn create_job(&self, team: &Team, prompt: &str) -> Value {
        let path = format!("/v2/agent/{}/job", team.project.id);
        let answer = self.post(&team.key, &path, &json!({ "prompt": prompt })).await;
        assert_eq!(answer.status, 201, "{answer}");
        answer.json()
    }

    pub(crate) async fn has_no_jobs(&self, project: &store::ProjectId) -> bool {
        let filter = store::Filter { limit: 1, ..store::Filter::default() };
        self.app.jobs.list(project, &filter).await.unwrap().items.is_empty()
    }

    /// Sends a request about a job, with a JSON body.
    pub(crate) async fn ask(&self, team: &Team, job: &Value, what: &str, body: &Value) -> Answer {
        let path = format!("/v2/agent/{}/job/{}/{what}", team.project.id, job["id"].as_str().unwrap());
        self.post(&team.key, &path, body).await
    }

    pub(crate) async fn job(&self, team: &Team, id: &Value) -> Value {
        let path = format!("/v2/agent/{}/job/{}", team.project.id, id.as_str().unwrap());
        self.get(&team.key, &path).await.json()
    }

    pub(crate) async fn events(&self, team: &Team, id: &Value) -> Vec<Value> {
        let path = format!("/v2/agent/{}/job/{}/events", team.project.id, id.as_str().unwrap());
        self.get(&team.key, &path).await.json().as_array().unwrap().clone()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// Stops the server, and waits until it ended.
    pub(crate) async fn stop(&mut self) {
        self.stop.cancel();
        (&mut self.running).await.unwrap().unwrap();
    }

    /// Restarts the server with the same data.
    pub(crate) async fn restart(&mut self, settings: &Settings) {
        self.stop().await;
        let server = Server::open(settings, self.clock.clone()).await.unwrap();
        (self.app, self.stop) = (server.app.clone(), CancellationToken::new());
        self.url = self.app.public_url.to_string();
        self.running = tokio::spawn(server.run(self.stop.clone()));
    }

    /// Runs a worker until the queue is empty.
    pub(crate) async fn run_queued_jobs(&self) {
        Worker::new(self.app.clone(), 1).drain().await.unwrap();
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn new_project(organization: &Organization, repository: &Path) -> NewProject {
    NewProject {
        hosting: store::Hosting::default(),
        organization: organization.id.clone(),
        name: "Docs".into(),
        repository: repository.to_str().unwrap().to_owned(),
        base_ref: None,
        docs_path: None,
        sites: vec![],
        model: "offline".into(),
        models: vec![],
        allow_paths: vec![],
    }
}

pub(crate) async fn send(request: RequestBuilder) -> Answer {
    let (client, request) = request.build_split();
    let request = request.unwrap();
    let (method, path) = (request.method().clone(), request.url().path().to_owned());
    let answer = client.execute(request).await.unwrap();
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    let answer = Answer { status, headers, body: answer.text().await.unwrap() };
    openapi::check_response(&method, &path, &answer);
    answer
}
