//! Compares addresses as a site serves them, whatever their spelling in a redirect.
//!
//! The editor that writes redirects and the guard that judges them both use it, so that they agree.

use std::collections::HashSet;

use super::address::segments;
use super::rules::{Effect, Rule};
use crate::kind::FileKind;
use crate::path;
use crate::route;

/// The address that a file, a link or the source of a redirect is served at, without slashes around it and in lowercase,
/// because some file systems ignore case: `./Guides/b/index.html` is `guides/b`. `None` if it's outside the site.
pub fn served_address(address: &str) -> Option<String> {
    let path = address.split(['#', '?']).next().unwrap_or_default();
    let path = percent_encoding::percent_decode_str(path).decode_utf8().ok()?;
    let mut names: Vec<&str> = Vec::new();
    for name in segments(&path) {
        match name {
            "." => {}
            ".." => drop(names.pop()?),
            name => names.push(name),
        }
    }
    let path = names.join("/");
    let kind = FileKind::of(&path);
    let stem = match kind.is_page() || kind == FileKind::Html {
        true => path.rsplit_once('.').map_or(path.as_str(), |(stem, _)| stem),
        false => &path,
    };
    Some(if route::is_index(stem) { path::parent(stem) } else { stem }.to_lowercase())
}

/// The addresses that the redirects of a site lead from.
#[derive(Debug, Default)]
pub struct Sources {
    exact: HashSet<String>,
    patterns: Vec<String>,
}

impl Sources {
    pub fn add(&mut self, rules: &[Rule]) {
        for rule in rules.iter().filter(|rule| rule.effect != Effect::Rewrite) {
            match is_pattern(&rule.redirect.from) {
                true => self.patterns.push(rule.redirect.from.to_lowercase()),
                false => self.exact.extend(served_address(&rule.redirect.from)),
            }
        }
    }

    /// Whether a redirect leads from an address, so that a redirect to it is a chain or a loop. A pattern for the whole site
    /// is only for addresses without a page.
    pub fn contain(&self, address: &str) -> bool {
        let Some(address) = served_address(address) else { return false };
        let has_name = |pattern: &&String| segments(pattern).any(|name| wildcard_at(name) != Some(0));
        self.exact.contains(&address)
            || self.patterns.iter().filter(has_name).any(|pattern| covers(pattern, &address))
    }
}

pub(crate) fn is_pattern(from: &str) -> bool {
    wildcard_at(from).is_some()
}

fn wildcard_at(name: &str) -> Option<usize> {
    name.find(['*', ':', '(', '{'])
}

/// Whether the pattern of a redirect covers an address. `:name` stands for one name, and every other wildcard for any
/// number of them.
pub(crate) fn covers(pattern: &str, address: &str) -> bool {
    let pattern: Vec<&str> = segments(pattern).collect();
    let names: Vec<&str> = segments(address).collect();
    let (mut at, mut name) = (0, 0);
    // Where to go on if the last wildcard for many names has to stand for one more.
    let mut retry: Option<(usize, usize)> = None;
    while at < pattern.len() || name < names.len() {
        let part = pattern.get(at).copied();
        if let Some(part) = part.filter(|part| is_deep(part)) {
            let start = &part[..wildcard_at(part).unwrap_or(0)];
            if start.is_empty() || names.get(name).is_some_and(|name| name.starts_with(start)) {
                let taken = name + usize::from(!start.is_empty());
                retry = Some((at + 1, taken));
                (at, name) = (at + 1, taken);
                continue;
            }
        } else if let (Some(part), Some(current)) = (part, names.get(name))
            && is_one(part, current)
        {
            (at, name) = (at + 1, name + 1);
            continue;
        }
        match retry.filter(|(_, taken)| *taken < names.len()) {
            Some((after, taken)) => {
                retry = Some((after, taken + 1));
                (at, name) = (after, taken + 1);
            }
            None => return false,
        }
    }
    true
}

fn is_deep(part: &str) -> bool {
    part.contains(['*', '(', '{']) || part.contains(':') && part.ends_with(['+', '?'])
}

/// Whether a part of a pattern stands for this one name.
fn is_one(part: &str, name: &str) -> bool {
    match part.find(':') {
        Some(at) => name.len() > at && name.starts_with(&part[..at]),
        None => part == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_an_address_are_equal() {
        for spelling in [
            "/guides/b",
            "guides/b.md",
            "./guides/b/",
            "./guides/b/index.html",
            "/guides/./x/../b/.",
            "/Guides/B.HTML?x#y",
            "/guides/%62#x",
        ] {
            assert_eq!(served_address(spelling).as_deref(), Some("guides/b"), "{spelling}");
        }
        for home in ["/", ".", "./index.md", "README.md", "a/.."] {
            assert_eq!(served_address(home).as_deref(), Some(""), "{home}");
        }
        assert_eq!(served_address("../a"), None);
    }

    #[test]
    fn patterns_cover_addresses_with_their_suffix() {
        #[track_caller]
        fn check(pattern: &str, covered: &[&str], others: &[&str]) {
            covered.iter().for_each(|address| assert!(covers(pattern, address), "{pattern} {address}"));
            others.iter().for_each(|address| assert!(!covers(pattern, address), "{pattern} {address}"));
        }
        check("/a/*", &["/a", "/a/b", "/a/b/c"], &["/b", "/ab"]);
        check("/a/*/edit", &["/a/b/edit", "/a/b/c/edit", "/a/edit"], &["/a/b", "/a/edit/b"]);
        check("/a/:x/edit", &["/a/b/edit"], &["/a/b/c/edit", "/a/b"]);
        check("/a/:x", &["/a/b"], &["/a", "/a/b/c"]);
        check("/a/:x*", &["/a", "/a/b/c"], &["/b"]);
        check("/a/v(.*)/c", &["/a/v1/c", "/a/v1/b/c"], &["/a/w/c", "/a/v1"]);
        check("/*", &["/", "/a/b"], &[]);
    }
}
