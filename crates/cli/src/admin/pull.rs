//! Runs `docwright pull`: pull requests of the embedded host.

use anyhow::{Context, bail, ensure};
use jiff::Timestamp;
use serde_json::{Value, json};
use server::{CommitLine, Host, Local, PullRequest, PullState};

use super::{open, project, record_audit};
use crate::args::{ListPulls, MergePull, PullArgs, PullCommand};
use crate::output;
use crate::settings::Sources;

pub(crate) async fn run(sources: &Sources, command: PullCommand) -> anyhow::Result<()> {
    match command {
        PullCommand::List(args) => list(sources, args).await,
        PullCommand::View(args) => view(sources, args).await,
        PullCommand::Merge(args) => merge(sources, args).await,
        PullCommand::Close(args) => close(sources, args).await,
    }
}

async fn list(sources: &Sources, args: ListPulls) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let host = admin.host(&project(&admin, &args.project).await?).await?;
    let all = host.list(args.limit.into()).await?;
    if args.json {
        return output::print_json(&all.iter().map(to_json).collect::<Vec<_>>());
    }
    if all.is_empty() {
        output::print_message(format!(
            "No pull requests yet. To create one with a job: docwright job create {} \"Fix broken links\"",
            args.project
        ));
        return Ok(());
    }
    let row = |pull: PullRequest| {
        let state = state(&pull).to_owned();
        [pull.number.to_string(), state, pull.title.clone(), pull.head.clone(), opened_at(&pull)]
    };
    output::print_table(["NUMBER", "STATE", "TITLE", "BRANCH", "OPENED"], all.into_iter().map(row))
}

async fn view(sources: &Sources, args: PullArgs) -> anyhow::Result<()> {
    let (host, pull) = find(sources, &args).await?;
    let (commits, diff) = (host.commits(&pull).await?, host.diff(&pull).await?);
    if args.json {
        let mut object = to_json(&pull);
        object["body"] = pull.body.into();
        object["commits"] = commits.iter().map(commit_json).collect();
        object["diff"] = diff.into();
        return output::print_json(&object);
    }
    print_fields(&pull)?;
    output::print_line(format!("\n{}\n", output::plain_markdown(pull.body.trim())))?;
    for commit in commits {
        let line = format!("{}  {}  ({})", short_id(commit.id.as_str()), commit.subject, commit.author);
        output::print_line(line)?;
    }
    output::print_line("")?;
    output::print_diff(&diff)?;
    if pull.state == PullState::Open { print_merge_advice(&host, &pull).await } else { Ok(()) }
}

async fn print_merge_advice(host: &Local, pull: &PullRequest) -> anyhow::Result<()> {
    let by_hand = host.merge_by_hand(pull).await?;
    if let Some(conflict) = host.conflict(pull).await? {
        output::print_message(format!(
            "\nThis pull request cannot be merged: {conflict}. Resolve the conflict in a merge by hand, or close the pull request and start a new job."
        ));
    }
    if let Some(hint) = by_hand {
        output::print_message(format!("\nTo merge it: {hint}"));
    }
    Ok(())
}

async fn merge(sources: &Sources, args: MergePull) -> anyhow::Result<()> {
    let (host, pull) = find(sources, &args.pull).await?;
    let number = pull.number;
    match pull.state {
        PullState::Open => {}
        PullState::Merged => bail!("pull request #{number} is already merged"),
        PullState::Closed => bail!("pull request #{number} is closed: start a new job for a new one"),
    }
    if let Some(digits) = &args.newest_commit {
        check_newest_commit(&host, &pull, digits).await?;
    }
    let merged = host.merge(number, Some(&pull.head_commit)).await?;
    record_pull_audit(sources, &args.pull, "merged the pull request", &merged).await?;
    if args.pull.json {
        return output::print_json(&to_json(&merged));
    }
    output::print_message(format!("Merged pull request #{number} into {}.", merged.base));
    Ok(())
}

async fn record_pull_audit(
    sources: &Sources,
    args: &PullArgs,
    what: &str,
    pull: &PullRequest,
) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let project = project(&admin, &args.project).await?;
    let about = format!("{} #{}", project.name, pull.number);
    record_audit(&admin, &project.organization, what, &about).await
}

/// Refuses to merge if the newest commit is another one, or if the digits also match an older commit.
async fn check_newest_commit(host: &Local, pull: &PullRequest, digits: &str) -> anyhow::Result<()> {
    let (number, head) = (pull.number, pull.head_commit.as_str());
    ensure!(
        head.starts_with(digits),
        "the newest commit of pull request #{number} is now {head}: review it, then merge again"
    );
    let commits = host.commits(pull).await?;
    let matching = commits.iter().filter(|commit| commit.id.as_str().starts_with(digits)).count();
    ensure!(
        matching <= 1,
        "{matching} commits of pull request #{number} begin with {digits}: use more digits"
    );
    Ok(())
}

async fn close(sources: &Sources, args: PullArgs) -> anyhow::Result<()> {
    let (host, pull) = find(sources, &args).await?;
    ensure!(pull.state != PullState::Closed, "pull request #{} is already closed", pull.number);
    let closed = host.close(pull.number).await?;
    record_pull_audit(sources, &args, "closed the pull request", &closed).await?;
    if args.json {
        return output::print_json(&to_json(&closed));
    }
    output::print_message(format!(
        "Closed pull request #{}. Its branch {} stays.",
        closed.number, closed.head
    ));
    Ok(())
}

async fn find(sources: &Sources, args: &PullArgs) -> anyhow::Result<(Local, PullRequest)> {
    let admin = open(sources, &args.data).await?;
    let host = admin.host(&project(&admin, &args.project).await?).await?;
    let pull = host.get(args.number).await?.with_context(|| {
        format!("there is no pull request #{}; see `docwright pull list {}`", args.number, args.project)
    })?;
    Ok((host, pull))
}

fn print_fields(pull: &PullRequest) -> anyhow::Result<()> {
    output::print_fields(&[
        ("pull request", &format!("#{} {}", pull.number, pull.title)),
        ("state", state(pull)),
        ("branch", &format!("{} into {}", pull.head, pull.base)),
        ("address", &pull.url),
        ("job", pull.job.as_deref().unwrap_or("none")),
        ("opened", &opened_at(pull)),
    ])
}

fn to_json(pull: &PullRequest) -> Value {
    json!({
        "number": pull.number,
        "title": pull.title,
        "state": state(pull),
        "head": pull.head,
        "base": pull.base,
        "url": pull.url,
        "job": pull.job,
        "headCommit": pull.head_commit.as_str(),
        "baseCommit": pull.base_commit.as_str(),
        "mergeCommit": pull.merge_commit.as_ref().map(|id| id.as_str()),
        "createdAt": opened_at(pull),
    })
}

fn commit_json(line: &CommitLine) -> Value {
    let at = output::format_timestamp(Timestamp::from_second(line.time).unwrap_or_default());
    json!({ "id": line.id.as_str(), "subject": line.subject, "author": line.author, "at": at })
}

fn state(pull: &PullRequest) -> &'static str {
    match pull.state {
        PullState::Open => "open",
        PullState::Merged => "merged",
        PullState::Closed => "closed",
    }
}

fn opened_at(pull: &PullRequest) -> String {
    output::format_timestamp(Timestamp::from_millisecond(pull.created_at).unwrap_or_default())
}

fn short_id(id: &str) -> &str {
    id.get(..10).unwrap_or(id)
}
