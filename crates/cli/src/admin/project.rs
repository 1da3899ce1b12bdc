//! Runs `docwright project`.

use anyhow::ensure;
use serde_json::{Value, json};
use server::{OFFLINE, RepositoryRequest};
use store::{FieldChange, NewProject, Project, ProjectChange};

use super::{delete, filter_organization, host, open, open_or_create, organization, project, record_audit};
use crate::args::{CreateProject, List, ProjectChanges, ProjectCommand, UpdateProject, ViewProject};
use crate::output;
use crate::settings::Sources;

pub(crate) async fn run(sources: &Sources, command: ProjectCommand) -> anyhow::Result<()> {
    match command {
        ProjectCommand::Create(args) => create(sources, args).await,
        ProjectCommand::List(args) => list(sources, args).await,
        ProjectCommand::View(args) => view(sources, args).await,
        ProjectCommand::Update(args) => update(sources, args).await,
        ProjectCommand::Delete(args) => delete::project(sources, args).await,
        ProjectCommand::Hook(args) => host::hook(sources, args).await,
    }
}

async fn create(sources: &Sources, args: CreateProject) -> anyhow::Result<()> {
    let admin = open_or_create(sources, &args.data, args.organization.is_some()).await?;
    let (key, mut hosting) = (host::key(&args.host)?, host::hosting(&args.host));
    let found = admin
        .check_repository(RepositoryRequest {
            repository: &args.repository,
            base_ref: args.base_ref.as_deref(),
            docs_path: args.docs_path.as_deref(),
            hosting: &hosting,
            key: key.as_ref(),
        })
        .await?;
    hosting.kind = found.kind;
    let new = NewProject {
        name: args.name,
        repository: found.location,
        hosting,
        base_ref: args.base_ref,
        docs_path: args.docs_path,
        sites: without_duplicates(&args.site),
        model: parse_model(sources, &args.model)?,
        models: parse_models(sources, &args.allow_model)?,
        allow_paths: without_duplicates(&args.allow_path),
        // Last, because it may create the first organization, which only a valid project needs.
        organization: organization(&admin, args.organization.as_deref()).await?.id,
    };
    let project = admin.accounts.create_project(&new).await?;
    admin.store_host_key(&project, key.as_ref()).await?;
    record_audit(&admin, &project.organization, "made the project", &project.name).await?;
    if args.json {
        return output::print_json(&to_json(&project));
    }
    let (name, id) = (&project.name, &project.id);
    output::print_message(format!(
        "Created the project {name}. Its jobs start from {} of {}.",
        found.branch, project.repository
    ));
    let repeat_flags = sources.repeat_flags(&args.data);
    let offers = found.suggested_paths.iter().filter(|glob| !project.allow_paths.contains(glob));
    let offers: Vec<String> = offers.map(|glob| format!("--allow-path '{glob}'")).collect();
    if !offers.is_empty() {
        output::print_message(format!(
            "Jobs can change pages, navigation and redirects. To also let them change the code beside the pages: docwright project update {id} {}{repeat_flags}",
            offers.join(" ")
        ));
    }
    output::print_message(format!(
        "To create an API key for it: docwright key create --name CI --project {id}{repeat_flags}"
    ));
    output::print_line(id)
}

async fn list(sources: &Sources, args: List) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let projects = admin.accounts.projects(filter_organization(&admin, &args).await?.as_ref()).await?;
    if args.json {
        return output::print_json(&projects.iter().map(to_json).collect::<Vec<_>>());
    }
    if projects.is_empty() {
        let next = "docwright project create --name \"My docs\" --repository URL";
        output::print_message(format!(
            "No projects yet. To create one: {next}{}",
            sources.repeat_flags(&args.data)
        ));
        return Ok(());
    }
    let row = |project: Project| {
        let branch = project.base_ref.unwrap_or_else(|| "(default)".into());
        [project.id.0, project.name, project.repository, branch, project.model]
    };
    output::print_table(["ID", "NAME", "REPOSITORY", "REF", "MODEL"], projects.into_iter().map(row))
}

async fn view(sources: &Sources, args: ViewProject) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    print(&project(&admin, &args.id).await?, args.json)
}

async fn update(sources: &Sources, args: UpdateProject) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let before = project(&admin, &args.id).await?;
    let key = host::key(&args.host)?;
    let change = host::add_host_change(&args.host, parse_change(sources, &args.changes)?);
    let updated = admin.update_project(&before, &change, key.as_ref()).await?;
    let after = updated.project;
    record_audit(&admin, &after.organization, "changed the settings of", &after.name).await?;
    if updated.forgot_token {
        record_audit(&admin, &after.organization, "forgot the host token of", &after.name).await?;
        output::print_message(
            "Deleted the stored token, because it belongs to the previous repository. To set a new one, use --token-file.",
        );
    }
    print(&after, args.json)
}

