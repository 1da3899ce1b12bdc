//! Recognizes the parts of an address that name a language or a version.
//!
//! A redirect never leads into another edition that has pages of its own. Names of two letters are often words (`ai`,
//! `ui`), so a language counts only where pages without it, or in another language, have the same names.

use std::collections::{HashMap, HashSet};

use super::address::segments;
use crate::WordList;
use crate::moved_pages::{VERSIONS, is_language};

/// Fewer pages with the same name elsewhere can be a coincidence.
const MIN_MIRRORED: usize = 2;

/// Versions before a release.
const STAGES: WordList = WordList("alpha beta rc preview");

/// The languages of a site.
#[derive(Debug, Default)]
pub(crate) struct Editions {
    languages: HashSet<String>,
    /// The editions that have pages.
    used: HashSet<Vec<String>>,
}

impl Editions {
    pub(crate) fn new<'a>(routes: impl Iterator<Item = &'a str> + Clone) -> Self {
        let mut with_language: HashMap<(String, &str), HashSet<&str>> = HashMap::new();
        let all: HashSet<&str> = routes.clone().collect();
        for route in routes.clone() {
            for name in segments(route).filter(|name| is_language(name)) {
                with_language.entry((without(route, name), "")).or_default().insert(name);
            }
        }
        let mut mirrored: HashMap<&str, usize> = HashMap::new();
        for ((rest, _), names) in &with_language {
            let is_mirrored = names.len() > 1 || all.contains(rest.as_str());
            names.iter().filter(|_| is_mirrored).for_each(|name| *mirrored.entry(name).or_default() += 1);
        }
        let languages = mirrored.into_iter().filter(|(_, count)| *count >= MIN_MIRRORED);
        let mut editions =
            Self { languages: languages.map(|(name, _)| name.to_owned()).collect(), used: HashSet::new() };
        editions.used = routes.map(|route| editions.of(route)).collect();
        editions
    }

    pub(crate) fn is_edition(&self, name: &str) -> bool {
        is_version(name) || self.languages.contains(name)
    }

    pub(crate) fn of(&self, route: &str) -> Vec<String> {
        segments(route).filter(|name| self.is_edition(name)).map(str::to_lowercase).collect()
    }

    /// The names of an address that are no edition.
    pub(crate) fn rest<'a>(&self, route: &'a str) -> Vec<&'a str> {
        segments(route).filter(|name| !self.is_edition(name)).collect()
    }

    /// Whether a redirect from one address can lead to the other one: the edition is the same, or it's gone.
    pub(crate) fn allow(&self, from: &str, to: &str) -> bool {
        let (from, to) = (self.of(from), self.of(to));
        // Of an edition that is gone, the languages remain.
        let languages =
            |names: &[String]| names.iter().filter(|name| !is_version(name)).cloned().collect::<Vec<_>>();
        from == to || !self.used.contains(&from) && languages(&from) == languages(&to)
    }
}

fn without(route: &str, name: &str) -> String {
    let mut is_found = false;
    let rest = segments(route).filter(|other| {
        is_found || *other != name || {
            is_found = true;
            false
        }
    });
    rest.map(|name| format!("/{name}")).collect()
}

/// `v1`, `v0x`, `1.x`, `2024`, `version-1.4`, `v2beta`, `next`.
fn is_version(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let number = name.trim_start_matches("version-").trim_start_matches('v');
    let rest = number.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | 'x'));
    let is_number = number.starts_with(|c: char| c.is_ascii_digit());
    is_number && (rest.is_empty() || STAGES.iter().any(|stage| rest.trim_matches('-').starts_with(stage)))
        || VERSIONS.contains(&name)
}
