//! The address of a repository, as people write it, and what follows from it.

use reqwest::Url;

use super::HostKind;
use crate::name::printable;
use crate::{ALLOW_PRIVATE, Error, Result};

const MAX_ADDRESS: usize = 400;

/// A repository on a host whose kind may not be known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// Scheme, name and port alone.
    pub(super) origin: Url,
    parts: Vec<String>,
}

/// A repository on a host of a known kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Home {
    pub(super) kind: HostKind,
    /// With a slash at the end.
    pub(super) api: Url,
    /// What git fetches from.
    pub(super) clone: Url,
    /// What people look at.
    pub(super) web: Url,
    /// `owner/repository`, with groups in groups on GitLab.
    pub(super) path: String,
}

impl Address {
    /// `private`: whether plain HTTP and what is in this network will do.
    pub(super) fn parse(text: &str, private: bool) -> Result<Self> {
        let text = text.trim();
        if text.len() > MAX_ADDRESS {
            return refuse("is too long to be one");
        }
        if let Some(https) = over_ssh(text) {
            return refuse(&format!("must be one for https: give {}", printable(&https)));
        }
        let Ok(url) = Url::parse(text) else { return refuse("must look like https://host/owner/repository") };
        match url.scheme() {
            "https" => {}
            "http" if private => {}
            "http" => {
                return refuse(&format!(
                    "must begin with https://: a token must not be sent in the clear; for a host of your own network, set {}",
                    ALLOW_PRIVATE
                ));
            }
            _ => return refuse("must begin with https://"),
        }
        if url.port() == Some(0) || url.host_str().is_none_or(str::is_empty) {
            return refuse("must look like https://host/owner/repository");
        }
        // What is left to be said by this is who may never be called.
        let url = net::parse_url("the repository's address", url.as_str(), private, ALLOW_PRIVATE)
            .map_err(Error::BadName)?;
        let parts = parts(url.path())?;
        let mut origin = url;
        origin.set_path("/");
        Ok(Self { origin, parts })
    }

    /// Name and port, as people know the host.
    pub(super) fn host(&self) -> &str {
        self.origin.authority()
    }

    pub(super) fn known_kind(&self) -> Option<HostKind> {
        HostKind::of(self.host()).filter(|_| self.origin.scheme() == "https")
    }

    /// Where everything is, if the host is of this kind.
    pub(super) fn home(&self, kind: HostKind) -> Result<Home> {
        // Gitea may live below a path; nested groups are GitLab's alone.
        let is_own = HostKind::of(self.host()).is_none();
        let before = match kind {
            HostKind::GitLab if self.parts.iter().any(|part| part == "-") => {
                return refuse("must be that of the repository itself, without `/-/` and what follows");
            }
            HostKind::GitLab => 0,
            HostKind::Gitea | HostKind::Forgejo if is_own => self.parts.len() - 2,
            _ if self.parts.len() > 2 => {
                let shown = self.below(&self.parts[..2].join("/"))?;
                return refuse(&format!("must be that of the repository itself: give {shown}"));
            }
            _ => 0,
        };
        let (prefix, path) = self.parts.split_at(before);
        let prefix = prefix.iter().map(|part| format!("{part}/")).collect::<String>();
        let path = path.join("/");
        Ok(Home {
            kind,
            api: self.api(kind, &prefix)?,
            clone: self.below(&format!("{prefix}{path}.git"))?,
            web: self.below(&format!("{prefix}{path}"))?,
            path,
        })
    }

    fn api(&self, kind: HostKind, prefix: &str) -> Result<Url> {
        let host = self.host();
        match kind {
            // The public ones have a name of their own for it.
            HostKind::GitHub if self.known_kind().is_some() => {
                Url::parse(&format!("https://api.{host}/")).or_else(|_| refuse("has no API"))
            }
            HostKind::GitHub => self.below("api/v3/"),
            HostKind::GitLab => self.below("api/v4/"),
            HostKind::Gitea | HostKind::Forgejo => self.below(&format!("{prefix}api/v1/")),
        }
    }

    fn below(&self, path: &str) -> Result<Url> {
        self.origin.join(path).or_else(|_| refuse("must look like https://host/owner/repository"))
    }
}

fn refuse<T>(why: &str) -> Result<T> {
    Err(Error::BadName(format!("the repository's address {why}")))
}

/// The same over https, if this is how ssh has it: `git@host:owner/repo` or `ssh://git@host/owner/repo`.
fn over_ssh(text: &str) -> Option<String> {
    let rest = match text.strip_prefix("ssh://").or_else(|| text.strip_prefix("git://")) {
        Some(rest) => rest.to_owned(),
        None if text.contains("://") => return None,
        None => text
            .split_once('@')
            .map(|(_, rest)| rest)
            .filter(|rest| rest.contains(':'))?
            .replacen(':', "/", 1),
    };
    let rest = rest.split_once('@').map_or(rest.as_str(), |(_, rest)| rest);
    let (host, path) = rest.split_once('/')?;
    let host = host.split(':').next().unwrap_or_default();
    Some(format!("https://{host}/{}", path.trim_matches('/').trim_end_matches(".git")))
}

