//! Whose API a host speaks: known by its name, set by the operator, or asked of the host once.

use std::fmt;
use std::str::FromStr;

use reqwest::{Method, Url};

use super::api::{Answer, Line, below};
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

    /// The ones that everybody knows. `host` is in small letters, with its port if that is unusual.
    pub(super) fn of(host: &str) -> Option<Self> {
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
        found.ok_or_else(|| Error::BadName("a host is github, gitlab, gitea or forgejo".to_owned()))
    }
}

/// What nobody has to sign in for. Some hosts hide even that, but in words of their own.
const SIGNS: [(HostKind, &[&str]); 4] = [
    (HostKind::Forgejo, &["api", "forgejo", "v1", "version"]),
    (HostKind::Gitea, &["api", "v1", "version"]),
    (HostKind::GitLab, &["api", "v4", "version"]),
    (HostKind::GitHub, &["api", "v3", "meta"]),
];

/// Asks without the token: who is there is not known yet.
pub(super) async fn ask(line: &Line, origin: &Url) -> Result<HostKind> {
    let host = &line.host;
    let mut told = Error::Denied(format!(
        "{host} does not say what it is: `docwright project create` and `update` take its kind by --host, one of github, gitlab, gitea and forgejo"
    ));
    let mut unheard = 0;
    for (kind, path) in SIGNS {
        match line.ask(&Method::GET, &below(origin, path), None, None).await {
            Ok(answer) => {
                if let Some(kind) = recognized(kind, &answer) {
                    return Ok(kind);
                }
            }
            // A page for people, or something else that is no API; or nobody is there.
            Err(error @ Error::Later { after: None, .. }) => {
                unheard += 1;
                if unheard == SIGNS.len() {
                    told = error;
                }
            }
            Err(error) => return Err(error),
        }
    }
    Err(told)
}

fn recognized(asked: HostKind, answer: &Answer) -> Option<HostKind> {
    let is_github = || answer.status == 200 || answer.headers.contains_key("x-github-request-id");
    let is_it = match asked {
        _ if answer.body.is_null() => false,
        // Forgejo names the Gitea that it is compatible with.
        HostKind::Forgejo | HostKind::Gitea if answer.status == 200 => {
            let version = answer.body["version"].as_str()?;
            return Some(if version.contains("+gitea-") { HostKind::Forgejo } else { asked });
        }
        HostKind::Forgejo => false,
        HostKind::Gitea => answer.status == 403,
        HostKind::GitLab => matches!(answer.status, 200 | 401),
        HostKind::GitHub => is_github(),
    };
    is_it.then_some(asked)
}
