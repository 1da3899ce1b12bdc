//! Decides whether a site is served below a path prefix that the tree doesn't show, such as `/acme/docs/`.
//!
//! One link that leads to a page without its prefix proves nothing: `/app/settings` can be the product. The prefix is the
//! site's when many links share it, and none with the same first name is broken.

use std::collections::{BTreeMap, BTreeSet};

use crate::path;
use crate::site::resolve::{LinkBase, ResolvedLink};

/// The links with a prefix must lead to this many different paths.
const MIN_PATHS: usize = 3;

#[derive(Default)]
pub(super) struct SitePrefixes {
    /// The paths that links lead to, by prefix.
    paths: BTreeMap<String, BTreeSet<String>>,
    /// First names of broken links.
    broken: BTreeSet<String>,
}

impl SitePrefixes {
    /// Records where a link to `path` leads.
    pub(super) fn record(&mut self, path: &str, resolved: Option<&ResolvedLink>) {
        match resolved {
            Some(ResolvedLink { is_guess: true, base: LinkBase::Prefix { prefix, .. }, path, .. }) => {
                self.paths.entry(prefix.clone()).or_default().insert(path.clone());
            }
            // Other files than pages can be served from outside of the tree.
            None if path.starts_with('/') && !path::name(path).contains('.') => {
                self.broken.insert(first_name(path).to_owned());
            }
            _ => {}
        }
    }

    /// Whether the site is served below `prefix`.
    pub(super) fn contains(&self, prefix: &str) -> bool {
        let paths = self.paths.get(prefix).map_or(0, BTreeSet::len);
        paths >= MIN_PATHS && !self.broken.contains(first_name(prefix))
    }
}

fn first_name(path: &str) -> &str {
    path.trim_start_matches('/').split('/').next().unwrap_or_default()
}
