//! `docwright project …`

use anyhow::ensure;
use serde_json::{Value, json};
use server::{OFFLINE, Wanted};
use store::{NewProject, Project, ProjectChange};

use super::{delete, host, note, open, open_or_create, organization, project};
use crate::args::{Changes, CreateProject, List, ProjectCommand, UpdateProject, ViewProject};
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
        .check_repository(Wanted {
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
        repository: found.place,
        hosting,
        base_ref: args.base_ref,
        docs_path: args.docs_path,
        sites: each_once(&args.site),
        model: parse_model(sources, &args.model)?,
        models: parse_models(sources, &args.allow_model)?,
        allow_paths: each_once(&args.allow_path),
        // Last: the first organization is made here, and only when all is well.
        organization: organization(&admin, args.organization.as_deref()).await?.id,
    };
    let project = admin.accounts.create_project(&new).await?;
    admin.keep_host_key(&project, key.as_ref()).await?;
    note(&admin, &project.organization, "made the project", &project.name).await?;
    if args.json {
        return output::json(&shown(&project));
    }
    let (name, id) = (&project.name, &project.id);
    output::say(format!(
        "Made the project {name}: jobs start from {} of {}.",
        found.branch, project.repository
    ));
    let again = sources.again(&args.data);
    let offers = found.offers.iter().filter(|glob| !project.allow_paths.contains(glob));
    let offers: Vec<String> = offers.map(|glob| format!("--allow-path '{glob}'")).collect();
    if !offers.is_empty() {
        output::say(format!(
            "Jobs change pages, navigation and redirects. To let them change the code beside them, too: docwright project update {id} {}{again}",
            offers.join(" ")
        ));
    }
    output::say(format!("Next, a key: docwright key create --name CI --project {id}{again}"));
    output::line(id)
}

async fn list(sources: &Sources, args: List) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let owner = match &args.organization {
        Some(name) => Some(organization(&admin, Some(name)).await?.id),
        None => None,
    };
    let projects = admin.accounts.projects(owner.as_ref()).await?;
    if args.json {
        return output::json(&projects.iter().map(shown).collect::<Vec<_>>());
    }
    if projects.is_empty() {
        let next = "docwright project create --name \"My docs\" --repository URL";
        output::say(format!("No projects yet. Make one: {next}{}", sources.again(&args.data)));
        return Ok(());
    }
    let row = |project: Project| {
        let branch = project.base_ref.unwrap_or_else(|| "(default)".into());
        [project.id.0, project.name, project.repository, branch, project.model]
    };
    output::table(["ID", "NAME", "REPOSITORY", "REF", "MODEL"], projects.into_iter().map(row))
}

async fn view(sources: &Sources, args: ViewProject) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    tell(&project(&admin, &args.id).await?, args.json)
}

async fn update(sources: &Sources, args: UpdateProject) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let before = project(&admin, &args.id).await?;
    let key = host::key(&args.host)?;
    let change = host::changed(&args.host, parse_change(sources, &args.changes)?);
    let updated = admin.update_project(&before, &change, key.as_ref()).await?;
    let after = updated.project;
    note(&admin, &after.organization, "changed the settings of", &after.name).await?;
    if updated.forgot_token {
        note(&admin, &after.organization, "forgot the host token of", &after.name).await?;
        output::say(
            "The token was given for another repository, and is forgotten: give one with --token-file.",
        );
    }
    tell(&after, args.json)
}

fn parse_change(sources: &Sources, changes: &Changes) -> anyhow::Result<ProjectChange> {
    let some = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    Ok(ProjectChange {
        name: changes.name.clone(),
        repository: changes.repository.clone(),
        base_ref: changes.base_ref.as_ref().map(some),
        docs_path: changes.docs_path.as_ref().map(some),
        sites: given(&changes.site).map(each_once),
        model: changes.model.as_deref().map(|name| parse_model(sources, name)).transpose()?,
        models: given(&changes.allow_model).map(|names| parse_models(sources, names)).transpose()?,
        allow_paths: given(&changes.allow_path).map(each_once),
        human_reads: changes.human_reads,
        ..ProjectChange::default()
    })
}

/// A list that is to take the place of another.
pub(super) fn given(all: &[String]) -> Option<&[String]> {
    (!all.is_empty()).then_some(all)
}

fn tell(project: &Project, json: bool) -> anyhow::Result<()> {
    if json {
        return output::json(&shown(project));
    }
    let or = |all: &[String], none: &str| if all.is_empty() { none.to_owned() } else { all.join(", ") };
    let author = project.hosting.author.as_ref().map(|one| format!("{} <{}>", one.name, one.email));
    output::fields(&[
        ("project", &project.id.0),
        ("name", &project.name),
        ("organization", &project.organization.0),
        ("repository", &project.repository),
        ("host", project.hosting.kind.as_deref().unwrap_or("(this machine)")),
        ("labels", &or(&project.hosting.labels, "(none)")),
        ("reviewers", &or(&project.hosting.reviewers, "(none)")),
        ("author", author.as_deref().unwrap_or("Docwright")),
        ("ref", project.base_ref.as_deref().unwrap_or("(the repository's default branch)")),
        ("docs path", project.docs_path.as_deref().unwrap_or("(all of it)")),
        ("sites", &or(&project.sites, "(none)")),
        ("model", &project.model),
        ("allowed models", &or(&allowed(project), "(every one of the server)")),
        ("allowed paths", &or(&project.allow_paths, "(none)")),
        ("human reads", project.human_reads.as_str()),
        ("created", &output::moment(project.created_at)),
    ])
}

/// The project's own model is one of them.
fn allowed(project: &Project) -> Vec<String> {
    let own = [&project.model].into_iter().filter(|_| !project.models.is_empty());
    own.chain(project.models.iter().filter(|name| **name != project.model)).cloned().collect()
}

fn shown(project: &Project) -> Value {
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
        "allowedModels": allowed(project),
        "allowedPaths": project.allow_paths,
        "humanReads": project.human_reads.as_str(),
        "createdAt": output::moment(project.created_at),
    })
}

fn parse_model(sources: &Sources, name: &str) -> anyhow::Result<String> {
    let known = sources.model_tables()?;
    ensure!(
        name == OFFLINE || known.contains_key(name),
        "the settings name no model {name}; see `docwright model list`"
    );
    Ok(name.to_owned())
}

fn parse_models(sources: &Sources, names: &[String]) -> anyhow::Result<Vec<String>> {
    each_once(names).iter().map(|name| parse_model(sources, name)).collect()
}

/// An empty one says that there is none.
pub(super) fn each_once(all: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    for one in all.iter().filter(|one| !one.is_empty()) {
        if !kept.contains(one) {
            kept.push(one.clone());
        }
    }
    kept
}
