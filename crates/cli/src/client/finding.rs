//! Runs `docwright finding`.

use std::process::ExitCode;

use wire::{AgentJob, DismissFinding as Dismissal, Evidence, Finding, FindingList, FixFindings as Fix};

use super::{Client, encode_segment, job, outcomes};
use crate::args::{DismissFinding, FindingArgs, FindingCommand, FixFindings, ListFindings, ViewFinding};
use crate::output;
use crate::settings::Sources;

pub(crate) async fn run(sources: &Sources, command: FindingCommand) -> anyhow::Result<ExitCode> {
    match command {
        FindingCommand::Fix(args) => return fix(sources, args).await,
        FindingCommand::List(args) => list(sources, args).await?,
        FindingCommand::View(args) => view(sources, args).await?,
        FindingCommand::Dismiss(args) => dismiss(sources, args).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(sources: &Sources, args: ListFindings) -> anyhow::Result<()> {
    let client = Client::from_settings(sources)?;
    let query: Vec<(&str, String)> = [
        ("state", args.state),
        ("kind", args.kind),
        ("class", args.class),
        ("sort", args.sort),
        ("limit", args.limit.map(|limit| limit.to_string())),
        ("offset", args.offset.map(|offset| offset.to_string())),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .collect();
    let list: FindingList =
        client.get(&format!("/v1/findings/{}", encode_segment(&args.project)), &query).await?;
    if args.json {
        return output::print_json(&list);
    }
    if list.findings.is_empty() {
        output::print_message(match list.counts.is_empty() {
            true => {
                "No findings yet. They appear within minutes after page views show what readers didn't find."
            }
            false => "No findings match.",
        });
        return Ok(());
    }
    let next = args.offset.unwrap_or(0) + list.findings.len() as u64;
    let (head, rows) = (
        ["ID", "SUBJECT", "KIND", "STATE", "COUNTS", "HUMAN", "AI", "JOB"],
        list.findings.into_iter().map(row),
    );
    output::print_table(head, rows)?;
    if list.has_more {
        output::print_message(format!("There are more findings. To see them, add --offset {next}"));
    }
    Ok(())
}

fn row(finding: Finding) -> [String; 8] {
    let job = finding.job.map_or_else(|| "none".into(), |job| job.id);
    let (human, ai) = (finding.human.to_string(), finding.ai.to_string());
    let counts = counted(&finding.kind).to_owned();
    [finding.id, finding.subject, finding.kind, finding.state, counts, human, ai, job]
}

/// What the numbers of a finding count: failed requests, or views of pages that exist.
pub(super) fn counted(kind: &str) -> &'static str {
    if matches!(kind, "dead-link" | "stale") { "views" } else { "requests" }
}

async fn view(sources: &Sources, args: ViewFinding) -> anyhow::Result<()> {
    let client = Client::from_settings(sources)?;
    let finding: Finding = client.get(&path(&args.finding, ""), &[]).await?;
    if args.json {
        return output::print_json(&finding);
    }
    print_fields(&finding)?;
    if let Some(evidence) = &finding.evidence {
        print_evidence(evidence, counted(&finding.kind))?;
    }
    let candidates = finding.candidates.iter().flatten();
    let candidates: Vec<_> = candidates
        .map(|target| format!("{} ({})", target.path, output::plain_code(&target.reason)))
        .collect();
    print_section("Pages that readers may mean", &candidates)?;
    if let Some(effect) = &finding.effect {
        let title = format!("Effect, {} before and after", days(effect.days));
        print_section(&title, &[effect.summary.clone(), outcomes::measures(effect).into()].concat())?;
    }
    if matches!(finding.state.as_str(), "open" | "persists") {
        let FindingArgs { project, id } = &args.finding;
        // The offline editor can't update the text of pages.
        let with = if finding.kind == "stale" { " with a model" } else { "" };
        output::print_message(format!(
            "To start a job that fixes it{with}: docwright finding fix {project} {id} --watch\n\
             To dismiss it: docwright finding dismiss {project} {id} --reason \"…\""
        ));
    }
    Ok(())
}

fn days(count: u32) -> String {
    if count == 1 { "1 day".into() } else { format!("{count} days") }
}

fn print_fields(finding: &Finding) -> anyhow::Result<()> {
    let readers = format!("{} human, {} AI", finding.human, finding.ai);
    let score = format!("{:.1} readers hurt per day", finding.score);
    let job = finding.job.as_ref().map(|job| format!("{}, {}", job.id, job.status));
    let pull = finding.job.as_ref().and_then(|job| {
        let state = job.pr_state.as_ref().map(|state| format!(", {state}")).unwrap_or_default();
        Some(format!("{}{state}", job.pr_link.as_ref()?))
    });
    let note = finding.note.as_deref().map(output::plain_code);
    let optional = [
        ("note", &note),
        ("target", &finding.target),
        ("first seen", &finding.first_seen),
        ("last seen", &finding.last_seen),
        ("job", &job),
        ("pull request", &pull),
        ("merged", &finding.merged_on),
        ("shipped", &finding.shipped_on),
    ];
    let mut fields: Vec<(&str, &str)> = vec![
        ("finding", &finding.id),
        ("subject", &finding.subject),
        ("kind", &finding.kind),
        ("state", &finding.state),
        (counted(&finding.kind), &readers),
        ("score", &score),
    ];
    fields.extend(optional.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?))));
    output::print_fields(&fields)
}

