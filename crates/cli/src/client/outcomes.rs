//! Runs `docwright report effect` and `docwright report weekly`.

use serde::de::DeserializeOwned;
use wire::{
    Effect, EffectChange, EffectMeasures, Finding, MergeEffect, MergeEffects, SummaryCount, WeeklySummary,
};

use super::views::{Query, date_query, query_of};
use super::{Client, encode_segment, finding};
use crate::args::{EffectReport, WeeklyReport};
use crate::output;
use crate::settings::Sources;

pub(super) async fn effect(sources: &Sources, args: EffectReport) -> anyhow::Result<()> {
    let pages = query_of([
        ("limit", args.limit.map(|limit| limit.to_string())),
        ("offset", args.offset.map(|offset| offset.to_string())),
    ]);
    let query = [date_query(&args.dates), pages].concat();
    let report: MergeEffects = fetch(sources, &args.project, "effect", query).await?;
    if args.json {
        return output::print_json(&report);
    }
    if report.merges.is_empty() {
        output::print_message("No pull request of a job was merged in this time.");
        return Ok(());
    }
    let next = args.offset.unwrap_or(0) + report.merges.len() as u64;
    print_merges(&report.merges)?;
    if report.has_more {
        output::print_message(format!("There are more merges. To see them, add --offset {next}"));
    }
    Ok(())
}

pub(super) async fn weekly(sources: &Sources, args: WeeklyReport) -> anyhow::Result<()> {
    let query = query_of([("week", args.week)]);
    let week: WeeklySummary = fetch(sources, &args.project, "weekly", query).await?;
    if args.json {
        return output::print_json(&week);
    }
    output::print_fields(&[
        ("week", &format!("{} to {}", week.week.first, week.week.last)),
        ("views", &count(&week.views)),
        ("not found", &count(&week.not_found)),
        ("open findings", &week.open.to_string()),
    ])?;
    print_findings("New findings", &week.new)?;
    print_findings("Resolved", &week.resolved)?;
    print_findings("Persist after their merge", &week.persisting)?;
    if !week.merges.is_empty() {
        output::print_line("\nMerged pull requests:")?;
        print_merges(&week.merges)?;
    }
    if week.open > 0 {
        let project = &args.project;
        output::print_message(format!("To see what to fix: docwright finding list {project} --state open"));
    }
    Ok(())
}

async fn fetch<T: DeserializeOwned>(
    sources: &Sources,
    project: &str,
    report: &str,
    query: Query,
) -> anyhow::Result<T> {
    let client = Client::from_settings(sources)?;
    client.get(&format!("/v1/analytics/{}/{report}", encode_segment(project)), &query).await
}

fn print_merges(merges: &[MergeEffect]) -> anyhow::Result<()> {
    let row = |merge: &MergeEffect| {
        let [not_found, views, visitors] = match &merge.effect {
            Some(effect) => changes(effect).map(|(_, change)| change),
            None => ["nothing to compare yet", "", ""].map(str::to_owned),
        };
        [merge.merged_at.clone(), merge.title.clone(), merge.pr_link.clone(), not_found, views, visitors]
    };
    output::print_table(
        ["MERGED", "TITLE", "PULL REQUEST", "NOT FOUND", "VIEWS", "VISITORS"],
        merges.iter().map(row),
    )
}

/// The measures of an effect, one per line: "Not found: 31 → 0, fewer".
pub(super) fn measures(effect: &Effect) -> [String; 3] {
    changes(effect).map(|(measure, change)| format!("{measure}: {change}"))
}

fn changes(effect: &Effect) -> [(&'static str, String); 3] {
    let EffectMeasures { not_found, views, visitors } = &effect.total;
    let change = |change: &EffectChange, better: &'static str, worse: &'static str| {
        let verdict = match change.verdict.as_str() {
            "better" => better,
            "worse" => worse,
            "no-change" => "no difference",
            _ => "too few",
        };
        format!("{} → {}, {verdict}", change.before, change.after)
    };
    [
        ("Not found", change(not_found, "fewer", "more")),
        ("Views", change(views, "more", "fewer")),
        ("Visitors", change(visitors, "more", "fewer")),
    ]
}

fn print_findings(title: &str, findings: &[Finding]) -> anyhow::Result<()> {
    if findings.is_empty() {
        return Ok(());
    }
    output::print_line(format!("\n{title}:"))?;
    let row = |finding: &Finding| {
        let (human, ai) = (finding.human.to_string(), finding.ai.to_string());
        let counts = finding::counted(&finding.kind).to_owned();
        [finding.id.clone(), finding.subject.clone(), finding.kind.clone(), counts, human, ai]
    };
    output::print_table(["ID", "SUBJECT", "KIND", "COUNTS", "HUMAN", "AI"], findings.iter().map(row))
}

fn count(week: &SummaryCount) -> String {
    let SummaryCount { human, ai, total, total_before } = week;
    format!("{total} ({human} human, {ai} AI), {total_before} in the previous week")
}
