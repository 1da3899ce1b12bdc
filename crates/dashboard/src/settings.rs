//! What a project is: its repository, its jobs, its readers; and its end.

use anyhow::Context;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use store::{HumanReads, Project, ProjectChange, Session, parse_name};
use traffic::{ListQuery, Range};

use super::session::{Fields, InProject};
use super::view::{
    Arrived, Card, JobsForm, ModelChoice, ReadersForm, RepositoryForm, Said, Section, Settings,
};
use super::{Oops, page, page_with};
use app::App;
use app::hosts::{self, HostKey, Requested, is_on_the_web, parse_docs_path};
use app::origin::parse_site;
use app::parse_allow_path;
use app::path::query_value;
use app::refused_files::refused_files;

/// What can be in a list of a form.
const MOST: usize = 100;

/// `GET /p/{projectId}/settings`
pub(crate) async fn show(State(app): State<App>, at: InProject, uri: Uri) -> Result<Response, Oops> {
    let mut settings = settings_page(&app, &at).await?;
    let card = match query_value(&uri, "saved").as_str() {
        "repository" => Some(Card::Repository),
        "jobs" => Some(Card::Jobs),
        "readers" => Some(Card::Readers),
        _ => None,
    };
    settings.said = card.map(|card| Said { card, good: true, sentence: "Saved.".into() });
    Ok(page(&settings))
}

/// `GET /p/{projectId}/settings/arrived`: the one line of the page that changes by itself.
pub(crate) async fn arrived(State(app): State<App>, at: InProject) -> Result<Response, Oops> {
    Ok(page(&views_so_far(&app, &at.project).await?))
}

/// `POST /p/{projectId}/settings/repository`: nothing is kept that does not work.
pub(crate) async fn repository(
    State(app): State<App>,
    at: InProject,
    fields: Fields,
) -> Result<Response, Oops> {
    at.visitor.must_own()?;
    let token = fields.get("token").trim();
    let key = (!token.is_empty()).then(|| HostKey::new(token));
    let saved = match repository_change(&at, &fields) {
        Ok(change) => save_repository(&app, &at, &change, key.as_ref(), fields.get("test") == "true").await,
        Err(sentence) => Err(anyhow::Error::msg(sentence)),
    };
    let (good, sentence) = match saved {
        Ok(None) => return done(&app, &at, "repository").await,
        Ok(Some(sentence)) => (true, sentence),
        Err(error) => (false, error.to_string()),
    };
    let typed = RepositoryForm {
        name: fields.get("name").into(),
        repository: fields.get("repository").into(),
        branch: fields.get("branch").into(),
        folder: fields.get("folder").into(),
    };
    let settings = Settings { repository: typed, ..settings_page(&app, &at).await? };
    Ok(answered(settings, Card::Repository, good, sentence))
}

/// Tests the change, and says what came of it; or keeps it.
async fn save_repository(
    app: &App,
    at: &InProject,
    change: &ProjectChange,
    key: Option<&HostKey>,
    only_test: bool,
) -> anyhow::Result<Option<String>> {
    // As it is now: somebody may have moved the project while this form came.
    let before = app.accounts.project(&at.project.id).await?.context("the project is gone")?;
    let requested = Requested { before: &before, change, key, who: &at.visitor.identity() };
    if only_test {
        let found = hosts::check_change(&app.hosts, requested).await?;
        return Ok(Some(format!("It works: jobs start from {} of {}.", found.branch, found.place)));
    }
    let updated = hosts::update(&app.hosts, &*app.accounts, requested).await?;
    if updated.forgot_token {
        app.people.record_audit(&at.visitor.deed("forgot the host token of", &updated.project.name)).await?;
    }
    Ok(None)
}

fn repository_change(at: &InProject, fields: &Fields) -> Result<ProjectChange, String> {
    let given = |name| Some(fields.get(name).trim().to_owned()).filter(|text| !text.is_empty());
    let place = given("repository").ok_or("say where the repository is")?;
    if place != at.project.repository {
        may_name(&at.visitor.session, &place)?;
    }
    let folder = given("folder").map(|folder| parse_docs_path(&folder)).transpose();
    Ok(ProjectChange {
        name: Some(parse_name("a project", fields.get("name"))?),
        repository: Some(place),
        base_ref: Some(given("branch")),
        docs_path: Some(folder.map_err(|error| error.to_string())?),
        ..ProjectChange::default()
    })
}

/// A path of the server's machine is for who has that machine: other organizations have theirs there, too.
pub(super) fn may_name(session: &Session, repository: &str) -> Result<(), String> {
    match session.operator || is_on_the_web(repository) {
        true => Ok(()),
        false => Err("name an address such as https://github.com/acme/docs: a path of the server's machine \
            can be set by who signs in with a link of `docwright login`"
            .into()),
    }
}

/// `POST /p/{projectId}/settings/jobs`
pub(crate) async fn jobs(State(app): State<App>, at: InProject, fields: Fields) -> Result<Response, Oops> {
    at.visitor.must_own()?;
    match jobs_change(&app, &at.project, &fields) {
        Ok(change) => save(&app, &at, &change, "jobs").await,
        Err(sentence) => {
            let (model, allowed) = (fields.get("model"), fields.all("allow_model"));
            let models = choices(&app, &at.project, model, &allowed);
            let settings = settings_page(&app, &at).await?;
            let typed = JobsForm { models, allow_paths: fields.get("allow_paths").into(), ..settings.jobs };
            let settings = Settings { jobs: typed, ..settings };
            Ok(answered(settings, Card::Jobs, false, sentence))
        }
    }
}

