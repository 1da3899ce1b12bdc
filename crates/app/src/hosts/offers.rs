//! Folders with code that docs often show: jobs may change them only when a person allows it, and people are told.

use std::time::Duration;

use forge::Host;
use futures_util::future::join_all;
use store::Project;

use super::Hosts;

const LIKELY: [&str; 3] = ["examples", "samples", "snippets"];
/// A page waits no longer for a host to tell.
const PATIENCE: Duration = Duration::from_secs(1);

impl Hosts {
    /// The globs that the repository of a project makes likely and that are not allowed yet; none when its host is
    /// slow to tell.
    pub async fn offers(&self, project: &Project) -> Vec<String> {
        let asked = async {
            let host = self.open(project).await.ok()?;
            let branch = host.check(project.base_ref.as_deref()).await.ok()?;
            Some(offers(&*host, &branch, project.docs_path.as_deref()).await)
        };
        let mut globs = tokio::time::timeout(PATIENCE, asked).await.ok().flatten().unwrap_or_default();
        globs.retain(|glob| !project.allow_paths.contains(glob));
        globs
    }
}

/// The globs of likely folders that are there, at the root and among the docs.
pub(super) async fn offers(host: &dyn Host, branch: &str, docs_path: Option<&str>) -> Vec<String> {
    let at_root = LIKELY.iter().map(|name| (*name).to_owned());
    let in_docs =
        docs_path.into_iter().flat_map(|docs| LIKELY.iter().map(move |name| format!("{docs}/{name}")));
    let folders: Vec<String> = at_root.chain(in_docs).collect();
    let there = join_all(folders.iter().map(|folder| host.has_folder(branch, folder))).await;
    let there = folders.into_iter().zip(there).filter(|(_, is_there)| matches!(is_there, Ok(true)));
    there.map(|(folder, _)| format!("{folder}/**")).collect()
}
