//! Runs `docwright backup`: copies a data directory, as of one moment, while a server may run.

mod archive;
mod collect;
mod disk;
pub(crate) mod last;
mod manifest;
pub(crate) mod postgres;
mod replace;
pub(crate) mod restore;
mod target;
mod unpack;
pub(crate) mod verify;

use anyhow::Context;
use serde_json::json;
use server::Settings;
use store::DataDir;

use crate::args::{Backup, quote};
use crate::output;
use crate::settings::Sources;
use collect::{Collection, collect};
use manifest::Manifest;
use target::Target;

pub(crate) async fn run(sources: &Sources, args: Backup) -> anyhow::Result<()> {
    let settings = sources.admin_settings(&args.data)?;
    let dir = DataDir::find(&settings.data).with_context(|| {
        format!("there is no data directory {}: set --data to yours", settings.data.display())
    })?;
    let target = Target::prepare(&args.to)?;
    let folder = target.folder();
    let Collection { about, not_included, lacks_views, projects_known } =
        collect(&settings, &dir, &folder).await?;
    if args.with_master_key {
        collect::include_master_key(&settings, &dir, &folder).await?;
    }
    let written = tokio::task::spawn_blocking(move || {
        let manifest = Manifest::describe(&folder, about)?;
        target.finish(&manifest)?;
        anyhow::Ok(manifest)
    });
    let manifest = written.await??;
    last::remember(&dir, &args.to, &manifest);
    let excluded: Vec<_> = not_included.iter().map(|project| &project.repository).collect();
    if args.json {
        return output::print_json(&json!({
            "backup": args.to.to_string_lossy(),
            "createdAt": manifest.created_at,
            "docwright": manifest.docwright,
            "database": manifest.database,
            "schemas": manifest.schemas,
            "files": manifest.files.len(),
            "bytes": manifest.bytes(),
            "masterKey": manifest.master_key,
            "notIncluded": excluded,
        }));
    }
    for project in &not_included {
        output::print_message(format!(
            "Not included: the repository {} of the project {}. Back it up separately.",
            project.repository, project.name
        ));
    }
    if lacks_views {
        output::print_message(
            "Warning: page views are not in this backup, because views.db is missing from the data directory. Keep an older backup that has them.",
        );
    }
    print_summary(&settings, &dir, &manifest, projects_known);
    output::print_line(args.to.display())
}

fn print_summary(settings: &Settings, dir: &DataDir, manifest: &Manifest, projects_known: bool) {
    if !projects_known {
        output::print_message(
            "Not included: repositories that projects name by a path outside of the data directory. The database did not answer, so they are unknown.",
        );
    }
    if let Some(url) = &settings.database_url {
        output::print_message(postgres::dump_instructions(url));
    }
    if let Some(url) = &settings.views_url {
        output::print_message(format!(
            "Not included: the page views, which are in {url}. docs/scaling.md says how to back up both databases."
        ));
    }
    let key = collect::master_key_path(settings, dir);
    match manifest.master_key {
        true => output::print_message(
            "Warning: this backup has the master key. Everyone who has the backup can decrypt its secrets, such as tokens of repository hosts. Keep it as safe as the secrets.",
        ),
        false => output::print_message(format!(
            "The master key is not in this backup. Keep a copy of {} apart from your backups: without it, nobody can decrypt the stored secrets.",
            quote(&key.to_string_lossy())
        )),
    }
    output::print_message(format!("Backed up {} bytes. Files: {}.", manifest.bytes(), manifest.files.len()));
}
