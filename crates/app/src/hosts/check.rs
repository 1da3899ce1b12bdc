//! A look at a repository before a project is made of it; every error says what to do.

use std::path::Path;
use std::sync::Arc;

use forge::{Host, HostKind, Local};
use store::{Hosting, ProjectId};

use super::offers::offers;
use super::{HostKey, Hosts, Records, is_on_the_web};

/// What somebody wants to make a project of.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    pub repository: &'a str,
    pub base_ref: Option<&'a str>,
    pub docs_path: Option<&'a str>,
    pub hosting: &'a Hosting,
    pub key: Option<&'a HostKey>,
}

/// A repository that can be used, and the branch that its jobs start from.
pub struct Repository {
    /// Its path or address, as it is kept.
    pub place: String,
    /// What its host turned out to be, if it is on one.
    pub kind: Option<String>,
    pub branch: String,
    /// Globs of folders with code, which jobs may change only when they are allowed.
    pub offers: Vec<String>,
}

pub async fn check(hosts: &Hosts, wanted: Wanted<'_>) -> anyhow::Result<Repository> {
    if is_on_the_web(wanted.repository) {
        let web = hosts.connect(wanted.repository, wanted.hosting, wanted.key).await?;
        let kind = Some(web.kind().to_string());
        return usable(&web, web.web_url(), kind, wanted).await;
    }
    let path = std::path::absolute(wanted.repository)?;
    if !path.exists() && looks_like_an_address(wanted.repository) {
        anyhow::bail!(
            "there is no folder {0}: for a repository on a host, give https://{0}",
            wanted.repository
        );
    }
    let path = path.to_str().ok_or_else(|| anyhow::anyhow!("the repository's path is not valid text"))?;
    let records = Records { project: ProjectId(String::new()), pulls: hosts.pulls.clone() };
    let host = Local::open(Path::new(path), Arc::new(records), String::new(), &hosts.writes).await?;
    usable(&host, path.to_owned(), None, wanted).await
}

/// `github.com/acme/docs`, as browsers show it.
fn looks_like_an_address(text: &str) -> bool {
    let (host, path) = text.split_once('/').unwrap_or((text, ""));
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-.:".contains(c);
    host.contains('.') && !host.starts_with('.') && host.chars().all(is_name) && path.contains('/')
}

async fn usable(
    host: &dyn Host,
    place: String,
    kind: Option<String>,
    wanted: Wanted<'_>,
) -> anyhow::Result<Repository> {
    let branch = host.check(wanted.base_ref).await?;
    if let Some(folder) = wanted.docs_path
        && !host.has_folder(&branch, folder).await?
    {
        anyhow::bail!("there is no folder `{folder}` on the branch `{branch}`: name another docs path");
    }
    let offers = offers(host, &branch, wanted.docs_path).await;
    Ok(Repository { place, kind, branch, offers })
}

/// A folder of a repository, without slashes around it.
pub fn parse_docs_path(text: &str) -> anyhow::Result<String> {
    let path = text.trim_matches('/');
    forge::valid_path(path)?;
    Ok(path.to_owned())
}

/// The name of a kind of host; an empty one says that it is to be found out.
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
    fn addresses_without_their_beginning() {
        for text in ["github.com/acme/docs", "git.acme.dev:3000/acme/docs", "gitlab.com/a/b/c"] {
            assert!(looks_like_an_address(text), "{text}");
        }
        for text in
            ["docs", "docs/acme/site", "./acme.dev/a/b", "../a.b/c/d", "/srv/a.git", "site.git", "~/a.b/c/d"]
        {
            assert!(!looks_like_an_address(text), "{text}");
        }
    }
}
