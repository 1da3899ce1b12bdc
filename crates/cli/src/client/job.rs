//! `docwright job …`

use std::io::Read;

use wire::{AgentJob, JobEvent};

use super::{Client, segment};
use crate::args::{CreateJob, ViewJob};
use crate::output;
use crate::settings::Sources;

pub(crate) async fn create(sources: &Sources, args: CreateJob) -> anyhow::Result<()> {
    let client = Client::from_settings(sources)?;
    let prompt = match args.prompt.as_str() {
        "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text)?;
            text
        }
        text => text.to_owned(),
    };
    let job = start(&client, &args.project, prompt).await?;
    if args.json {
        return output::json(&job);
    }
    output::say(format!("The job runs. To see it: docwright job view {} {}", args.project, job.id));
    output::line(job.id)?;
    Ok(())
}

pub(crate) async fn view(sources: &Sources, args: ViewJob) -> anyhow::Result<()> {
    let client = Client::from_settings(sources)?;
    let job = show(&client, &args.project, &args.id).await?;
    if args.json {
        return output::json(&job);
    }
    output::line(format!("job           {}", job.id))?;
    output::line(format!("status        {}", job.status))?;
    output::line(format!("branch        {}", job.source.r#ref))?;
    output::line(format!("model         {}", job.model))?;
    output::line(format!("pull request  {}", job.pr_link.as_deref().unwrap_or("none")))?;
    output::line(format!("created       {}", job.created_at))?;
    for event in events(&client, &args.project, &args.id).await? {
        output::line(line(&event))?;
    }
    Ok(())
}

pub(crate) async fn start(client: &Client, project: &str, prompt: String) -> anyhow::Result<AgentJob> {
    client.post(&format!("/v2/agent/{}/job", segment(project)), &wire::CreateJob::new(prompt)).await
}

pub(crate) async fn show(client: &Client, project: &str, id: &str) -> anyhow::Result<AgentJob> {
    client.get(&format!("/v2/agent/{}/job/{}", segment(project), segment(id)), &[]).await
}

pub(crate) async fn events(client: &Client, project: &str, id: &str) -> anyhow::Result<Vec<JobEvent>> {
    client.get(&format!("/v2/agent/{}/job/{}/events", segment(project), segment(id)), &[]).await
}

/// An event on one line.
pub(crate) fn line(event: &JobEvent) -> String {
    let message = event.data.get("message").and_then(|text| text.as_str()).unwrap_or_default();
    let time = event.at.get(11..19).unwrap_or_default();
    output::plain(&format!("  {time}  {:<8}  {}", event.r#type, message.replace('\n', " ")))
}
