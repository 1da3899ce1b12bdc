//! Defines the data of the weekly summary.

use askama::Template;

use super::{EffectSummary, FindingLink, Link, Section, Shell, Tile};

/// `/p/{projectId}/weekly`
#[derive(Template)]
#[template(path = "weekly.html")]
pub(crate) struct Weekly {
    pub(crate) shell: Shell,
    /// Such as "Nov 9 – Nov 15, 2026".
    pub(crate) days: String,
    pub(crate) tiles: Vec<WeekTile>,
    pub(crate) lists: Vec<WeekList>,
    pub(crate) merges: Vec<WeekMerge>,
    pub(crate) open: String,
    /// The days that the readers of a finding are counted in.
    pub(crate) window_days: u32,
    /// The URL of the open findings.
    pub(crate) findings: String,
    pub(crate) previous: Option<String>,
    pub(crate) next: Option<String>,
    pub(crate) error: Option<String>,
}

pub(crate) struct WeekTile {
    pub(crate) tile: Tile,
    /// Human and AI apart.
    pub(crate) split: String,
}

pub(crate) struct WeekList {
    pub(crate) id: &'static str,
    pub(crate) title: &'static str,
    pub(crate) empty: &'static str,
    pub(crate) rows: Vec<WeekRow>,
    /// Such as "12 more", if the list is cut.
    pub(crate) more: Option<String>,
}

pub(crate) struct WeekRow {
    pub(crate) link: FindingLink,
    /// What the numbers count.
    pub(crate) counted: &'static str,
    pub(crate) human: String,
    pub(crate) ai: String,
}

pub(crate) struct WeekMerge {
    pub(crate) job: Link,
    pub(crate) day: String,
    pub(crate) effect: Option<EffectSummary>,
}
