//! Guides through the first run: creates an account, a project, and a first API key, and chooses a model.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use store::{
    Allow, Expiry, Hosting, Limit, NewKey, NewPerson, NewProject, Project, ProjectChange, ProjectId, Role,
    Scope, StoreError, parse_name, parse_person_name,
};

use super::session::{FormFields, ProjectContext, SignedInUser, nav, session_cookie, set_session_cookie};
use super::settings::{NO_REPOSITORY, check_repository_allowed};
use super::view::{
    self, FormMessage, ModelOption, NewProjectForm, Section, Welcome, WelcomeDone, WelcomeModel,
    WelcomeRepository,
};
use super::{PageError, keys, page, page_with};
use app::App;
use app::hosts::{self, HostKey, RepositoryRequest, parse_docs_path};
use app::models::OFFLINE;
use app::sample;

/// How many tests of models an organization can run. Each test costs a few tokens.
const MAX_TESTS_PER_HOUR: u32 = 20;

/// `GET /welcome`: skips to the next step if the person has an account.
pub(crate) async fn show(user: SignedInUser) -> Result<Response, PageError> {
    user.require_owner()?;
    match user.session.person {
        Some(_) => Ok(Redirect::to("/welcome/repository").into_response()),
        None => Ok(account_page(&user, "", None)),
    }
}

fn account_page(user: &SignedInUser, name: &str, error: Option<String>) -> Response {
    let status = if error.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    let shell = user.shell("Welcome", Section::None);
    page_with(status, &Welcome { shell, name: name.into(), error })
}

/// `POST /welcome/account`: the session continues as the new member's session, with a new token.
pub(crate) async fn create_account(
    State(app): State<App>,
    user: SignedInUser,
    headers: HeaderMap,
    fields: FormFields,
) -> Result<Response, PageError> {
    user.require_owner()?;
    let (typed, session) = (fields.get("name"), session_cookie(&headers, &app));
    let (None, Some(session)) = (&user.session.person, session) else {
        return Ok(Redirect::to("/welcome/repository").into_response());
    };
    let parsed = parse_person_name(typed);
    let password = fields.get("password");
    let parsed = match parsed {
        Ok(name) => app.passwords.parse(password, &name).await?.map(|()| name),
        refused => refused,
    };
    let name = match parsed {
        Ok(name) => name,
        Err(sentence) => return Ok(account_page(&user, typed, Some(sentence))),
    };
    let others = app.people.people_named(&name).await?.into_iter().map(|(_, hash)| hash);
    let password = app.passwords.hash_with_shared_salt(password, &others.collect::<Vec<_>>()).await?;
    let organization = user.organization.clone();
    let new = NewPerson { organization, name, role: Role::Owner, password };
    let person = match app.people.create_person(&new).await {
        Err(StoreError::Taken(sentence)) => return Ok(account_page(&user, typed, Some(sentence))),
        created => created?,
    };
    user.record_audit(&app, "made an account for", &person.name).await?;
    let session = app.sessions.assign_session_to_member(&session, &person.id).await?;
    let mut response = Redirect::to("/welcome/repository").into_response();
    set_session_cookie(&mut response, &app, session.as_ref());
    Ok(response)
}

/// `GET /welcome/repository`
pub(crate) async fn choose_repository(user: SignedInUser) -> Result<Response, PageError> {
    user.require_owner()?;
    Ok(repository_page(&user, NewProjectForm::default(), None))
}

fn repository_page(user: &SignedInUser, form: NewProjectForm, error: Option<String>) -> Response {
    let status = if error.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    let shell = user.shell("Connect your docs", Section::None);
    let is_operator = user.session.operator;
    page_with(status, &WelcomeRepository { shell, form, is_operator, error })
}

/// `POST /welcome/repository`: tests the repository, and creates a project if it works.
pub(crate) async fn create_project(
    State(app): State<App>,
    user: SignedInUser,
    fields: FormFields,
) -> Result<Response, PageError> {
    user.require_owner()?;
    let created = match fields.get("sample") {
        "true" if user.session.operator => create_sample_project(&app, &user).await,
        _ => create_own_project(&app, &user, &fields).await,
    };
    match created {
        Ok(project) => {
            user.record_audit(&app, "made the project", &project.name).await?;
            Ok(Redirect::to(&format!("{}/welcome", nav(&project).root())).into_response())
        }
        Err(error) => {
            let form = NewProjectForm {
                name: fields.get("name").into(),
                repository: fields.get("repository").into(),
                branch: fields.get("branch").into(),
                folder: fields.get("folder").into(),
            };
            Ok(repository_page(&user, form, Some(error.to_string())))
        }
    }
}

