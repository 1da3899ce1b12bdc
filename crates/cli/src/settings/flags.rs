//! Creates the flags of `docwright serve` and `docwright worker` from the declarations of settings.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use super::declarations::SETTINGS;
use super::setting::{CommandKind, FlagKind, Setting};

/// The flags that were set, by the name of the setting.
#[derive(Default)]
pub(crate) struct Flags(BTreeMap<&'static str, String>);

impl Flags {
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}

/// The flags of a command, for `#[command(flatten)]`.
pub(crate) struct CommandFlags<C> {
    pub(crate) flags: Flags,
    command: PhantomData<C>,
}

pub(crate) type ServeFlags = CommandFlags<ServeCommand>;
pub(crate) type WorkerFlags = CommandFlags<WorkerCommand>;

pub(crate) trait SettingsCommand {
    const KIND: CommandKind;
}

pub(crate) struct ServeCommand;

impl SettingsCommand for ServeCommand {
    const KIND: CommandKind = CommandKind::Serve;
}

pub(crate) struct WorkerCommand;

impl SettingsCommand for WorkerCommand {
    const KIND: CommandKind = CommandKind::Worker;
}

/// Their flags are in `args::Data`, because admin commands have them, too.
const FLAGS_OF_DATA: [&str; 2] = ["data", "database_url"];

/// The settings that are flags of this command alone.
fn settings_with_flags(command: CommandKind) -> impl Iterator<Item = (&'static Setting, &'static FlagKind)> {
    let settings = SETTINGS.iter().filter(move |setting| setting.read_by.contains(&command));
    let settings = settings.filter(|setting| !FLAGS_OF_DATA.contains(&setting.name));
    settings.filter_map(|setting| Some((setting, &setting.flag.as_ref()?.kind)))
}

fn arg(setting: &'static Setting, kind: &FlagKind) -> Arg {
    let arg = Arg::new(setting.name).long(setting.flag.as_ref().map(|flag| flag.long)).help(setting.help());
    let parser = move |text: &str| setting.check(text).map(|()| text.to_owned());
    match kind {
        FlagKind::Switch => arg.action(ArgAction::SetTrue),
        FlagKind::Once(value_name) => arg.value_name(value_name).value_parser(parser),
        FlagKind::Repeated(value_name) => {
            arg.value_name(value_name).value_parser(parser).action(ArgAction::Append)
        }
    }
}

fn value(setting: &Setting, kind: &FlagKind, matches: &ArgMatches) -> Option<String> {
    match kind {
        FlagKind::Switch => matches.get_flag(setting.name).then(|| "true".to_owned()),
        FlagKind::Once(_) => matches.get_one::<String>(setting.name).cloned(),
        FlagKind::Repeated(_) => {
            let values: Vec<_> = matches.get_many::<String>(setting.name)?.cloned().collect();
            Some(values.join(","))
        }
    }
}

impl<C: SettingsCommand> Args for CommandFlags<C> {
    fn augment_args(command: Command) -> Command {
        command.args(settings_with_flags(C::KIND).map(|(setting, kind)| arg(setting, kind)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<C: SettingsCommand> FromArgMatches for CommandFlags<C> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let settings = settings_with_flags(C::KIND);
        let values =
            settings.filter_map(|(setting, kind)| Some((setting.name, value(setting, kind, matches)?)));
        Ok(Self { flags: Flags(values.collect()), command: PhantomData })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
