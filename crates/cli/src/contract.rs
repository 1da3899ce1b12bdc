//! Compares what users and programs rely on with what is recorded in `tests/contract`: the API, the command line, the
//! settings and the metrics.
//!
//! Each file has one fact per line. A recorded fact stays true; new ones may be added. Text for people, such as
//! descriptions, help and error messages, is not part of it.

mod api;
mod cli;
mod facts;
mod metrics;
mod settings;

use facts::Facts;

#[test]
fn the_api_changes_only_by_additions() {
    let mut facts = Facts::default();
    api::collect(&server::openapi("http://127.0.0.1:4747"), &mut facts);
    facts.check("api.txt");
}

#[test]
fn the_command_line_changes_only_by_additions() {
    let mut facts = Facts::default();
    cli::collect(&mut facts);
    facts.check("cli.txt");
}

#[test]
fn settings_change_only_by_additions() {
    let mut facts = Facts::default();
    settings::collect(&mut facts);
    facts.check("settings.txt");
}

#[test]
fn metrics_change_only_by_additions() {
    let mut facts = Facts::default();
    metrics::collect(&metrics::scrape(), &mut facts);
    facts.check("metrics.txt");
}
