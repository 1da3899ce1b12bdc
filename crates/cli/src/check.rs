//! Runs `docwright check`: reports problems in the pages of a folder, for CI and before a push.

mod folder;

use std::process::ExitCode;

use pages::{Overlay, Problem};
use serde_json::json;

use crate::args::Check;
use crate::output;
pub(crate) use folder::Folder;

pub(crate) fn run(args: &Check) -> anyhow::Result<ExitCode> {
    let files = Overlay::new(Folder::open(&args.path)?, None)?;
    let mut problems = pages::check(&files)?;
    problems.retain(|problem| !problem.kind.is_only_for_changes());
    print(&problems, args.json)?;
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print(problems: &[Problem], json: bool) -> anyhow::Result<()> {
    if json {
        return output::print_json(&json!({ "findings": problems.iter().map(to_json).collect::<Vec<_>>() }));
    }
    for problem in problems {
        output::print_line(problem.to_string().replace('\n', " "))?;
    }
    output::print_message(match problems.len() {
        0 => "No problems".to_owned(),
        1 => "1 problem".to_owned(),
        count => format!("{count} problems"),
    });
    Ok(())
}

fn to_json(problem: &Problem) -> serde_json::Value {
    let Problem { path, line, kind, what, message } = problem;
    json!({ "path": path, "line": line, "kind": kind.as_str(), "what": what, "message": message })
}
