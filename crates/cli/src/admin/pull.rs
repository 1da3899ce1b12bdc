//! `docwright pull …`: pull requests of the embedded host.

use anyhow::{Context, bail, ensure};
use jiff::Timestamp;
use serde_json::{Value, json};
use server::{CommitLine, Host, Local, PullRequest, PullState};

use super::{note, open, project};
use crate::args::{ListPulls, MergePull, OnePull, PullCommand};
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
        return output::json(&all.iter().map(shown).collect::<Vec<_>>());
    }
    if all.is_empty() {
        output::say(format!(
            "No pull requests yet. A job makes one: docwright job create {} \"Fix broken links\"",
            args.project
        ));
        return Ok(());
    }
    let row = |pull: PullRequest| {
        let state = state(&pull).to_owned();
        [pull.number.to_string(), state, pull.title.clone(), pull.head.clone(), opened(&pull)]
    };
    output::table(["NUMBER", "STATE", "TITLE", "BRANCH", "OPENED"], all.into_iter().map(row))
}

async fn view(sources: &Sources, args: OnePull) -> anyhow::Result<()> {
    let (host, pull) = find(sources, &args).await?;
    let (commits, diff) = (host.commits(&pull).await?, host.diff(&pull).await?);
    if args.json {
        let mut object = shown(&pull);
        object["body"] = pull.body.into();
        object["commits"] = commits.iter().map(commit).collect();
        object["diff"] = diff.into();
        return output::json(&object);
    }
    tell(&pull)?;
    output::line(format!("\n{}\n", pull.body.trim()))?;
    for commit in commits {
        let line = format!("{}  {}  ({})", short(commit.id.as_str()), commit.subject, commit.author);
        output::line(line)?;
    }
    output::line("")?;
    output::diff(&diff)?;
    if pull.state == PullState::Open { advise(&host, &pull).await } else { Ok(()) }
}

/// What to know before merging it.
async fn advise(host: &Local, pull: &PullRequest) -> anyhow::Result<()> {
    let by_hand = host.merge_by_hand(pull).await?;
    if let Some(conflict) = host.conflict(pull).await? {
        let advice = "settle that in a merge by hand, or close it and start a new job";
        output::say(format!("\nIt cannot be merged as it is: {conflict}. You can {advice}."));
    }
    if let Some(hint) = by_hand {
        output::say(format!("\nTo merge it: {hint}"));
    }
    Ok(())
}

async fn merge(sources: &Sources, args: MergePull) -> anyhow::Result<()> {
    let (host, pull) = find(sources, &args.pull).await?;
    let number = pull.number;
    match pull.state {
        PullState::Open => {}
        PullState::Merged => bail!("pull request #{number} is already merged"),
        PullState::Closed => bail!("pull request #{number} is closed: a new job makes a new one"),
    }
    if let Some(seen) = &args.seen {
        check_seen(&host, &pull, seen).await?;
    }
    let merged = host.merge(number, Some(&pull.head_commit)).await?;
    noted(sources, &args.pull, "merged the pull request", &merged).await?;
    if args.pull.json {
        return output::json(&shown(&merged));
    }
    output::say(format!("Merged pull request #{number} into {}.", merged.base));
    Ok(())
}

async fn noted(sources: &Sources, args: &OnePull, what: &str, pull: &PullRequest) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let project = project(&admin, &args.project).await?;
    let about = format!("{} #{}", project.name, pull.number);
    note(&admin, &project.organization, what, &about).await
}

/// Nobody merges what they have not looked at, nor by digits that could mean an older commit.
async fn check_seen(host: &Local, pull: &PullRequest, seen: &str) -> anyhow::Result<()> {
    let (number, head) = (pull.number, pull.head_commit.as_str());
    ensure!(head.starts_with(seen), "pull request #{number} is at {head} now: look at it again, then merge");
    let commits = host.commits(pull).await?;
    let meant = commits.iter().filter(|commit| commit.id.as_str().starts_with(seen)).count();
    ensure!(meant <= 1, "{meant} commits of pull request #{number} begin with {seen}: give more digits");
    Ok(())
}

async fn close(sources: &Sources, args: OnePull) -> anyhow::Result<()> {
    let (host, pull) = find(sources, &args).await?;
    ensure!(pull.state != PullState::Closed, "pull request #{} is closed already", pull.number);
    let closed = host.close(pull.number).await?;
    noted(sources, &args, "closed the pull request", &closed).await?;
    if args.json {
        return output::json(&shown(&closed));
    }
    output::say(format!("Closed pull request #{}; its branch {} stays.", closed.number, closed.head));
    Ok(())
}

async fn find(sources: &Sources, args: &OnePull) -> anyhow::Result<(Local, PullRequest)> {
    let admin = open(sources, &args.data).await?;
    let host = admin.host(&project(&admin, &args.project).await?).await?;
    let pull = host.get(args.number).await?.with_context(|| {
        format!("there is no pull request #{}; see `docwright pull list {}`", args.number, args.project)
    })?;
    Ok((host, pull))
}

fn tell(pull: &PullRequest) -> anyhow::Result<()> {
    output::fields(&[
        ("pull request", &format!("#{} {}", pull.number, pull.title)),
        ("state", state(pull)),
        ("branch", &format!("{} into {}", pull.head, pull.base)),
        ("address", &pull.url),
        ("job", pull.job.as_deref().unwrap_or("none")),
        ("opened", &opened(pull)),
    ])
}

fn shown(pull: &PullRequest) -> Value {
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
        "createdAt": opened(pull),
    })
}

fn commit(line: &CommitLine) -> Value {
    let at = output::moment(Timestamp::from_second(line.time).unwrap_or_default());
    json!({ "id": line.id.as_str(), "subject": line.subject, "author": line.author, "at": at })
}

fn state(pull: &PullRequest) -> &'static str {
    match pull.state {
        PullState::Open => "open",
        PullState::Merged => "merged",
        PullState::Closed => "closed",
    }
}

fn opened(pull: &PullRequest) -> String {
    output::moment(Timestamp::from_millisecond(pull.created_at).unwrap_or_default())
}

fn short(id: &str) -> &str {
    id.get(..10).unwrap_or(id)
}
