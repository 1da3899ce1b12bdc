//! `docwright project …`

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use server::MODELS;
use store::{NewProject, Project, parse_name};

use super::{open, organization};
use crate::args::{CreateProject, List};
use crate::output;
use crate::settings::Sources;

pub(crate) async fn create(sources: &Sources, args: CreateProject) -> anyhow::Result<()> {
    let admin = open(sources, args.data.data.as_deref()).await?;
    let model = &args.model;
    ensure!(MODELS.contains(&model.as_str()), "there is no model {model}; there is {}", MODELS.join(", "));
    let token = args.token_file.as_deref().map(read_token).transpose()?;
    let docs_path = args.docs_path.as_deref().map(server::parse_docs_path).transpose()?;
    let repository =
        admin.check_repository(&args.repository, args.base_ref.as_deref(), docs_path.as_deref()).await?;
    let new = NewProject {
        organization: organization(&admin, args.organization.as_deref()).await?.id,
        name: parse_name("a project", &args.name).map_err(anyhow::Error::msg)?,
        repository: repository.path,
        base_ref: args.base_ref.clone(),
        docs_path,
        sites: args.site.iter().map(|site| parse_site(site)).collect::<Result<_, _>>()?,
        model: args.model.clone(),
    };
    let project = admin.accounts.create_project(&new).await?;
    if let Some(token) = token {
        admin.secrets.put_secret(&project.id.0, "forge-token", token.as_bytes()).await?;
    }
    if args.json {
        return output::json(&shown(&project));
    }
    let (name, id) = (&project.name, &project.id);
    output::say(format!(
        "Made the project {name}: jobs start from {} of {}.",
        repository.branch, project.repository
    ));
    output::say(format!("Next, a key: docwright key create --name CI --project {id}"));
    output::line(id)?;
    Ok(())
}

pub(crate) async fn list(sources: &Sources, args: List) -> anyhow::Result<()> {
    let admin = open(sources, args.data.data.as_deref()).await?;
    let owner = match &args.organization {
        Some(name) => Some(organization(&admin, Some(name)).await?.id),
        None => None,
    };
    let projects = admin.accounts.projects(owner.as_ref()).await?;
    if args.json {
        return output::json(&projects.iter().map(shown).collect::<Vec<_>>());
    }
    if projects.is_empty() {
        output::say(
            "No projects yet. Make one: docwright project create --name \"My docs\" --repository PATH",
        );
        return Ok(());
    }
    let row = |project: Project| {
        let branch = project.base_ref.unwrap_or_else(|| "(default)".into());
        [project.id.0, project.name, project.repository, branch, project.model]
    };
    output::table(["ID", "NAME", "REPOSITORY", "REF", "MODEL"], projects.into_iter().map(row))
}

fn shown(project: &Project) -> Value {
    json!({
        "id": project.id.0,
        "name": project.name,
        "organization": project.organization.0,
        "repository": project.repository,
        "ref": project.base_ref,
        "docsPath": project.docs_path,
        "sites": project.sites,
        "model": project.model,
        "createdAt": output::moment(project.created_at),
    })
}

fn read_token(path: &std::path::Path) -> anyhow::Result<String> {
    let text = std::fs::read_to_string(path).with_context(|| format!("--token-file {}", path.display()))?;
    let token = text.trim();
    ensure!(
        !token.is_empty() && !token.contains(char::is_control),
        "--token-file must hold one line with the token"
    );
    Ok(token.to_owned())
}

/// An origin, as browsers send it: scheme, host, port, and nothing after them.
fn parse_site(text: &str) -> anyhow::Result<String> {
    let site = server::parse_public_url(text).ok().map(|site| site.to_ascii_lowercase());
    match site {
        Some(site) if site.matches('/').count() == 2 => Ok(site),
        _ => bail!("`{text}` is no site; one is https://docs.acme.dev, without a path"),
    }
}
