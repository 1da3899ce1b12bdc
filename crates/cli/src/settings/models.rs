//! `[models.NAME]` tables: which models there are, and where their keys are found.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use serde::Deserialize;
use server::model::{Limits, Prices, Provider, Secret, Settings};

use super::{Sources, environment};

/// A table as it is written; the key is somewhere else.
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
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceTable {
    input: f64,
    output: f64,
    cached: Option<f64>,
}

impl Sources {
    /// The tables by name, with nothing looked up yet.
    pub(crate) fn model_tables(&self) -> anyhow::Result<BTreeMap<String, ModelTable>> {
        let Some(tables) = self.file.get("models") else { return Ok(BTreeMap::new()) };
        let tables = tables.as_table().context("models must be tables such as [models.fast]")?;
        let read = |(name, table): (&String, &toml::Value)| {
            let table = read(name, table).with_context(|| format!("models.{name}"))?;
            Ok((name.clone(), table))
        };
        tables.iter().map(read).collect()
    }

    /// All of them with their keys, as a server needs them.
    pub(crate) fn models(&self) -> anyhow::Result<BTreeMap<String, Settings>> {
        let settings = |(name, table): (String, ModelTable)| {
            let settings = table.settings().with_context(|| format!("models.{name}"))?;
            Ok((name, settings))
        };
        self.model_tables()?.into_iter().map(settings).collect()
    }
}

fn read(name: &str, table: &toml::Value) -> anyhow::Result<ModelTable> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
    if !(1..=64).contains(&name.len()) || !name.chars().all(plain) {
        bail!("a model's name has up to 64 small letters, digits, `-`, `_` and `.`");
    }
    if name == "offline" {
        bail!("`offline` is the editor that needs no model: give this one another name");
    }
    if table.get("api_key").is_some() {
        bail!(
            "a key does not belong into a settings file: name its variable in api_key_env, or its file in api_key_file"
        );
    }
    table.clone().try_into().map_err(|error: toml::de::Error| anyhow::anyhow!(error.message().to_owned()))
}

impl ModelTable {
    pub(crate) fn provider(&self) -> anyhow::Result<Provider> {
        self.provider.parse().map_err(anyhow::Error::msg)
    }

    /// Where it is.
    pub(crate) fn url(&self) -> anyhow::Result<&str> {
        let usual = self.provider()?.usual_url();
        Ok(self.base_url.as_deref().or(usual).unwrap_or_default())
    }

    pub(crate) fn settings(self) -> anyhow::Result<Settings> {
        let (usual, seconds) = (Limits::default(), |asked: Option<u64>| asked.map(Duration::from_secs));
        let limits = Limits {
            silence: seconds(self.silence_seconds).unwrap_or(usual.silence),
            whole: seconds(self.call_seconds).unwrap_or(usual.whole),
            ..usual
        };
        if limits.silence.is_zero() || limits.whole.is_zero() {
            bail!("silence_seconds and call_seconds must be at least 1");
        }
        Ok(Settings {
            provider: self.provider()?,
            api_key: self.key()?,
            prices: self.prices.map(prices).transpose()?,
            model: self.model,
            base_url: self.base_url,
            allow_private: self.allow_private,
            use_proxy: self.use_proxy,
            limits,
        })
    }

    /// Where the settings say that its key is, if they do.
    pub(crate) fn key_place(&self) -> Option<&'static str> {
        let variable = self.api_key_env.as_ref().map(|_| "variable");
        variable.or(self.api_key_file.as_ref().map(|_| "file"))
    }

    fn key(&self) -> anyhow::Result<Option<Secret>> {
        let (text, place) = match (&self.api_key_env, &self.api_key_file) {
            (None, None) => return Ok(None),
            (Some(_), Some(_)) => bail!("api_key_env and api_key_file are both there: one of them is enough"),
            (Some(variable), None) => {
                let text = environment(variable)?;
                (text.with_context(|| format!("the variable {variable} is not set"))?, variable.clone())
            }
            (None, Some(path)) => {
                let place = path.display().to_string();
                (std::fs::read_to_string(path).with_context(|| format!("{place} cannot be read"))?, place)
            }
        };
        Ok(Some(Secret::parse(&text).with_context(|| format!("what {place} holds is no key"))?))
    }
}

fn prices(table: PriceTable) -> anyhow::Result<Prices> {
    let PriceTable { input, output, cached } = table;
    let prices = Prices { input, output, cached: cached.unwrap_or(input) };
    let sane = [prices.input, prices.output, prices.cached].iter().all(|price| (0.0..=1e6).contains(price));
    if sane { Ok(prices) } else { bail!("prices are numbers of at least 0, of a million tokens each") }
}
