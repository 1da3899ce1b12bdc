//! Measures the effect of merges: readers before a merge, and after it shipped.

use std::collections::{BTreeSet, HashMap};

use findings::{Effect, Kind, Measure, Period, Settings, Subject};
use jiff::civil::Date;
use jiff::{Span, Timestamp};
use store::{Finding, Job, JobId, Project, ProjectId, PullState};
use traffic::{Failure, ListQuery, Range};

use super::counts::{ViewCounts, day_of, start_of};
use super::scan::{ServedPrefix, SiteScan, below};
use crate::App;
use crate::refused_files::changed_file;

/// The pages or paths of one merge that are counted.
const MAX_PATHS: usize = 1_000;
const PREFIX_PAGES: u32 = 200;
/// The latest merges of a range that are listed.
const MAX_MERGES: u32 = 10_000;

/// The effect of a merge on paths of the site.
#[derive(Debug, Clone, PartialEq)]
pub struct MergeEffect {
    /// Not-found paths, or the pages that the merge changed.
    pub paths: Vec<String>,
    pub subject: Subject,
    pub merged_on: Date,
    /// The days before the merge, and as many after it shipped. They become more until the finding is judged.
    pub days: u32,
    pub effect: Effect,
}

/// A merged pull request, with its effect. `None`: no day has passed since the merge, or it changed no page and was to
/// fix no path.
#[derive(Debug, Clone, PartialEq)]
pub struct JobEffect {
    pub job: JobId,
    pub title: String,
    pub link: String,
    pub merged_at: Timestamp,
    pub effect: Option<MergeEffect>,
}

/// The effect of the merge that was to fix the finding. `None` until a day has passed since it shipped, and if another
/// server of the installation has the page views.
pub async fn effect_of_finding(
    app: &App,
    project: &Project,
    finding: &Finding,
) -> anyhow::Result<Option<MergeEffect>> {
    let Some(merged_on) = finding.lifecycle.merged_on else { return Ok(None) };
    let shipped_on = finding.lifecycle.shipped_on.unwrap_or(merged_on);
    let paths: Vec<String> = paths_of(finding).collect::<BTreeSet<_>>().into_iter().collect();
    let subject = match is_about_missing_paths(finding) {
        true => Subject::Paths(paths.len()),
        false => Subject::Pages(paths.len()),
    };
    measure(app, project, paths, subject, (merged_on, shipped_on)).await
}

fn paths_of(finding: &Finding) -> impl Iterator<Item = String> {
    let members = finding.evidence.members.iter().map(|member| member.path.clone());
    std::iter::once(finding.subject.clone()).chain(members)
}

fn is_about_missing_paths(finding: &Finding) -> bool {
    match finding.kind {
        Kind::NotFound | Kind::Moved | Kind::DeadLink => true,
        Kind::Stale => false,
    }
}

/// The effect of a job's merge. `None` when its pull request isn't merged, if another server of the installation has the
/// page views, and while their database can't answer: the job can be shown without it.
pub async fn effect_of_job(app: &App, project: &Project, job: &Job) -> anyhow::Result<Option<MergeEffect>> {
    if job.pr_state != Some(PullState::Merged) {
        return Ok(None);
    }
    let merged_at = app.pulls.merged_at(&project.id, &job.id).await?;
    let Some(merged_at) = merged_at else { return Ok(None) };
    match effect_of_merge(app, project, &job.id, merged_at).await {
        Err(error) if Failure::is_unavailable_in(&*error) || Failure::is_too_large_in(&*error) => Ok(None),
        effect => effect,
    }
}

impl MergeEffect {
    /// The numbers in words, for humans and AI together. For pages that were there before, requests that were not found
    /// say nothing.
    pub fn sentences(&self) -> Vec<String> {
        let measures: &[Measure] = match self.subject {
            Subject::Paths(_) => &[Measure::NotFound],
            Subject::Pages(_) => &[Measure::Views, Measure::Visitors],
        };
        let sentence = |measure: &Measure| self.effect.total.get(*measure).sentence(*measure, self.subject);
        let mut sentences: Vec<_> = measures.iter().map(sentence).collect();
        sentences.dedup();
        sentences
    }
}

/// The merges of a project that happened in the range, latest first, each with its effect: some of them, and whether
/// there are more.
pub async fn effects_of_merges(
    app: &App,
    project: &Project,
    (from, to): (Timestamp, Timestamp),
    (limit, offset): (u32, u64),
) -> anyhow::Result<(Vec<JobEffect>, bool)> {
    let mut merges = app.pulls.merges(&project.id, from, to, MAX_MERGES).await?;
    merges.reverse();
    let offset = usize::try_from(offset).unwrap_or(usize::MAX);
    let has_more = merges.len() > offset.saturating_add(limit as usize);
    let mut effects = Vec::new();
    for merge in merges.into_iter().skip(offset).take(limit as usize) {
        let effect = effect_of_merge(app, project, &merge.job, merge.at).await?;
        effects.push(JobEffect {
            job: merge.job,
            title: merge.title,
            link: merge.link,
            merged_at: merge.at,
            effect,
        });
    }
    Ok((effects, has_more))
}

