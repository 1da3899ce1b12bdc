//! Reads the table `[agent]`: the limits of one run of a model, and the tokens that a project can use in a month.

use std::time::Duration;

use anyhow::{Context, ensure};
use serde::Deserialize;
use server::AgentLimits;

use super::Sources;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct AgentTable {
    turns: Option<u32>,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    minutes: Option<u64>,
    files: Option<usize>,
    bytes: Option<usize>,
    tokens_a_month: Option<u64>,
}

impl Sources {
    pub(crate) fn agent_limits(&self) -> anyhow::Result<AgentLimits> {
        self.file.get("agent").map_or_else(|| Ok(AgentLimits::default()), |table| parse(table.clone()))
    }
}

pub(super) fn parse(table: toml::Value) -> anyhow::Result<AgentLimits> {
    let table: AgentTable = table
        .try_into()
        .map_err(|error: toml::de::Error| anyhow::anyhow!(error.message().to_owned()))
        .context("the settings table [agent]")?;
    let default = AgentLimits::default();
    let limits = AgentLimits {
        turns: table.turns.unwrap_or(default.turns),
        input: table.input_tokens.unwrap_or(default.input),
        output: table.output_tokens.unwrap_or(default.output),
        time: table.minutes.map_or(default.time, |minutes| Duration::from_secs(minutes.saturating_mul(60))),
        files: table.files.unwrap_or(default.files),
        bytes: table.bytes.unwrap_or(default.bytes),
        month: table.tokens_a_month.or(default.month),
        ..default
    };
    let numbers = [u64::from(limits.turns), limits.input, limits.output, limits.time.as_secs()];
    let all_positive = numbers.iter().all(|number| *number > 0) && limits.files > 0 && limits.bytes > 0;
    ensure!(all_positive, "the limits of a run in the settings table [agent] must be at least 1");
    Ok(limits)
}
