//! Compares the declarations of settings with `docs/settings.md`, and with the defaults of the server.

use super::declarations::SETTINGS;
use super::setting::{CommandKind, DefaultValue, FlagKind, Setting, Value};
use super::{Settings, agent};

const DOCS: &str = include_str!("../../../../docs/settings.md");
const MODEL_DOCS: &str = include_str!("../../../../docs/models.md");

/// The cells of each row whose first cell is the name of a setting, without backticks.
fn documented() -> Vec<Vec<String>> {
    let rows = DOCS.lines().filter(|line| line.starts_with("| `"));
    let cells = |row: &str| {
        let cells = row.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', ""));
        cells.collect::<Vec<_>>()
    };
    rows.map(cells).collect()
}

fn default_text(setting: &Setting) -> &'static str {
    match setting.default {
        DefaultValue::Literal(text) | DefaultValue::Described(text) => text,
    }
}

fn capitalize(text: &str) -> String {
    let (first, rest) = text.split_at(1);
    first.to_uppercase() + rest
}

/// What is wrong with the documentation of the settings.
fn differences(documented: &[Vec<String>]) -> Vec<String> {
    let mut differences = Vec::new();
    let names: Vec<_> = documented.iter().map(|cells| cells[0].as_str()).collect();
    let declared: Vec<_> = SETTINGS.iter().map(|setting| setting.name).collect();
    if names != declared {
        differences.push(format!("documented: {names:?}, declared: {declared:?}"));
    }
    for setting in SETTINGS {
        let Some(cells) = documented.iter().find(|cells| cells[0] == setting.name) else { continue };
        let [_, flag, default, meaning] = cells.as_slice() else {
            differences.push(format!("{}: {} cells", setting.name, cells.len()));
            continue;
        };
        let expected_flag = setting.flag.as_ref().map(|flag| format!("--{}", flag.long)).unwrap_or_default();
        if *flag != expected_flag {
            differences.push(format!("{}: flag {flag:?}, not {expected_flag:?}", setting.name));
        }
        let expected = default_text(setting);
        let without_links = default.replace(['[', ']'], "").replace("(models.md#costs-and-limits)", "");
        if ![expected, &capitalize(expected)].contains(&without_links.as_str()) {
            differences.push(format!("{}: default {default:?}, not {expected:?}", setting.name));
        }
        if !meaning.starts_with(&format!("{}.", setting.help.replace('`', ""))) {
            differences.push(format!("{}: {meaning:?} does not begin with {:?}", setting.name, setting.help));
        }
    }
    differences
}

#[test]
fn every_setting_is_documented_with_its_flag_default_and_meaning() {
    assert_eq!(differences(&documented()), Vec::<String>::new());
}

#[test]
fn a_missing_setting_and_a_wrong_default_are_noticed() {
    let mut missing = documented();
    missing.retain(|cells| cells[0] != "workers");
    assert_eq!(differences(&missing).len(), 1);
    let mut wrong = documented();
    let workers = wrong.iter_mut().find(|cells| cells[0] == "workers").unwrap();
    workers[2] = "5".into();
    assert_eq!(differences(&wrong), [r#"workers: default "5", not "4""#]);
}

#[test]
fn the_declared_defaults_are_those_of_the_server() {
    let defaults = format!("{:?}", Settings::defaults(CommandKind::Serve));
    for setting in SETTINGS {
        if let (DefaultValue::Literal(text), Value::Text(apply)) = (&setting.default, &setting.value) {
            let mut settings = Settings::defaults(CommandKind::Serve);
            apply(&mut settings, text).unwrap();
            assert_eq!(format!("{settings:?}"), defaults, "{} = {text}", setting.name);
        }
    }
}

#[test]
fn every_flag_says_in_its_help_what_it_does_and_its_default() {
    let mut program = <crate::args::Args as clap::CommandFactory>::command();
    program.build();
    let serve = program.find_subcommand("serve").unwrap();
    for setting in SETTINGS {
        let Some(flag) = &setting.flag else { continue };
        let arg = serve.get_arguments().find(|arg| arg.get_long() == Some(flag.long));
        let help = arg.unwrap_or_else(|| panic!("no flag --{}", flag.long)).get_help().unwrap().to_string();
        assert!(help.starts_with(setting.help), "{help}");
        let is_switch = matches!(flag.kind, FlagKind::Switch);
        assert!(is_switch || help.contains(&format!("[default: {}]", default_text(setting))), "{help}");
    }
}

#[test]
fn the_documented_limits_of_a_run_are_the_defaults() {
    let example = MODEL_DOCS.split("```toml\n[agent]\n").nth(1).unwrap().split("```").next().unwrap();
    let table: toml::Table = example.parse().unwrap();
    let documented = agent::parse(table.into()).unwrap();
    assert_eq!(documented, server::AgentLimits::default());
}
