//! Holds the redirects that a site has, and follows them.

use std::collections::HashMap;

use super::address::plain;

/// The longest chain that is followed. Browsers stop at 20.
const MAX_HOPS: usize = 10;

/// A redirect from one address of the site to another one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Redirect {
    pub from: String,
    pub to: String,
}

impl Redirect {
    pub fn new(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self { from: from.into(), to: to.into() }
    }
}

/// The redirects of a site, by the address that they lead from.
#[derive(Debug, Default)]
pub(crate) struct Existing {
    /// Redirects between two addresses, in plain form.
    pub(crate) exact: Vec<Redirect>,
    by_source: HashMap<String, usize>,
    patterns: Vec<Pattern>,
}

/// A redirect of all addresses that begin and end alike: `/old/* -> /new/:splat`.
#[derive(Debug)]
struct Pattern {
    prefix: String,
    suffix: String,
    to: String,
    /// Whether the star stands for several names, or for one.
    is_deep: bool,
}

impl Existing {
    pub(crate) fn new(redirects: &[Redirect]) -> Self {
        let mut existing = Self::default();
        for redirect in redirects {
            match Pattern::parse(redirect) {
                Some(pattern) => existing.patterns.push(pattern),
                None => existing.add(redirect),
            }
        }
        existing
    }

    fn add(&mut self, redirect: &Redirect) {
        let from = plain(&redirect.from);
        // A site uses the first redirect of an address.
        if !self.by_source.contains_key(&from) {
            self.by_source.insert(from.clone(), self.exact.len());
            self.exact.push(Redirect { from, to: redirect.to.clone() });
        }
    }

    /// The place of the redirect from an address in `exact`.
    pub(crate) fn index_of(&self, from: &str) -> Option<usize> {
        self.by_source.get(from).copied()
    }

    /// Where a redirect between two addresses leads.
    pub(crate) fn target_of(&self, from: &str) -> Option<&str> {
        self.index_of(from).map(|index| self.exact[index].to.as_str())
    }

    /// Where a pattern leads.
    pub(crate) fn pattern_target(&self, from: &str) -> Option<String> {
        self.patterns.iter().find_map(|pattern| pattern.apply(from))
    }

    /// Follows redirects from `address`, not counting the one from `asked`. `None` if they lead in a circle, or to
    /// another host.
    pub(crate) fn follow(&self, address: &str, asked: &str) -> Option<String> {
        let mut at = plain(address);
        for _ in 0..MAX_HOPS {
            if at == asked {
                return None;
            }
            let next = match self.target_of(&at) {
                Some(to) => to.to_owned(),
                None => match self
                    .patterns
                    .iter()
                    .filter(|pattern| !pattern.is_for_all())
                    .find_map(|pattern| pattern.apply(&at))
                {
                    Some(to) => to,
                    None => return Some(at),
                },
            };
            if !next.starts_with('/') || next.starts_with("//") {
                return None;
            }
            at = plain(&next);
        }
        None
    }
}

impl Pattern {
    fn parse(redirect: &Redirect) -> Option<Self> {
        let from = &redirect.from;
        let star = from.find(['*', ':', '('])?;
        let (prefix, rest) = from.split_at(star);
        let end = rest.find('/').unwrap_or(rest.len());
        let (star, suffix) = rest.split_at(end);
        Some(Self {
            prefix: prefix.to_owned(),
            suffix: suffix.to_owned(),
            to: redirect.to.clone(),
            is_deep: star.contains('*') || star.contains('('),
        })
    }

    /// Whether the pattern covers the whole site. It's then for addresses without a page.
    fn is_for_all(&self) -> bool {
        self.prefix == "/"
    }

    /// The target for an address that the pattern covers. The placeholder in the target can have several spellings.
    fn apply(&self, from: &str) -> Option<String> {
        let rest =
            from.strip_prefix(&self.prefix).or_else(|| (format!("{from}/") == self.prefix).then_some(""))?;
        let rest = rest.strip_suffix(self.suffix.as_str())?;
        if self.suffix.contains([':', '*', '(']) || !self.is_deep && rest.contains('/') {
            return None;
        }
        let Some(at) = self.to.find([':', '*', '$']).filter(|_| !self.to.contains("://")) else {
            return Some(self.to.clone());
        };
        let end = self.to[at..].find('/').map_or(self.to.len(), |end| at + end);
        Some(format!("{}{rest}{}", &self.to[..at], &self.to[end..]))
    }
}
