//! The test API of the fake host: sets it up, acts like a person on its web pages, and reads its state.
//! Panics if the setup fails.
#![allow(clippy::expect_used, reason = "for tests alone")]

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use jiff::Timestamp;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::access::{Access, Grant};
use crate::app::App;
use crate::faults::Faults;
use crate::pulls::{Change, Filter, MergeOptions, Pull};
use crate::request_log::LoggedRequest;
use crate::serve::serve;
use crate::state::{Host, Repository, Settings, User};
use crate::webhooks::{Delivery, Webhooks};
use crate::{Kind, control, git, git_http, gitea, github, gitlab};

/// A running fake host. Dropping it stops the host and deletes its repositories.
pub struct FakeHost {
    host: Arc<Host>,
    _tasks: JoinSet<()>,
    _dir: TempDir,
}

/// A repository of the host.
#[derive(Clone, Debug)]
pub struct Repo {
    pub name: String,
    pub clone_url: String,
    pub git_dir: PathBuf,
    /// The first commit.
    pub sha: String,
}

impl FakeHost {
    pub async fn start(kind: Kind) -> Self {
        Self::start_at(kind, SocketAddr::from(([127, 0, 0, 1], 0))).await
    }

    pub async fn start_at(kind: Kind, address: SocketAddr) -> Self {
        let dir = tempfile::tempdir().expect("a folder for the repositories can be created");
        let listener = TcpListener::bind(address).await.expect("the port is free");
        let address = listener.local_addr().expect("a port has an address");
        let (hooks, sending) = Webhooks::new(kind);
        let host = Arc::new(Host::new(kind, format!("http://{address}"), dir.path().to_owned(), hooks));
        let api = match kind {
            Kind::GitHub => github::routes(&host),
            Kind::GitLab => gitlab::routes(),
            Kind::Gitea | Kind::Forgejo => gitea::routes(),
        };
        let router: Router = api.merge(control::routes()).fallback(git_http::handle).with_state(host.clone());
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener, host.clone(), router));
        tasks.spawn(sending);
        Self { host, _tasks: tasks, _dir: dir }
    }

    /// Scheme and authority: the part before `/acme/docs`.
    pub fn url(&self) -> &str {
        &self.host.url
    }

    /// The base URL of the API.
    pub fn api_url(&self) -> String {
        match self.host.kind {
            Kind::GitHub => self.host.url.clone(),
            Kind::GitLab => format!("{}/api/v4", self.host.url),
            Kind::Gitea | Kind::Forgejo => format!("{}/api/v1", self.host.url),
        }
    }

    /// Creates a private repository with one commit on `main`.
    pub async fn repository(&self, name: &str, files: &[(&str, &str)]) -> Repo {
        let git_dir = self.host.root.join(format!("{name}.git"));
        git::init(&git_dir, "main").await.expect("git creates a repository");
        let commit = git::commit(&git_dir, "main", None, self.host.now(), files).await;
        commit.expect("git creates a commit");
        self.add(name, git_dir, Settings::default())
    }

    /// Creates a private repository as a copy of a local one.
    pub async fn mirror(&self, name: &str, from: &Path) -> Repo {
        let git_dir = self.host.root.join(format!("{name}.git"));
        git::mirror(from, &git_dir).await.expect("git copies a repository");
        let head = std::fs::read_to_string(git_dir.join("HEAD")).expect("a repository has a HEAD");
        let default_branch = head.trim().strip_prefix("ref: refs/heads/").expect("HEAD names a branch");
        let default_branch = default_branch.to_owned();
        self.add(name, git_dir, Settings { default_branch, ..Settings::default() })
    }

    fn add(&self, name: &str, git_dir: PathBuf, settings: Settings) -> Repo {
        let sha = git::tip(&git_dir, &settings.default_branch).unwrap_or_default();
        let mut data = self.host.data();
        let (id, labels) = (data.new_id(), Vec::new());
        let repository = Repository { id, name: name.to_owned(), git_dir: git_dir.clone(), labels, settings };
        data.repositories.insert(name.to_owned(), repository);
        Repo { name: name.to_owned(), clone_url: format!("{}/{name}.git", self.host.url), git_dir, sha }
    }

    /// Changes a repository's settings.
    pub fn set(&self, name: &str, change: impl FnOnce(&mut Settings)) {
        let mut data = self.host.data();
        let repository = data.repositories.get_mut(name).expect("the repository exists");
        change(&mut repository.settings);
        let protected = repository.settings.protected.iter();
        let lines: String = protected.map(|branch| format!("refs/heads/{branch}\n")).collect();
        let head = format!("ref: refs/heads/{}\n", repository.settings.default_branch);
        git::configure_fetch(&repository.git_dir, &repository.settings).expect("a file can be written");
        std::fs::write(repository.git_dir.join("protected"), lines).expect("a file can be written");
        std::fs::write(repository.git_dir.join("HEAD"), head).expect("a file can be written");
    }

    /// Adds a token for all repositories.
    pub fn token(&self, token: &str, access: Access) {
        let grant = Grant { access, repositories: None, expires_at: None, is_installation: false };
        self.host.data().grants.insert(token.to_owned(), grant);
    }

    /// Adds a token for only these repositories.
    pub fn token_for(&self, token: &str, access: Access, names: &[&str]) {
        let repositories = Some(names.iter().map(|name| (*name).to_owned()).collect());
        let grant = Grant { access, repositories, expires_at: None, is_installation: false };
        self.host.data().grants.insert(token.to_owned(), grant);
    }

    /// Revokes a token.
    pub fn revoke(&self, token: &str) {
        self.host.data().grants.remove(token);
    }

    /// Adds a GitHub App with one installation, whose JWTs are signed with this private key (PEM).
    pub fn app(&self, id: u64, installation: u64, key: &str) {
        self.host.data().app = Some(App::new(id, installation, key).expect("the key is valid"));
    }

    /// Adds a user who can review.
    pub fn user(&self, login: &str) -> User {
        let mut data = self.host.data();
        let user = User { id: data.users.len() as u64 + 1, login: login.to_owned() };
        data.users.push(user.clone());
        user
    }

    /// Sets the host's clock.
    pub fn set_time(&self, now: Timestamp) {
        self.host.set_now(Some(now));
    }

    /// Sets the remaining requests of GitHub's rate limit. The default is 5,000.
    pub fn set_rate_limit(&self, left: u32) {
        self.host.data().requests_left = left;
    }

    /// Commits these files to a branch. A new branch starts at the default branch.
    pub async fn push(&self, name: &str, branch: &str, files: &[(&str, &str)]) -> String {
        let repository = self.find(name);
        let before = git::tips(&repository.git_dir).await.expect("git lists branches");
        let dir = &repository.git_dir;
        let parent = git::tip(dir, branch).or_else(|| git::tip(dir, &repository.settings.default_branch));
        let commit = git::commit(dir, branch, parent.as_deref(), self.host.now(), files).await;
        let sha = commit.expect("git creates a commit");
        self.host.send_ref_update_events(&repository, &before).await;
        sha
    }

    pub async fn delete_branch(&self, name: &str, branch: &str) {
        let repository = self.find(name);
        let before = git::tips(&repository.git_dir).await.expect("git lists branches");
        git::delete_branch(&repository.git_dir, branch).await.expect("git deletes a branch");
        self.host.send_ref_update_events(&repository, &before).await;
    }

    /// The tip of a branch.
    pub fn tip(&self, name: &str, branch: &str) -> Option<String> {
        git::tip(&self.find(name).git_dir, branch)
    }

    /// All pull requests, oldest first.
    pub fn pulls(&self, name: &str) -> Vec<Pull> {
        let mut pulls = self.host.list_pulls(&self.find(name), &Filter::default());
        pulls.reverse();
        pulls
    }

    pub fn close_pull(&self, name: &str, number: u64) {
        self.set_open(name, number, false);
    }

    pub fn reopen_pull(&self, name: &str, number: u64) {
        self.set_open(name, number, true);
    }

    /// Merges a pull request like a person, and returns the merge commit.
    pub async fn merge_pull(&self, name: &str, number: u64) -> String {
        let merged = self.host.merge_pull(&self.find(name), number, MergeOptions::default()).await;
        let commit = merged.ok().and_then(|pull| pull.merge_commit);
        commit.expect("the pull request can be merged")
    }

    pub fn faults(&self) -> &Faults {
        &self.host.faults
    }

    /// The logged requests, oldest first. Only the newest are kept.
    pub fn requests(&self) -> Vec<LoggedRequest> {
        self.host.log.requests()
    }

    /// The number of all requests.
    pub fn request_count(&self) -> u64 {
        self.host.log.count()
    }

    /// The size of all response bodies.
    pub fn sent_bytes(&self) -> u64 {
        self.host.log.sent_bytes()
    }

    /// Sends webhooks to this address (`http://…`) from now on, signed with the secret.
    pub fn hook(&self, url: &str, secret: &str) {
        self.host.hooks.add(url, secret);
    }

    /// Waits until all webhooks are sent, and returns them.
    pub async fn deliveries(&self) -> Vec<Delivery> {
        self.host.hooks.flush().await
    }

    fn set_open(&self, name: &str, number: u64, open: bool) {
        let change = Change { open: Some(open), ..Change::default() };
        let changed = self.host.change_pull(&self.find(name), number, change);
        changed.ok().expect("the pull request can be closed or reopened");
    }

    fn find(&self, name: &str) -> Repository {
        self.host.repository(name).expect("the repository exists")
    }
}
