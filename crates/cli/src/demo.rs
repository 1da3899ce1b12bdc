//! `docwright demo`: the whole thing, with nothing set up. Everything but the repository and
//! the project goes over HTTP, as it would from a script.

mod readers;

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use base::{Clock, SystemClock};
use serde_json::json;
use server::{Server, Settings, sample};
use store::{Allow, Expiry, NewKey, NewProject, Project, Scope};
use tempfile::TempDir;
use wire::{AgentJob, IngestResult};

use crate::args::{Demo, OneJob, Watching, quoted};
use crate::client::{Client, job, watch};
use crate::settings::Sources;
use crate::{log, output, serve};

const PROMPT: &str = "Fix broken links and anchors. Fix common misspellings. \
    Bump the version from 1.4.2 to 1.5.0.";
/// Far longer than the sample can take, in seconds.
const PATIENCE: u64 = 120;
const BATCH: usize = 5_000;

pub(crate) async fn run(sources: &Sources, args: Demo) -> anyhow::Result<()> {
    log::start(sources.text("log", None)?.as_deref(), sources.text("log_format", None)?.as_deref(), "warn")?;
    let (data, _kept) = data_directory(&args)?;
    let server = open(&args, data.clone()).await?;
    let shown = set_up(&server, &data).await?;
    let stop = serve::stop_on_signal()?;
    let serving = tokio::spawn(server.run(stop.clone()));
    let tour = tokio::select! {
        tour = tour(&shown) => tour?,
        () = stop.cancelled() => {
            // Its data goes when this function ends.
            serving.await??;
            bail!("stopped before the end")
        }
    };
    tell(&args, &shown, &tour)?;
    if !args.once {
        output::say("\nServing until Ctrl-C. Open the login link first, then the pull request.");
        return serving.await?;
    }
    stop.cancel();
    serving.await??;
    output::say(afterwards(&args, &shown.project));
    Ok(())
}

/// What can still be done once the server has stopped.
fn afterwards(args: &Demo, project: &Project) -> String {
    let Some(data) = &args.data else {
        return "The server has stopped and its data is removed. To look around: docwright demo".into();
    };
    let (data, id) = (quoted(&data.to_string_lossy()), &project.id);
    format!(
        "The server has stopped. Its data is kept:\n  \
        docwright pull view {id} 1 --data {data}\n  docwright serve --data {data}"
    )
}

/// What was set up, and how to reach it.
struct Shown {
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
            let empty = std::fs::read_dir(path).map_or(true, |mut entries| entries.next().is_none());
            ensure!(empty, "{} is not empty: the demo wants a new directory", path.display());
            // The repository in it is named to the server, which wants a whole path.
            Ok((std::path::absolute(path)?, None))
        }
    }
}

/// On the usual port if it is free, so that what the README says can be typed as it is.
async fn open(args: &Demo, data: PathBuf) -> anyhow::Result<Server> {
    let mut settings = Settings::new(data);
    let clock = Arc::new(SystemClock);
    if let Some(listen) = &args.listen {
        settings.listen = serve::parse_listen(listen)?;
        return Server::open(&settings, clock).await;
    }
    if std::net::TcpListener::bind(settings.listen).is_err() {
        settings.listen = SocketAddr::from(([127, 0, 0, 1], 0));
    }
    Server::open(&settings, clock).await
}

async fn set_up(server: &Server, data: &std::path::Path) -> anyhow::Result<Shown> {
    let app = &server.app;
    let (repository, pages) = (data.join("sample-docs.git"), sample::pages());
    let place = repository.to_string_lossy().into_owned();
    tokio::task::spawn_blocking(move || sample::create(&repository)).await??;
    output::say(format!("Made a sample docs repository of {} pages with faults in it", pages.len()));
    let organization = app.accounts.create_organization("Demo").await?.id;
    let new = NewProject {
        hosting: store::Hosting::default(),
        organization: organization.clone(),
        name: "Kettle docs".into(),
        repository: place,
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
    Ok(Shown {
        project,
        login_url: format!("{}/login?token={}", client.base(), link.reveal()),
        client,
        key: key.reveal().to_owned(),
        pages,
    })
}

/// Views in, a job out, step by step.
async fn tour(shown: &Shown) -> anyhow::Result<AgentJob> {
    let id = &shown.project.id.0;
    let events = readers::ninety_days(&shown.pages, SystemClock.now());
    for batch in events.chunks(BATCH) {
        let taken: IngestResult = shown.client.post(&format!("/v1/analytics/{id}/events"), &batch).await?;
        ensure!(
            taken.rejected.is_empty(),
            "the server turned sample views away: {:?}",
            taken.rejected.first()
        );
    }
    output::say(format!("Took in {} page views of the last 90 days", events.len()));

    let started = job::start(&shown.client, id, PROMPT.to_owned()).await?;
    output::say(format!("Created job {} with the prompt: {PROMPT}", started.id));
    let watching = Watching { watch: true, timeout: PATIENCE };
    let which = OneJob { project: id.clone(), id: started.id };
    let job = watch::until_the_end(&shown.client, &which, &watching, 0).await?;
    ensure!(job.status == "completed", "the job ended as {}; its last event says why", job.status);
    Ok(job)
}

fn tell(args: &Demo, shown: &Shown, job: &AgentJob) -> anyhow::Result<()> {
    let base = shown.client.base();
    let (project, key) = (&shown.project.id.0, &shown.key);
    let link = job.pr_link.as_deref().context("the job made no pull request")?;
    if args.json {
        return output::json(&json!({
            "baseUrl": base,
            "projectId": project,
            "apiKey": key,
            "jobId": job.id,
            "prLink": link,
            "loginUrl": shown.login_url,
        }));
    }
    if args.once {
        return output::line(format!("prLink   {link}"));
    }
    output::line(format!(
        r#"prLink   {link}
login    {login}

The same by hand:
  export KEY={key} URL={base} PROJECT={project}
  # start a job, then poll it
  curl -X POST $URL/v2/agent/$PROJECT/job -H "Authorization: Bearer $KEY" \
    -H 'Content-Type: application/json' -d '{{"prompt":"Replace \"kettlectl\" with \"kettle\" including code"}}'
  curl $URL/v2/agent/$PROJECT/job/{id} -H "Authorization: Bearer $KEY"
  # who reads: totals and pages, human and AI
  curl "$URL/v1/analytics/$PROJECT/views?limit=5" -H "Authorization: Bearer $KEY""#,
        login = shown.login_url,
        id = job.id,
    ))
}
