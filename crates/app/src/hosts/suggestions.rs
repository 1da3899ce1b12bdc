//! Suggests folders with code samples, which jobs may change only if the project allows it.

use std::time::Duration;

use forge::Host;
use futures_util::future::join_all;
use store::Project;

use super::Hosts;

const SAMPLE_FOLDERS: [&str; 3] = ["examples", "samples", "snippets"];
/// How long a page of the dashboard waits for the host.
const TIMEOUT: Duration = Duration::from_secs(1);

impl Hosts {
    /// Globs of the sample folders in a project's repository that the project doesn't allow yet. Empty if its
    /// host is slow.
    pub async fn suggest_allow_paths(&self, project: &Project) -> Vec<String> {
        let request = async {
            let host = self.open(project).await.ok()?;
            let branch = host.check(project.base_ref.as_deref()).await.ok()?;
            Some(suggest_allow_paths(&*host, &branch, project.docs_path.as_deref()).await)
        };
        let mut globs = tokio::time::timeout(TIMEOUT, request).await.ok().flatten().unwrap_or_default();
        globs.retain(|glob| !project.allow_paths.contains(glob));
        globs
    }
}

/// Globs of the sample folders that exist at the root and in the docs folder.
pub(super) async fn suggest_allow_paths(
    host: &dyn Host,
    branch: &str,
    docs_path: Option<&str>,
) -> Vec<String> {
    let at_root = SAMPLE_FOLDERS.iter().map(|name| (*name).to_owned());
    let in_docs = docs_path
        .into_iter()
        .flat_map(|docs| SAMPLE_FOLDERS.iter().map(move |name| format!("{docs}/{name}")));
    let folders: Vec<String> = at_root.chain(in_docs).collect();
    let exists = join_all(folders.iter().map(|folder| host.has_folder(branch, folder))).await;
    let existing = folders.into_iter().zip(exists).filter(|(_, exists)| matches!(exists, Ok(true)));
    existing.map(|(folder, _)| format!("{folder}/**")).collect()
}
