//! Collects the names of settings, in the environment and in `docwright.toml`.

use server::model::Provider;

use super::facts::Facts;
use crate::settings::{SETTINGS, Sources, Value};

const PROVIDERS: [&str; 5] = ["anthropic", "openai", "openai-responses", "gemini", "compatible"];

pub(super) fn collect(facts: &mut Facts) {
    for setting in SETTINGS {
        facts.offer(format!("docwright.toml {}", setting.name));
        if !matches!(setting.value, Value::Table(_)) {
            let variable = format!("DOCWRIGHT_{}", setting.name.to_ascii_uppercase());
            // Nobody needs a file that contains the name of a file.
            if !setting.name.ends_with("_file") {
                facts.offer(format!("{variable}_FILE"));
            }
            facts.offer(variable);
        }
    }
    for provider in PROVIDERS.iter().filter(|name| name.parse::<Provider>().is_ok()) {
        facts.offer(format!("docwright.toml [models.NAME] provider = {provider}"));
    }
    collect_keys("[agent]", "[agent]\nunknown = 1\n", facts);
    let model = "[models.m]\nprovider = \"openai\"\nmodel = \"m\"\n";
    collect_keys("[models.NAME]", &format!("{model}unknown = 1\n"), facts);
    collect_keys("[models.NAME] prices", &format!("{model}prices = {{ unknown = 1 }}\n"), facts);
}

/// Collects the keys of a table from the error about an unknown key, which lists them all.
fn collect_keys(name: &str, text: &str, facts: &mut Facts) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("docwright.toml");
    std::fs::write(&file, text).unwrap();
    let sources = Sources::load(Some(&file)).unwrap();
    let error = sources.agent_limits().err().or_else(|| sources.model_tables().err()).unwrap();
    let sentence = format!("{error:#}");
    let (_, keys) = sentence.split_once("expected one of ").unwrap_or_else(|| panic!("{sentence}"));
    for key in keys.split('`').skip(1).step_by(2) {
        facts.offer(format!("docwright.toml {name} {key}"));
    }
}
