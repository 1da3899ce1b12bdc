//! Describes the operations on findings, and the reports of what merges did.

use findings::{Kind, State};
use serde_json::{Value, json};
use store::{FindingSort, PromptError};
use wire::{
    AgentJob, DismissFinding, Effect, EffectChange, EffectMeasures, Evidence, EvidenceDay, EvidencePath,
    EvidenceReferrer, Finding, FindingCount, FindingJob, FindingList, FixFindings, MergeEffect, MergeEffects,
    Period, RedirectCandidate, SummaryCount, WeeklySummary,
};

use super::agent::{invalid_limit, job, limit_reached};
use super::analytics;
use super::operation::Operation;
use super::parameters::{paging, query};
use super::response::Response;
use crate::error::ApiError;

pub(super) const TAG: &str = "Findings";
const FINDING: &str = "fnd_7hQ2mXv0bLpT3kRs";

pub(crate) fn list_findings() -> Operation {
    let [limit, offset] = paging(100, 50);
    let word = |words: &[&str]| json!({ "type": "string", "enum": words });
    let mut sort = word(&FindingSort::NAMES);
    sort["default"] = json!("score");
    let counts = vec![FindingCount { kind: "not-found".into(), state: "open".into(), count: 12 }];
    let list = json!(FindingList { findings: vec![finding()], has_more: true, counts });
    let response =
        Response::json::<FindingList>(200, "The findings, in the order of `sort`.", list).header("Link");
    Operation::new(TAG, "listFindings", "List findings")
        .description("Lists what hurts the readers of the docs: paths that they ask for and don't get, pages that moved without a redirect, links to pages that are gone, and pages that many view and nobody changed for long. The server brings the findings up to date every five minutes.")
        .needs_key()
        .parameter(query("state", word(&State::ALL.map(State::as_str)), "Only findings in this state."))
        .parameter(query("kind", word(&Kind::ALL.map(Kind::as_str)), "Only findings of this kind."))
        .parameter(query("class", word(&["human", "ai"]), "Only findings that hurt these readers."))
        .parameter(query("sort", sort, "The value to sort by, largest first."))
        .parameter(limit)
        .parameter(offset)
        .response(response)
        .errors([invalid_limit(100)])
}

pub(crate) fn get_finding() -> Operation {
    finding_operation("getFinding", "Get a finding")
        .description("Returns the finding with its evidence, the pages that readers may have looked for, and the effect of its merge.")
        .response(Response::json::<Finding>(200, "The finding.", detailed_finding()))
}

pub(crate) fn fix_finding() -> Operation {
    fix(finding_operation("fixFinding", "Start a job for a finding"), json!({}))
        .description("Starts a job that fixes the finding. Docwright writes the instruction, unless you send `prompt`. The finding becomes `proposed`.")
}

pub(crate) fn fix_findings() -> Operation {
    let operation = Operation::new(TAG, "fixFindings", "Start a job for several findings").needs_key();
    fix(operation.errors([ApiError::NoSuchFinding]), json!({ "findings": [FINDING] }))
        .description("Starts one job that fixes up to 100 findings: paths that are not found or moved, or dead links, or stale pages. Findings that another job fixes stay with that job.")
}

pub(crate) fn dismiss_finding() -> Operation {
    let dismissed = Finding { state: "dismissed".into(), note: Some("An old product".into()), ..finding() };
    finding_operation("dismissFinding", "Dismiss a finding")
        .description("Nothing is to be done about the finding. It opens again only when its requests grow by the factor in the project's settings.")
        .needs_write_scope()
        .body::<DismissFinding>(json!({ "reason": "An old product" }))
        .response(Response::json::<Finding>(200, "The finding, `dismissed`.", json!(dismissed)))
        .errors([ApiError::invalid("invalid_reason", "reason must have 1 to 500 characters")])
}

pub(crate) fn get_effect() -> Operation {
    let [limit, offset] = paging(50, 20);
    let list = json!(MergeEffects { merges: vec![merge()], has_more: true });
    let response =
        Response::json::<MergeEffects>(200, "The merges, latest first.", list).header("Link").rate_limited();
    Operation::new(analytics::TAG, "getEffect", "Get the effect of merges")
        .description("Compares views of the pages that each merged pull request changed: the same number of days before the merge and after it. The change of the whole site is divided out. It claims no cause.")
        .needs_key()
        .parameter(query("dateFrom", analytics::date_schema(), "Include merges from this time on."))
        .parameter(query("dateTo", analytics::date_schema(), "Include merges before this time. It must not be before `dateFrom`."))
        .parameter(limit)
        .parameter(offset)
        .response(response)
        .errors([invalid_limit(50), limit_reached(1_000)])
}