async fn create_own_project(app: &App, user: &SignedInUser, fields: &FormFields) -> anyhow::Result<Project> {
    let name = parse_name("a project", fields.get("name")).map_err(anyhow::Error::msg)?;
    let repository = fields.trimmed("repository").ok_or_else(|| anyhow::Error::msg(NO_REPOSITORY))?;
    check_repository_allowed(&user.session, &repository).map_err(anyhow::Error::msg)?;
    let folder = fields.trimmed("folder").map(|folder| parse_docs_path(&folder)).transpose()?;
    let (branch, key) = (fields.trimmed("branch"), fields.trimmed("token").map(HostKey::new));
    let mut hosting = Hosting::default();
    let wanted = RepositoryRequest {
        repository: &repository,
        base_ref: branch.as_deref(),
        docs_path: folder.as_deref(),
        hosting: &hosting,
        key: key.as_ref(),
    };
    let found = hosts::check(&app.hosts, wanted).await?;
    hosting.kind = found.kind;
    let new = NewProject {
        base_ref: branch,
        docs_path: folder,
        hosting,
        ..default_project(user, name, found.location)
    };
    let project = app.accounts.create_project(&new).await?;
    hosts::store_key(&app.hosts, &project, key.as_ref(), &user.display_name()).await?;
    Ok(project)
}

async fn create_sample_project(app: &App, user: &SignedInUser) -> anyhow::Result<Project> {
    let path = app.data.join(format!("sample-{}.git", ProjectId::random()));
    let repository = path.to_string_lossy().into_owned();
    tokio::task::spawn_blocking(move || sample::create(&path)).await??;
    let docs_path = Some(sample::DOCS.to_owned());
    let new = NewProject { docs_path, ..default_project(user, "Kettle docs (sample)".into(), repository) };
    Ok(app.accounts.create_project(&new).await?)
}

fn default_project(user: &SignedInUser, name: String, repository: String) -> NewProject {
    NewProject {
        organization: user.organization.clone(),
        name,
        repository,
        hosting: Hosting::default(),
        base_ref: None,
        docs_path: None,
        sites: Vec::new(),
        model: OFFLINE.into(),
        models: Vec::new(),
        allow_paths: Vec::new(),
    }
}

/// `GET /p/{projectId}/welcome`
pub(crate) async fn choose_model(State(app): State<App>, ctx: ProjectContext) -> Result<Response, PageError> {
    ctx.user.require_owner()?;
    Ok(page(&model_page(&app, &ctx, &ctx.project.model, None)))
}

fn model_page(
    app: &App,
    ctx: &ProjectContext,
    chosen: &str,
    message: Option<FormMessage<()>>,
) -> WelcomeModel {
    let option = |name: &str| ModelOption { name: name.to_owned(), chosen: name == chosen };
    let models = app.models.names().into_iter().map(option).collect();
    WelcomeModel { shell: ctx.shell("Choose a model", Section::None), models, message }
}

/// `POST /p/{projectId}/welcome`: tests the model, or saves it and shows the last step.
pub(crate) async fn finish(
    State(app): State<App>,
    ctx: ProjectContext,
    fields: FormFields,
) -> Result<Response, PageError> {
    ctx.user.require_owner()?;
    let name = fields.get("model");
    let message = match app.models.names().contains(&name) {
        false => FormMessage::error((), "This server doesn't have that model. Choose a model from the list."),
        true if fields.get("test") == "true" => test_model(&app, &ctx, name).await?,
        true => return save_model_and_create_key(&app, &ctx, name).await,
    };
    let status = if message.is_error { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    Ok(page_with(status, &model_page(&app, &ctx, name, Some(message))))
}

async fn test_model(app: &App, ctx: &ProjectContext, name: &str) -> Result<FormMessage<()>, PageError> {
    let bucket = format!("model-tests {}", ctx.project.organization);
    if app.rates.count(&Limit { bucket, max: MAX_TESTS_PER_HOUR }).await?.is_err() {
        let sentence =
            format!("You can run at most {MAX_TESTS_PER_HOUR} tests of models per hour. Try again later.");
        return Ok(FormMessage::error((), sentence));
    }
    let (works, sentence) = app.models.probe(name).await;
    Ok(FormMessage { form: (), is_error: !works, sentence: format!("{name}: {sentence}") })
}

async fn save_model_and_create_key(
    app: &App,
    ctx: &ProjectContext,
    model: &str,
) -> Result<Response, PageError> {
    let change = ProjectChange { model: Some(model.to_owned()), ..ProjectChange::default() };
    app.accounts.update_project(&ctx.project.id, &change).await?;
    let new = NewKey {
        organization: ctx.project.organization.clone(),
        name: "First key".into(),
        scope: Scope::Write,
        projects: Some(vec![ctx.project.id.clone()]),
        allow: Allow::default(),
        expiry: Expiry::DEFAULT,
        creator: Some(ctx.user.display_name()),
    };
    let (key, text) = app.accounts.create_key(&new).await?;
    ctx.user.record_audit(app, "made the key", &key.to_ref().to_string()).await?;
    let curl = keys::curl_example(app, &ctx.project, &new, text.reveal());
    let key = view::NewKey { curl, secret: text.reveal().into() };
    let shell = ctx.shell("Your project is ready", Section::None);
    let suggested_globs = app.hosts.suggest_allow_paths(&ctx.project).await;
    Ok(page(&WelcomeDone { shell, project_id: ctx.project.id.0.clone(), key, suggested_globs }))
}
