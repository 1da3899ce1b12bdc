//! Shows and saves the settings of a project, and deletes the project.

mod findings;

use anyhow::Context;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use store::{HumanReads, Project, ProjectChange, Session, parse_name};
use traffic::{Failure, ListQuery, Range};

pub(crate) use self::findings::save_findings;
use super::session::{FormFields, ProjectContext};
use super::view::{
    FormMessage, JobsForm, ModelChoice, ReadersForm, RepositoryForm, Section, Settings, SettingsForm,
    ViewsReceived,
};
use super::{PageError, page, page_with};
use app::App;
use app::hosts::{self, HostKey, ProjectUpdate, is_on_the_web, parse_docs_path};
use app::origin::parse_site;
use app::parse_allow_path;
use app::path::query_value;
use app::refused_files::refused_files;

/// The most lines of a text field that contains a list.
const MAX_LIST_LINES: usize = 100;
pub(super) const NO_REPOSITORY: &str = "Enter the URL of the repository.";

/// `GET /p/{projectId}/settings`
pub(crate) async fn show(
    State(app): State<App>,
    ctx: ProjectContext,
    uri: Uri,
) -> Result<Response, PageError> {
    let mut settings = settings_page(&app, &ctx).await?;
    let saved = match query_value(&uri, "saved").as_str() {
        "repository" => Some(SettingsForm::Repository),
        "jobs" => Some(SettingsForm::Jobs),
        "readers" => Some(SettingsForm::Readers),
        "findings" => Some(SettingsForm::Findings),
        _ => None,
    };
    settings.message = saved.map(|form| FormMessage::success(form, "Settings saved."));
    Ok(page(&settings))
}

/// `GET /p/{projectId}/settings/views-received`: the count of received views, which the page polls.
pub(crate) async fn show_views_received(
    State(app): State<App>,
    ctx: ProjectContext,
) -> Result<Response, PageError> {
    Ok(page(&count_views(&app, &ctx.project).await?))
}

/// `POST /p/{projectId}/settings/repository`: tests the repository, and saves it only if it works.
pub(crate) async fn save_repository(
    State(app): State<App>,
    ctx: ProjectContext,
    fields: FormFields,
) -> Result<Response, PageError> {
    ctx.user.require_owner()?;
    let token = fields.get("token").trim();
    let key = (!token.is_empty()).then(|| HostKey::new(token));
    let only_test = fields.get("test") == "true";
    let saved = match parse_repository(&ctx, &fields) {
        Ok(change) => test_or_update(&app, &ctx, &change, key.as_ref(), only_test).await,
        Err(sentence) => Err(anyhow::Error::msg(sentence)),
    };
    let message = match saved {
        Ok(None) => return record_and_redirect(&app, &ctx, "repository").await,
        Ok(Some(sentence)) => FormMessage::success(SettingsForm::Repository, sentence),
        Err(error) => FormMessage::error(SettingsForm::Repository, error.to_string()),
    };
    let typed = RepositoryForm {
        name: fields.get("name").into(),
        repository: fields.get("repository").into(),
        branch: fields.get("branch").into(),
        folder: fields.get("folder").into(),
    };
    let settings = Settings { repository: typed, ..settings_page(&app, &ctx).await? };
    Ok(page_with_message(settings, message))
}

/// Tests the change, and returns a sentence if it's only a test. Otherwise also saves the change.
async fn test_or_update(
    app: &App,
    ctx: &ProjectContext,
    change: &ProjectChange,
    key: Option<&HostKey>,
    only_test: bool,
) -> anyhow::Result<Option<String>> {
    // Read again, because the project may have changed while the form arrived.
    let before = app.accounts.project(&ctx.project.id).await?.context("The project was deleted.")?;
    let update = ProjectUpdate { before: &before, change, key, who: &ctx.user.identity() };
    if only_test {
        let found = hosts::check_update(&app.hosts, update).await?;
        let sentence = format!("The test succeeded. Jobs start from {} of {}.", found.branch, found.location);
        return Ok(Some(sentence));
    }
    let updated = hosts::update(&app.hosts, &*app.accounts, update).await?;
    if updated.forgot_token {
        app.people
            .record_audit(&ctx.user.audit_entry("forgot the host token of", &updated.project.name))
            .await?;
    }
    Ok(None)
}

