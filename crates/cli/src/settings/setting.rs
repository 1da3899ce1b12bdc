//! What a setting is: its name, its flag, its default, what it does, and which commands read it.

use super::{Settings, Sources};
use crate::log;

pub(crate) struct Setting {
    pub(crate) name: &'static str,
    pub(super) flag: Option<Flag>,
    pub(super) default: DefaultValue,
    /// What it does, in the imperative and without a period. `docs/settings.md` begins with the same sentence.
    pub(super) help: &'static str,
    pub(crate) read_by: &'static [CommandKind],
    pub(crate) value: Value,
}

pub(super) struct Flag {
    pub(super) long: &'static str,
    pub(super) kind: FlagKind,
}

pub(super) enum FlagKind {
    /// A flag without a value.
    Switch,
    /// The name of its value in the help.
    Once(&'static str),
    Repeated(&'static str),
}

pub(super) enum DefaultValue {
    /// Has the same effect as setting this value.
    Literal(&'static str),
    /// Depends on something else.
    Described(&'static str),
}

/// How a value gets into [`Settings`].
pub(crate) enum Value {
    Text(fn(&mut Settings, &str) -> anyhow::Result<()>),
    /// A table of the settings file; it has neither a flag nor a variable.
    Table(fn(&mut Settings, &Sources) -> anyhow::Result<()>),
    /// The data directory, whose path can be something else than text.
    DataDirectory,
}

/// A kind of command, by the settings that it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandKind {
    /// Commands on the data directory.
    Admin,
    Worker,
    Serve,
    Demo,
    /// Commands over HTTP.
    Client,
}

impl Setting {
    /// The help of its flag.
    pub(crate) fn help(&self) -> String {
        let flag = self.flag.as_ref().map(|flag| &flag.kind);
        let repeat = if let Some(FlagKind::Repeated(_)) = flag { ". Repeat the flag for more" } else { "" };
        match (&self.default, flag) {
            (_, Some(FlagKind::Switch)) => self.help.to_owned(),
            (DefaultValue::Literal(default) | DefaultValue::Described(default), _) => {
                format!("{}{repeat} [default: {default}]", self.help)
            }
        }
    }

    /// Refuses an invalid value of the flag.
    pub(super) fn check(&self, text: &str) -> anyhow::Result<()> {
        // In other sources, a blank filter counts as not set. A blank flag is a mistake.
        if self.name == "log" {
            log::parse_filter(text)?;
        }
        match self.value {
            Value::Text(apply) => apply(&mut Settings::defaults(CommandKind::Serve), text),
            Value::Table(_) | Value::DataDirectory => Ok(()),
        }
    }
}