/// Names as all the hosts allow them: nothing that has to be encoded, and no way up.
fn parts(path: &str) -> Result<Vec<String>> {
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let sane = |part: &str| {
        let letter = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        !part.is_empty() && !part.starts_with('.') && part.chars().all(letter)
    };
    let parts: Vec<_> = path.split('/').map(str::to_owned).collect();
    match parts.len() >= 2 && parts.iter().all(|part| sane(part)) {
        true => Ok(parts),
        false => refuse("must look like https://host/owner/repository"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        #[track_caller]
        fn check(text: &str, kind: HostKind, api: &str, clone: &str) {
            let address = Address::parse(text, text.starts_with("http://")).unwrap();
            let home = address.home(address.known_kind().unwrap_or(kind)).unwrap();
            assert_eq!((home.kind, home.api.as_str(), home.clone.as_str()), (kind, api, clone));
            assert_eq!(home.clone.as_str(), format!("{}.git", home.web));
        }
        use HostKind::{Forgejo, GitHub, GitLab, Gitea};
        let github = "https://github.com/acme/docs.git";
        check("https://github.com/acme/docs", GitHub, "https://api.github.com/", github);
        check(" https://GitHub.com:443/acme/docs.git/ ", GitHub, "https://api.github.com/", github);
        check(
            "https://acme.ghe.com/a/b",
            GitHub,
            "https://api.acme.ghe.com/",
            "https://acme.ghe.com/a/b.git",
        );
        check(
            "https://git.acme.dev/a/b",
            GitHub,
            "https://git.acme.dev/api/v3/",
            "https://git.acme.dev/a/b.git",
        );
        let nested = "https://gitlab.com/a/b/c/docs.git";
        check("https://gitlab.com/a/b/c/docs", GitLab, "https://gitlab.com/api/v4/", nested);
        check(
            "https://codeberg.org/a/b",
            Forgejo,
            "https://codeberg.org/api/v1/",
            "https://codeberg.org/a/b.git",
        );
        check("https://gitea.com/a/b.c", Gitea, "https://gitea.com/api/v1/", "https://gitea.com/a/b.c.git");
        let below = "http://10.0.0.1:3000/git/a/b.git";
        check("http://10.0.0.1:3000/git/a/b", Gitea, "http://10.0.0.1:3000/git/api/v1/", below);
    }

    #[test]
    fn what_is_no_address() {
        #[track_caller]
        fn check(text: &str, told: &str) {
            let refused = Address::parse(text, false).unwrap_err().to_string();
            assert!(refused.contains(told) && !refused.contains("s3cret"), "{text}: {refused}");
        }
        let shape = "must look like https://host/owner/repository";
        check("git@github.com:acme/docs.git", "must be one for https: give https://github.com/acme/docs");
        check("ssh://git@git.acme.dev:22/a/b.git", "give https://git.acme.dev/a/b");
        check("http://github.com/acme/docs", "must begin with https://: a token");
        check("file:///srv/docs", "must begin with https://");
        check("ext::sh -c id", "must begin with https://");
        check("https://me:s3cret@github.com/a/b", "must not contain a user or password");
        check("https://s3cret@github.com/a/b", "must not contain a user or password");
        check("https://github.com/a/b?x=1", "must not contain `?` or `#`");
        check("https://github.com/a/b#x", "must not contain `?` or `#`");
        check("https://169.254.169.254/a/b", "is never called");
        check(
            "https://127.0.0.1/a/b",
            "in a private network. To allow this, set hosts_allow_private = true in docwright.toml, or DOCWRIGHT_HOSTS_ALLOW_PRIVATE=true",
        );
        check(&format!("https://github.com/a/{}", "b".repeat(400)), "is too long");
        for text in [
            "",
            "github.com/acme/docs",
            "https://",
            "https:///",
            "https://github.com",
            "https://github.com/acme",
            "https://github.com/acme/",
            "https://github.com:0/a/b",
            "https://github.com:99999/a/b",
            "https://github.com/a/%0ab",
            "https://github.com/a/b%0d%0aHost:x",
            "https://github.com/a/..%2fb",
            "https://github.com/a/.git",
            "https://github.com/a//b",
            "https://github.com/ü/b",
            "https://github.com/a/b c",
        ] {
            check(text, shape);
        }
    }

    #[test]
    fn a_page_of_a_repository_is_not_the_repository() {
        let home =
            |text: &str, kind| Address::parse(text, false).unwrap().home(kind).unwrap_err().to_string();
        let told = home("https://github.com/acme/docs/tree/main", HostKind::GitHub);
        assert!(told.ends_with("must be that of the repository itself: give https://github.com/acme/docs"));
        let told = home("https://gitlab.com/acme/docs/-/tree/main", HostKind::GitLab);
        assert!(told.contains("without `/-/`"), "{told}");
    }
}