/// A job that was to fix missing paths is measured by these: it may change no page, only a file of redirects.
async fn effect_of_merge(
    app: &App,
    project: &Project,
    job: &JobId,
    merged_at: Timestamp,
) -> anyhow::Result<Option<MergeEffect>> {
    let mut findings = app.findings.findings_of_job(&project.id, job).await?;
    findings.retain(is_about_missing_paths);
    if findings.is_empty() {
        return effect_on_changed_pages(app, project, job, merged_at).await;
    }
    let merged_on = day_of(merged_at);
    let shipped = findings.iter().filter(|finding| finding.lifecycle.merged_on == Some(merged_on));
    let shipped_on = shipped.filter_map(|finding| finding.lifecycle.shipped_on).max().unwrap_or(merged_on);
    // Subjects first: the bound must not drop one for a spelling of another.
    let mut paths: BTreeSet<String> = findings.iter().map(|finding| finding.subject.clone()).collect();
    let spellings = findings.iter().flat_map(paths_of);
    for path in spellings {
        if paths.len() < MAX_PATHS {
            paths.insert(path);
        }
    }
    let subject = Subject::Paths(paths.len());
    measure(app, project, paths.into_iter().collect(), subject, (merged_on, shipped_on)).await
}

async fn effect_on_changed_pages(
    app: &App,
    project: &Project,
    job: &JobId,
    merged_at: Timestamp,
) -> anyhow::Result<Option<MergeEffect>> {
    let diff = app.jobs.diff(&project.id, job).await?.unwrap_or_default();
    let files: Vec<&str> =
        diff.lines().filter_map(changed_file).filter(|file| pages::is_page(file)).take(MAX_PATHS).collect();
    if files.is_empty() {
        return Ok(None);
    }
    let (scan, prefix) = load_scan(app, &project.id).await?;
    let known: HashMap<&str, &str> =
        scan.pages.iter().map(|page| (page.file.as_str(), page.path.as_str())).collect();
    let root = project.docs_path.as_deref().unwrap_or_default().trim_matches('/');
    let path_of = |file: &str| match known.get(file) {
        Some(path) => Some((*path).to_owned()),
        // The page is gone since, or the docs were not scanned yet.
        None => pages::route(file, root).map(|route| below(&prefix.path, &route)),
    };
    let paths: BTreeSet<String> = files.into_iter().filter_map(path_of).collect();
    let paths: Vec<String> = paths.into_iter().collect();
    let merged_on = day_of(merged_at);
    let subject = Subject::Pages(paths.len());
    measure(app, project, paths, subject, (merged_on, merged_on)).await
}

/// What the last scan of the docs found, and below which prefix the site is served. The paths of the scan are below it.
pub(super) async fn load_scan(app: &App, project: &ProjectId) -> anyhow::Result<(SiteScan, ServedPrefix)> {
    let Some(scan) = app.findings.site_scan(project).await? else { return Ok(<_>::default()) };
    // A scan of another version can't be read: the next scan replaces it.
    let scan: SiteScan = serde_json::from_str(&scan.scan).unwrap_or_default();
    let query = ListQuery::new(PREFIX_PAGES, 0);
    let viewed = app.views.count(&project.0, &Range::default(), &query).await?.pages;
    let prefix = scan.served_prefix(viewed.iter().map(|page| page.path.as_str()));
    Ok((scan.below(&prefix.path), prefix))
}

async fn measure(
    app: &App,
    project: &Project,
    paths: Vec<String>,
    subject: Subject,
    (merged_on, shipped_on): (Date, Date),
) -> anyhow::Result<Option<MergeEffect>> {
    if !app.stores_views() {
        return Ok(None);
    }
    let settings = app.findings.finding_settings(&project.id).await?;
    let days = days_to_compare(shipped_on, day_of(app.clock.now()), &settings);
    if days == 0 {
        return Ok(None);
    }
    let (before, after) = Period::before_and_after(merged_on, shipped_on, days);
    let end = start_of(after.last.saturating_add(Span::new().days(1)));
    let range = Range::new(Some(start_of(before.first)), Some(end)).unwrap_or_default();
    let counts = ViewCounts { reports: &*app.reports, project: &project.id.0, range };
    let (readers, site) = counts.reader_days(&paths).await?;
    let effect = Effect::measure(&readers, &site, merged_on, shipped_on, days);
    Ok(Some(MergeEffect { paths, subject, merged_on, days, effect }))
}

/// The whole days since shipping, at most as many as the settings judge by. Today isn't over.
fn days_to_compare(shipped_on: Date, today: Date, settings: &Settings) -> u32 {
    let passed = today.since(shipped_on).map_or(0, |span| span.get_days()) - 1;
    u32::try_from(passed).unwrap_or(0).min(settings.judge_days)
}