fn jobs_change(app: &App, project: &Project, fields: &Fields) -> Result<ProjectChange, String> {
    let (model, models) = (fields.get("model").to_owned(), fields.all("allow_model"));
    let known = choices(app, project, &model, &models);
    let is_known = |name: &String| known.iter().any(|choice| choice.name == *name);
    if let Some(unknown) = [&model].into_iter().chain(&models).find(|name| !is_known(name)) {
        return Err(format!("this server has no model named {unknown}"));
    }
    let paths = few(fields.lines("allow_paths"))?;
    let allow_paths = paths.iter().map(|path| parse_allow_path(path)).collect::<Result<_, _>>()?;
    let models = Some(models);
    Ok(ProjectChange { model: Some(model), models, allow_paths: Some(allow_paths), ..Default::default() })
}

/// `POST /p/{projectId}/settings/readers`
pub(crate) async fn readers(State(app): State<App>, at: InProject, fields: Fields) -> Result<Response, Oops> {
    at.visitor.must_own()?;
    match readers_change(&fields) {
        Ok(change) => save(&app, &at, &change, "readers").await,
        Err(sentence) => {
            let typed = ReadersForm {
                sites: fields.get("sites").into(),
                human_reads: fields.get("human_reads").into(),
            };
            let settings = Settings { readers: typed, ..settings_page(&app, &at).await? };
            Ok(answered(settings, Card::Readers, false, sentence))
        }
    }
}

fn readers_change(fields: &Fields) -> Result<ProjectChange, String> {
    let site = |text: String| {
        let site = parse_site(&text);
        site.ok_or_else(|| format!("`{text}` is no site; one is https://docs.acme.dev, without a path"))
    };
    let sites = few(fields.lines("sites"))?.into_iter().map(site).collect::<Result<_, _>>()?;
    let human_reads: HumanReads = fields.get("human_reads").parse()?;
    Ok(ProjectChange { sites: Some(sites), human_reads: Some(human_reads), ..ProjectChange::default() })
}

fn few(lines: Vec<String>) -> Result<Vec<String>, String> {
    if lines.len() > MOST { Err(format!("at most {MOST} lines, please")) } else { Ok(lines) }
}

/// `POST /p/{projectId}/settings/delete`
pub(crate) async fn delete(State(app): State<App>, at: InProject, fields: Fields) -> Result<Response, Oops> {
    at.visitor.must_own()?;
    if fields.get("typed").trim() != at.project.name {
        let sentence = "That is not the name of this project. Nothing was deleted.".to_owned();
        return Ok(answered(settings_page(&app, &at).await?, Card::Danger, false, sentence));
    }
    app.upkeep.delete_project(&at.project.id).await?;
    at.visitor.note(&app, "deleted the project", &at.project.name).await?;
    Ok(Redirect::to("/").into_response())
}

async fn save(app: &App, at: &InProject, change: &ProjectChange, card: &str) -> Result<Response, Oops> {
    app.accounts.update_project(&at.project.id, change).await?;
    done(app, at, card).await
}

async fn done(app: &App, at: &InProject, card: &str) -> Result<Response, Oops> {
    at.visitor.note(app, &format!("changed the settings ({card}) of"), &at.project.name).await?;
    Ok(Redirect::to(&format!("{}/settings?saved={card}#{card}", at.root())).into_response())
}

fn answered(settings: Settings, card: Card, good: bool, sentence: String) -> Response {
    let status = if good { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    page_with(status, &Settings { said: Some(Said { card, good, sentence }), ..settings })
}

async fn settings_page(app: &App, at: &InProject) -> Result<Settings, Oops> {
    let project = &at.project;
    let (base, id) = (&app.public_url, &project.id);
    Ok(Settings {
        shell: at.shell("Settings", Section::Settings),
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
            models: choices(app, project, &project.model, &project.models),
            allow_paths: project.allow_paths.join("\n"),
            offers: app.hosts.offers(project).await,
            refused: refused_files(&*app.jobs, project).await?,
            budget: app.models.month,
        },
        readers: ReadersForm {
            sites: project.sites.join("\n"),
            human_reads: project.human_reads.as_str().into(),
        },
        snippet: format!("<script defer src=\"{base}/js/docwright.js\" data-project=\"{id}\"></script>"),
        arrived: views_so_far(app, project).await?,
        owner: at.visitor.session.is_owner(),
        said: None,
    })
}

/// The server's models, and those that the project names and the server has no more.
fn choices(app: &App, project: &Project, usual: &str, allowed: &[String]) -> Vec<ModelChoice> {
    let here = app.models.names();
    let named = [&project.model].into_iter().chain(&project.models).map(String::as_str);
    let mut gone: Vec<_> = named.filter(|name| !here.contains(name)).collect();
    gone.sort_unstable();
    gone.dedup();
    let choice = |name: &str, gone| ModelChoice {
        name: name.to_owned(),
        usual: name == usual,
        allowed: allowed.iter().any(|one| one == name),
        gone,
    };
    let here = here.into_iter().map(|name| choice(name, false));
    here.chain(gone.into_iter().map(|name| choice(name, true))).collect()
}

async fn views_so_far(app: &App, project: &Project) -> Result<Arrived, Oops> {
    if !app.keeps_views() {
        return Ok(Arrived { total: 0, lately: 0 });
    }
    let counts = app.views.count(&project.id.0, &Range::new(None, None)?, &ListQuery::new(1, 0)).await?;
    let live = app.reports.live(&project.id.0).await?;
    Ok(Arrived { total: counts.totals.total(), lately: live.totals.total() })
}
