//! Starts a server with an organization and a project. Jobs run only when the test runs them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base::{Clock as _, SystemClock};
use jiff::Timestamp;
use reqwest::Client;
use serde_json::{Value, json};
use server::{App, Server, Settings, Worker, do_chores, model};
use store::{
    Finding, FindingFilter, Hosting, JobId, NewJob, NewProject, Organization, Project, Prompt, Receipt, Terms,
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

const DOCS: &[(&str, &str)] = &[
    ("index.md", "---\ntitle: Acme\n---\n# Acme\n\nStart with the [quickstart](quickstart.md).\n"),
    ("quickstart.md", "# Quickstart\n\nRun `npm install acme`, then send us an e-mail.\n\n- one\n- two\n"),
    (
        "guides/deploy.md",
        "# Deploy\n\nWe answer every e-mail.\n\n| step | what |\n|---|---|\n| 1 | build |\n",
    ),
    // Must be shown as text.
    ("embed.md", "# Embed\n\nOr by e-mail:\n\n```html\n<img src=x onerror=\"window.ran=1\">\n```\n"),
];

pub(crate) struct Site {
    pub(crate) app: App,
    pub(crate) url: String,
    pub(crate) organization: Organization,
    pub(crate) project: Project,
    pub(crate) repository: PathBuf,
    stop: CancellationToken,
    _dir: TempDir,
}

impl Site {
    pub(crate) async fn start() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let dir = tempfile::tempdir().unwrap();
        let mut settings = Settings::new(dir.path().join("data"));
        settings.listen = "127.0.0.1:0".parse().unwrap();
        settings.workers = 0;
        // A second model to choose. It is never called.
        let mut large = model::Settings::new(model::Provider::OpenAi, "large");
        large.api_key = model::Secret::parse("none");
        settings.models.insert("large".into(), large);
        let server = Server::open(&settings, Arc::new(SystemClock)).await.unwrap();
        let (app, stop) = (server.app.clone(), CancellationToken::new());
        tokio::spawn(server.run(stop.clone()));
        let repository = dir.path().join("docs.git");
        fakehost::bare_repository(&repository, DOCS);
        let organization = app.accounts.create_organization("Acme").await.unwrap();
        let project = app.accounts.create_project(&new_project(&organization, &repository)).await.unwrap();
        Self { url: app.public_url.to_string(), app, organization, project, repository, stop, _dir: dir }
    }

    /// The path of a page of the project.
    pub(crate) fn page(&self, path: &str) -> String {
        format!("/p/{}{path}", self.project.id)
    }

    /// The path of a new login link.
    pub(crate) async fn login_link(&self) -> String {
        let token = self.app.sessions.create_login(&self.organization.id).await.unwrap();
        format!("/login?token={}", token.reveal())
    }

    /// Creates jobs in every state, and returns the placeholders of paths with their values.
    pub(crate) async fn fill(&self) -> Vec<(&'static str, String)> {
        let changed = self.job("Replace \"e-mail\" with \"email\".").await;
        let unchanged = self.job("Replace \"nothing that is there\" with \"something\".").await;
        let failed = self.job("Rewrite the quickstart for people who are in a hurry.").await;
        let archived = self.job("Fix common misspellings.").await;
        self.app.jobs.archive(&self.project.id, &JobId(archived.clone())).await.unwrap();
        self.run_queued_jobs().await;
        self.send_views().await;
        let findings = self.send_requests_for(&["/Quickstart", "/guides/deployment", "/setup"]).await;
        let new = NewProject { name: "New".into(), ..self.new_project() };
        let new = self.app.accounts.create_project(&new).await.unwrap();
        let waiting = self.job("Fix broken links and anchors.\n\nIn every page that there is.").await;
        vec![
            ("{project}", self.project.id.0.clone()),
            ("{new}", new.id.0),
            ("{finding}", findings[0].id.0.clone()),
            ("{changed}", changed),
            ("{unchanged}", unchanged),
            ("{waiting}", waiting),
            ("{failed}", failed),
            ("{archived}", archived),
        ]
    }

    /// Sends three weeks of human and AI views, some of them not found. Returns the API key.
    pub(crate) async fn send_views(&self) -> String {
        let now = SystemClock.now().as_second();
        let chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36";
        let view = |n: i64| {
            let (path, agent) = (
                ["/", "/quickstart", "/guides/deploy"][n as usize % 3],
                ["GPTBot/1.2", "Claude-User/1.0", chrome, chrome, chrome][n as usize % 5],
            );
            let at = Timestamp::from_second(now - n * n % (21 * 24) * 3_600 - n).unwrap();
            json!({ "path": path, "timestamp": at.to_string(), "userAgent": agent, "ip": format!("192.0.2.{}", n % 200),
                "status": if n % 17 == 0 { 404 } else { 200 }, "referrer": "https://chatgpt.com/" })
        };
        let (_, key) = self.key_of(&self.organization.id, None).await;
        let events: Value = (0..900).map(view).collect();
        self.send(&key, &events).await;
        key
    }

    /// Sends requests for paths that don't exist, and looks for findings: the first path gets the most. Returns the findings, the
    /// largest first.
    pub(crate) async fn send_requests_for(&self, paths: &[&str]) -> Vec<Finding> {
        let now = SystemClock.now().as_second();
        let agents = ["Mozilla/5.0 Chrome/141.0.0.0 Safari/537.36", "Claude-User/1.0"];
        let request = |path: &str, n: i64| {
            let at = Timestamp::from_second(now - n * 40_000).unwrap();
            json!({ "path": path, "timestamp": at.to_string(), "userAgent": agents[n as usize % 2],
                "ip": format!("198.51.100.{n}"), "status": 404, "referrer": "https://chatgpt.com/" })
        };
        let requests: Value = (20..30)
            .rev()
            .zip(paths)
            .flat_map(|(requests, path)| (0..requests).map(move |n| request(path, n)))
            .collect();
        let (_, key) = self.key_of(&self.organization.id, None).await;
        self.send(&key, &requests).await;
        // The first round asks for a scan of the docs.
        for _ in 0..2 {
            self.app.findings.hasten_chores(&self.project.id).await.unwrap();
            do_chores(&self.app).await;
            Worker::new(self.app.clone(), 1).scan_sites().await;
        }
        let filter = FindingFilter { limit: 100, ..FindingFilter::default() };
        self.app.findings.findings(&self.project.id, &filter).await.unwrap().items
    }

    pub(crate) async fn send(&self, key: &str, events: &Value) {
        let url = format!("{}/v1/analytics/{}/events", self.url, self.project.id);
        let sent = Client::new().post(url).bearer_auth(key).json(events).send().await.unwrap();
        assert_eq!(sent.status(), 202);
    }

    /// Another project with the same repository.
    pub(crate) fn new_project(&self) -> NewProject {
        new_project(&self.organization, &self.repository)
    }

    pub(crate) async fn job(&self, prompt: &str) -> String {
        let new = NewJob {
            project: self.project.id.clone(),
            prompt: Prompt::parse(prompt).unwrap(),
            model: self.project.model.clone(),
            base_ref: None,
            branch: None,
            draft: false,
            findings: Vec::new(),
        };
        match self.app.jobs.insert(&new, &Terms::default()).await.unwrap() {
            Receipt::Done { job, .. } => job.id.0,
            other => panic!("{other:?}"),
        }
    }

    /// Runs the worker until the queue is empty.
    pub(crate) async fn run_queued_jobs(&self) {
        Worker::new(self.app.clone(), 1).drain().await.unwrap();
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn new_project(organization: &Organization, repository: &Path) -> NewProject {
    NewProject {
        hosting: Hosting::default(),
        organization: organization.id.clone(),
        name: "Acme Docs".into(),
        repository: repository.to_str().unwrap().to_owned(),
        base_ref: None,
        docs_path: None,
        sites: vec![],
        model: "offline".into(),
        models: vec![],
        allow_paths: vec![],
    }
}
