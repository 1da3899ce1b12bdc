//! Defines the arguments of each tool.

use serde::Deserialize;

#[derive(Deserialize)]
pub(super) struct List {
    #[serde(default)]
    pub(super) path: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Read {
    pub(super) path: String,
    #[serde(default)]
    pub(super) from: Option<usize>,
    #[serde(default)]
    pub(super) lines: Option<usize>,
}

#[derive(Deserialize)]
pub(super) struct Search {
    pub(super) text: String,
    #[serde(default)]
    pub(super) path: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Change {
    pub(super) path: String,
    pub(super) old: String,
    pub(super) new: String,
    #[serde(default)]
    pub(super) all: bool,
}

#[derive(Deserialize)]
pub(super) struct Write {
    pub(super) path: String,
    pub(super) text: String,
}

#[derive(Deserialize)]
pub(super) struct Move {
    pub(super) from: String,
    pub(super) to: String,
}

#[derive(Deserialize)]
pub(super) struct Delete {
    pub(super) path: String,
}

#[derive(Deserialize)]
pub(super) struct Plan {
    pub(super) steps: Vec<String>,
}

#[derive(Deserialize)]
pub(super) struct Finish {
    pub(super) title: String,
    pub(super) summary: String,
}
