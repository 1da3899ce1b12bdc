//! Opens the host and the cache of a project's repository, which is on this machine or on a web host.

mod caches;
mod check;
mod history;
mod pull_states;
mod records;
mod suggestions;
mod update;

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use base::Clock;
use forge::{
    AppKey, Cache, Credential, Error, FetchCounts, FetchState, HistoryCache, Host, HostKind, Local, Web,
    WebLimits, WebSettings,
};
use net::{NetworkPolicy, Secret};
use store::{DataDir, Hosting, Project, ProjectId, Pulls, Secrets};
use zeroize::Zeroizing;

pub use check::{Repository, RepositoryRequest, check, is_token_refused, parse_docs_path, parse_host_kind};
use pull_states::LastRequests;
pub use pull_states::{pull_number, stored_state};
use records::{Records, records_error};
pub use update::{COMMAND_LINE, ProjectUpdate, UpdatedProject, check_update, store_key, update};

use crate::settings::Settings;

// The names under which the secrets of a project are stored.

/// The name of the stored secret that is the token or the app's key for the project's host.
pub const HOST_KEY: &str = "forge-token";
/// The name of the stored secret that the host signs webhooks with.
pub const HOOK_SECRET: &str = "hook";
/// The name of the stored secret that says who provided the token or the key.
const HOST_KEY_PROVIDER: &str = "forge-token-giver";

#[derive(Clone)]
pub struct Hosts {
    repositories: Arc<Path>,
    /// The write-ahead journal for repositories on this machine.
    writes: Arc<Path>,
    pulls: Arc<dyn Pulls>,
    secrets: Arc<dyn Secrets>,
    public_url: Arc<str>,
    network_policy: NetworkPolicy,
    limits: WebLimits,
    clock: Arc<dyn Clock>,
    /// One cache per project and process, because a cache serializes its own operations.
    caches: Arc<Mutex<HashMap<ProjectId, Arc<Cache>>>>,
    histories: Arc<Mutex<HashMap<ProjectId, Arc<HistoryCache>>>>,
    fetches: Arc<FetchCounts>,
    /// Open web hosts with their connections.
    open_hosts: Arc<Mutex<HashMap<ProjectId, OpenHost>>>,
    last_requests: Arc<Mutex<LastRequests>>,
    hasher: RandomState,
}

struct OpenHost {
    /// The hash of the settings that the host was opened with.
    fingerprint: u64,
    web: Arc<Web>,
}

