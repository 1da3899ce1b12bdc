//! `docwright check`: what is wrong with the pages of a folder, for CI and for whoever is about to push.

mod folder;

use std::process::ExitCode;

use pages::{Finding, Overlay};
use serde_json::json;

use crate::args::Check;
use crate::output;
use folder::Folder;

pub(crate) fn run(args: &Check) -> anyhow::Result<ExitCode> {
    let files = Overlay::new(Folder::open(&args.path)?, None)?;
    let mut found = pages::check(&files)?;
    found.retain(|finding| !finding.kind.is_of_a_change());
    show(&found, args.json)?;
    Ok(if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn show(found: &[Finding], json: bool) -> anyhow::Result<()> {
    if json {
        return output::json(&json!({ "findings": found.iter().map(as_json).collect::<Vec<_>>() }));
    }
    for finding in found {
        output::line(finding.to_string().replace('\n', " "))?;
    }
    output::say(match found.len() {
        0 => "nothing was found".to_owned(),
        1 => "1 finding".to_owned(),
        count => format!("{count} findings"),
    });
    Ok(())
}

fn as_json(finding: &Finding) -> serde_json::Value {
    let Finding { path, line, kind, what, message } = finding;
    json!({ "path": path, "line": line, "kind": kind.as_str(), "what": what, "message": message })
}
