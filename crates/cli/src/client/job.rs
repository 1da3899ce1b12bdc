//! Runs `docwright job`.

use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use serde_json::json;
use store::MAX_LABEL_CHARS;
use wire::{AgentJob, CreateJob as NewJob, FollowUp, JobEvent, JobList, JobPull, Quotation};

use super::{Client, encode_segment, local_url, progress, watch};
use crate::args::{
    ArchiveJob, CreateJob, Data, DiffJob, JobArgs, JobCommand, ListJobs, MessageJob, ViewJob, WatchArgs,
};
use crate::output;
use crate::settings::Sources;

/// More than the longest prompt takes.
const MAX_PROMPT_BYTES: u64 = 1024 * 1024;

pub(crate) async fn run(sources: &Sources, command: JobCommand) -> anyhow::Result<ExitCode> {
    match command {
        JobCommand::Create(args) => return create(sources, args).await,
        JobCommand::View(args) => return view(sources, args).await,
        JobCommand::Message(args) => return message(sources, args).await,
        JobCommand::List(args) => list(sources, args).await?,
        JobCommand::Archive(args) => archive(sources, args).await?,
        JobCommand::Diff(args) => diff(sources, args).await?,
        JobCommand::Transcript(args) => transcript(sources, &args).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn create(sources: &Sources, args: CreateJob) -> anyhow::Result<ExitCode> {
    let client = Client::from_settings(sources)?;
    let new = NewJob {
        prompt: read_prompt(&args.prompt)?,
        r#ref: args.base_ref,
        branch: args.branch,
        draft: args.draft.then_some(true),
        model: args.model,
        context: read_context(&args.context)?,
    };
    let job: AgentJob =
        client.post(&format!("/v2/agent/{}/job", encode_segment(&args.project)), &new).await?;
    show_started(sources, &client, &args.project, job, &args.watching, args.json).await
}

/// Watches a job that was just created, or prints it and how to follow it.
pub(super) async fn show_started(
    sources: &Sources,
    client: &Client,
    project: &str,
    job: AgentJob,
    watching: &WatchArgs,
    json: bool,
) -> anyhow::Result<ExitCode> {
    if watching.watch {
        let job = JobArgs { project: project.to_owned(), id: job.id };
        return watch_job(sources, client, &job, watching, 0, json).await;
    }
    if json {
        output::print_json(&job)?;
        return Ok(ExitCode::SUCCESS);
    }
    output::print_message(format!(
        "Started the job. To follow it: docwright job view {project} {} --watch{}",
        job.id,
        sources.repeat_flags(&Data::default())
    ));
    output::print_line(job.id)?;
    Ok(ExitCode::SUCCESS)
}

async fn view(sources: &Sources, args: ViewJob) -> anyhow::Result<ExitCode> {
    let client = Client::from_settings(sources)?;
    if args.watching.watch {
        return watch_job(sources, &client, &args.job, &args.watching, 0, args.json).await;
    }
    let job = fetch(&client, &args.job).await?;
    if args.json {
        output::print_json(&job)?;
        return Ok(ExitCode::SUCCESS);
    }
    let pull = fetch_pull(&client, &args.job, &job).await;
    print_fields(&job, pull.as_ref())?;
    for event in fetch_events(&client, &args.job).await? {
        output::print_line(progress::format_line(&event))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn message(sources: &Sources, args: MessageJob) -> anyhow::Result<ExitCode> {
    let client = Client::from_settings(sources)?;
    let last_event = fetch_events(&client, &args.job).await?.last().map_or(0, |event| event.number);
    let body = FollowUp { prompt: read_prompt(&args.prompt)?, context: read_context(&args.context)? };
    let job: AgentJob = client.post(&path(&args.job, "/message"), &body).await?;
    if args.watching.watch {
        return watch_job(sources, &client, &args.job, &args.watching, last_event, args.json).await;
    }
    print(&job, args.json)?;
    Ok(ExitCode::SUCCESS)
}

async fn archive(sources: &Sources, args: ArchiveJob) -> anyhow::Result<()> {
    let client = Client::from_settings(sources)?;
    let job: AgentJob = client.post(&path(&args.job, "/archive"), &json!({})).await?;
    print(&job, args.json)
}

async fn diff(sources: &Sources, args: DiffJob) -> anyhow::Result<()> {
    let client = Client::from_settings(sources)?;
    let diff = client.get_text(&path(&args.job, "/diff"), &[]).await?;
    if args.json {
        return output::print_json(&json!({ "diff": diff }));
    }
    if diff.is_empty() {
        output::print_message("The job changed nothing.");
    }
    output::print_diff(&diff)
}

async fn transcript(sources: &Sources, job: &JobArgs) -> anyhow::Result<()> {
    output::print_json_text(&Client::from_settings(sources)?.get_text(&path(job, "/transcript"), &[]).await?)
}

async fn list(sources: &Sources, args: ListJobs) -> anyhow::Result<()> {
    let client = Client::from_settings(sources)?;
    let query: Vec<(&str, String)> = [
        ("status", args.status),
        ("pull", args.pull),
        ("limit", args.limit.map(|limit| limit.to_string())),
        ("offset", args.offset.map(|offset| offset.to_string())),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .collect();
    let list: JobList =
        client.get(&format!("/v2/agent/{}/jobs", encode_segment(&args.project)), &query).await?;
    if args.json {
        return output::print_json(&list);
    }
    if list.jobs.is_empty() {
        let project = &args.project;
        output::print_message(match query.is_empty() {
            true => format!("No jobs yet. Start one: docwright job create {project} \"Fix broken links\""),
            false => "No jobs match.".to_owned(),
        });
        return Ok(());
    }
    let row = |job: AgentJob| {
        let link = job.pr_link.unwrap_or_else(|| "none".into());
        [job.id, job.status, job.created_at, link]
    };
    let next = args.offset.unwrap_or(0) + list.jobs.len() as u64;
    output::print_table(["ID", "STATUS", "CREATED", "PULL REQUEST"], list.jobs.into_iter().map(row))?;
    if list.has_more {
        output::print_message(format!("There are more jobs. To see them, add --offset {next}"));
    }
    Ok(())
}

async fn watch_job(
    sources: &Sources,
    client: &Client,
    job: &JobArgs,
    watching: &WatchArgs,
    last_event: u64,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let ended = watch::until_end(client, job, watching, last_event).await?;
    print(&ended, json)?;
    if let Some(number) = embedded_pull(&ended, &job.project).filter(|_| !json) {
        let flags = match client.base() == local_url(sources) {
            true => sources.repeat_flags(&Data::default()),
            false => " --data DIR, on the server's machine with its data directory".to_owned(),
        };
        let pull = format!("{} {number}{flags}", job.project);
        output::print_message(format!(
            "To review the pull request: docwright pull view {pull}\nTo merge it: docwright pull merge {pull}"
        ));
    }
    Ok(watch::exit_code(&ended))
}

/// The number of the job's pull request, if it is on Docwright itself and not on a host.
fn embedded_pull(job: &AgentJob, project: &str) -> Option<u64> {
    let (_, number) = job.pr_link.as_deref()?.split_once(&format!("/p/{project}/pulls/"))?;
    number.parse().ok()
}

fn print(job: &AgentJob, json: bool) -> anyhow::Result<()> {
    if json { output::print_json(job) } else { print_fields(job, None) }
}

/// With the state of the pull request, which is independent of the job's status.
fn print_fields(job: &AgentJob, pull: Option<&JobPull>) -> anyhow::Result<()> {
    let state = pull.map(|pull| {
        let checked = pull.checked_at.as_ref().map(|at| format!(", checked {at}")).unwrap_or_default();
        format!("{}{checked}", pull.state)
    });
    let mut fields: Vec<(&str, &str)> = vec![
        ("job", &job.id),
        ("status", &job.status),
        ("branch", &job.source.r#ref),
        ("model", &job.model),
        ("pull request", job.pr_link.as_deref().unwrap_or("none")),
        ("created", &job.created_at),
        ("created by", job.created_by.as_ref().map_or("(not recorded)", |creator| &creator.name)),
    ];
    if let Some(state) = &state {
        fields.insert(5, ("its state", state));
    }
    output::print_fields(&fields)
}

/// The prompt itself, or all of standard input for `-`.
fn read_prompt(text: &str) -> anyhow::Result<String> {
    if text != "-" {
        return Ok(text.to_owned());
    }
    if std::io::stdin().is_terminal() {
        output::print_message("Type the prompt. Then press Ctrl-D on an empty line.");
    }
    let mut all = String::new();
    let read = std::io::stdin().take(MAX_PROMPT_BYTES).read_to_string(&mut all);
    read.context("the prompt on standard input cannot be read")?;
    Ok(all)
}

/// Reads each file as a quotation under its name. Without files it is `None`, and the request has no such field.
fn read_context(files: &[PathBuf]) -> anyhow::Result<Option<Vec<Quotation>>> {
    let quote = |file: &PathBuf| {
        let path = file.display();
        let mut bytes = Vec::new();
        let read = File::open(file).and_then(|open| open.take(MAX_PROMPT_BYTES + 1).read_to_end(&mut bytes));
        read.with_context(|| format!("the context file {path} cannot be read"))?;
        anyhow::ensure!(
            bytes.len() as u64 <= MAX_PROMPT_BYTES,
            "the context file {path} is longer than 1 MiB: shorten it"
        );
        let text = String::from_utf8(bytes);
        let text =
            text.map_err(|_| anyhow::anyhow!("the context file {path} is not UTF-8 text: convert it"))?;
        let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
        Ok(Quotation { label: name.chars().take(MAX_LABEL_CHARS).collect(), text })
    };
    let all = files.iter().map(quote).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(Some(all).filter(|all| !all.is_empty()))
}

pub(super) fn path(job: &JobArgs, suffix: &str) -> String {
    format!("/v2/agent/{}/job/{}{suffix}", encode_segment(&job.project), encode_segment(&job.id))
}

pub(crate) async fn start(client: &Client, project: &str, prompt: String) -> anyhow::Result<AgentJob> {
    client.post(&format!("/v2/agent/{}/job", encode_segment(project)), &NewJob::new(prompt)).await
}

pub(super) async fn fetch(client: &Client, job: &JobArgs) -> anyhow::Result<AgentJob> {
    client.get(&path(job, ""), &[]).await
}

/// `None` without a pull request, and from a server of an earlier version.
async fn fetch_pull(client: &Client, job: &JobArgs, fetched: &AgentJob) -> Option<JobPull> {
    fetched.pr_link.as_ref()?;
    client.get(&path(job, "/pull"), &[]).await.ok()
}

async fn fetch_events(client: &Client, job: &JobArgs) -> anyhow::Result<Vec<JobEvent>> {
    client.get(&path(job, "/events"), &[]).await
}
