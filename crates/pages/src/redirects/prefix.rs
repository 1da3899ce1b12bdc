//! Finds the prefix that a site is served below, such as `/repo` on GitHub Pages, and moves addresses below it.
//!
//! Generators name their pages without the prefix. Web servers and hosts see it in every request.

use super::address::{plain, segments};
use super::existing::Redirect;
use super::layout::{Generator, generator_of};
use crate::navigation::{literals, yaml_values};

/// The prefix of a site. Empty for a site at the root of its host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prefix {
    path: String,
    /// The prefix that the settings of the generator name.
    configured: Option<String>,
}

impl Prefix {
    /// `viewed` is the prefix at which readers reach the pages, if that is known. Visitors choose it, and it's written into
    /// settings of servers, so one with special characters counts as unknown.
    pub(super) fn new(configured: Option<String>, viewed: Option<&str>) -> Self {
        let viewed = viewed.and_then(path_of);
        Self { path: viewed.or_else(|| configured.clone()).unwrap_or_default(), configured }
    }

    pub fn configured(&self) -> Option<&str> {
        self.configured.as_deref()
    }

    /// Whether readers reach the pages where the settings say that they are.
    pub(super) fn is_certain(&self) -> bool {
        self.configured.as_ref().is_none_or(|configured| *configured == self.path)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.path.is_empty()
    }

    /// The address without the prefix. `None` if it's not below the prefix.
    pub fn strip(&self, address: &str) -> Option<String> {
        strip_prefix(&self.path, address).map(str::to_owned)
    }

    /// An address of the site as readers request it. Addresses of other hosts stay as they are.
    pub fn add(&self, address: &str) -> String {
        match address {
            "/" if !self.is_empty() => format!("{}/", self.path),
            own if own.starts_with('/') => format!("{}{own}", self.path),
            other => other.to_owned(),
        }
    }

    pub fn add_to(&self, redirect: &Redirect) -> Redirect {
        Redirect::new(self.add(&redirect.from), self.add(&redirect.to))
    }

    /// Whether both addresses, one of them, or none is below the prefix.
    fn covers(&self, redirect: &Redirect) -> (bool, bool) {
        let is_below = |address: &str| strip_prefix(&self.path, address).is_some();
        (is_below(&redirect.from), is_below(&redirect.to))
    }

    /// The redirects of a file that can write the prefix, without it. Those into the site from elsewhere are left out.
    pub(super) fn strip_all(&self, redirects: Vec<Redirect>) -> Vec<Redirect> {
        let strip = |address: &str| self.strip(address).unwrap_or_else(|| address.to_owned());
        let is_own = |redirect: &Redirect| !matches!(self.covers(redirect), (false, true));
        let redirects = redirects.into_iter().filter(is_own);
        redirects.map(|redirect| Redirect::new(strip(&redirect.from), strip(&redirect.to))).collect()
    }

    /// How the redirects of a file write the addresses of the site. `is_page` knows addresses without the prefix.
    pub(super) fn spelling(&self, redirects: &[Redirect], is_page: impl Fn(&str) -> bool) -> Spelling {
        let covered = |redirect: &&Redirect| self.covers(redirect) != (false, false);
        let is_bare = |redirect: &&Redirect| !covered(redirect) && is_page(&plain(&redirect.to));
        match (redirects.iter().any(|redirect| covered(&redirect)), redirects.iter().any(|r| is_bare(&r))) {
            _ if self.is_empty() => Spelling::WithoutPrefix,
            (true, false) => Spelling::WithPrefix,
            (false, true) => Spelling::WithoutPrefix,
            (false, false) => Spelling::Unknown,
            (true, true) => Spelling::Mixed,
        }
    }
}

/// How a file with redirects writes the addresses of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    WithPrefix,
    WithoutPrefix,
    Mixed,
    /// There is no redirect to a page of the site.
    Unknown,
}

/// The rest of an address below a prefix, from its slash on. For the prefix itself, the root.
pub fn strip_prefix<'a>(prefix: &str, address: &'a str) -> Option<&'a str> {
    match address.strip_prefix(prefix)? {
        "" => Some("/"),
        rest => rest.starts_with('/').then_some(rest),
    }
}

/// The prefix that a settings file of a generator names. `read` is called for such files only. `None` for other files.
pub fn configured_prefix(file: &str, read: impl FnOnce() -> Option<String>) -> Option<String> {
    let generator = generator_of(file)?;
    in_settings(generator, file, &read()?)
}

/// The prefix that the settings name. Docusaurus and VitePress can't be served elsewhere than they say. The settings of
/// the others often have the root of a host while a flag of the build has the prefix, so the root says nothing.
pub(super) fn in_settings(generator: Generator, file: &str, text: &str) -> Option<String> {
    let (value, can_be_root) = match generator {
        Generator::MkDocs => (yaml_value(text, "site_url"), false),
        Generator::Jekyll => (yaml_value(text, "baseurl").map(with_slash), false),
        Generator::Hugo => (hugo_address(file, text), false),
        Generator::Docusaurus => (script_value(text, "baseUrl"), true),
        Generator::VitePress => (script_value(text, "base"), true),
        Generator::Mintlify | Generator::Other => (None, false),
    };
    path_of(&value?).filter(|path| can_be_root || !path.is_empty())
}

/// The path of an address, with or without a host. `None` if it isn't plain.
fn path_of(address: &str) -> Option<String> {
    let path = match address.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("", |at| &rest[at..]),
        None => Some(address).filter(|path| path.starts_with('/') && !path.starts_with("//"))?,
    };
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '/' | '-' | '_' | '.' | '~');
    let is_plain =
        path.chars().all(is_plain) && segments(path).all(|name| !name.trim_matches('.').is_empty());
    is_plain.then(|| plain(path).trim_end_matches('/').to_owned())
}

