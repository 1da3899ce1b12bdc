//! Whether a site is served below a path that the tree does not show, such as `/acme/docs/`.
//!
//! One link that would lead somewhere without its first names proves nothing: `/app/settings` may be the
//! product. Where many links share these names and none of them leads nowhere, they are the site's.

use std::collections::{BTreeMap, BTreeSet};

use crate::path;
use crate::site::lead::{Lead, Way};

/// As many different places as links that share a prefix must lead to.
const MIN_PLACES: usize = 3;

#[derive(Default)]
pub(super) struct Served {
    /// The places that links lead to behind each prefix.
    below: BTreeMap<String, BTreeSet<String>>,
    /// First names of links that lead nowhere.
    nowhere: BTreeSet<String>,
}

impl Served {
    /// Takes note of where a link leads.
    pub(super) fn note(&mut self, path: &str, lead: Option<&Lead>) {
        match lead {
            Some(Lead { is_guess: true, way: Way::From { prefix, .. }, place, .. }) => {
                self.below.entry(prefix.clone()).or_default().insert(place.clone());
            }
            // Files other than pages may be served from where they cannot be seen.
            None if path.starts_with('/') && !path::name(path).contains('.') => {
                self.nowhere.insert(first(path).to_owned());
            }
            _ => {}
        }
    }

    /// Whether `prefix` is what the site is served below.
    pub(super) fn is_below(&self, prefix: &str) -> bool {
        let places = self.below.get(prefix).map_or(0, BTreeSet::len);
        places >= MIN_PLACES && !self.nowhere.contains(first(prefix))
    }
}

fn first(path: &str) -> &str {
    path.trim_start_matches('/').split('/').next().unwrap_or_default()
}