pub(crate) fn get_weekly_summary() -> Operation {
    let count = SummaryCount { human: 120, ai: 45, total: 165, total_before: 150 };
    let summary = json!(WeeklySummary {
        week: Period { first: "2026-11-09".into(), last: "2026-11-15".into() },
        views: count.clone(),
        not_found: count,
        new: vec![finding()],
        resolved: Vec::new(),
        persisting: Vec::new(),
        new_total: 1,
        resolved_total: 0,
        persisting_total: 0,
        open: 12,
        merges: vec![merge()],
    });
    let week = json!({ "type": "string", "format": "date" });
    Operation::new(analytics::TAG, "getWeeklySummary", "Get the summary of a week")
        .description(
            "Returns what was found, what was resolved, and what merges did from Monday to Sunday, in UTC.",
        )
        .needs_key()
        .parameter(query("week", week, "A day of the week. By default, the last week that is over."))
        .response(Response::json::<WeeklySummary>(200, "The summary.", summary).rate_limited())
        .errors([
            ApiError::invalid("invalid_query", "week must be a day of the week, as YYYY-MM-DD"),
            limit_reached(1_000),
        ])
}

fn finding_operation(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(TAG, id, summary).needs_key().errors([ApiError::NoSuchFinding])
}

fn fix(operation: Operation, body: Value) -> Operation {
    let response = Response::json::<AgentJob>(201, "The job is on disk, and `active`.", job())
        .header("Location")
        .header("Idempotent-Replay")
        .rate_limited();
    operation.needs_write_scope().idempotent().body::<FixFindings>(body).response(response).errors([
        ApiError::BadPrompt(PromptError::Empty),
        ApiError::invalid("invalid_findings", "choose at least one finding"),
        ApiError::invalid("invalid_model", "model must be one that the project allows: offline"),
        super::agent::invalid_idempotency_key(),
        ApiError::Conflict("a job fixes these findings already, or they are shipped or resolved. Open a finding to see its job".into()),
        limit_reached(100),
    ])
}

fn finding() -> Finding {
    Finding {
        id: FINDING.into(),
        kind: "not-found".into(),
        subject: "/setup".into(),
        target: Some("/guides/setup".into()),
        state: "open".into(),
        note: None,
        score: 1.1,
        human: 25,
        ai: 8,
        total: 33,
        first_seen: Some("2026-10-20".into()),
        last_seen: Some("2026-11-15".into()),
        job: Some(FindingJob {
            id: "01a1dd26-4199-70ce-9396-3df47d75158f".into(),
            status: "completed".into(),
            pr_link: Some("https://docwright.example.com/p/prj_2bXq7LmZ/pulls/1".into()),
            pr_state: Some("open".into()),
        }),
        merged_on: None,
        shipped_on: None,
        found_at: "2026-11-15T12:00:00.000Z".into(),
        changed_at: "2026-11-15T12:00:00.000Z".into(),
        evidence: None,
        candidates: None,
        effect: None,
    }
}

fn detailed_finding() -> Value {
    let evidence = Evidence {
        days: vec![EvidenceDay { day: "2026-11-15".into(), human: 3, ai: 1 }],
        paths: vec![EvidencePath { path: "/setup".into(), human: 25, ai: 8 }],
        more_paths: 0,
        referrers: vec![EvidenceReferrer { referrer: "chatgpt.com".into(), requests: 7 }],
        pages: Vec::new(),
        more_pages: 0,
    };
    let reason = "the page was renamed to `/guides/setup`".into();
    let candidates = vec![RedirectCandidate { path: "/guides/setup".into(), reason }];
    json!(Finding {
        evidence: Some(evidence),
        candidates: Some(candidates),
        effect: Some(effect()),
        ..finding()
    })
}

fn effect() -> Effect {
    let change = EffectChange {
        before: 31,
        after: 0,
        site_before: 1_000,
        site_after: 960,
        ratio: Some(0.0),
        ratio_low: Some(0.0),
        ratio_high: Some(0.2),
        verdict: "better".into(),
    };
    let measures = EffectMeasures { not_found: change.clone(), views: change.clone(), visitors: change };
    Effect {
        paths: vec!["/setup".into()],
        days: 14,
        before: Period { first: "2026-10-01".into(), last: "2026-10-14".into() },
        after: Period { first: "2026-10-16".into(), last: "2026-10-29".into() },
        human: measures.clone(),
        ai: measures.clone(),
        total: measures,
        summary: vec!["Not-found requests for this path: 31 → 0. Site-wide: −4%.".into()],
    }
}

fn merge() -> MergeEffect {
    MergeEffect {
        job: "01a1dd26-4199-70ce-9396-3df47d75158f".into(),
        title: "Add redirects for 3 paths".into(),
        pr_link: "https://docwright.example.com/p/prj_2bXq7LmZ/pulls/1".into(),
        merged_at: "2026-10-15T09:30:00.000Z".into(),
        findings: vec![FINDING.into()],
        effect: Some(effect()),
    }
}
