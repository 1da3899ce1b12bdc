//! Shows what hurts readers of the docs, and what merges did about it. Findings become jobs here, or are dismissed.

mod actions;
mod detail;
mod effect;
mod list_query;
mod weekly;

use axum::extract::State as Extract;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use findings::{Kind, State};
use store::{Finding, FindingCount, FindingSort, HurtReaders, Project, ProjectId};

pub(crate) use self::actions::{create_job, dismiss};
pub(crate) use self::detail::show;
pub(super) use self::effect::load_fixed_findings;
use self::list_query::FindingsQuery;
pub(crate) use self::weekly::show as weekly;
use super::jobs::{self, new_form_token};
use super::readers;
use super::session::{ProjectContext, nav};
use super::view::{
    CountedLink, FindingChip, FindingGroup, FindingLink, FindingRow, Findings, LinkChoice, Section,
    SourceHint,
};
use super::{PageError, page_with};
use app::App;
use app::findings::{FixError, counted, kind_label, note_sentence, state_label, suggested_prompt};
use app::models::OFFLINE;
use app::path::query_value;

const PER_PAGE: u32 = 50;
/// The findings of each kind, if all kinds are shown.
const PER_GROUP: u32 = 10;

/// `GET /p/{projectId}/findings?state&kind&class&sort&offset&wait`: unknown values don't filter.
pub(crate) async fn list(
    Extract(app): Extract<App>,
    ctx: ProjectContext,
    uri: Uri,
) -> Result<Response, PageError> {
    let mut findings = findings_page(&app, &ctx, &FindingsQuery::parse(&uri)).await?;
    findings.was_dismissed = query_value(&uri, "dismissed") == "1";
    Ok(page_with(StatusCode::OK, &findings))
}

/// Loads only counts and the rows that the page shows, because a project can have thousands of findings.
async fn findings_page(
    app: &App,
    ctx: &ProjectContext,
    query: &FindingsQuery,
) -> Result<Findings, PageError> {
    let counts = app.findings.finding_counts(&ctx.project.id).await?;
    let mut groups = Vec::new();
    let mut has_more = false;
    for kind in Kind::ALL.into_iter().filter(|kind| query.kind.is_none_or(|wanted| wanted == *kind)) {
        let count = sum(&counts, |count| count.kind == kind && query.has_state(count.state));
        if count > 0 {
            let (group, more) = load_group(app, ctx, query, (kind, count)).await?;
            has_more |= more && query.kind.is_some();
            groups.extend(Some(group).filter(|group| !group.rows.is_empty()));
        }
    }
    let total = sum(&counts, |_| true);
    let page_href = |offset| FindingsQuery { offset, ..query.clone() }.href(&ctx.root());
    let is_listed = query.kind.is_some();
    Ok(Findings {
        shell: ctx.shell("Findings", Section::Findings),
        states: state_links(ctx, query, &counts),
        kinds: kind_links(ctx, query, &counts),
        readers: readers_links(ctx, query),
        sorts: sort_links(ctx, query),
        groups,
        total,
        previous: (is_listed && query.offset > 0)
            .then(|| page_href(query.offset.saturating_sub(u64::from(PER_PAGE)))),
        next: has_more.then(|| page_href(query.offset.saturating_add(u64::from(PER_PAGE)))),
        hint: source_hint(app, &ctx.project, &counts, query.wait).await?,
        query: query.to_query(),
        once: new_form_token(),
        was_dismissed: false,
        error: None,
    })
}

/// The rows of one kind, and whether there are more.
async fn load_group(
    app: &App,
    ctx: &ProjectContext,
    query: &FindingsQuery,
    (kind, count): (Kind, u64),
) -> Result<(FindingGroup, bool), PageError> {
    let limit = if query.kind.is_some() { PER_PAGE } else { PER_GROUP };
    let page = app.findings.findings(&ctx.project.id, &query.filter(kind, limit)).await?;
    let full_list = (page.has_more && query.kind.is_none())
        .then(|| FindingsQuery { kind: Some(kind), offset: 0, ..query.clone() }.href(&ctx.root()));
    let group = FindingGroup {
        kind: kind.as_str(),
        title: kind_label(kind),
        meaning: meaning(kind),
        counted: counted(kind),
        needs_model: needs_model(&ctx.project, kind),
        rows: page.items.iter().map(|finding| row(app, &ctx.project, finding)).collect(),
        full_list,
        count,
    };
    Ok((group, page.has_more))
}

fn row(app: &App, project: &Project, finding: &Finding) -> FindingRow {
    let job = finding.job.as_ref();
    FindingRow {
        id: finding.id.0.clone(),
        link: link(project, finding),
        target: finding.target.clone(),
        human: finding.human,
        ai: finding.ai,
        job: job.map(|job| jobs::href(project, &job.id)),
        pull: job.and_then(|job| jobs::pull_link(app, job.pr_link.as_deref(), job.pr_state)),
        waits: finding.waits_for_job(),
        can_dismiss: finding.lifecycle.state != State::Dismissed,
    }
}

