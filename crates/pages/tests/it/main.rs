//! Tests the crate through its public interface.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod anchors;
mod check;
mod correct_words;
mod diff;
mod fragments;
mod front_matter;
mod git;
mod kinds;
mod links;
mod misspellings;
mod overlay;
mod page;
mod path_rules;
mod paths;
mod redirects;
mod relocate;
mod repairs;
mod routes;
mod scope;
mod splice;

use pages::{MemoryTree, Overlay};

fn overlay(files: &[(&str, &str)]) -> Overlay<MemoryTree> {
    overlay_in(files, None)
}

fn overlay_in(files: &[(&str, &str)], docs_path: Option<&str>) -> Overlay<MemoryTree> {
    Overlay::new(MemoryTree::new(files.iter().copied()), docs_path).unwrap()
}
