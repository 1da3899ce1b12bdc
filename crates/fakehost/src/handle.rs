//! The host in a test's hand: what a person would do on its pages, and what only a test may ask.
//! A host that cannot be set up is no test, so these panic.
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
use crate::hooks::{Delivery, Hooks};
use crate::log::Seen;
use crate::pulls::{Change, Filter, Merge, Pull};
use crate::serve::serve;
use crate::state::{Host, Repository, Settings, User};
use crate::{Kind, backend, control, git, gitea, github, gitlab};

/// A running host. It ends, with everything that it has, when this is dropped.
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
        let dir = tempfile::tempdir().expect("no place for repositories");
        let listener = TcpListener::bind(address).await.expect("the port cannot be had");
        let address = listener.local_addr().expect("a port has an address");
        let (hooks, sending) = Hooks::new(kind);
        let host = Arc::new(Host::new(kind, format!("http://{address}"), dir.path().to_owned(), hooks));
        let api = match kind {
            Kind::GitHub => github::routes(&host),
            Kind::GitLab => gitlab::routes(),
            Kind::Gitea | Kind::Forgejo => gitea::routes(),
        };
        let router: Router = api.merge(control::routes()).fallback(backend::handle).with_state(host.clone());
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener, host.clone(), router));
        tasks.spawn(sending);
        Self { host, _tasks: tasks, _dir: dir }
    }

    /// Scheme and authority; what comes before `/acme/docs`.
    pub fn url(&self) -> &str {
        &self.host.url
    }

    /// Where the API is.
    pub fn api_url(&self) -> String {
        match self.host.kind {
            Kind::GitHub => self.host.url.clone(),
            Kind::GitLab => format!("{}/api/v4", self.host.url),
            Kind::Gitea | Kind::Forgejo => format!("{}/api/v1", self.host.url),
        }
    }

    /// A private repository with one commit on `main`.
    pub async fn repository(&self, name: &str, files: &[(&str, &str)]) -> Repo {
        let git_dir = self.host.root.join(format!("{name}.git"));
        git::init(&git_dir, "main").await.expect("git makes a repository");
        let made = git::commit(&git_dir, "main", None, self.host.now(), files).await;
        made.expect("git makes a commit");
        self.add(name, git_dir, Settings::default())
    }

    /// A private repository with everything that one of this machine has.
    pub async fn mirror(&self, name: &str, from: &Path) -> Repo {
        let git_dir = self.host.root.join(format!("{name}.git"));
        git::mirror(from, &git_dir).await.expect("git copies a repository");
        let head = std::fs::read_to_string(git_dir.join("HEAD")).expect("a repository has a HEAD");
        let default_branch = head.trim().strip_prefix("ref: refs/heads/").expect("a HEAD that is a branch");
        let default_branch = default_branch.to_owned();
        self.add(name, git_dir, Settings { default_branch, ..Settings::default() })
    }

    fn add(&self, name: &str, git_dir: PathBuf, settings: Settings) -> Repo {
        let sha = git::tip(&git_dir, &settings.default_branch).unwrap_or_default();
        let mut world = self.host.world();
        let (id, labels) = (world.new_id(), Vec::new());
        let repository = Repository { id, name: name.to_owned(), git_dir: git_dir.clone(), labels, settings };
        world.repositories.insert(name.to_owned(), repository);
        Repo { name: name.to_owned(), clone_url: format!("{}/{name}.git", self.host.url), git_dir, sha }
    }

    /// Changes a repository's settings.
    pub fn set(&self, name: &str, change: impl FnOnce(&mut Settings)) {
        let mut world = self.host.world();
        let repository = world.repositories.get_mut(name).expect("a repository that there is");
        change(&mut repository.settings);
        let protected = repository.settings.protected.iter();
        let lines: String = protected.map(|branch| format!("refs/heads/{branch}\n")).collect();
        let head = format!("ref: refs/heads/{}\n", repository.settings.default_branch);
        std::fs::write(repository.git_dir.join("protected"), lines).expect("a file can be written");
        std::fs::write(repository.git_dir.join("HEAD"), head).expect("a file can be written");
    }

    /// A token for every repository.
    pub fn token(&self, token: &str, access: Access) {
        let grant = Grant { access, repositories: None, expires_at: None, is_installation: false };
        self.host.world().grants.insert(token.to_owned(), grant);
    }

    /// A token for these repositories alone.
    pub fn token_for(&self, token: &str, access: Access, names: &[&str]) {
        let repositories = Some(names.iter().map(|name| (*name).to_owned()).collect());
        let grant = Grant { access, repositories, expires_at: None, is_installation: false };
        self.host.world().grants.insert(token.to_owned(), grant);
    }

    /// Takes a token back.
    pub fn revoke(&self, token: &str) {
        self.host.world().grants.remove(token);
    }

    /// A GitHub App, installed once, whose JWTs are signed with this private key (PEM).
    pub fn app(&self, id: u64, installation: u64, key: &str) {
        self.host.world().app = Some(App::new(id, installation, key).expect("a key"));
    }

    /// Somebody who can review.
    pub fn user(&self, login: &str) -> User {
        let mut world = self.host.world();
        let user = User { id: world.users.len() as u64 + 1, login: login.to_owned() };
        world.users.push(user.clone());
        user
    }

    /// What time it is for the host, instead of the machine's.
    pub fn set_time(&self, now: Timestamp) {
        self.host.set_now(Some(now));
    }

    /// How many requests GitHub takes from now on; 5,000 unless told.
    pub fn set_rate_limit(&self, left: u32) {
        self.host.world().budget = left;
    }

    /// A commit with these files over those of the branch; a new branch starts at the default one.
    pub async fn push(&self, name: &str, branch: &str, files: &[(&str, &str)]) -> String {
        let repository = self.find(name);
        let before = git::tips(&repository.git_dir).await.expect("git lists branches");
        let dir = &repository.git_dir;
        let parent = git::tip(dir, branch).or_else(|| git::tip(dir, &repository.settings.default_branch));
        let made = git::commit(dir, branch, parent.as_deref(), self.host.now(), files).await;
        let sha = made.expect("git makes a commit");
        self.host.tell_moves(&repository, &before).await;
        sha
    }

    pub async fn delete_branch(&self, name: &str, branch: &str) {
        let repository = self.find(name);
        let before = git::tips(&repository.git_dir).await.expect("git lists branches");
        git::delete_branch(&repository.git_dir, branch).await.expect("git deletes a branch");
        self.host.tell_moves(&repository, &before).await;
    }

    /// Where a branch is.
    pub fn tip(&self, name: &str, branch: &str) -> Option<String> {
        git::tip(&self.find(name).git_dir, branch)
    }

    /// Every pull request, the oldest first.
    pub fn pulls(&self, name: &str) -> Vec<Pull> {
        let mut pulls = self.host.list_pulls(&self.find(name), &Filter::default());
        pulls.reverse();
        pulls
    }

    pub fn close_pull(&self, name: &str, number: u64) {
        self.turn(name, number, false);
    }

    pub fn reopen_pull(&self, name: &str, number: u64) {
        self.turn(name, number, true);
    }

    /// A person merges it; the merge's commit.
    pub async fn merge_pull(&self, name: &str, number: u64) -> String {
        let merged = self.host.merge_pull(&self.find(name), number, Merge::default()).await;
        let commit = merged.ok().and_then(|pull| pull.merge_commit);
        commit.expect("a pull request that can be merged")
    }

    pub fn faults(&self) -> &Faults {
        &self.host.faults
    }

    /// The newest requests, the oldest of them first.
    pub fn requests(&self) -> Vec<Seen> {
        self.host.log.seen()
    }

    /// How many requests there were, ever.
    pub fn request_count(&self) -> u64 {
        self.host.log.count()
    }

    /// Sends events to this address (`http://…`) from now on, signed with the secret.
    pub fn hook(&self, url: &str, secret: &str) {
        self.host.hooks.add(url, secret);
    }

    /// The events that were sent, once none waits any more.
    pub async fn deliveries(&self) -> Vec<Delivery> {
        self.host.hooks.settled().await
    }

    fn turn(&self, name: &str, number: u64, open: bool) {
        let change = Change { open: Some(open), ..Change::default() };
        let turned = self.host.change_pull(&self.find(name), number, change);
        turned.ok().expect("a pull request that can be changed so");
    }

    fn find(&self, name: &str) -> Repository {
        self.host.repository(name).expect("a repository that there is")
    }
}