fn print_evidence(evidence: &Evidence, counted: &str) -> anyhow::Result<()> {
    let requests = |human: u64, ai: u64| format!("{human} human, {ai} AI");
    let paths = evidence.paths.iter().map(|path| format!("{}  {}", path.path, requests(path.human, path.ai)));
    let title = if counted == "views" { "Views of pages" } else { "Paths" };
    print_section(title, &with_rest(paths, evidence.more_paths))?;
    let referrers = evidence.referrers.iter();
    let referrers: Vec<_> = referrers.map(|from| format!("{}  {}", from.referrer, from.requests)).collect();
    print_section("Most requests came from", &referrers)?;
    let pages = evidence.pages.iter().cloned();
    print_section("Pages that link to it", &with_rest(pages, evidence.more_pages))
}

fn with_rest(lines: impl Iterator<Item = String>, rest: u64) -> Vec<String> {
    let rest = (rest > 0).then(|| format!("and {rest} more"));
    lines.chain(rest).collect()
}

/// Prints a title with its lines, or nothing without lines.
fn print_section(title: &str, lines: &[String]) -> anyhow::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    output::print_line(format!("\n{title}:"))?;
    lines.iter().try_for_each(|line| output::print_line(format!("  {}", line.replace('\n', " "))))
}

async fn fix(sources: &Sources, args: FixFindings) -> anyhow::Result<ExitCode> {
    let client = Client::from_settings(sources)?;
    let base = format!("/v1/findings/{}", encode_segment(&args.project));
    let (path, findings) = match args.ids.as_slice() {
        [id] => (format!("{base}/{}/job", encode_segment(id)), Vec::new()),
        _ => (format!("{base}/job"), args.ids),
    };
    let body = Fix { findings, prompt: args.prompt, model: args.model };
    let started: AgentJob = client.post(&path, &body).await?;
    job::show_started(sources, &client, &args.project, started, &args.watching, args.json).await
}

async fn dismiss(sources: &Sources, args: DismissFinding) -> anyhow::Result<()> {
    let client = Client::from_settings(sources)?;
    let body = Dismissal { reason: args.reason };
    let finding: Finding = client.post(&path(&args.finding, "/dismiss"), &body).await?;
    if args.json { output::print_json(&finding) } else { print_fields(&finding) }
}

fn path(finding: &FindingArgs, suffix: &str) -> String {
    format!("/v1/findings/{}/{}{suffix}", encode_segment(&finding.project), encode_segment(&finding.id))
}
