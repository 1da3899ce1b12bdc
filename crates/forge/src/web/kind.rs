//! Determines the kind of a host: from its name, from the operator's setting, or by up to four requests to the
//! host.

use std::fmt;
use std::str::FromStr;

use reqwest::{Method, Url};

use super::api::{ApiClient, ApiResponse, append_path};
use crate::{Error, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostKind {
    GitHub,
    GitLab,
    Gitea,
    Forgejo,
}

impl HostKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GitHub => "github",
            Self::GitLab => "gitlab",
            Self::Gitea => "gitea",
            Self::Forgejo => "forgejo",
        }
    }

    /// The kind of a well-known host. `host` is in lower case, with its port if it is not the default.
    pub(super) fn of_known_host(host: &str) -> Option<Self> {
        match host {
            "github.com" => Some(Self::GitHub),
            "gitlab.com" => Some(Self::GitLab),
            "gitea.com" => Some(Self::Gitea),
            "codeberg.org" => Some(Self::Forgejo),
            _ => host.ends_with(".ghe.com").then_some(Self::GitHub),
        }
    }
}

impl fmt::Display for HostKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for HostKind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let all = [Self::GitHub, Self::GitLab, Self::Gitea, Self::Forgejo];
        let found = all.into_iter().find(|kind| kind.as_str().eq_ignore_ascii_case(text.trim()));
        found.ok_or_else(|| {
            Error::BadName("the kind of a host must be github, gitlab, gitea or forgejo".to_owned())
        })
    }
}

/// Endpoints that need no authentication on most hosts. Where they do, the error response identifies the
/// host.
const VERSION_ENDPOINTS: [(HostKind, &[&str]); 4] = [
    (HostKind::Forgejo, &["api", "forgejo", "v1", "version"]),
    (HostKind::Gitea, &["api", "v1", "version"]),
    (HostKind::GitLab, &["api", "v4", "version"]),
    (HostKind::GitHub, &["api", "v3", "meta"]),
];

/// Detects the kind of a host. Sends no token, because the host is not identified yet.
pub(super) async fn detect(client: &ApiClient, origin: &Url) -> Result<HostKind> {
    let host = &client.host;
    let mut failure = Error::Denied(format!(
        "{host} was not recognized: name its kind with --host of `docwright project create` or `update`: github, gitlab, gitea or forgejo"
    ));
    let mut unusable = 0;
    for (kind, path) in VERSION_ENDPOINTS {
        match client.request(&Method::GET, &append_path(origin, path), None, None).await {
            Ok(response) => {
                if let Some(kind) = recognize(kind, &response) {
                    return Ok(kind);
                }
            }
            // The response is not JSON, or the host cannot be reached.
            Err(error @ Error::Temporary { retry_after: None, .. }) => {
                unusable += 1;
                if unusable == VERSION_ENDPOINTS.len() {
                    failure = error;
                }
            }
            Err(error) => return Err(error),
        }
    }
    Err(failure)
}

fn recognize(candidate: HostKind, response: &ApiResponse) -> Option<HostKind> {
    let is_github = || response.status == 200 || response.headers.contains_key("x-github-request-id");
    let is_match = match candidate {
        _ if response.body.is_null() => false,
        // Forgejo's version names the compatible version of Gitea.
        HostKind::Forgejo | HostKind::Gitea if response.status == 200 => {
            let version = response.body["version"].as_str()?;
            return Some(if version.contains("+gitea-") { HostKind::Forgejo } else { candidate });
        }
        HostKind::Forgejo => false,
        HostKind::Gitea => response.status == 403,
        HostKind::GitLab => matches!(response.status, 200 | 401),
        HostKind::GitHub => is_github(),
    };
    is_match.then_some(candidate)
}
