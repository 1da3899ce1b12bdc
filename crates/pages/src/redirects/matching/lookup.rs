//! Indexes the redirects that a site has, so that large sites don't search all of them for each address.

use std::collections::HashMap;

use crate::redirects::address::{common_end, plain, segments, split_name, squash_path};
use crate::redirects::editions::Editions;
use crate::redirects::existing::Redirect;

/// The redirects of a site, by parts of the address that they lead from.
#[derive(Debug, Default)]
pub(crate) struct Lookup {
    by_spelling: HashMap<String, Vec<usize>>,
    /// By the names that are no edition.
    by_rest: HashMap<String, Vec<usize>>,
    /// By the address without its first name.
    by_shorter: HashMap<String, Vec<usize>>,
    /// By each folder above the address.
    by_folder: HashMap<String, Vec<usize>>,
    /// Rules from folder to folder, by the first one.
    rules: HashMap<String, Vec<(usize, String)>>,
}

impl Lookup {
    pub(super) fn new(redirects: &[Redirect], editions: &Editions) -> Self {
        let mut lookup = Self::default();
        for (index, redirect) in redirects.iter().enumerate() {
            lookup.add(index, redirect, editions);
        }
        lookup
    }

    fn add(&mut self, index: usize, redirect: &Redirect, editions: &Editions) {
        let from = redirect.from.as_str();
        self.by_spelling.entry(squash_path(from)).or_default().push(index);
        self.by_rest.entry(editions.rest(from).join("/")).or_default().push(index);
        self.by_shorter.entry(shorter(from).to_owned()).or_default().push(index);
        let mut folder = split_name(from).0;
        while !folder.is_empty() {
            self.by_folder.entry(folder.to_owned()).or_default().push(index);
            folder = split_name(folder).0;
        }
        if let Some((from, to)) = rule_of(from, &plain(&redirect.to)) {
            self.rules.entry(from).or_default().push((index, to));
        }
    }

    pub(super) fn spelled_like(&self, path: &str) -> &[usize] {
        get(&self.by_spelling, &squash_path(path))
    }

    pub(super) fn with_rest(&self, rest: &[&str]) -> &[usize] {
        get(&self.by_rest, &rest.join("/"))
    }

    /// The redirects from `/NAME` and `path`.
    pub(super) fn one_longer(&self, path: &str) -> &[usize] {
        get(&self.by_shorter, path)
    }

    pub(super) fn below(&self, folder: &str) -> &[usize] {
        get(&self.by_folder, folder)
    }

    /// The rules of redirects that apply to `path`: from a folder above it to another folder. The redirect from `path`
    /// itself gives none.
    pub(super) fn rules<'l>(&'l self, path: &'l str, own: Option<usize>) -> Vec<(&'l str, &'l str)> {
        let mut rules = Vec::new();
        let mut folder = split_name(path).0;
        loop {
            let found = self.rules.get(folder).into_iter().flatten();
            rules.extend(found.filter(|(index, _)| Some(*index) != own).map(|(_, to)| (folder, to.as_str())));
            if folder.is_empty() {
                break;
            }
            folder = split_name(folder).0;
        }
        rules.sort_unstable();
        rules.dedup();
        rules
    }
}

fn get<'l>(index: &'l HashMap<String, Vec<usize>>, key: &str) -> &'l [usize] {
    index.get(key).map_or(&[], Vec::as_slice)
}

/// An address without its first name.
pub(super) fn shorter(path: &str) -> &str {
    path.get(1..).and_then(|rest| rest.find('/')).map_or("", |at| &path[at + 1..])
}

/// A redirect without the names at the end that both addresses have.
fn rule_of(from: &str, to: &str) -> Option<(String, String)> {
    let common = common_end(from, to);
    let without = |address: &str| {
        let names: Vec<&str> = segments(address).collect();
        names[..names.len() - common].iter().map(|name| format!("/{name}")).collect::<String>()
    };
    (common > 0).then(|| (without(from), without(to)))
}
