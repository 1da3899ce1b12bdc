//! Where a project's repository is, as `forge` sees it: on this machine, or on a host.

mod caches;
mod change;
mod check;
mod offers;
mod records;
mod states;

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use base::Clock;
use forge::{AppKey, Cache, Credential, Error, Host, HostKind, Local, Web, WebLimits, WebSettings};
use net::{NetworkPolicy, Secret};
use store::{DataDir, Hosting, Project, ProjectId, Pulls, Secrets};
use zeroize::Zeroizing;

pub use change::Updated;
pub use change::{COMMAND_LINE, Requested, check_change, keep_key, update};
pub use check::check;
pub use check::{Repository, Wanted, parse_docs_path, parse_host_kind};
use records::{Records, failed};
use states::Asked;
pub use states::{number, recorded};

use crate::settings::Settings;

/// What of a project is sealed: the token or the app's key for its host, and what the host signs with.
pub const HOST_KEY: &str = "forge-token";
pub const HOOK_SECRET: &str = "hook";
/// Who gave the token or the key.
const HOST_KEY_GIVER: &str = "forge-token-giver";

#[derive(Clone)]
pub struct Hosts {
    repositories: Arc<Path>,
    /// Records of what is being written to repositories on this machine.
    writes: Arc<Path>,
    pulls: Arc<dyn Pulls>,
    secrets: Arc<dyn Secrets>,
    public_url: Arc<str>,
    reach: NetworkPolicy,
    limits: WebLimits,
    clock: Arc<dyn Clock>,
    /// One cache a project in this process: it takes turns with itself.
    caches: Arc<Mutex<HashMap<ProjectId, Arc<Cache>>>>,
    /// Those on the web, each with its connections, and the settings that it was opened with.
    opened: Arc<Mutex<HashMap<ProjectId, Opened>>>,
    asked: Arc<Mutex<Asked>>,
    fingerprint: RandomState,
}

struct Opened {
    print: u64,
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
            reach: settings.hosts,
            limits: WebLimits { retry_delay: settings.host_pause, ..WebLimits::default() },
            clock,
            caches: Arc::default(),
            opened: Arc::default(),
            asked: Arc::default(),
            fingerprint: RandomState::new(),
        }
    }

    /// The repository's page on the web. A path of this machine is nobody else's business.
    pub fn web_url(&self, project: &Project) -> String {
        match is_on_the_web(&project.repository) {
            true => project.repository.clone(),
            false => self.own_page(project),
        }
    }

    fn own_page(&self, project: &Project) -> String {
        format!("{}/p/{}", self.public_url, project.id)
    }

    pub async fn open(&self, project: &Project) -> forge::Result<Arc<dyn Host>> {
        match is_on_the_web(&project.repository) {
            true => Ok(self.web(project).await?),
            false => Ok(Arc::new(self.local(project).await?)),
        }
    }

    /// The embedded host, for what only it can do.
    pub async fn local(&self, project: &Project) -> forge::Result<Local> {
        if is_on_the_web(&project.repository) {
            let repository = &project.repository;
            return Err(Error::Refused(format!("the pull requests of this project are at {repository}")));
        }
        let records = Records { project: project.id.clone(), pulls: self.pulls.clone() };
        let link = format!("{}/pulls/", self.own_page(project));
        Local::open(Path::new(&project.repository), Arc::new(records), link, &self.writes).await
    }

    /// Removes what a killed server or a power cut left in the repositories on this machine.
    pub async fn recover(&self, projects: &[Project]) {
        let folder = self.writes.clone();
        let recovered = tokio::task::spawn_blocking(move || forge::recover_writes(&folder)).await;
        if let Err(error) = recovered.map_err(std::io::Error::other).flatten() {
            tracing::warn!("lock files of a stopped server may be left in repositories: {error}");
        }
        for project in projects.iter().filter(|project| !is_on_the_web(&project.repository)) {
            let removed = async { self.local(project).await?.remove_empty_branches().await };
            if let Err(error) = removed.await {
                tracing::warn!("the repository of project {} cannot be looked at: {error}", project.id);
            }
        }
    }

    /// Opened once, as long as nothing of it changes.
    pub async fn web(&self, project: &Project) -> forge::Result<Arc<Web>> {
        let key = self.key(&project.id).await?;
        let print = (&project.repository, &project.hosting, key.as_ref().map(|key| key.reveal()));
        let print = self.fingerprint.hash_one(print);
        if let Some(opened) = locked(&self.opened).get(&project.id).filter(|opened| opened.print == print) {
            return Ok(opened.web.clone());
        }
        let web = Arc::new(self.connect(&project.repository, &project.hosting, key.as_ref()).await?);
        locked(&self.opened).insert(project.id.clone(), Opened { print, web: web.clone() });
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
            reach: self.reach,
            limits: self.limits,
            labels: hosting.labels.clone(),
            reviewers: hosting.reviewers.clone(),
            now: Arc::new(move || clock.now().as_second()),
            ..WebSettings::new(repository)
        };
        Web::open(settings).await
    }

    /// The token or key that the project's host knows us by.
    pub async fn key(&self, project: &ProjectId) -> forge::Result<Option<HostKey>> {
        let sealed = self.secrets.secret(&project.0, HOST_KEY).await.map_err(failed)?;
        Ok(sealed.map(|bytes| HostKey::new(String::from_utf8_lossy(&bytes))))
    }

    /// Leaves nothing of a project that is gone.
    pub async fn forget(&self, project: &ProjectId) -> std::io::Result<()> {
        locked(&self.opened).remove(project);
        locked(&self.caches).remove(project);
        let (cache, lock) = (format!("{project}.git"), format!("{project}.git.lock"));
        let (cache, lock) = (self.repositories.join(cache), self.repositories.join(lock));
        gone(tokio::fs::remove_dir_all(cache).await)?;
        gone(tokio::fs::remove_file(lock).await)
    }

    /// The projects that have a cache.
    pub fn cached(&self) -> Vec<ProjectId> {
        let entries = std::fs::read_dir(&self.repositories).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter_map(|name| Some(ProjectId(name.strip_suffix(".git")?.to_owned()))).collect()
    }

    pub async fn cache(&self, project: &ProjectId) -> forge::Result<Arc<Cache>> {
        if let Some(cache) = locked(&self.caches).get(project) {
            return Ok(cache.clone());
        }
        let opened = Arc::new(Cache::open(&self.repositories.join(format!("{project}.git"))).await?);
        Ok(locked(&self.caches).entry(project.clone()).or_insert(opened).clone())
    }
}

/// A token, or an app's key, which has many lines.
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
        .ok_or_else(|| Error::BadName("the token must be one line of letters, digits and signs".into()))
}

/// What is not there need not be removed.
fn gone(removed: std::io::Result<()>) -> std::io::Result<()> {
    removed.or_else(|error| if error.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

pub fn is_on_the_web(repository: &str) -> bool {
    repository.contains("://") || repository.starts_with("git@")
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
