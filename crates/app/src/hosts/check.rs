//! Checks a repository before a project uses it. Every error says what to do.

use std::path::Path;
use std::sync::Arc;

use forge::{Host, HostKind, Local};
use store::{Hosting, ProjectId};

use super::suggestions::suggest_allow_paths;
use super::{HostKey, Hosts, Records, is_on_the_web};

/// The settings of a repository to check.
#[derive(Clone, Copy)]
pub struct RepositoryRequest<'a> {
    pub repository: &'a str,
    pub base_ref: Option<&'a str>,
    pub docs_path: Option<&'a str>,
    pub hosting: &'a Hosting,
    pub key: Option<&'a HostKey>,
}

/// A repository that can be used, and the branch that its jobs start from.
pub struct Repository {
    /// Its normalized path or URL, as it's stored.
    pub location: String,
    /// The detected kind of its web host. `None` for a repository on this machine.
    pub kind: Option<String>,
    pub branch: String,
    /// Globs of existing folders with code, which jobs may change only if the project allows it.
    pub suggested_paths: Vec<String>,
}

pub async fn check(hosts: &Hosts, request: RepositoryRequest<'_>) -> anyhow::Result<Repository> {
    if is_on_the_web(request.repository) {
        let web = hosts.connect(request.repository, request.hosting, request.key).await?;
        let kind = Some(web.kind().to_string());
        return check_host(&web, web.web_url(), kind, request).await;
    }
    let path = std::path::absolute(request.repository)?;
    if !path.exists() && looks_like_url(request.repository) {
        anyhow::bail!(
            "there is no folder {0}: for a repository on a web host, use https://{0}",
            request.repository
        );
    }
    let path = path.to_str().ok_or_else(|| anyhow::anyhow!("the repository's path is not valid UTF-8"))?;
    let records = Records { project: ProjectId(String::new()), pulls: hosts.pulls.clone() };
    let host = Local::open(Path::new(path), Arc::new(records), String::new(), &hosts.writes).await?;
    check_host(&host, path.to_owned(), None, request).await
}

/// Whether the text is a URL without its scheme, such as `github.com/acme/docs`.
fn looks_like_url(text: &str) -> bool {
    let (host, path) = text.split_once('/').unwrap_or((text, ""));
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-.:".contains(c);
    host.contains('.') && !host.starts_with('.') && host.chars().all(is_name) && path.contains('/')
}

async fn check_host(
    host: &dyn Host,
    location: String,
    kind: Option<String>,
    request: RepositoryRequest<'_>,
) -> anyhow::Result<Repository> {
    let branch = host.check(request.base_ref).await?;
    if let Some(folder) = request.docs_path
        && !host.has_folder(&branch, folder).await?
    {
        anyhow::bail!("there is no folder `{folder}` on the branch `{branch}`: choose another docs path");
    }
    let suggested_paths = suggest_allow_paths(host, &branch, request.docs_path).await;
    Ok(Repository { location, kind, branch, suggested_paths })
}

/// Whether the host does not accept the token. A stored token was accepted once, so it is revoked or expired.
pub fn is_token_refused(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(forge::Error::TokenRefused(_)))
}

/// Parses a folder of a repository. The result has no slashes at its ends.
pub fn parse_docs_path(text: &str) -> anyhow::Result<String> {
    let path = text.trim_matches('/');
    forge::valid_path(path)?;
    Ok(path.to_owned())
}

/// Parses the kind of a host. An empty text means that the kind is to be detected.
pub fn parse_host_kind(text: &str) -> Result<String, String> {
    if text.is_empty() {
        return Ok(String::new());
    }
    text.parse::<HostKind>().map(|kind| kind.to_string()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_without_a_scheme() {
        for text in ["github.com/acme/docs", "git.acme.dev:3000/acme/docs", "gitlab.com/a/b/c"] {
            assert!(looks_like_url(text), "{text}");
        }
        for text in
            ["docs", "docs/acme/site", "./acme.dev/a/b", "../a.b/c/d", "/srv/a.git", "site.git", "~/a.b/c/d"]
        {
            assert!(!looks_like_url(text), "{text}");
        }
    }
}