fn parse_repository(ctx: &ProjectContext, fields: &FormFields) -> Result<ProjectChange, String> {
    let repository = fields.trimmed("repository").ok_or(NO_REPOSITORY)?;
    if repository != ctx.project.repository {
        check_repository_allowed(&ctx.user.session, &repository)?;
    }
    let folder = fields.trimmed("folder").map(|folder| parse_docs_path(&folder)).transpose();
    Ok(ProjectChange {
        name: Some(parse_name("a project", fields.get("name"))?),
        repository: Some(repository),
        base_ref: fields.trimmed("branch").into(),
        docs_path: folder.map_err(|error| error.to_string())?.into(),
        ..ProjectChange::default()
    })
}

/// Only operators can choose a path on the server's machine, because other organizations have repositories there, too.
pub(super) fn check_repository_allowed(session: &Session, repository: &str) -> Result<(), String> {
    match session.operator || is_on_the_web(repository) {
        true => Ok(()),
        false => {
            Err("Enter a URL such as https://github.com/acme/docs. To use a path on the server's machine, \
            sign in with a link of docwright login."
                .into())
        }
    }
}

/// `POST /p/{projectId}/settings/jobs`
pub(crate) async fn save_jobs(
    State(app): State<App>,
    ctx: ProjectContext,
    fields: FormFields,
) -> Result<Response, PageError> {
    ctx.user.require_owner()?;
    match parse_jobs(&app, &ctx.project, &fields) {
        Ok(change) => save(&app, &ctx, &change, "jobs").await,
        Err(sentence) => {
            let (model, allowed) = (fields.get("model"), fields.all("allow_model"));
            let models = model_choices(&app, &ctx.project, model, &allowed);
            let settings = settings_page(&app, &ctx).await?;
            let typed = JobsForm { models, allow_paths: fields.get("allow_paths").into(), ..settings.jobs };
            let settings = Settings { jobs: typed, ..settings };
            Ok(page_with_message(settings, FormMessage::error(SettingsForm::Jobs, sentence)))
        }
    }
}

fn parse_jobs(app: &App, project: &Project, fields: &FormFields) -> Result<ProjectChange, String> {
    let (model, models) = (fields.get("model").to_owned(), fields.all("allow_model"));
    let known = model_choices(app, project, &model, &models);
    let is_known = |name: &String| known.iter().any(|choice| choice.name == *name);
    if let Some(unknown) = [&model].into_iter().chain(&models).find(|name| !is_known(name)) {
        return Err(format!("This server has no model named {unknown}. Choose a model from the list."));
    }
    let paths = check_list_length(fields.lines("allow_paths"))?;
    let allow_paths = paths.iter().map(|path| parse_allow_path(path)).collect::<Result<_, _>>()?;
    let models = Some(models);
    Ok(ProjectChange { model: Some(model), models, allow_paths: Some(allow_paths), ..Default::default() })
}

/// `POST /p/{projectId}/settings/readers`
pub(crate) async fn save_readers(
    State(app): State<App>,
    ctx: ProjectContext,
    fields: FormFields,
) -> Result<Response, PageError> {
    ctx.user.require_owner()?;
    match parse_readers(&fields) {
        Ok(change) => save(&app, &ctx, &change, "readers").await,
        Err(sentence) => {
            let typed = ReadersForm {
                sites: fields.get("sites").into(),
                human_reads: fields.get("human_reads").into(),
            };
            let settings = Settings { readers: typed, ..settings_page(&app, &ctx).await? };
            Ok(page_with_message(settings, FormMessage::error(SettingsForm::Readers, sentence)))
        }
    }
}

fn parse_readers(fields: &FormFields) -> Result<ProjectChange, String> {
    let site = |text: String| {
        let site = parse_site(&text);
        site.ok_or_else(|| {
            format!("`{text}` is not the URL of a site. Enter a URL without a path, such as https://docs.acme.dev.")
        })
    };
    let sites = check_list_length(fields.lines("sites"))?.into_iter().map(site).collect::<Result<_, _>>()?;
    let human_reads: HumanReads = fields.get("human_reads").parse()?;
    Ok(ProjectChange { sites: Some(sites), human_reads: Some(human_reads), ..ProjectChange::default() })
}

fn check_list_length(lines: Vec<String>) -> Result<Vec<String>, String> {
    match lines.len() > MAX_LIST_LINES {
        true => Err(format!("The list is too long. Enter at most {MAX_LIST_LINES} lines.")),
        false => Ok(lines),
    }
}

