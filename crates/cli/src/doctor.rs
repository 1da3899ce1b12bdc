//! `docwright doctor`: what a person who is asked for help would look at first. It makes and
//! changes nothing, unless it is told that the clock is right.

mod data;
mod databases;
mod deletion;
mod machine;
mod report;
mod repositories;
mod running;
mod settings;

use std::process::ExitCode;

use store::DataDir;

use crate::args::Doctor;
use crate::settings::Sources;
use report::Report;

pub(crate) async fn run(sources: &Sources, args: Doctor) -> anyhow::Result<ExitCode> {
    let settings = sources.data(&args.data)?;
    let mut report = Report::new(sources.again(&args.data));
    machine::git(&mut report).await;
    machine::clock(&mut report);
    machine::open_files(&mut report);
    settings::settings(&mut report, sources, &args.data).await;
    if args.confirm_clock {
        deletion::confirm(&mut report, &settings).await;
    }
    match DataDir::find(&settings.data) {
        Ok(dir) => {
            machine::directory(&mut report, dir.path());
            machine::disk(&mut report, dir.path());
            data::master_key(&mut report, &settings, &dir);
            data::database(&mut report, &settings, &dir).await;
            databases::files(&mut report, &settings, &dir).await;
            running::here(&mut report, &dir).await;
        }
        Err(error) => {
            report.warn(
                "data directory",
                format!("{} is not there: {error}", settings.data.display()),
                format!(
                    "`docwright serve{}` makes it; if yours is elsewhere, name it with --data or DOCWRIGHT_DATA",
                    report.again
                ),
            );
            running::left_behind(&mut report, &settings.data);
        }
    }
    if let Some(url) = sources.text("url", None)? {
        running::named(&mut report, &url).await;
    }
    report.show(args.json)?;
    Ok(if report.failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
