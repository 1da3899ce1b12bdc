//! Trees, links and patches as their users see them.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod anchors;
mod check;
mod diff;
mod fragments;
mod front_matter;
mod git;
mod glance;
mod kinds;
mod links;
mod misspellings;
mod overlay;
mod page;
mod paths;
mod relocate;
mod repairs;
mod routes;
mod scope;
mod splice;
mod words;

use pages::{MemoryTree, Overlay};

fn overlay(files: &[(&str, &str)]) -> Overlay<MemoryTree> {
    overlay_in(files, None)
}

fn overlay_in(files: &[(&str, &str)], docs_path: Option<&str>) -> Overlay<MemoryTree> {
    Overlay::new(MemoryTree::new(files.iter().copied()), docs_path).unwrap()
}