/// Jekyll adds a missing slash.
fn with_slash(path: String) -> String {
    if path.starts_with('/') || path.contains(':') { path } else { format!("/{path}") }
}

/// The only value of a key.
fn yaml_value(text: &str, key: &str) -> Option<String> {
    let values = yaml_values(text);
    let mut found = values.iter().filter(|value| value.key.eq_ignore_ascii_case(key));
    found.next().filter(|_| found.next().is_none()).map(|value| value.text.to_owned())
}

fn hugo_address(file: &str, text: &str) -> Option<String> {
    const KEY: &str = "baseURL";
    if file.ends_with(".toml") {
        let table: toml::Table = text.parse().ok()?;
        let (_, value) = table.iter().find(|(key, _)| key.eq_ignore_ascii_case(KEY))?;
        return value.as_str().map(str::to_owned);
    }
    if file.ends_with(".json") {
        let value: serde_json::Value = serde_json::from_str(text).ok()?;
        let (_, value) = value.as_object()?.iter().find(|(key, _)| key.eq_ignore_ascii_case(KEY))?;
        return value.as_str().map(str::to_owned);
    }
    yaml_value(text, KEY)
}

/// The literal that all keys with this name have in a script. `None` if one of them is computed.
fn script_value(text: &str, key: &str) -> Option<String> {
    let literals = literals(text);
    let mut values = literals.iter().filter(|literal| literal.key == key && literal.is_in_object());
    let first = values.next()?;
    let is_alone = text[..first.range.start - 1].trim_end().ends_with(':')
        && text[first.range.end + 1..].trim_start().starts_with([',', '}', '/']);
    (is_alone && values.all(|other| other.text == first.text)).then(|| first.text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_name_the_prefix() {
        #[track_caller]
        fn check(file: &str, text: &str, expected: Option<&str>) {
            let found = configured_prefix(file, || Some(text.to_owned()));
            assert_eq!(found.as_deref(), expected, "{file}: {text}");
        }
        check("mkdocs.yml", "site_url: https://acme.github.io/repo/\n", Some("/repo"));
        check("mkdocs.yml", "site_url: 'https://acme.dev/a/b'\n", Some("/a/b"));
        for unclear in [
            "site_url: https://acme.dev/\n",
            "site_url: https://acme.dev\n",
            "site_url: !ENV SITE_URL\n",
            "site_url: !ENV [SITE_URL, 'https://acme.dev/repo/']\n",
            "site_url: ''\n",
            "extra:\n  site_url: https://acme.dev/repo/\n",
            "site_url: https://acme.dev/${X}/\n",
        ] {
            check("mkdocs.yml", unclear, None);
        }
        check("_config.yml", "baseurl: /repo # x\n", Some("/repo"));
        check("_config.yml", "baseurl: \"repo\"\n", Some("/repo"));
        check("_config.yml", "baseurl: \"\"\n", None);
        check(
            "hugo.toml",
            "baseURL = 'https://acme.github.io/repo/'\n[params]\nbaseurl = 'x'\n",
            Some("/repo"),
        );
        check("config.toml", "baseurl = \"https://acme.dev/\"\n", None);
        check("hugo.yaml", "baseURL: https://acme.dev/repo\n", Some("/repo"));
        check("hugo.json", "{\"baseURL\": \"https://acme.dev/repo\"}", Some("/repo"));
        check("docusaurus.config.js", "export default { baseUrl: '/repo/', url: 'x' }", Some("/repo"));
        check("docusaurus.config.js", "export default { baseUrl: '/' }", Some(""));
        for computed in [
            "export default { baseUrl: process.env.BASE || '/repo/' }",
            "export default { baseUrl: isMain ? '/repo/' : '/' }",
            "export default { baseUrl: '/' + name, }",
            "// baseUrl: '/repo/'\nexport default { baseUrl }",
            "export default { baseUrl: '/a/', x: { baseUrl: '/b/' } }",
        ] {
            check("docusaurus.config.ts", computed, None);
        }
        check(
            "docs/.vitepress/config.mts",
            "export default defineConfig({ base: \"/repo/\" })",
            Some("/repo"),
        );
        check("docs/.vitepress/config.mts", "export default defineConfig({ title: 'x' })", None);
        check("docs.json", "{\"basePath\": \"/help\"}", None);
        check("README.md", "baseurl: /repo\n", None);
    }

    #[test]
    fn addresses_move_below_the_prefix_and_back() {
        let prefix = Prefix::new(Some("/repo".into()), None);
        for (inside, outside) in [("/", "/repo/"), ("/a/b", "/repo/a/b")] {
            assert_eq!(prefix.add(inside), outside);
            assert_eq!(prefix.strip(outside).as_deref(), Some(inside));
        }
        assert_eq!(prefix.strip("/repo").as_deref(), Some("/"));
        assert_eq!(prefix.strip("/repository/a"), None);
        assert_eq!(prefix.add("https://x.example/a"), "https://x.example/a");
        assert!(prefix.is_certain());
        assert!(Prefix::new(None, Some("/repo/")).is_certain());
        assert!(!Prefix::new(Some("/repo".into()), Some("/")).is_certain());
        assert_eq!(Prefix::new(None, Some("/")).add("/a"), "/a");
        for hostile in ["/a;b{c}/", "//evil.example/", "/a b", "/../a", "evil", "/`a`"] {
            assert_eq!(Prefix::new(None, Some(hostile)).add("/a"), "/a", "{hostile}");
        }
    }
}