/// An empty text clears the field.
pub(super) fn parse_field(text: Option<&str>) -> FieldChange<String> {
    match text {
        None => FieldChange::Keep,
        Some("") => FieldChange::Clear,
        Some(text) => FieldChange::Set(text.to_owned()),
    }
}

fn parse_change(sources: &Sources, changes: &ProjectChanges) -> anyhow::Result<ProjectChange> {
    Ok(ProjectChange {
        name: changes.name.clone(),
        repository: changes.repository.clone(),
        base_ref: parse_field(changes.base_ref.as_deref()),
        docs_path: parse_field(changes.docs_path.as_deref()),
        sites: replacement(&changes.site).map(without_duplicates),
        model: changes.model.as_deref().map(|name| parse_model(sources, name)).transpose()?,
        models: replacement(&changes.allow_model).map(|names| parse_models(sources, names)).transpose()?,
        allow_paths: replacement(&changes.allow_path).map(without_duplicates),
        human_reads: changes.human_reads,
        ..ProjectChange::default()
    })
}

/// The list that replaces the previous one; `None` without the flag.
pub(super) fn replacement(all: &[String]) -> Option<&[String]> {
    (!all.is_empty()).then_some(all)
}

fn print(project: &Project, json: bool) -> anyhow::Result<()> {
    if json {
        return output::print_json(&to_json(project));
    }
    let join_or = |all: &[String], none: &str| if all.is_empty() { none.to_owned() } else { all.join(", ") };
    let author = project.hosting.author.as_ref().map(|author| format!("{} <{}>", author.name, author.email));
    output::print_fields(&[
        ("project", &project.id.0),
        ("name", &project.name),
        ("organization", &project.organization.0),
        ("repository", &project.repository),
        ("host", project.hosting.kind.as_deref().unwrap_or("(this machine)")),
        ("labels", &join_or(&project.hosting.labels, "(none)")),
        ("reviewers", &join_or(&project.hosting.reviewers, "(none)")),
        ("author", author.as_deref().unwrap_or("Docwright")),
        ("ref", project.base_ref.as_deref().unwrap_or("(the repository's default branch)")),
        ("docs path", project.docs_path.as_deref().unwrap_or("(the whole repository)")),
        ("sites", &join_or(&project.sites, "(none)")),
        ("model", &project.model),
        ("allowed models", &join_or(&allowed_models(project), "(every model of the server)")),
        ("allowed paths", &join_or(&project.allow_paths, "(none)")),
        ("human reads", project.human_reads.as_str()),
        ("created", &output::format_timestamp(project.created_at)),
    ])
}

/// The models that jobs may use, with the project's own model first; empty if all are allowed.
fn allowed_models(project: &Project) -> Vec<String> {
    let own = [&project.model].into_iter().filter(|_| !project.models.is_empty());
    own.chain(project.models.iter().filter(|name| **name != project.model)).cloned().collect()
}

fn to_json(project: &Project) -> Value {
    json!({
        "id": project.id.0,
        "name": project.name,
        "organization": project.organization.0,
        "repository": project.repository,
        "host": project.hosting.kind,
        "labels": project.hosting.labels,
        "reviewers": project.hosting.reviewers,
        "author": project.hosting.author,
        "ref": project.base_ref,
        "docsPath": project.docs_path,
        "sites": project.sites,
        "model": project.model,
        "allowedModels": allowed_models(project),
        "allowedPaths": project.allow_paths,
        "humanReads": project.human_reads.as_str(),
        "createdAt": output::format_timestamp(project.created_at),
    })
}

fn parse_model(sources: &Sources, name: &str) -> anyhow::Result<String> {
    let known = sources.model_tables()?;
    ensure!(
        name == OFFLINE || known.contains_key(name),
        "there is no model {name} in the settings; see `docwright model list`"
    );
    Ok(name.to_owned())
}

fn parse_models(sources: &Sources, names: &[String]) -> anyhow::Result<Vec<String>> {
    without_duplicates(names).iter().map(|name| parse_model(sources, name)).collect()
}

/// Removes duplicates, and empty texts, which stand for an empty list.
pub(super) fn without_duplicates(values: &[String]) -> Vec<String> {
    let mut unique = Vec::new();
    for value in values.iter().filter(|value| !value.is_empty()) {
        if !unique.contains(value) {
            unique.push(value.clone());
        }
    }
    unique
}
