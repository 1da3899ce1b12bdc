//! Runs `docwright doctor`: checks what a server needs, and says how to fix each problem.
//!
//! It creates and changes nothing, except that `--confirm-clock` confirms the clock.

pub(crate) mod data;
mod databases;
mod deletion;
mod machine;
mod ranges;
pub(crate) mod report;
mod repositories;
mod running;
mod settings;

use std::process::ExitCode;

use store::DataDir;

use crate::args::Doctor;
use crate::output;
use crate::settings::Sources;
use report::Report;

pub(crate) async fn run(sources: &Sources, args: Doctor) -> anyhow::Result<ExitCode> {
    let settings = sources.admin_settings(&args.data)?;
    let mut report = Report::new(sources.repeat_flags(&args.data));
    machine::check_git(&mut report).await;
    machine::check_clock(&mut report);
    machine::check_open_files(&mut report);
    settings::check(&mut report, sources, &args.data).await;
    if args.confirm_clock {
        deletion::confirm(&mut report, &settings).await;
    }
    match DataDir::find(&settings.data) {
        Ok(dir) => {
            machine::check_directory(&mut report, dir.path());
            machine::check_disk(&mut report, dir.path());
            data::check_master_key(&mut report, &settings, &dir);
            data::check_database(&mut report, &settings, &dir).await;
            ranges::check(&mut report, &dir);
            databases::check_files(&mut report, &settings, &dir).await;
            running::check_local_server(&mut report, &dir).await;
        }
        Err(error) => {
            report.warn(
                "data directory",
                format!("{} does not exist: {error}", settings.data.display()),
                format!(
                    "`docwright serve{}` creates it; if yours is elsewhere, set --data or DOCWRIGHT_DATA",
                    report.repeat_flags
                ),
            );
            running::check_deleted_files(&mut report, &settings.data);
            // With PostgreSQL, a new server has no directory yet.
            if settings.database_url.is_some() {
                let dir = DataDir::at(&settings.data);
                data::check_master_key(&mut report, &settings, &dir);
                data::check_database(&mut report, &settings, &dir).await;
            }
        }
    }
    if let Some(url) = sources.text("url", None)? {
        running::check_url(&mut report, &url).await;
    }
    match args.json {
        true => {
            let ok = !report.has_failures();
            output::print_json(&serde_json::json!({ "ok": ok, "checks": report.checks() }))?;
        }
        false => report.print()?,
    }
    Ok(if report.has_failures() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
