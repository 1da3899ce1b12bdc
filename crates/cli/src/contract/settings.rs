//! The names of settings, in the environment and in `docwright.toml`.

use server::model::Provider;

use super::facts::Facts;
use crate::settings::{NAMES, Sources};

const PROVIDERS: [&str; 5] = ["anthropic", "openai", "openai-responses", "gemini", "compatible"];

pub(super) fn collect(facts: &mut Facts) {
    for name in NAMES {
        facts.offer(format!("docwright.toml {name}"));
        if !["models", "agent"].contains(name) {
            let variable = format!("DOCWRIGHT_{}", name.to_ascii_uppercase());
            // A setting that names a file needs no file to be named in.
            if !name.ends_with("_file") {
                facts.offer(format!("{variable}_FILE"));
            }
            facts.offer(variable);
        }
    }
    for provider in PROVIDERS.iter().filter(|name| name.parse::<Provider>().is_ok()) {
        facts.offer(format!("docwright.toml [models.NAME] provider = {provider}"));
    }
    table("[agent]", "[agent]\nunknown = 1\n", facts);
    let model = "[models.m]\nprovider = \"openai\"\nmodel = \"m\"\n";
    table("[models.NAME]", &format!("{model}unknown = 1\n"), facts);
    table("[models.NAME] prices", &format!("{model}prices = {{ unknown = 1 }}\n"), facts);
}

/// A table names all its keys when it refuses one.
fn table(name: &str, text: &str, facts: &mut Facts) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("docwright.toml");
    std::fs::write(&file, text).unwrap();
    let sources = Sources::load(Some(&file)).unwrap();
    let refused = sources.agent_limits().err().or_else(|| sources.model_tables().err()).unwrap();
    let sentence = format!("{refused:#}");
    let (_, keys) = sentence.split_once("expected one of ").unwrap_or_else(|| panic!("{sentence}"));
    for key in keys.split('`').skip(1).step_by(2) {
        facts.offer(format!("docwright.toml {name} {key}"));
    }
}
