//! Finds the pages that readers may have looked for.

use std::collections::HashMap;

use findings::Kind;
use pages::redirects::{History, Matcher, Redirect, Rename, SitePage, SitePages};
use store::{Finding, Project};

use super::counts::start_of;
use super::effect::load_scan;
use super::scan::SiteScan;
use crate::App;

const MAX_CANDIDATES: usize = 3;

/// A page that a path may mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingCandidate {
    pub path: String,
    pub reason: String,
}

/// The pages that the subject of the finding may mean, the most likely one first.
pub async fn find_candidates(
    app: &App,
    project: &Project,
    finding: &Finding,
) -> anyhow::Result<Vec<FindingCandidate>> {
    let mut lists = list_candidates(app, project, std::slice::from_ref(finding)).await?;
    Ok(lists.remove(&finding.subject).unwrap_or_default())
}

/// The candidates of each subject. A page that is only stale has none.
pub(super) async fn list_candidates(
    app: &App,
    project: &Project,
    findings: &[Finding],
) -> anyhow::Result<HashMap<String, Vec<FindingCandidate>>> {
    let missing: Vec<String> = findings
        .iter()
        .filter(|finding| finding.kind != Kind::Stale)
        .map(|finding| finding.subject.clone())
        .collect();
    if missing.is_empty() {
        return Ok(HashMap::new());
    }
    let (scan, _) = load_scan(app, &project.id).await?;
    // Thousands of pages are compared with each path.
    Ok(tokio::task::spawn_blocking(move || match_paths(&scan, missing)).await?)
}

fn match_paths(scan: &SiteScan, missing: Vec<String>) -> HashMap<String, Vec<FindingCandidate>> {
    let page = |page: &super::scan::ScannedPage| SitePage {
        route: page.path.clone(),
        title: page.title.clone(),
        headings: Vec::new(),
    };
    let pages = SitePages::new(scan.pages.iter().map(page).collect());
    let redirects: Vec<_> = scan.redirects.iter().map(|(from, to)| Redirect::new(from, to)).collect();
    let rename = |(on, from, to): &(jiff::civil::Date, String, String)| Rename {
        date: start_of(*on) / 1_000,
        from: file_of(from),
        to: file_of(to),
    };
    let history = History { renames: scan.renames.iter().map(rename).collect(), ..History::default() };
    let matcher = Matcher::new(&pages, &redirects, &history, "");
    let candidates = |path: &str| {
        let found = matcher.candidates(path).into_iter().take(MAX_CANDIDATES);
        found.map(|found| FindingCandidate { path: found.target, reason: found.reason }).collect()
    };
    missing.into_iter().map(|path| (path.clone(), candidates(&path))).collect()
}

/// A file that would be served at the path.
fn file_of(path: &str) -> String {
    match path.trim_matches('/') {
        "" => "index.md".to_owned(),
        path => format!("{path}.md"),
    }
}