impl Hosts {
    pub fn new(
        dir: &DataDir,
        pulls: Arc<dyn Pulls>,
        secrets: Arc<dyn Secrets>,
        public_url: &str,
        settings: &Settings,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            repositories: dir.repositories().into(),
            writes: dir.writes().into(),
            pulls,
            secrets,
            public_url: public_url.into(),
            network_policy: settings.hosts,
            limits: WebLimits { retry_delay: settings.host_retry_delay, ..WebLimits::default() },
            clock,
            caches: Arc::default(),
            histories: Arc::default(),
            fetches: Arc::default(),
            open_hosts: Arc::default(),
            last_requests: Arc::default(),
            hasher: RandomState::new(),
        }
    }

    /// The repository's page on the web. For a local repository, returns the project's page of the dashboard.
    pub fn web_url(&self, project: &Project) -> String {
        match is_on_the_web(&project.repository) {
            true => project.repository.clone(),
            false => self.project_page(project),
        }
    }

    fn project_page(&self, project: &Project) -> String {
        format!("{}/p/{}", self.public_url, project.id)
    }

    pub async fn open(&self, project: &Project) -> forge::Result<Arc<dyn Host>> {
        match is_on_the_web(&project.repository) {
            true => Ok(self.web(project).await?),
            false => Ok(Arc::new(self.local(project).await?)),
        }
    }

    /// The embedded host. Fails for a project on a web host.
    pub async fn local(&self, project: &Project) -> forge::Result<Local> {
        if is_on_the_web(&project.repository) {
            let repository = &project.repository;
            return Err(Error::Refused(format!("the pull requests of this project are at {repository}")));
        }
        let records = Records { project: project.id.clone(), pulls: self.pulls.clone() };
        let link = format!("{}/pulls/", self.project_page(project));
        Local::open(Path::new(&project.repository), Arc::new(records), link, &self.writes).await
    }

    /// Removes what a killed server or a power cut left in the repositories on this machine.
    pub async fn recover(&self, projects: &[Project]) {
        let folder = self.writes.clone();
        let recovered = tokio::task::spawn_blocking(move || forge::recover_writes(&folder)).await;
        if let Err(error) = recovered.map_err(std::io::Error::other).flatten() {
            tracing::warn!("cannot remove lock files of a stopped server from repositories: {error}");
        }
        for project in projects.iter().filter(|project| !is_on_the_web(&project.repository)) {
            let removed = async { self.local(project).await?.remove_empty_branches().await };
            if let Err(error) = removed.await {
                tracing::warn!("cannot check the repository of project {}: {error}", project.id);
            }
        }
    }

    /// The web host of a project. It's opened again only when its settings change.
    pub async fn web(&self, project: &Project) -> forge::Result<Arc<Web>> {
        let key = self.key(&project.id).await?;
        let settings = (&project.repository, &project.hosting, key.as_ref().map(|key| key.reveal()));
        let fingerprint = self.hasher.hash_one(settings);
        if let Some(open) =
            lock(&self.open_hosts).get(&project.id).filter(|open| open.fingerprint == fingerprint)
        {
            return Ok(open.web.clone());
        }
        let web = Arc::new(self.connect(&project.repository, &project.hosting, key.as_ref()).await?);
        lock(&self.open_hosts).insert(project.id.clone(), OpenHost { fingerprint, web: web.clone() });
        Ok(web)
    }

    pub async fn connect(
        &self,
        repository: &str,
        hosting: &Hosting,
        key: Option<&HostKey>,
    ) -> forge::Result<Web> {
        let clock = self.clock.clone();
        let settings = WebSettings {
            kind: hosting.kind.as_deref().map(str::parse::<HostKind>).transpose()?,
            credential: credential(hosting, key)?,
            reach: self.network_policy,
            limits: self.limits,
            labels: hosting.labels.clone(),
            reviewers: hosting.reviewers.clone(),
            now: Arc::new(move || clock.now().as_second()),
            ..WebSettings::new(repository)
        };
        Web::open(settings).await
    }

    /// The token or the app's key for the project's host.
    pub async fn key(&self, project: &ProjectId) -> forge::Result<Option<HostKey>> {
        let sealed = self.secrets.secret(&project.0, HOST_KEY).await.map_err(records_error)?;
        Ok(sealed.map(|bytes| HostKey::new(String::from_utf8_lossy(&bytes))))
    }

    /// Removes the caches and the connections of a deleted project.
    pub async fn remove_project(&self, project: &ProjectId) -> std::io::Result<()> {
        lock(&self.open_hosts).remove(project);
        lock(&self.caches).remove(project);
        lock(&self.histories).remove(project);
        for suffix in ["git", history::HISTORY_SUFFIX] {
            let path = |end: &str| self.repositories.join(format!("{project}.{suffix}{end}"));
            ignore_missing(tokio::fs::remove_dir_all(path("")).await)?;
            ignore_missing(tokio::fs::remove_file(path(".lock")).await)?;
        }
        Ok(())
    }

    /// The projects that have a cache on this machine.
    pub fn cached_projects(&self) -> Vec<ProjectId> {
        let entries = std::fs::read_dir(&self.repositories).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let projects = names.filter_map(|name| caches::project_of(&name));
        projects.filter_map(|(project, is_history)| (!is_history).then_some(project)).collect()
    }

    /// How the project's cache gets the files of its commits. `None` if it has all of them, or doesn't exist.
    pub fn fetch_state(&self, project: &ProjectId) -> Option<FetchState> {
        FetchState::read(&self.repositories.join(format!("{project}.git")))
    }

    /// What fetches over HTTP cost since the start of this process.
    pub fn fetch_counts(&self) -> &FetchCounts {
        &self.fetches
    }

    pub async fn cache(&self, project: &ProjectId) -> forge::Result<Arc<Cache>> {
        if let Some(cache) = lock(&self.caches).get(project) {
            return Ok(cache.clone());
        }
        let path = self.repositories.join(format!("{project}.git"));
        let cache = Arc::new(Cache::open_counted(&path, self.fetches.clone()).await?);
        Ok(lock(&self.caches).entry(project.clone()).or_insert(cache).clone())
    }
}

/// A token, or the key of an app, which has several lines.
#[derive(Clone)]
pub struct HostKey(Zeroizing<String>);

impl HostKey {
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    pub fn reveal(&self) -> &str {
        &self.0
    }
}

fn credential(hosting: &Hosting, key: Option<&HostKey>) -> forge::Result<Credential> {
    let Some(key) = key else { return Ok(Credential::None) };
    if let Some(app) = &hosting.app {
        let key = AppKey::parse(key.reveal())?;
        return Ok(Credential::App { id: app.id.clone(), installation: app.installation, key });
    }
    let token = Secret::parse(key.reveal());
    token
        .map(Credential::Token)
        .ok_or_else(|| Error::BadName("the token must be one line of letters, digits and punctuation".into()))
}

fn ignore_missing(removed: std::io::Result<()>) -> std::io::Result<()> {
    removed.or_else(|error| if error.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

pub fn is_on_the_web(repository: &str) -> bool {
    repository.contains("://") || repository.starts_with("git@")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
