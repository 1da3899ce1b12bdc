//! Reads the history of a project's documentation: renamed pages, removed pages, and when each page changed.

use std::sync::Arc;

use forge::{Error, History, HistoryCache, HistoryLimits, Oid};
use pages::FileKind;
use store::{Project, ProjectId};

use super::{Hosts, lock};

impl Hosts {
    /// The history of the project's pages at `commit`, or at the tip of the project's base branch. From a web
    /// host, the history is fetched first, which can take minutes the first time.
    pub async fn site_history(&self, project: &Project, commit: Option<&Oid>) -> forge::Result<History> {
        let host = self.open(project).await?;
        let remote = host.remote();
        let commit = match commit {
            Some(commit) => commit.clone(),
            None => {
                let branch = match &project.base_ref {
                    Some(branch) => branch.clone(),
                    None => host.default_branch().await?,
                };
                let tip = self.cache(&project.id).await?.tip(&remote, &branch).await?;
                tip.ok_or(Error::NoSuchBranch(branch))?
            }
        };
        let folder = project.docs_path.as_deref().map(|folder| format!("{}/", folder.trim_matches('/')));
        let is_page = |path: &str| {
            folder.as_ref().is_none_or(|folder| path.starts_with(folder)) && FileKind::of(path).is_page()
        };
        self.history_cache(&project.id)?.read(&remote, &commit, &is_page).await
    }

    fn history_cache(&self, project: &ProjectId) -> forge::Result<Arc<HistoryCache>> {
        let dir = self.repositories.join(format!("{project}.{HISTORY_SUFFIX}"));
        let cache = Arc::new(HistoryCache::new(&dir, HistoryLimits::default())?);
        Ok(lock(&self.histories).entry(project.clone()).or_insert(cache).clone())
    }
}

/// The end of the name of a history cache, after the project and a dot.
pub(super) const HISTORY_SUFFIX: &str = "history.git";
