//! The table `[agent]`: how much one run of a model may take.

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
        let Some(table) = self.file.get("agent") else { return Ok(AgentLimits::default()) };
        let table: AgentTable = table
            .clone()
            .try_into()
            .map_err(|error: toml::de::Error| anyhow::anyhow!(error.message().to_owned()))
            .context("the table `agent` of the settings")?;
        let usual = AgentLimits::default();
        let limits = AgentLimits {
            turns: table.turns.unwrap_or(usual.turns),
            input: table.input_tokens.unwrap_or(usual.input),
            output: table.output_tokens.unwrap_or(usual.output),
            time: table.minutes.map_or(usual.time, |minutes| Duration::from_secs(minutes.saturating_mul(60))),
            files: table.files.unwrap_or(usual.files),
            bytes: table.bytes.unwrap_or(usual.bytes),
            month: table.tokens_a_month.or(usual.month),
            ..usual
        };
        let least = [u64::from(limits.turns), limits.input, limits.output, limits.time.as_secs()];
        let all_at_least_one = least.iter().all(|number| *number > 0) && limits.files > 0 && limits.bytes > 0;
        ensure!(all_at_least_one, "the numbers of the table `agent` must be at least 1");
        Ok(limits)
    }
}
