//! Runs `docwright demo`: a server with a sample repository, page views, a job and its pull request.
//!
//! It creates the repository and the project directly. Everything else goes over HTTP, as from a script.

mod findings;
mod readers;

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use base::{Clock, SystemClock};
use serde_json::json;
use server::{App, Server, Settings, sample};
use store::{Allow, Expiry, NewKey, NewProject, Project, Scope};
use tempfile::TempDir;
use wire::{AgentJob, IngestResult};

use crate::args::{Data, Demo, JobArgs, WatchArgs, quote};
use crate::client::{Client, job, watch};
use crate::settings::{CommandKind, Flags, Sources, parse_listen};
use crate::{log, output, serve};

const PROMPT: &str = "Fix broken links and anchors. Fix common misspellings. \
    Bump the version from 1.4.2 to 1.5.0.";
/// Far longer than the sample job takes.
const JOB_TIMEOUT_SECONDS: u64 = 120;
const BATCH_EVENTS: usize = 5_000;

pub(crate) async fn run(sources: &Sources, args: Demo) -> anyhow::Result<()> {
    log::start(&sources.settings(CommandKind::Demo, &Data::default(), &Flags::default())?.log)?;
    let (data, _temporary) = data_directory(&args)?;
    let server = open(&args, data.clone()).await?;
    let demo = set_up(&server, &data).await?;
    let stop = serve::stop_on_signal()?;
    let app = server.app.clone();
    let serving = tokio::spawn(server.run(stop.clone()));
    let job = tokio::select! {
        job = run_tour(&demo, &app, args.once) => job?,
        () = stop.cancelled() => {
            // A temporary data directory is removed when this function returns.
            serving.await??;
            bail!("the demo was stopped before its end")
        }
    };
    print_result(&args, &demo, &job)?;
    if !args.once {
        output::print_message(
            "\nOpen the login link first, then the pull request. To stop the server, press Ctrl-C.",
        );
        return serving.await?;
    }
    stop.cancel();
    serving.await??;
    output::print_message(end_message(&args, &demo.project));
    Ok(())
}

/// Says what you can do after the server has stopped.
fn end_message(args: &Demo, project: &Project) -> String {
    let Some(data) = &args.data else {
        return "The server stopped and its data is removed. To look around, run: docwright demo".into();
    };
    let (data, id) = (quote(&data.to_string_lossy()), &project.id);
    format!(
        "The server stopped. To use its data, run:\n  \
        docwright pull view {id} 1 --data {data}\n  docwright serve --data {data}"
    )
}

/// A project on the demo's server, with an API key and a login link.
struct DemoProject {
    project: Project,
    client: Client,
    key: String,
    login_url: String,
    pages: Vec<String>,
}

fn data_directory(args: &Demo) -> anyhow::Result<(PathBuf, Option<TempDir>)> {
    match &args.data {
        None => {
            let private = std::fs::Permissions::from_mode(0o700);
            let temporary =
                tempfile::Builder::new().prefix("docwright-demo-").permissions(private).tempdir()?;
            Ok((temporary.path().to_owned(), Some(temporary)))
        }
        Some(path) => {
            let is_empty = std::fs::read_dir(path).map_or(true, |mut entries| entries.next().is_none());
            ensure!(is_empty, "{} is not empty: name a new directory with --data", path.display());
            // The server needs an absolute path of the repository in it.
            Ok((std::path::absolute(path)?, None))
        }
    }
}

/// Uses the default port if it is free, so that the commands in the README work unchanged.
async fn open(args: &Demo, data: PathBuf) -> anyhow::Result<Server> {
    let mut settings = Settings::new(data);
    let clock = Arc::new(SystemClock);
    if let Some(listen) = &args.listen {
        settings.listen = parse_listen(listen)?;
        return Server::open(&settings, clock).await;
    }
    if std::net::TcpListener::bind(settings.listen).is_err() {
        settings.listen = SocketAddr::from(([127, 0, 0, 1], 0));
    }
    Server::open(&settings, clock).await
}

