//! Where a project's repository is, as `forge` sees it. The embedded host keeps its pull
//! requests in our store; this is the joint between the two.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use forge::{Cache, Error, Host, Local, NewPull, Oid, PullRecord, PullRecords, State};
use store::{Project, ProjectId, Pull, PullState, Pulls, StoreError};

#[derive(Clone)]
pub struct Hosts {
    repositories: Arc<Path>,
    pulls: Arc<dyn Pulls>,
    public_url: Arc<str>,
    /// One cache a project in this process: it takes turns with itself.
    caches: Arc<Mutex<HashMap<ProjectId, Arc<Cache>>>>,
}

impl Hosts {
    pub(crate) fn new(repositories: PathBuf, pulls: Arc<dyn Pulls>, public_url: &str) -> Self {
        Self {
            repositories: repositories.into(),
            pulls,
            public_url: public_url.into(),
            caches: Arc::default(),
        }
    }

    /// The repository's page on the web. A path of this machine is nobody else's business.
    pub(crate) fn web_url(&self, project: &Project) -> String {
        format!("{}/p/{}", self.public_url, project.id)
    }

    pub(crate) async fn local(&self, project: &Project) -> forge::Result<Local> {
        let records = Records { project: project.id.clone(), pulls: self.pulls.clone() };
        let link = format!("{}/pulls/", self.web_url(project));
        Local::open(Path::new(&project.repository), Arc::new(records), link).await
    }

    pub(crate) async fn cache(&self, project: &ProjectId) -> forge::Result<Arc<Cache>> {
        if let Some(cache) = self.caches().get(project) {
            return Ok(cache.clone());
        }
        let opened = Arc::new(Cache::open(&self.repositories.join(format!("{project}.git"))).await?);
        Ok(self.caches().entry(project.clone()).or_insert(opened).clone())
    }

    fn caches(&self) -> std::sync::MutexGuard<'_, HashMap<ProjectId, Arc<Cache>>> {
        self.caches.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// A repository that can be used, and the branch that its jobs start from.
pub struct Repository {
    pub path: String,
    pub branch: String,
}

/// Looks at a repository before a project is made of it; its error says what to do.
pub(crate) async fn check(
    pulls: Arc<dyn Pulls>,
    repository: &str,
    base_ref: Option<&str>,
    docs_path: Option<&str>,
) -> anyhow::Result<Repository> {
    if repository.contains("://") || repository.starts_with("git@") {
        anyhow::bail!(
            "only a repository on this machine can be used in this version: make one with `git clone --bare {repository}` and give its path"
        );
    }
    let path = std::path::absolute(repository)?;
    let path = path.to_str().ok_or_else(|| anyhow::anyhow!("the repository's path is not valid text"))?;
    let records = Records { project: ProjectId(String::new()), pulls };
    let host = Local::open(Path::new(path), Arc::new(records), String::new()).await?;
    let branch = host.check(base_ref).await?;
    if let Some(folder) = docs_path
        && !host.has_folder(&branch, folder).await?
    {
        anyhow::bail!(
            "there is no folder `{folder}` on the branch `{branch}`: name another with --docs-path"
        );
    }
    Ok(Repository { branch, path: path.to_owned() })
}

/// A folder of a repository, without slashes around it.
pub fn parse_docs_path(text: &str) -> anyhow::Result<String> {
    let path = text.trim_matches('/');
    forge::valid_path(path)?;
    Ok(path.to_owned())
}

/// The embedded host's memory of one project's pull requests.
struct Records {
    project: ProjectId,
    pulls: Arc<dyn Pulls>,
}

#[async_trait]
impl PullRecords for Records {
    async fn insert(&self, new: &NewPull) -> forge::Result<PullRecord> {
        let new = store::NewPull {
            job: new.job.clone(),
            title: new.title.clone(),
            body: new.body.clone(),
            head: new.head.clone(),
            base: new.base.clone(),
            head_commit: new.head_commit.to_string(),
            base_commit: new.base_commit.to_string(),
        };
        self.pulls.open_pull(&self.project, &new).await.map_err(failed).and_then(record)
    }

    async fn by_head(&self, head: &str) -> forge::Result<Vec<PullRecord>> {
        let found = self.pulls.pulls_by_head(&self.project, head).await.map_err(failed)?;
        found.into_iter().map(record).collect()
    }

    async fn get(&self, number: u64) -> forge::Result<Option<PullRecord>> {
        let found = self.pulls.pull(&self.project, number).await.map_err(failed)?;
        found.map(record).transpose()
    }

    async fn list(&self, limit: usize) -> forge::Result<Vec<PullRecord>> {
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        let found = self.pulls.pulls(&self.project, limit).await.map_err(failed)?;
        found.into_iter().map(record).collect()
    }

    async fn set_state(
        &self,
        number: u64,
        to: State,
        head_commit: &Oid,
        merge_commit: Option<&Oid>,
    ) -> forge::Result<bool> {
        let state = match to {
            State::Open => PullState::Open,
            State::Merged => PullState::Merged,
            State::Closed => PullState::Closed,
        };
        let merge = merge_commit.map(Oid::as_str);
        self.pulls
            .settle_pull(&self.project, number, state, head_commit.as_str(), merge)
            .await
            .map_err(failed)
    }
}

fn record(pull: Pull) -> forge::Result<PullRecord> {
    Ok(PullRecord {
        number: pull.number,
        title: pull.title,
        body: pull.body,
        head: pull.head,
        base: pull.base,
        state: match pull.state {
            PullState::Open => State::Open,
            PullState::Merged => State::Merged,
            PullState::Closed => State::Closed,
        },
        head_commit: Oid::parse(&pull.head_commit)?,
        base_commit: Oid::parse(&pull.base_commit)?,
        merge_commit: pull.merge_commit.as_deref().map(Oid::parse).transpose()?,
        job: pull.job,
        created_at: pull.created_at.as_millisecond(),
    })
}

fn failed(error: StoreError) -> Error {
    Error::Records(Box::new(error))
}
