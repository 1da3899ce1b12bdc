//! Parses a repository's web address and derives its API, clone and web URLs.

use reqwest::Url;

use super::HostKind;
use crate::name::printable;
use crate::{ALLOW_PRIVATE, Error, Result};

const MAX_ADDRESS_BYTES: usize = 400;

/// A repository on a host whose kind may not be known yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// Scheme, host name and port.
    pub(super) origin: Url,
    segments: Vec<String>,
}

/// The URLs of a repository on a host of a known kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Endpoints {
    pub(super) kind: HostKind,
    /// With a slash at the end.
    pub(super) api: Url,
    /// The URL that git fetches from.
    pub(super) clone: Url,
    /// The URL for people.
    pub(super) web: Url,
    /// `owner/repository`; on GitLab with nested groups.
    pub(super) path: String,
}

impl Address {
    /// `private`: whether plain HTTP and hosts in a private network are allowed.
    pub(super) fn parse(text: &str, private: bool) -> Result<Self> {
        let text = text.trim();
        if text.len() > MAX_ADDRESS_BYTES {
            return refuse("is too long: it must have at most 400 characters");
        }
        if let Some(https) = https_equivalent(text) {
            return refuse(&format!("must use https: give {}", printable(&https)));
        }
        let Ok(url) = Url::parse(text) else { return refuse("must look like https://host/owner/repository") };
        match url.scheme() {
            "https" => {}
            "http" if private => {}
            "http" => {
                return refuse(&format!(
                    "must start with https://, because http does not encrypt the token; for a host in your own network, set {}",
                    ALLOW_PRIVATE
                ));
            }
            _ => return refuse("must start with https://"),
        }
        if url.port() == Some(0) || url.host_str().is_none_or(str::is_empty) {
            return refuse("must look like https://host/owner/repository");
        }
        // Refuses addresses that are never allowed, and private ones unless `private` is set.
        let url = net::parse_url("the repository's address", url.as_str(), private, ALLOW_PRIVATE)
            .map_err(Error::BadName)?;
        let segments = parse_path(url.path())?;
        let mut origin = url;
        origin.set_path("/");
        Ok(Self { origin, segments })
    }

    /// The host name, with its port if it is not the default.
    pub(super) fn host(&self) -> &str {
        self.origin.authority()
    }

    pub(super) fn known_kind(&self) -> Option<HostKind> {
        HostKind::of_known_host(self.host()).filter(|_| self.origin.scheme() == "https")
    }

    /// The URLs of the repository if the host is of this kind.
    pub(super) fn endpoints(&self, kind: HostKind) -> Result<Endpoints> {
        // Gitea can be installed below a path. Only GitLab has nested groups.
        let is_own = HostKind::of_known_host(self.host()).is_none();
        let before = match kind {
            HostKind::GitLab if self.segments.iter().any(|part| part == "-") => {
                return refuse(
                    "must be the address of the repository itself: remove `/-/` and everything after it",
                );
            }
            HostKind::GitLab => 0,
            HostKind::Gitea | HostKind::Forgejo if is_own => self.segments.len() - 2,
            _ if self.segments.len() > 2 => {
                let shown = self.join(&self.segments[..2].join("/"))?;
                return refuse(&format!("must be the address of the repository itself: give {shown}"));
            }
            _ => 0,
        };
        let (prefix, path) = self.segments.split_at(before);
        let prefix = prefix.iter().map(|part| format!("{part}/")).collect::<String>();
        let path = path.join("/");
        Ok(Endpoints {
            kind,
            api: self.api(kind, &prefix)?,
            clone: self.join(&format!("{prefix}{path}.git"))?,
            web: self.join(&format!("{prefix}{path}"))?,
            path,
        })
    }

    fn api(&self, kind: HostKind, prefix: &str) -> Result<Url> {
        let host = self.host();
        match kind {
            // GitHub's own hosts serve the API under another host name.
            HostKind::GitHub if self.known_kind().is_some() => {
                Url::parse(&format!("https://api.{host}/")).or_else(|_| refuse("has no API"))
            }
            HostKind::GitHub => self.join("api/v3/"),
            HostKind::GitLab => self.join("api/v4/"),
            HostKind::Gitea | HostKind::Forgejo => self.join(&format!("{prefix}api/v1/")),
        }
    }

    fn join(&self, path: &str) -> Result<Url> {
        self.origin.join(path).or_else(|_| refuse("must look like https://host/owner/repository"))
    }
}

fn refuse<T>(why: &str) -> Result<T> {
    Err(Error::BadName(format!("the repository's address {why}")))
}

/// The https address for an ssh address: `git@host:owner/repo` or `ssh://git@host/owner/repo`.
fn https_equivalent(text: &str) -> Option<String> {
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

/// Splits the path into names that all hosts allow: nothing that needs encoding, and no `..`.
fn parse_path(path: &str) -> Result<Vec<String>> {
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let sane = |part: &str| {
        let letter = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        !part.is_empty() && !part.starts_with('.') && part.chars().all(letter)
    };
    let segments: Vec<_> = path.split('/').map(str::to_owned).collect();
    match segments.len() >= 2 && segments.iter().all(|part| sane(part)) {
        true => Ok(segments),
        false => refuse("must look like https://host/owner/repository"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_give_api_and_clone_urls() {
        #[track_caller]
        fn check(text: &str, kind: HostKind, api: &str, clone: &str) {
            let address = Address::parse(text, text.starts_with("http://")).unwrap();
            let endpoints = address.endpoints(address.known_kind().unwrap_or(kind)).unwrap();
            assert_eq!(
                (endpoints.kind, endpoints.api.as_str(), endpoints.clone.as_str()),
                (kind, api, clone)
            );
            assert_eq!(endpoints.clone.as_str(), format!("{}.git", endpoints.web));
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
        let below_a_path = "http://10.0.0.1:3000/git/a/b.git";
        check("http://10.0.0.1:3000/git/a/b", Gitea, "http://10.0.0.1:3000/git/api/v1/", below_a_path);
    }

    #[test]
    fn invalid_addresses_are_refused() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            let error = Address::parse(text, false).unwrap_err().to_string();
            assert!(error.contains(expected) && !error.contains("s3cret"), "{text}: {error}");
        }
        let shape = "must look like https://host/owner/repository";
        check("git@github.com:acme/docs.git", "must use https: give https://github.com/acme/docs");
        check("ssh://git@git.acme.dev:22/a/b.git", "give https://git.acme.dev/a/b");
        check("http://github.com/acme/docs", "must start with https://, because http");
        check("file:///srv/docs", "must start with https://");
        check("ext::sh -c id", "must start with https://");
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
    fn an_address_of_a_page_in_a_repository_is_refused() {
        let endpoints =
            |text: &str, kind| Address::parse(text, false).unwrap().endpoints(kind).unwrap_err().to_string();
        let error = endpoints("https://github.com/acme/docs/tree/main", HostKind::GitHub);
        assert!(
            error
                .ends_with("must be the address of the repository itself: give https://github.com/acme/docs")
        );
        let error = endpoints("https://gitlab.com/acme/docs/-/tree/main", HostKind::GitLab);
        assert!(error.contains("remove `/-/`"), "{error}");
    }
}