async fn set_up(server: &Server, data: &std::path::Path) -> anyhow::Result<DemoProject> {
    let app = &server.app;
    let (repository, pages) = (data.join("sample-docs.git"), sample::pages());
    let repository_path = repository.to_string_lossy().into_owned();
    tokio::task::spawn_blocking(move || sample::create(&repository)).await??;
    output::print_message(format!(
        "Created a sample docs repository of {} pages, with broken links and misspellings",
        pages.len()
    ));
    let organization = app.accounts.create_organization("Demo").await?.id;
    let new = NewProject {
        hosting: store::Hosting::default(),
        organization: organization.clone(),
        name: "Kettle docs".into(),
        repository: repository_path,
        base_ref: None,
        docs_path: Some(sample::DOCS.into()),
        sites: vec!["https://docs.kettle.example".into()],
        model: "offline".into(),
        models: vec![],
        allow_paths: vec![],
    };
    let project = app.accounts.create_project(&new).await?;
    let key = NewKey {
        organization: organization.clone(),
        name: "Demo".into(),
        scope: Scope::Write,
        projects: None,
        allow: Allow::default(),
        expiry: Expiry::Days(7),
        creator: None,
    };
    let (_, key) = app.accounts.create_key(&key).await?;
    let link = app.sessions.create_named_login(&organization, "demo").await?;
    let client = Client::new(&app.public_url, key.reveal())?;
    Ok(DemoProject {
        project,
        login_url: format!("{}/login?token={}", client.base(), link.reveal()),
        client,
        key: key.reveal().to_owned(),
        pages,
    })
}

/// Sends page views, then runs a job.
async fn run_tour(demo: &DemoProject, app: &App, once: bool) -> anyhow::Result<AgentJob> {
    let id = &demo.project.id.0;
    send_views(demo).await?;
    if !once {
        // In the background: the links of the tour must not wait for it.
        tokio::spawn(findings::look_soon(app.clone(), demo.project.id.clone()));
    }

    let started = job::start(&demo.client, id, PROMPT.to_owned()).await?;
    output::print_message(format!("Created job {} with the prompt: {PROMPT}", started.id));
    let watching = WatchArgs { watch: true, timeout: JOB_TIMEOUT_SECONDS };
    let args = JobArgs { project: id.clone(), id: started.id };
    let job = watch::until_end(&demo.client, &args, &watching, 0).await?;
    ensure!(job.status == "completed", "the job ended as {}: its last event says why", job.status);
    Ok(job)
}

async fn send_views(demo: &DemoProject) -> anyhow::Result<()> {
    let id = &demo.project.id.0;
    let now = SystemClock.now();
    let (views, missing) = (readers::generate_views(&demo.pages, now), readers::generate_missing(now));
    for batch in views.chunks(BATCH_EVENTS).chain([&*missing]) {
        let result: IngestResult = demo.client.post(&format!("/v1/analytics/{id}/events"), &batch).await?;
        ensure!(
            result.rejected.is_empty(),
            "the server rejected sample views: {:?}",
            result.rejected.first()
        );
    }
    output::print_message(format!(
        "Stored {} page views of the last 90 days, and {} requests for pages that don't exist",
        views.len(),
        missing.len()
    ));
    Ok(())
}

fn print_result(args: &Demo, demo: &DemoProject, job: &AgentJob) -> anyhow::Result<()> {
    let base = demo.client.base();
    let (project, key) = (&demo.project.id.0, &demo.key);
    let link = job.pr_link.as_deref().context("the job opened no pull request")?;
    if args.json {
        return output::print_json(&json!({
            "baseUrl": base,
            "projectId": project,
            "apiKey": key,
            "jobId": job.id,
            "prLink": link,
            "loginUrl": demo.login_url,
        }));
    }
    if args.once {
        return output::print_line(format!("prLink   {link}"));
    }
    output::print_line(format!(
        r#"prLink   {link}
login    {login}

To do the same with curl:
  export KEY={key} URL={base} PROJECT={project}
  # start a job, then get its status
  curl -X POST $URL/v2/agent/$PROJECT/job -H "Authorization: Bearer $KEY" \
    -H 'Content-Type: application/json' -d '{{"prompt":"Replace \"kettlectl\" with \"kettle\" including code"}}'
  curl $URL/v2/agent/$PROJECT/job/{id} -H "Authorization: Bearer $KEY"
  # views by humans and AI: totals and pages
  curl "$URL/v1/analytics/$PROJECT/views?limit=5" -H "Authorization: Bearer $KEY""#,
        login = demo.login_url,
        id = job.id,
    ))
}
