//! The first run: an account, a repository, a model, and a key to begin with.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use store::{
    Allow, Expiry, Hosting, Limit, NewKey, NewPerson, NewProject, Project, ProjectChange, ProjectId, Role,
    Scope, StoreError, parse_name, parse_person_name,
};

use super::session::{Fields, InProject, SignedIn, cookie, nav, set_cookie};
use super::settings::may_name;
use super::view::{
    self, Card, NewProjectForm, OneModel, Said, Section, Welcome, WelcomeDone, WelcomeModel,
    WelcomeRepository,
};
use super::{Oops, keys, page, page_with};
use app::App;
use app::hosts::{self, HostKey, Wanted, parse_docs_path};
use app::models::OFFLINE;
use app::sample;

/// Tests of models that an organization can ask for: each costs a little.
const TESTS_AN_HOUR: u32 = 20;

/// `GET /welcome`: for who has an account, the next step.
pub(crate) async fn show(visitor: SignedIn) -> Result<Response, Oops> {
    visitor.must_own()?;
    match visitor.session.person {
        Some(_) => Ok(Redirect::to("/welcome/repository").into_response()),
        None => Ok(account_page(&visitor, "", None)),
    }
}

fn account_page(visitor: &SignedIn, name: &str, error: Option<String>) -> Response {
    let status = if error.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    let shell = visitor.shell("Welcome", Section::Elsewhere);
    page_with(status, &Welcome { shell, name: name.into(), error })
}

/// `POST /welcome/account`: the session goes on as the new person's, under a new token.
pub(crate) async fn account(
    State(app): State<App>,
    visitor: SignedIn,
    headers: HeaderMap,
    fields: Fields,
) -> Result<Response, Oops> {
    visitor.must_own()?;
    let (typed, before) = (fields.get("name"), cookie(&headers, &app));
    let (None, Some(before)) = (&visitor.session.person, before) else {
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
        Err(sentence) => return Ok(account_page(&visitor, typed, Some(sentence))),
    };
    let others = app.people.people_named(&name).await?.into_iter().map(|(_, hash)| hash);
    let password = app.passwords.hash_beside(password, &others.collect::<Vec<_>>()).await?;
    let organization = visitor.organization.clone();
    let new = NewPerson { organization, name, role: Role::Owner, password };
    let person = match app.people.create_person(&new).await {
        Err(StoreError::Taken(sentence)) => return Ok(account_page(&visitor, typed, Some(sentence))),
        made => made?,
    };
    visitor.note(&app, "made an account for", &person.name).await?;
    let session = app.sessions.hand_over(&before, &person.id).await?;
    let mut response = Redirect::to("/welcome/repository").into_response();
    set_cookie(&mut response, &app, session.as_ref());
    Ok(response)
}

/// `GET /welcome/repository`
pub(crate) async fn repository(visitor: SignedIn) -> Result<Response, Oops> {
    visitor.must_own()?;
    Ok(repository_page(&visitor, NewProjectForm::default(), None))
}

fn repository_page(visitor: &SignedIn, form: NewProjectForm, error: Option<String>) -> Response {
    let status = if error.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    let shell = visitor.shell("Your docs", Section::Elsewhere);
    let operator = visitor.session.operator;
    page_with(status, &WelcomeRepository { shell, form, operator, error })
}

/// `POST /welcome/repository`: makes a project of what was found to work.
pub(crate) async fn create(
    State(app): State<App>,
    visitor: SignedIn,
    fields: Fields,
) -> Result<Response, Oops> {
    visitor.must_own()?;
    let made = match fields.get("sample") {
        "true" if visitor.session.operator => sample_project(&app, &visitor).await,
        _ => own_project(&app, &visitor, &fields).await,
    };
    match made {
        Ok(project) => {
            visitor.note(&app, "made the project", &project.name).await?;
            Ok(Redirect::to(&format!("{}/welcome", nav(&project).root())).into_response())
        }
        Err(error) => {
            let form = NewProjectForm {
                name: fields.get("name").into(),
                repository: fields.get("repository").into(),
                branch: fields.get("branch").into(),
                folder: fields.get("folder").into(),
            };
            Ok(repository_page(&visitor, form, Some(error.to_string())))
        }
    }
}

