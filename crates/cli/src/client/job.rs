//! `docwright job …`

use std::io::Read;
use std::process::ExitCode;

use wire::{AgentJob, CreateJob as NewJob, FollowUp, JobEvent, JobList};

use super::{Client, segment, watch};
use crate::args::{ArchiveJob, CreateJob, DiffJob, ListJobs, MessageJob, OneJob, ViewJob, Watching};
use crate::output;
use crate::settings::Sources;

pub(crate) async fn create(sources: &Sources, args: CreateJob) -> anyhow::Result<ExitCode> {
    let client = Client::from_settings(sources)?;
    let new = NewJob {
        prompt: prompt(&args.prompt)?,
        r#ref: args.base_ref,
        branch: args.branch,
        draft: args.draft.then_some(true),
        model: args.model,
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

pub(crate) async fn view(sources: &Sources, args: ViewJob) -> anyhow::Result<ExitCode> {
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
        output::line(line(&event))?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn message(sources: &Sources, args: MessageJob) -> anyhow::Result<ExitCode> {
    let client = Client::from_settings(sources)?;
    let seen = events(&client, &args.job).await?.len();
    let body = FollowUp { prompt: prompt(&args.prompt)? };
    let job: AgentJob = client.post(&path(&args.job, "/message"), &body).await?;
    if args.watching.watch {
        return watched(&client, &args.job, &args.watching, seen, args.json).await;
    }
    shown(&job, args.json)?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn archive(sources: &Sources, args: ArchiveJob) -> anyhow::Result<()> {
    let client = Client::from_settings(sources)?;
    let job: AgentJob = client.post(&path(&args.job, "/archive"), &serde_json::json!({})).await?;
    shown(&job, args.json)
}

pub(crate) async fn diff(sources: &Sources, args: DiffJob) -> anyhow::Result<()> {
    let client = Client::from_settings(sources)?;
    let diff = client.text(&path(&args.job, "/diff")).await?;
    if diff.is_empty() {
        output::say("The job has changed nothing.");
        return Ok(());
    }
    output::line(diff.trim_end_matches('\n'))
}

pub(crate) async fn list(sources: &Sources, args: ListJobs) -> anyhow::Result<()> {
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
        output::say(format!(
            "No jobs. Start one: docwright job create {} \"Fix broken links\"",
            args.project
        ));
        return Ok(());
    }
    let row = |job: AgentJob| {
        let link = job.pr_link.unwrap_or_else(|| "none".into());
        [job.id, job.status, job.created_at, link]
    };
    output::table(["ID", "STATUS", "CREATED", "PULL REQUEST"], answer.jobs.into_iter().map(row))?;
    if answer.has_more {
        output::say("There are more: say --offset and --limit.");
    }
    Ok(())
}

async fn watched(
    client: &Client,
    job: &OneJob,
    watching: &Watching,
    seen: usize,
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
    output::line(format!(
        "job           {}\nstatus        {}\nbranch        {}\nmodel         {}\npull request  {}\ncreated       {}",
        job.id,
        job.status,
        output::plain(&job.source.r#ref),
        job.model,
        job.pr_link.as_deref().unwrap_or("none"),
        job.created_at
    ))
}

/// The prompt as given, or all of standard input.
fn prompt(text: &str) -> anyhow::Result<String> {
    if text != "-" {
        return Ok(text.to_owned());
    }
    let mut all = String::new();
    std::io::stdin().read_to_string(&mut all)?;
    Ok(all)
}

fn path(job: &OneJob, what: &str) -> String {
    format!("/v2/agent/{}/job/{}{what}", segment(&job.project), segment(&job.id))
}

pub(crate) async fn start(client: &Client, project: &str, prompt: String) -> anyhow::Result<AgentJob> {
    client.post(&format!("/v2/agent/{}/job", segment(project)), &NewJob::new(prompt)).await
}

pub(crate) async fn show(client: &Client, job: &OneJob) -> anyhow::Result<AgentJob> {
    client.get(&path(job, ""), &[]).await
}

pub(crate) async fn events(client: &Client, job: &OneJob) -> anyhow::Result<Vec<JobEvent>> {
    client.get(&path(job, "/events"), &[]).await
}

/// An event on one line.
pub(crate) fn line(event: &JobEvent) -> String {
    let message = event.data.get("message").and_then(|text| text.as_str()).unwrap_or_default();
    let time = event.at.get(11..19).unwrap_or_default();
    output::plain(&format!("  {time}  {:<8}  {}", event.r#type, message.replace('\n', " ")))
}
