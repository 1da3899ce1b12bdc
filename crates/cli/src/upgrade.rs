//! Runs `docwright upgrade --check`: says what the first start of this version changes in the data, and what to do before
//! it. It changes nothing in the data directory. The server itself upgrades the data when it starts.

mod backups;
mod databases;
mod duration;
mod machine;
mod plan;

use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use server::Settings;
use store::DataDir;

use crate::args::{Upgrade, quote};
use crate::doctor::report::Report;
use crate::output;
use crate::settings::Sources;
use plan::Plan;

/// Something must be done before the upgrade.
const NOT_READY: u8 = 6;
const WRONG_USAGE: u8 = 2;

pub(crate) async fn run(sources: &Sources, args: Upgrade) -> anyhow::Result<ExitCode> {
    let data = args.data();
    let repeat_flags = sources.repeat_flags(&data);
    if !args.check {
        output::print_message(format!(
            "The server upgrades the data when it starts: this command only checks. Before you start a new version, run: docwright upgrade --check{repeat_flags}"
        ));
        return Ok(ExitCode::from(WRONG_USAGE));
    }
    let settings = sources.admin_settings(&data)?;
    let dir = find_directory(&settings)?;
    let mut report = Report::new(repeat_flags);
    let mut plan = Plan::new(settings.data.clone());
    databases::check(&mut report, &mut plan, &settings, dir.as_ref()).await;
    let can_upgrade = !report.has_failures();
    let is_known = settings.database_url.is_none() || plan.databases.iter().any(|database| !database.is_file);
    machine::check_servers(&mut report, &plan, dir.as_ref(), is_known);
    if let Some(dir) = &dir {
        machine::check_disk(&mut report, &plan, dir.path());
        match can_upgrade {
            true => backups::check(&mut report, &mut plan, dir, args.backup.as_deref()).await,
            false => backups::check_restorable(&mut report, dir, args.backup.as_deref()).await,
        }
    }
    machine::check_database_disk(&mut report, &plan);
    backups::check_dump(&mut report, &plan, &settings);
    let is_ready = !report.has_failures();
    match args.json {
        true => output::print_json(&plan.to_json(is_ready, report.checks()))?,
        false => plan.print(&report)?,
    }
    Ok(if is_ready { ExitCode::SUCCESS } else { ExitCode::from(NOT_READY) })
}

/// Finds the data directory. With PostgreSQL, there may be none on this machine.
fn find_directory(settings: &Settings) -> anyhow::Result<Option<DataDir>> {
    let (path, name) = (&settings.data, settings.data.display());
    match std::fs::read_dir(path) {
        Ok(_) => {}
        Err(error) => match error.kind() {
            std::io::ErrorKind::NotFound if settings.database_url.is_some() => return Ok(None),
            std::io::ErrorKind::NotFound => {}
            std::io::ErrorKind::NotADirectory => {
                bail!("{name} is not a directory: set --data to the data directory{}", hint(settings))
            }
            _ => {
                return Err(error).with_context(|| {
                    format!("{name} cannot be read: run docwright as the user that the server runs as")
                });
            }
        },
    }
    if settings.database_url.is_none() {
        return Ok(Some(DataDir::find_installation(path)?));
    }
    let dir = DataDir::find(path)?;
    ensure!(dir.path().is_dir(), "{name} is not a directory");
    Ok(Some(dir))
}

/// People name the database file instead of its directory.
fn hint(settings: &Settings) -> String {
    let parent = settings.data.parent().filter(|parent| DataDir::at(parent).has_database());
    parent.map(|parent| format!(", {}", quote(&parent.to_string_lossy()))).unwrap_or_default()
}