async fn own_project(app: &App, visitor: &SignedIn, fields: &Fields) -> anyhow::Result<Project> {
    let given = |name| Some(fields.get(name).trim().to_owned()).filter(|text| !text.is_empty());
    let name = parse_name("a project", fields.get("name")).map_err(anyhow::Error::msg)?;
    let repository = given("repository").ok_or_else(|| anyhow::anyhow!("say where the repository is"))?;
    may_name(&visitor.session, &repository).map_err(anyhow::Error::msg)?;
    let folder = given("folder").map(|folder| parse_docs_path(&folder)).transpose()?;
    let (branch, key) = (given("branch"), given("token").map(HostKey::new));
    let mut hosting = Hosting::default();
    let wanted = Wanted {
        repository: &repository,
        base_ref: branch.as_deref(),
        docs_path: folder.as_deref(),
        hosting: &hosting,
        key: key.as_ref(),
    };
    let found = hosts::check(&app.hosts, wanted).await?;
    hosting.kind = found.kind;
    let new =
        NewProject { base_ref: branch, docs_path: folder, hosting, ..plain(visitor, name, found.place) };
    let project = app.accounts.create_project(&new).await?;
    hosts::keep_key(&app.hosts, &project, key.as_ref(), &visitor.who()).await?;
    Ok(project)
}

async fn sample_project(app: &App, visitor: &SignedIn) -> anyhow::Result<Project> {
    let place = app.data.join(format!("sample-{}.git", ProjectId::random()));
    let repository = place.clone();
    tokio::task::spawn_blocking(move || sample::create(&repository)).await??;
    let place = place.to_string_lossy().into_owned();
    let docs_path = Some(sample::DOCS.to_owned());
    let new = NewProject { docs_path, ..plain(visitor, "Kettle docs (sample)".into(), place) };
    Ok(app.accounts.create_project(&new).await?)
}

fn plain(visitor: &SignedIn, name: String, repository: String) -> NewProject {
    NewProject {
        organization: visitor.organization.clone(),
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
pub(crate) async fn model(State(app): State<App>, at: InProject) -> Result<Response, Oops> {
    at.visitor.must_own()?;
    Ok(page(&model_page(&app, &at, &at.project.model, None)))
}

fn model_page(app: &App, at: &InProject, chosen: &str, said: Option<Said>) -> WelcomeModel {
    let one = |name: &str| OneModel { name: name.to_owned(), chosen: name == chosen };
    let models = app.models.names().into_iter().map(one).collect();
    WelcomeModel { shell: at.shell("A model", Section::Elsewhere), models, said }
}

/// `POST /p/{projectId}/welcome`: tests the model, or takes it and shows what to begin with.
pub(crate) async fn finish(State(app): State<App>, at: InProject, fields: Fields) -> Result<Response, Oops> {
    at.visitor.must_own()?;
    let name = fields.get("model");
    let said = match app.models.names().contains(&name) {
        false => (false, "choose one of the models of this server".to_owned()),
        true if fields.get("test") == "true" => tested(&app, &at, name).await?,
        true => return done(&app, &at, name).await,
    };
    let (good, sentence) = said;
    let status = if good { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    let said = Some(Said { card: Card::Jobs, good, sentence });
    Ok(page_with(status, &model_page(&app, &at, name, said)))
}

async fn tested(app: &App, at: &InProject, name: &str) -> Result<(bool, String), Oops> {
    let bucket = format!("model-tests {}", at.project.organization);
    if app.rates.count(&Limit { bucket, max: TESTS_AN_HOUR }).await?.is_err() {
        return Ok((false, format!("at most {TESTS_AN_HOUR} tests an hour: try again later")));
    }
    let (ok, sentence) = app.models.probe(name).await;
    Ok((ok, format!("{name}: {sentence}")))
}

async fn done(app: &App, at: &InProject, model: &str) -> Result<Response, Oops> {
    let change = ProjectChange { model: Some(model.to_owned()), ..ProjectChange::default() };
    app.accounts.update_project(&at.project.id, &change).await?;
    let new = NewKey {
        organization: at.project.organization.clone(),
        name: "First key".into(),
        scope: Scope::Write,
        projects: Some(vec![at.project.id.clone()]),
        allow: Allow::default(),
        expiry: Expiry::DEFAULT,
        creator: Some(at.visitor.who()),
    };
    let (key, text) = app.accounts.create_key(&new).await?;
    at.visitor.note(app, "made the key", &key.to_ref().to_string()).await?;
    let curl = keys::curl(app, &at.project, &new, text.reveal());
    let key = view::NewKey { curl, secret: text.reveal().into() };
    let shell = at.shell("Ready", Section::Elsewhere);
    let offers = app.hosts.offers(&at.project).await;
    Ok(page(&WelcomeDone { shell, project_id: at.project.id.0.clone(), key, offers }))
}
