//! Where a setting comes from: flag, environment, file that the environment names, `docwright.toml`.

mod agent;
mod models;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use server::{NetworkPolicy, Settings};
use store::DatabaseUrl;

use crate::args::{Data, quoted};

pub(crate) use models::ModelTable;

/// Every setting there is; a name in the file that is not here is a mistake, and said so.
pub(crate) const NAMES: &[&str] = &[
    "listen",
    "data",
    "database_url",
    "public_url",
    "trusted_proxies",
    "proxy_header",
    "master_key_file",
    "workers",
    "transcript_days",
    "branch_days",
    "cache_gib",
    "project_jobs",
    "page_views",
    "jobs_per_hour",
    "reads_per_hour",
    "log",
    "log_format",
    "metrics",
    "beacons_per_minute",
    "views_days",
    "views_memory",
    "new_pages_per_day",
    "url",
    "api_key",
    "models",
    "agent",
    "hosts_allow_private",
    "hosts_use_proxy",
];

pub(crate) struct Sources {
    file: toml::Table,
    /// The settings file that was named.
    named: Option<PathBuf>,
}

impl Sources {
    /// What the next command must be given, too, to be about the same data.
    pub(crate) fn again(&self, data: &Data) -> String {
        let config = self.named.as_ref().map(|file| format!(" --config {}", quoted(&file.to_string_lossy())));
        config.unwrap_or_default() + &data.again()
    }

    /// Not from the working directory: whoever commands run in somebody's checkout must not be
    /// sent elsewhere, with their key, by a file that lies there.
    pub(crate) fn load(config: Option<&Path>) -> anyhow::Result<Self> {
        let usual = xdg("XDG_CONFIG_HOME", ".config").map(|parent| parent.join("docwright/docwright.toml"));
        let Some(path) = config.map(Path::to_owned).or(usual) else {
            return Ok(Self { file: toml::Table::new(), named: None });
        };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && config.is_none() => String::new(),
            Err(error) => return Err(error).context(format!("{} cannot be read", path.display())),
        };
        let file: toml::Table = text.parse().with_context(|| format!("{} is not valid", path.display()))?;
        if let Some(name) = file.keys().find(|name| !NAMES.contains(&name.as_str())) {
            bail!(
                "{} has a setting `{name}` that is not known; known are {}",
                path.display(),
                NAMES.join(", ")
            );
        }
        Ok(Self { file, named: config.map(Path::to_owned) })
    }

    /// The first that says something: the flag, `DOCWRIGHT_NAME`, `DOCWRIGHT_NAME_FILE`, the file.
    pub(crate) fn text(&self, name: &str, flag: Option<&str>) -> anyhow::Result<Option<String>> {
        let variable = format!("DOCWRIGHT_{}", name.to_ascii_uppercase());
        if let Some(value) = flag {
            return Ok(Some(value.to_owned()));
        }
        if let Some(value) = environment(&variable)? {
            return Ok(Some(value));
        }
        if let Some(path) = environment(&format!("{variable}_FILE"))? {
            let text = std::fs::read_to_string(&path)
                .with_context(|| format!("{variable}_FILE names {path}, which cannot be read"))?;
            return Ok(Some(text.trim().to_owned()));
        }
        match self.file.get(name) {
            None => Ok(None),
            Some(toml::Value::String(text)) => Ok(Some(text.clone())),
            Some(toml::Value::Integer(number)) => Ok(Some(number.to_string())),
            Some(toml::Value::Boolean(yes)) => Ok(Some(yes.to_string())),
            Some(toml::Value::Array(items)) => {
                let items: Option<Vec<_>> = items.iter().map(toml::Value::as_str).collect();
                Ok(Some(items.with_context(|| format!("{name} must be a list of texts"))?.join(",")))
            }
            Some(_) => bail!("{name} must be a text in quotes"),
        }
    }

    pub(crate) fn yes(&self, name: &str, flag: bool) -> anyhow::Result<bool> {
        match self.text(name, flag.then_some("true"))?.as_deref() {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => bail!("{name} must be true or false"),
        }
    }

    /// The settings of the admin commands: they need to know where the data is.
    pub(crate) fn data(&self, flags: &Data) -> anyhow::Result<Settings> {
        let data = match (&flags.data, self.text("data", None)?) {
            (Some(path), _) => path.clone(),
            (None, Some(path)) => PathBuf::from(path),
            (None, None) => default_data()?,
        };
        let master_key_file = self.text("master_key_file", None)?.map(PathBuf::from);
        let database_url = self.database_url(flags.database_url.as_deref())?;
        let hosts = NetworkPolicy {
            allow_private: self.yes("hosts_allow_private", false)?,
            use_proxy: self.yes("hosts_use_proxy", false)?,
        };
        Ok(Settings { master_key_file, database_url, hosts, ..Settings::new(data) })
    }

    fn database_url(&self, flag: Option<&str>) -> anyhow::Result<Option<DatabaseUrl>> {
        ensure!(
            !flag.is_some_and(DatabaseUrl::has_password),
            "a password does not belong on a command line, where everybody sees it: set DOCWRIGHT_DATABASE_URL, or DOCWRIGHT_DATABASE_URL_FILE"
        );
        let url = self.text("database_url", flag)?;
        url.map(|url| url.parse()).transpose().map_err(anyhow::Error::msg)
    }

    pub(crate) fn public_url(&self, flag: Option<&str>) -> anyhow::Result<Option<String>> {
        let url = self.text("public_url", flag)?;
        url.map(|url| server::parse_public_url(&url)).transpose().map_err(anyhow::Error::msg)
    }
}

/// An empty variable is one that nobody set: CI systems make them of secrets that are not there.
fn environment(variable: &str) -> anyhow::Result<Option<String>> {
    match std::env::var(variable) {
        Ok(value) => Ok(Some(value).filter(|value| !value.is_empty())),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => bail!("{variable} is not valid text"),
    }
}

fn default_data() -> anyhow::Result<PathBuf> {
    let parent = xdg("XDG_DATA_HOME", ".local/share");
    let parent = parent.context("neither XDG_DATA_HOME nor HOME is set: name a directory with --data")?;
    Ok(parent.join("docwright"))
}

/// A base directory of the user's, by the XDG rules.
fn xdg(variable: &str, below_home: &str) -> Option<PathBuf> {
    let named = std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    named.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(below_home)))
}
