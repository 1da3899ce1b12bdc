//! Turns findings into the prompt of a job. What readers sent is quoted: the instruction contains none of it.

use std::fmt::Write as _;

use findings::Kind;
use store::{Finding, MAX_FINDINGS_PER_JOB, Project, Quotation};

use super::candidates::list_candidates;
use super::scan::ServedPrefix;
use crate::{App, quoted_line};

/// The spellings of one path that a quotation lists: those with at least a fifth of the requests.
const MAX_MEMBERS: usize = 5;
const MEMBER_SHARE: u64 = 5;
const MAX_PAGES: usize = 10;
/// Below what a prompt takes, so that the instruction fits.
const MAX_QUOTED_CHARS: usize = 80_000;

/// Why no job can fix these findings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FixError {
    #[error("choose at least one finding")]
    Empty,
    #[error(
        "one job can fix at most {MAX_FINDINGS_PER_JOB} findings; choose fewer, and create another job for the rest"
    )]
    TooMany,
    #[error(
        "one job can fix paths that are not found or moved, or dead links, or stale pages; choose findings of one of these groups"
    )]
    MixedKinds,
    #[error(
        "a job fixes these findings already, or they are shipped or resolved; open a finding to see its job"
    )]
    NoneWaiting,
    #[error(
        "the built-in editor can't update stale pages; configure a model, or write the prompt of a job yourself"
    )]
    NeedsModel,
}

/// Findings that one job can fix together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Task {
    AddRedirects,
    FixLinks,
    UpdatePages,
}

impl Task {
    fn of(kind: Kind) -> Self {
        match kind {
            Kind::NotFound | Kind::Moved => Self::AddRedirects,
            Kind::DeadLink => Self::FixLinks,
            Kind::Stale => Self::UpdatePages,
        }
    }

    fn prompt(self, has_model: bool) -> Option<&'static str> {
        match (self, has_model) {
            (Self::AddRedirects, false) => Some("Add redirects for pages that were not found."),
            (Self::AddRedirects, true) => Some(
                "Readers ask for the paths in the quotation, and there are no pages. Add a redirect for each path whose \
                 page is clear, where this site keeps its redirects. Redirect only to pages that exist, never in a \
                 loop or a chain. Leave the other paths alone, and list them in your summary.",
            ),
            (Self::FixLinks, false) => Some("Fix broken links and anchors."),
            (Self::FixLinks, true) => Some(
                "Pages of the docs link to pages that don't exist; the quotation names them. Make each link lead to the \
                 page that has its content now. If there is none, remove the link and keep its text.",
            ),
            (Self::UpdatePages, false) => None,
            (Self::UpdatePages, true) => Some(
                "The quotation names pages that many readers view and that have not changed for long. Fix what is wrong \
                 or out of date in them. Change nothing that you can't verify from this repository, and say what a \
                 person must check.",
            ),
        }
    }
}

/// Checks that one job can fix all these findings, and that at least one of them waits for a job.
pub fn validate_selection(findings: &[Finding]) -> Result<(), FixError> {
    let Some(first) = findings.first() else { return Err(FixError::Empty) };
    if findings.len() > MAX_FINDINGS_PER_JOB {
        return Err(FixError::TooMany);
    }
    if findings.iter().any(|finding| Task::of(finding.kind) != Task::of(first.kind)) {
        return Err(FixError::MixedKinds);
    }
    if findings.iter().any(Finding::waits_for_job) { Ok(()) } else { Err(FixError::NoneWaiting) }
}

/// The instruction of a job that fixes findings of this kind.
pub fn suggested_prompt(kind: Kind, has_model: bool) -> Result<&'static str, FixError> {
    Task::of(kind).prompt(has_model).ok_or(FixError::NeedsModel)
}

/// What the agent must know about the findings, with the pages that each path may mean.
pub async fn quotations(
    app: &App,
    project: &Project,
    findings: &[Finding],
) -> anyhow::Result<Vec<Quotation>> {
    let (lists, prefix) = list_candidates(app, project, findings).await?;
    let of = |subject: &str| {
        let list = lists.get(subject).into_iter().flatten();
        list.map(|candidate| format!("{} ({})", candidate.path, candidate.reason)).collect()
    };
    Ok(quote(findings, prefix.as_ref(), of))
}

fn quote(
    findings: &[Finding],
    prefix: Option<&ServedPrefix>,
    candidates: impl Fn(&str) -> Vec<String>,
) -> Vec<Quotation> {
    let mut text = String::new();
    // The offline editor compares it with the settings of the site.
    if let Some(prefix) = prefix.filter(|prefix| prefix.is_viewed) {
        let _ = writeln!(text, "Served at: {}/\n", quoted_line(&prefix.path));
    }
    // Visitors choose the paths, so long ones must not keep the others out.
    let share = MAX_QUOTED_CHARS / findings.len().max(1);
    for finding in findings {
        let whole = quote_finding(finding, &candidates);
        let is_long = whole.chars().count() > share;
        text.push_str(if is_long { whole.lines().next().unwrap_or_default() } else { &whole });
        text.push_str(if is_long { "\n\n" } else { "\n" });
    }
    vec![Quotation { label: "Findings".into(), text: text.trim_end().to_owned() }]
}

fn quote_finding(finding: &Finding, candidates: impl Fn(&str) -> Vec<String>) -> String {
    let mut text = String::new();
    for path in paths(finding) {
        let _ = writeln!(text, "Path: {}", quoted_line(path));
    }
    let _ = writeln!(text, "Readers: {} human, {} AI", finding.human, finding.ai);
    let pages = finding.evidence.pages.iter().take(MAX_PAGES);
    let lines = pages.map(|page| ("Linked from", page.clone()));
    let referrers = finding.evidence.referrers.iter().take(1);
    let lines = lines.chain(referrers.map(|(referrer, _)| ("Most came from", referrer.clone())));
    let lines = lines.chain(candidates(&finding.subject).into_iter().map(|page| ("Candidate", page)));
    for (label, value) in lines {
        let _ = writeln!(text, "{label}: {}", quoted_line(&value));
    }
    text
}

/// The subject, and the other spellings that many readers use.
fn paths(finding: &Finding) -> impl Iterator<Item = &str> {
    let members = &finding.evidence.members;
    let total: u64 = members.iter().map(|member| member.total()).sum();
    let others = members.iter().filter(move |member| {
        finding.kind == Kind::NotFound
            && member.path != finding.subject
            && member.total() * MEMBER_SHARE >= total
    });
    std::iter::once(finding.subject.as_str())
        .chain(others.take(MAX_MEMBERS).map(|member| member.path.as_str()))
}
