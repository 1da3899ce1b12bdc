//! `docwright job …`

use std::fs::File;
use std::io::{IsTerminal, Read};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use serde_json::json;
use store::MAX_LABEL_CHARS;
use wire::{AgentJob, CreateJob as NewJob, FollowUp, JobEvent, JobList, Quotation};

use super::{Client, live, segment, watch};
use crate::args::{
    ArchiveJob, CreateJob, DiffJob, JobCommand, ListJobs, MessageJob, OneJob, ViewJob, Watching,
};
use crate::output;
use crate::settings::Sources;

/// More than the longest prompt takes, in bytes.
const MAX_PROMPT: u64 = 1024 * 1024;

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
        prompt: prompt(&args.prompt)?,
        r#ref: args.base_ref,
        branch: args.branch,
        draft: args.draft.then_some(true),
        model: args.model,
        context: context(&args.context)?,
    };
    let job: AgentJob = client.post(&format!("/v2/agent/{}/job", segment(&args.project)), &new).await?;
    if args.watching.watch {
        return watched(&client, &OneJob { project: args.project, id: job.id }, &args.watching, 0, args.json)
            .await;
    }
    if args.json {
        output::json(&job)?;
        return Ok(ExitCode::SUCCESS);
    }
    output::say(format!("The job runs. To see it: docwright job view {} {} --watch", args.project, job.id));
    output::line(job.id)?;
    Ok(ExitCode::SUCCESS)
}