/// The finding as other pages name it.
fn link(project: &Project, finding: &Finding) -> FindingLink {
    FindingLink {
        href: href(project, finding),
        subject: finding.subject.clone(),
        kind: kind_label(finding.kind),
        state: chip(finding.lifecycle.state),
        note: note_sentence(&finding.lifecycle),
    }
}

fn href(project: &Project, finding: &Finding) -> String {
    format!("{}/findings/{}", nav(project).root(), finding.id)
}

fn chip(state: State) -> FindingChip {
    let class = match state {
        State::Open | State::Persists => "bad",
        State::Proposed => "run",
        State::InReview => "wait",
        State::Shipped => "done",
        State::Resolved => "good",
        State::Dismissed => "plain",
    };
    FindingChip { label: state_label(state).to_lowercase(), class }
}

/// Whether only a language model can fix findings of this kind, and the project has none.
fn needs_model(project: &Project, kind: Kind) -> bool {
    suggested_prompt(kind, project.model != OFFLINE) == Err(FixError::NeedsModel)
}

fn meaning(kind: Kind) -> &'static str {
    match kind {
        Kind::NotFound => "Readers ask for these paths, and get no page",
        Kind::Moved => "These pages were renamed in git, and their old paths lead nowhere",
        Kind::DeadLink => "Pages of the docs link to these paths, and there are no pages",
        Kind::Stale => "Many readers view these pages, and they haven't changed for long",
    }
}

fn sum(counts: &[FindingCount], matches: impl Fn(&FindingCount) -> bool) -> u64 {
    counts.iter().filter(|count| matches(count)).map(|count| count.count).sum()
}

fn state_links(ctx: &ProjectContext, query: &FindingsQuery, counts: &[FindingCount]) -> Vec<CountedLink> {
    let is_kind = |count: &FindingCount| query.kind.is_none_or(|kind| count.kind == kind);
    let choice = |state: Option<State>| CountedLink {
        href: FindingsQuery { state, offset: 0, ..query.clone() }.href(&ctx.root()),
        label: state.map_or_else(|| "all".into(), |state| chip(state).label),
        count: sum(counts, |count| is_kind(count) && state.is_none_or(|state| count.state == state)),
        chosen: query.state == state,
    };
    State::ALL.map(Some).into_iter().chain([None]).map(choice).collect()
}

fn kind_links(ctx: &ProjectContext, query: &FindingsQuery, counts: &[FindingCount]) -> Vec<CountedLink> {
    let choice = |kind: Option<Kind>| CountedLink {
        href: FindingsQuery { kind, offset: 0, ..query.clone() }.href(&ctx.root()),
        label: kind.map_or("all kinds", kind_label).to_lowercase(),
        count: sum(counts, |count| {
            query.has_state(count.state) && kind.is_none_or(|kind| count.kind == kind)
        }),
        chosen: query.kind == kind,
    };
    [None].into_iter().chain(Kind::ALL.map(Some)).map(choice).collect()
}

fn readers_links(ctx: &ProjectContext, query: &FindingsQuery) -> Vec<LinkChoice> {
    let choice = |(readers, label)| LinkChoice {
        href: FindingsQuery { readers, offset: 0, ..query.clone() }.href(&ctx.root()),
        label,
        chosen: query.readers == readers,
    };
    let all = [(None, "any readers"), (Some(HurtReaders::Human), "human"), (Some(HurtReaders::Ai), "AI")];
    all.map(choice).into()
}

fn sort_links(ctx: &ProjectContext, query: &FindingsQuery) -> Vec<LinkChoice> {
    let choice = |(sort, label)| LinkChoice {
        href: FindingsQuery { sort, offset: 0, ..query.clone() }.href(&ctx.root()),
        label,
        chosen: query.sort == sort,
    };
    let all = [
        (FindingSort::Score, "readers hurt"),
        (FindingSort::Human, "human"),
        (FindingSort::Ai, "AI"),
        (FindingSort::Total, "all"),
        (FindingSort::Newest, "newest"),
    ];
    all.map(choice).into()
}

/// The findings that wait for a job.
pub(super) async fn count_open(app: &App, project: &ProjectId) -> Result<u64, PageError> {
    let counts = app.findings.finding_counts(project).await?;
    Ok(sum(&counts, |count| matches!(count.state, State::Open | State::Persists)))
}

/// Without a request that wasn't found, the project may only use the script, which can't see them.
async fn source_hint(
    app: &App,
    project: &Project,
    counts: &[FindingCount],
    wait: bool,
) -> Result<Option<SourceHint>, PageError> {
    if !app.stores_views() || sum(counts, |count| count.kind == Kind::NotFound) > 0 {
        return Ok(None);
    }
    let has_no_views = readers::has_no_views(app, &project.id).await?;
    // If the count takes too long, the project has many requests.
    let has_not_found = readers::has_not_found(app, &project.id, wait).await?.unwrap_or(true);
    let import = readers::import_command(app, project);
    Ok((!has_not_found).then_some(SourceHint { has_no_views, import }))
}
