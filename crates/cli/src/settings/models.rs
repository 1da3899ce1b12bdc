//! Reads the tables `[models.NAME]`: the models, and where their keys are.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use serde::Deserialize;
use server::model::{Limits, Prices, Provider, Secret, Settings, TokenLimits};

use super::{Sources, environment};

const MIN_OUTPUT_TOKENS: u32 = 256;
const MIN_CONTEXT_TOKENS: u32 = 2_048;

/// A table as in the settings file, which never contains the key itself.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelTable {
    provider: String,
    pub(crate) model: String,
    base_url: Option<String>,
    api_key_env: Option<String>,
    api_key_file: Option<PathBuf>,
    prices: Option<PriceTable>,
    #[serde(default)]
    allow_private: bool,
    #[serde(default)]
    use_proxy: bool,
    silence_seconds: Option<u64>,
    call_seconds: Option<u64>,
    max_output_tokens: Option<u32>,
    context_tokens: Option<u32>,
    profile: Option<String>,
    concurrent_calls: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceTable {
    input: f64,
    output: f64,
    cached: Option<f64>,
}

impl Sources {
    /// The tables by name, without the keys.
    pub(crate) fn model_tables(&self) -> anyhow::Result<BTreeMap<String, ModelTable>> {
        let Some(tables) = self.file.get("models") else { return Ok(BTreeMap::new()) };
        let tables = tables.as_table().context("models must be tables such as [models.fast]")?;
        let parse = |(name, table): (&String, &toml::Value)| {
            let table = parse_table(name, table).with_context(|| format!("models.{name}"))?;
            Ok((name.clone(), table))
        };
        tables.iter().map(parse).collect()
    }

    /// The models with their keys.
    pub(crate) fn models(&self) -> anyhow::Result<BTreeMap<String, Settings>> {
        let settings = |(name, table): (String, ModelTable)| {
            let settings = table.settings().with_context(|| format!("models.{name}"))?;
            Ok((name, settings))
        };
        self.model_tables()?.into_iter().map(settings).collect()
    }
}

fn parse_table(name: &str, table: &toml::Value) -> anyhow::Result<ModelTable> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
    if !(1..=64).contains(&name.len()) || !name.chars().all(is_plain) {
        bail!("a model's name must have 1 to 64 lowercase letters, digits, `-`, `_` and `.`");
    }
    if name == "offline" {
        bail!("`offline` is the name of the built-in editor: choose another name for this model");
    }
    if table.get("api_key").is_some() {
        bail!(
            "a settings file must not contain an API key: name its variable in api_key_env, or its file in api_key_file"
        );
    }
    table.clone().try_into().map_err(|error: toml::de::Error| anyhow::anyhow!(error.message().to_owned()))
}

impl ModelTable {
    pub(crate) fn provider(&self) -> anyhow::Result<Provider> {
        self.provider.parse().map_err(anyhow::Error::msg)
    }

    /// The address of the model.
    pub(crate) fn url(&self) -> anyhow::Result<&str> {
        let default = self.provider()?.default_url();
        Ok(self.base_url.as_deref().or(default).unwrap_or_default())
    }

    pub(crate) fn settings(self) -> anyhow::Result<Settings> {
        let (default, seconds) = (Limits::default(), |value: Option<u64>| value.map(Duration::from_secs));
        let limits = Limits {
            idle_timeout: seconds(self.silence_seconds).unwrap_or(default.idle_timeout),
            total_timeout: seconds(self.call_seconds).unwrap_or(default.total_timeout),
            ..default
        };
        if limits.idle_timeout.is_zero() || limits.total_timeout.is_zero() {
            bail!("silence_seconds and call_seconds must be at least 1");
        }
        let token_limits = self.token_limits()?;
        let profile = self.profile.as_deref().map(str::parse).transpose().map_err(anyhow::Error::msg)?;
        if self.concurrent_calls == Some(0) {
            bail!("concurrent_calls must be at least 1");
        }
        Ok(Settings {
            provider: self.provider()?,
            api_key: self.read_key()?,
            prices: self.prices.map(parse_prices).transpose()?,
            model: self.model,
            base_url: self.base_url,
            allow_private: self.allow_private,
            use_proxy: self.use_proxy,
            limits,
            token_limits,
            profile: profile.unwrap_or_default(),
            concurrent_calls: self.concurrent_calls,
        })
    }

    fn token_limits(&self) -> anyhow::Result<TokenLimits> {
        let limits = TokenLimits { output: self.max_output_tokens, context: self.context_tokens };
        if limits.output.is_some_and(|tokens| tokens < MIN_OUTPUT_TOKENS) {
            bail!("max_output_tokens must be at least {MIN_OUTPUT_TOKENS}");
        }
        if limits.context.is_some_and(|tokens| tokens < MIN_CONTEXT_TOKENS) {
            bail!("context_tokens must be at least {MIN_CONTEXT_TOKENS}: a task and a page need that much");
        }
        Ok(limits)
    }

    /// Where the key is, if the settings name a variable or a file.
    pub(crate) fn key_source(&self) -> Option<&'static str> {
        let variable = self.api_key_env.as_ref().map(|_| "variable");
        variable.or(self.api_key_file.as_ref().map(|_| "file"))
    }

    fn read_key(&self) -> anyhow::Result<Option<Secret>> {
        let (text, source) = match (&self.api_key_env, &self.api_key_file) {
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => bail!("api_key_env and api_key_file are both set: remove one of them"),
            (Some(variable), None) => {
                let text = environment(variable)?;
                (text.with_context(|| format!("the variable {variable} is not set"))?, variable.clone())
            }
            (None, Some(path)) => {
                let source = path.display().to_string();
                (std::fs::read_to_string(path).with_context(|| format!("{source} cannot be read"))?, source)
            }
        };
        Ok(Some(Secret::parse(&text).with_context(|| format!("the content of {source} is not a valid key"))?))
    }
}

fn parse_prices(table: PriceTable) -> anyhow::Result<Prices> {
    let PriceTable { input, output, cached } = table;
    let prices = Prices { input, output, cached: cached.unwrap_or(input) };
    let is_valid =
        [prices.input, prices.output, prices.cached].iter().all(|price| (0.0..=1e6).contains(price));
    if is_valid {
        Ok(prices)
    } else {
        bail!("prices must be numbers from 0 to 1000000, for a million tokens each")
    }
}
