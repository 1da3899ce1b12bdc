//! Collects every command with its flags, arguments and values, and the documented exit codes.

use clap::{Arg, ArgAction, Command, CommandFactory};

use super::facts::Facts;
use crate::args::Args;

const DOCS: &str = include_str!("../../../../docs/cli.md");

pub(super) fn collect(facts: &mut Facts) {
    let mut program = Args::command();
    program.build();
    collect_command(&program, "docwright", facts);
    let documented = DOCS.split("## Exit codes").nth(1).unwrap().split("\n## ").next().unwrap();
    let rows = documented.lines().filter_map(|row| row.strip_prefix("| ")?.split(' ').next());
    for code in rows.filter(|cell| cell.chars().all(|c| c.is_ascii_digit())) {
        facts.offer(format!("docs/cli.md exit code {code}"));
    }
}

fn collect_command(command: &Command, name: &str, facts: &mut Facts) {
    facts.offer(name);
    command.get_all_aliases().for_each(|alias| facts.offer(format!("{name} is also {alias}")));
    for code in exit_codes(command) {
        facts.offer(format!("{name} exit code {code}"));
    }
    for arg in command.get_arguments() {
        collect_argument(arg, name, facts);
    }
    for group in command.get_groups().filter(|group| group.is_required_set()) {
        facts.require(name, &format!("one of {}", group.get_id()));
    }
    for subcommand in command.get_subcommands().filter(|subcommand| subcommand.get_name() != "help") {
        collect_command(subcommand, &format!("{name} {}", subcommand.get_name()), facts);
    }
}

fn collect_argument(arg: &Arg, command: &str, facts: &mut Facts) {
    let takes_value = arg.get_action().takes_values();
    let mut names: Vec<_> = arg.get_index().map(|index| format!("argument {index}")).into_iter().collect();
    names.extend(arg.get_long().map(|long| format!("--{long}")));
    names.extend(arg.get_all_aliases().unwrap_or_default().iter().map(|alias| format!("--{alias}")));
    names.extend(
        arg.get_short_and_visible_aliases().unwrap_or_default().iter().map(|short| format!("-{short}")),
    );
    for name in names {
        let fact = format!("{command} {name}");
        facts.offer(if takes_value { format!("{fact} VALUE") } else { fact.clone() });
        if matches!(arg.get_action(), ArgAction::Append | ArgAction::Count) {
            facts.offer(format!("{fact} can be given again"));
        }
        for value in arg.get_possible_values().iter().filter(|_| takes_value) {
            facts.offer(format!("{fact} accepts {}", value.get_name()));
        }
        for default in arg.get_default_values().iter().filter(|_| takes_value) {
            facts.offer(format!("{fact} default {}", default.to_string_lossy()));
        }
        if arg.is_required_set() {
            facts.require(command, &name);
        }
    }
}

/// The exit codes in the help: `Exit codes: 0 done, 1 error, …`
fn exit_codes(command: &Command) -> Vec<String> {
    let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let codes = help.split("Exit codes:").nth(1).unwrap_or_default();
    let first_words = codes.split(',').filter_map(|code| code.split_whitespace().next());
    first_words.filter(|word| word.chars().all(|c| c.is_ascii_digit())).map(str::to_owned).collect()
}