/// `POST /p/{projectId}/settings/delete`
pub(crate) async fn delete_project(
    State(app): State<App>,
    ctx: ProjectContext,
    fields: FormFields,
) -> Result<Response, PageError> {
    ctx.user.require_owner()?;
    if fields.get("typed").trim() != ctx.project.name {
        let sentence =
            "Nothing was deleted, because you typed a different name. Type the name of this project.";
        let message = FormMessage::error(SettingsForm::Delete, sentence);
        return Ok(page_with_message(settings_page(&app, &ctx).await?, message));
    }
    app.upkeep.delete_project(&ctx.project.id).await?;
    ctx.user.record_audit(&app, "deleted the project", &ctx.project.name).await?;
    Ok(Redirect::to("/").into_response())
}

async fn save(
    app: &App,
    ctx: &ProjectContext,
    change: &ProjectChange,
    section: &str,
) -> Result<Response, PageError> {
    app.accounts.update_project(&ctx.project.id, change).await?;
    record_and_redirect(app, ctx, section).await
}

async fn record_and_redirect(app: &App, ctx: &ProjectContext, section: &str) -> Result<Response, PageError> {
    ctx.user.record_audit(app, &format!("changed the settings ({section}) of"), &ctx.project.name).await?;
    Ok(Redirect::to(&format!("{}/settings?saved={section}#{section}", ctx.root())).into_response())
}

fn page_with_message(settings: Settings, message: FormMessage<SettingsForm>) -> Response {
    let status = if message.is_error { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    page_with(status, &Settings { message: Some(message), ..settings })
}

async fn settings_page(app: &App, ctx: &ProjectContext) -> Result<Settings, PageError> {
    let project = &ctx.project;
    let (base, id) = (&app.public_url, &project.id);
    Ok(Settings {
        shell: ctx.shell("Settings", Section::Settings),
        project_id: id.0.clone(),
        name: project.name.clone(),
        repository: RepositoryForm {
            name: project.name.clone(),
            repository: project.repository.clone(),
            branch: project.base_ref.clone().unwrap_or_default(),
            folder: project.docs_path.clone().unwrap_or_default(),
        },
        host: project.hosting.kind.clone(),
        has_token: app.hosts.key(id).await?.is_some(),
        jobs: JobsForm {
            models: model_choices(app, project, &project.model, &project.models),
            allow_paths: project.allow_paths.join("\n"),
            suggested_globs: app.hosts.suggest_allow_paths(project).await,
            refused: refused_files(&*app.jobs, project).await?,
            budget: app.models.month,
        },
        readers: ReadersForm {
            sites: project.sites.join("\n"),
            human_reads: project.human_reads.as_str().into(),
        },
        findings: findings::form(&app.findings.finding_settings(id).await?),
        snippet: format!("<script defer src=\"{base}/js/docwright.js\" data-project=\"{id}\"></script>"),
        views_received: count_views(app, project).await?,
        is_owner: ctx.user.session.is_owner(),
        message: None,
    })
}

/// The server's models, and models that the project names and the server doesn't have.
fn model_choices(app: &App, project: &Project, default: &str, allowed: &[String]) -> Vec<ModelChoice> {
    let available = app.models.names();
    let named = [&project.model].into_iter().chain(&project.models).map(String::as_str);
    let mut missing: Vec<_> = named.filter(|name| !available.contains(name)).collect();
    missing.sort_unstable();
    missing.dedup();
    let choice = |name: &str, is_missing| ModelChoice {
        name: name.to_owned(),
        is_default: name == default,
        is_allowed: allowed.iter().any(|allowed| allowed == name),
        is_missing,
    };
    let available = available.into_iter().map(|name| choice(name, false));
    available.chain(missing.into_iter().map(|name| choice(name, true))).collect()
}

async fn count_views(app: &App, project: &Project) -> Result<ViewsReceived, PageError> {
    if !app.stores_views() {
        return Ok(ViewsReceived::default());
    }
    let counts = app.views.count(&project.id.0, &Range::new(None, None)?, &ListQuery::new(1, 0)).await;
    let live = app.reports.live(&project.id.0).await;
    if [counts.as_ref().err(), live.as_ref().err()].into_iter().flatten().any(Failure::is_unavailable) {
        return Ok(ViewsReceived { is_unavailable: true, ..ViewsReceived::default() });
    }
    let (total, recent) = (counts?.totals.total(), live?.totals.total());
    Ok(ViewsReceived { total, recent, is_unavailable: false })
}