async fn view(sources: &Sources, args: ViewJob) -> anyhow::Result<ExitCode> {
    let client = Client::from_settings(sources)?;
    if args.watching.watch {
        return watched(&client, &args.job, &args.watching, 0, args.json).await;
    }
    let job = show(&client, &args.job).await?;
    if args.json {
        output::json(&job)?;
        return Ok(ExitCode::SUCCESS);
    }
    tell(&job)?;
    for event in events(&client, &args.job).await? {
        output::line(live::line(&event))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn message(sources: &Sources, args: MessageJob) -> anyhow::Result<ExitCode> {
    let client = Client::from_settings(sources)?;
    let seen = events(&client, &args.job).await?.last().map_or(0, |event| event.number);
    let body = FollowUp { prompt: prompt(&args.prompt)?, context: context(&args.context)? };
    let job: AgentJob = client.post(&path(&args.job, "/message"), &body).await?;
    if args.watching.watch {
        return watched(&client, &args.job, &args.watching, seen, args.json).await;
    }
    shown(&job, args.json)?;
    Ok(ExitCode::SUCCESS)
}

async fn archive(sources: &Sources, args: ArchiveJob) -> anyhow::Result<()> {
    let client = Client::from_settings(sources)?;
    let job: AgentJob = client.post(&path(&args.job, "/archive"), &json!({})).await?;
    shown(&job, args.json)
}

async fn diff(sources: &Sources, args: DiffJob) -> anyhow::Result<()> {
    let client = Client::from_settings(sources)?;
    let diff = client.text(&path(&args.job, "/diff")).await?;
    if args.json {
        return output::json(&json!({ "diff": diff }));
    }
    if diff.is_empty() {
        output::say("The job has changed nothing.");
    }
    output::diff(&diff)
}

async fn transcript(sources: &Sources, job: &OneJob) -> anyhow::Result<()> {
    output::json_text(&Client::from_settings(sources)?.text(&path(job, "/transcript")).await?)
}

async fn list(sources: &Sources, args: ListJobs) -> anyhow::Result<()> {
    let client = Client::from_settings(sources)?;
    let query: Vec<(&str, String)> = [
        ("status", args.status),
        ("limit", args.limit.map(|limit| limit.to_string())),
        ("offset", args.offset.map(|offset| offset.to_string())),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .collect();
    let answer: JobList = client.get(&format!("/v2/agent/{}/jobs", segment(&args.project)), &query).await?;
    if args.json {
        return output::json(&answer);
    }
    if answer.jobs.is_empty() {
        let project = &args.project;
        output::say(match query.is_empty() {
            true => format!("No jobs yet. Start one: docwright job create {project} \"Fix broken links\""),
            false => "No such jobs.".to_owned(),
        });
        return Ok(());
    }
    let row = |job: AgentJob| {
        let link = job.pr_link.unwrap_or_else(|| "none".into());
        [job.id, job.status, job.created_at, link]
    };
    let next = args.offset.unwrap_or(0) + answer.jobs.len() as u64;
    output::table(["ID", "STATUS", "CREATED", "PULL REQUEST"], answer.jobs.into_iter().map(row))?;
    if answer.has_more {
        output::say(format!("There are more: --offset {next}"));
    }
    Ok(())
}

async fn watched(
    client: &Client,
    job: &OneJob,
    watching: &Watching,
    seen: u64,
    json: bool,
) -> anyhow::Result<ExitCode> {
    let job = watch::until_the_end(client, job, watching, seen).await?;
    shown(&job, json)?;
    Ok(watch::exit_code(&job))
}

fn shown(job: &AgentJob, json: bool) -> anyhow::Result<()> {
    if json { output::json(job) } else { tell(job) }
}

fn tell(job: &AgentJob) -> anyhow::Result<()> {
    output::fields(&[
        ("job", &job.id),
        ("status", &job.status),
        ("branch", &job.source.r#ref),
        ("model", &job.model),
        ("pull request", job.pr_link.as_deref().unwrap_or("none")),
        ("created", &job.created_at),
        ("created by", job.created_by.as_ref().map_or("(not recorded)", |creator| &creator.name)),
    ])
}

/// The prompt as given, or all of standard input.
fn prompt(text: &str) -> anyhow::Result<String> {
    if text != "-" {
        return Ok(text.to_owned());
    }
    if std::io::stdin().is_terminal() {
        output::say("Type the prompt; end it with Ctrl-D on a line of its own.");
    }
    let mut all = String::new();
    let read = std::io::stdin().take(MAX_PROMPT).read_to_string(&mut all);
    read.context("the prompt on standard input cannot be read")?;
    Ok(all)
}

/// Each file as a quotation under its name; `None` without files, so that the body is as it was before.
fn context(files: &[PathBuf]) -> anyhow::Result<Option<Vec<Quotation>>> {
    let read = |file: &PathBuf| {
        let shown = file.display();
        let mut bytes = Vec::new();
        let open = File::open(file).and_then(|open| open.take(MAX_PROMPT + 1).read_to_end(&mut bytes));
        open.with_context(|| format!("the context file {shown} cannot be read"))?;
        anyhow::ensure!(
            bytes.len() as u64 <= MAX_PROMPT,
            "the context file {shown} is longer than 1 MiB: shorten it"
        );
        let text = String::from_utf8(bytes);
        let text =
            text.map_err(|_| anyhow::anyhow!("the context file {shown} is not UTF-8 text: convert it"))?;
        let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
        Ok(Quotation { label: name.chars().take(MAX_LABEL_CHARS).collect(), text })
    };
    let all = files.iter().map(read).collect::<anyhow::Result<Vec<_>>>()?;
    Ok(Some(all).filter(|all| !all.is_empty()))
}

pub(super) fn path(job: &OneJob, what: &str) -> String {
    format!("/v2/agent/{}/job/{}{what}", segment(&job.project), segment(&job.id))
}

pub(crate) async fn start(client: &Client, project: &str, prompt: String) -> anyhow::Result<AgentJob> {
    client.post(&format!("/v2/agent/{}/job", segment(project)), &NewJob::new(prompt)).await
}

pub(super) async fn show(client: &Client, job: &OneJob) -> anyhow::Result<AgentJob> {
    client.get(&path(job, ""), &[]).await
}

async fn events(client: &Client, job: &OneJob) -> anyhow::Result<Vec<JobEvent>> {
    client.get(&path(job, "/events"), &[]).await
}
