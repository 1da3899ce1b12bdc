//! Merges the sources of settings: flags, environment variables, files that variables name, and `docwright.toml`.
//!
//! `declarations.rs` declares each setting once. Only this file decides which source wins.

mod agent;
mod declarations;
#[cfg(test)]
mod docs_tests;
mod flags;
mod models;
mod parse;
mod setting;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use traffic::ViewsUrl;

use crate::args::{Data, quote};

pub(crate) use declarations::{SETTINGS, help};
pub(crate) use flags::{Flags, ServeFlags, WorkerFlags};
pub(crate) use models::ModelTable;
pub(crate) use parse::{NO_WORKERS, parse_listen, parse_positive, parse_worker_count};
pub(crate) use setting::{CommandKind, Value};

/// The value of every setting.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) server: server::Settings,
    pub(crate) log: LogSettings,
    /// The server for commands over HTTP.
    pub(crate) url: Option<String>,
    pub(crate) api_key: Option<String>,
}

#[derive(Debug)]
pub(crate) struct LogSettings {
    pub(crate) filter: String,
    /// `None`: JSON unless standard error is a terminal.
    pub(crate) is_json: Option<bool>,
}

impl Settings {
    /// The defaults. A default that depends on the machine, such as the data directory, is empty.
    fn defaults(command: CommandKind) -> Self {
        // The demo prints its steps to the terminal, so it logs only what is wrong.
        let filter = if command == CommandKind::Demo { "warn" } else { "info" }.to_owned();
        Self {
            server: server::Settings::new(PathBuf::new()),
            log: LogSettings { filter, is_json: None },
            url: None,
            api_key: None,
        }
    }
}

/// The settings file and the environment.
pub(crate) struct Sources {
    file: toml::Table,
    /// The settings file, if `--config` names one.
    config: Option<PathBuf>,
}

impl Sources {
    /// Never reads a settings file from the working directory: a file in a checked-out repository could send the user's
    /// API key to another server.
    pub(crate) fn load(config: Option<&Path>) -> anyhow::Result<Self> {
        let default = xdg("XDG_CONFIG_HOME", ".config").map(|parent| parent.join("docwright/docwright.toml"));
        let Some(path) = config.map(Path::to_owned).or(default) else {
            return Ok(Self { file: toml::Table::new(), config: None });
        };
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && config.is_none() => String::new(),
            Err(error) => return Err(error).context(format!("{} cannot be read", path.display())),
        };
        let file: toml::Table = text.parse().with_context(|| format!("{} is not valid", path.display()))?;
        let is_known = |name: &str| SETTINGS.iter().any(|setting| setting.name == name);
        if let Some(name) = file.keys().find(|name| !is_known(name)) {
            let known: Vec<_> = SETTINGS.iter().map(|setting| setting.name).collect();
            bail!("{} has the unknown setting `{name}`: use one of {}", path.display(), known.join(", "));
        }
        Ok(Self { file, config: config.map(Path::to_owned) })
    }

    /// The flags with which a suggested command uses the same data as this one.
    pub(crate) fn repeat_flags(&self, data: &Data) -> String {
        let absolute = |file: &PathBuf| std::path::absolute(file).unwrap_or_else(|_| file.clone());
        let config = self
            .config
            .as_ref()
            .map(|file| format!(" --config {}", quote(&absolute(file).to_string_lossy())));
        config.unwrap_or_default() + &data.repeat_flags()
    }

    /// The settings that `command` reads; the others have their defaults, and are not even checked.
    pub(crate) fn settings(
        &self,
        command: CommandKind,
        data: &Data,
        flags: &Flags,
    ) -> anyhow::Result<Settings> {
        let settings = self.merge(command, data, flags)?;
        settings.server.check().map_err(anyhow::Error::msg)?;
        Ok(settings)
    }

    /// Like [`Self::settings`], but settings may contradict each other.
    pub(crate) fn merge(&self, command: CommandKind, data: &Data, flags: &Flags) -> anyhow::Result<Settings> {
        data.refuse_password_in_database_url()?;
        refuse_password_in_views_url(flags)?;
        let mut settings = Settings::defaults(command);
        for setting in SETTINGS.iter().filter(|setting| setting.read_by.contains(&command)) {
            match setting.value {
                Value::DataDirectory => settings.server.data = self.data_directory(data)?,
                Value::Table(apply) => apply(&mut settings, self)?,
                Value::Text(apply) => {
                    let flag = data.get(setting.name).or(flags.get(setting.name));
                    if let Some(text) = self.text(setting.name, flag)? {
                        apply(&mut settings, &text).context(setting.name)?;
                    }
                }
            }
        }
        Ok(settings)
    }

    /// The settings of commands on the data directory.
    pub(crate) fn admin_settings(&self, data: &Data) -> anyhow::Result<server::Settings> {
        Ok(self.settings(CommandKind::Admin, data, &Flags::default())?.server)
    }

    /// The public URL, for commands that read no other setting of the server.
    pub(crate) fn public_url(&self, flag: Option<&str>) -> anyhow::Result<Option<String>> {
        let url = self.text("public_url", flag)?;
        url.map(|url| server::parse_public_url(&url)).transpose().map_err(anyhow::Error::msg)
    }

    /// The first source that has a value: the flag, `DOCWRIGHT_NAME`, `DOCWRIGHT_NAME_FILE`, the settings file.
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
            Some(toml::Value::Boolean(value)) => Ok(Some(value.to_string())),
            Some(toml::Value::Array(items)) => {
                let items: Option<Vec<_>> = items.iter().map(toml::Value::as_str).collect();
                Ok(Some(items.with_context(|| format!("{name} must be a list of strings"))?.join(",")))
            }
            Some(_) => bail!("{name} must be a string in quotes"),
        }
    }

    /// The data directory: from the flag, from another source, or the default. Only the flag can name a path that is
    /// not UTF-8.
    fn data_directory(&self, flags: &Data) -> anyhow::Result<PathBuf> {
        match (&flags.data, self.text("data", None)?) {
            (Some(path), _) => Ok(path.clone()),
            (None, Some(path)) => Ok(PathBuf::from(path)),
            (None, None) => {
                let parent = xdg("XDG_DATA_HOME", ".local/share");
                let parent = parent.context(
                    "there is no default data directory, because neither XDG_DATA_HOME nor HOME is set: set --data",
                )?;
                Ok(parent.join("docwright"))
            }
        }
    }
}

fn refuse_password_in_views_url(flags: &Flags) -> anyhow::Result<()> {
    let url = flags.get("views_url").and_then(|url| url.parse::<ViewsUrl>().ok());
    ensure!(
        !url.is_some_and(|url| url.has_password()),
        "every user of this machine can read a password on a command line: set DOCWRIGHT_VIEWS_URL or DOCWRIGHT_VIEWS_URL_FILE instead of --views-url"
    );
    Ok(())
}

/// An empty variable counts as not set: CI systems create empty variables from missing secrets.
fn environment(variable: &str) -> anyhow::Result<Option<String>> {
    match std::env::var(variable) {
        Ok(value) => Ok(Some(value).filter(|value| !value.is_empty())),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => bail!("the variable {variable} is not valid UTF-8"),
    }
}

/// A base directory of the user, as the XDG specification defines it.
fn xdg(variable: &str, below_home: &str) -> Option<PathBuf> {
    let absolute = std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(below_home)))
}
