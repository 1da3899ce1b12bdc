//! Finds the pages that readers may have looked for.

use std::collections::HashMap;

use findings::Kind;
use pages::redirects::{ClueRecord, History, Matcher, Redirect, Rename, SitePage, SitePages};
use store::{Finding, Project};

use super::counts::start_of;
use super::effect::load_scan;
use super::scan::{ServedPrefix, SiteScan};
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
    let (mut lists, _) = list_candidates(app, project, std::slice::from_ref(finding)).await?;
    Ok(lists.remove(&finding.subject).unwrap_or_default())
}

/// The candidates of each subject, and where readers reach the site. A page that is only stale has none.
pub(super) async fn list_candidates(
    app: &App,
    project: &Project,
    findings: &[Finding],
) -> anyhow::Result<(HashMap<String, Vec<FindingCandidate>>, Option<ServedPrefix>)> {
    let missing: Vec<String> = findings
        .iter()
        .filter(|finding| finding.kind != Kind::Stale)
        .map(|finding| finding.subject.clone())
        .collect();
    if missing.is_empty() {
        return Ok((HashMap::new(), None));
    }
    let (scan, prefix) = load_scan(app, &project.id).await?;
    // Thousands of pages are compared with each path.
    let lists = tokio::task::spawn_blocking(move || match_paths(&scan, missing)).await?;
    Ok((lists, Some(prefix)))
}

/// How reliable each kind of clue is on this site. The scan keeps it, because it takes long.
pub(super) fn measure_clues(scan: &SiteScan) -> ClueRecord {
    let (pages, redirects, history) = parts(scan);
    Matcher::new(&pages, &redirects, &history, "").record()
}

fn match_paths(scan: &SiteScan, missing: Vec<String>) -> HashMap<String, Vec<FindingCandidate>> {
    let (pages, redirects, history) = parts(scan);
    let matcher = Matcher::with_record(&pages, &redirects, &history, "", &scan.clues);
    let candidates = |path: &str| {
        let found = matcher.candidates(path).into_iter().take(MAX_CANDIDATES);
        found.map(|found| FindingCandidate { path: found.target, reason: found.reason }).collect()
    };
    missing.into_iter().map(|path| (path.clone(), candidates(&path))).collect()
}

fn parts(scan: &SiteScan) -> (SitePages, Vec<Redirect>, History) {
    let page = |page: &super::scan::ScannedPage| SitePage {
        route: page.path.clone(),
        title: page.title.clone(),
        headings: Vec::new(),
    };
    let pages = SitePages::new(scan.pages.iter().map(page).collect());
    let redirects = scan.redirects.iter().map(|(from, to)| Redirect::new(from, to)).collect();
    let rename = |(on, from, to): &(jiff::civil::Date, String, String)| Rename {
        date: start_of(*on) / 1_000,
        from: file_of(from),
        to: file_of(to),
    };
    let history = History { renames: scan.renames.iter().map(rename).collect(), ..History::default() };
    (pages, redirects, history)
}

/// A file that would be served at the path.
fn file_of(path: &str) -> String {
    match path.trim_matches('/') {
        "" => "index.md".to_owned(),
        path => format!("{path}.md"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::ScannedPage;

    /// Of two pages that fit, other redirects show which one people choose.
    #[test]
    fn a_scan_keeps_how_reliable_clues_are() {
        let page = |path: &str| ScannedPage {
            path: path.to_owned(),
            file: String::new(),
            title: None,
            changed_on: None,
        };
        let pages = ["/guide", "/guide/set-up-tokens", "/api/use-tokens"].map(page).to_vec();
        let redirect = |n: u32| (format!("/guide/part-{n}"), "/guide".to_owned());
        let scan = SiteScan { pages, redirects: (0..30).map(redirect).collect(), ..SiteScan::new() };
        let measured = scan.clone().with_clues();
        let path = "/guide/tokens-quickly";
        let (sites, redirects, history) = parts(&measured);
        let expected = Matcher::new(&sites, &redirects, &history, "").candidates(path);
        let found = match_paths(&measured, vec![path.to_owned()]).remove(path).unwrap();
        assert_eq!(
            found.iter().map(|found| &found.path).collect::<Vec<_>>(),
            expected.iter().take(MAX_CANDIDATES).map(|found| &found.target).collect::<Vec<_>>()
        );
        assert!(scan.clues.is_empty() && measured.clues["Section"] == (30, 30), "{:?}", measured.clues);
        let text = serde_json::to_string(&measured).unwrap();
        assert_eq!(serde_json::from_str::<SiteScan>(&text).unwrap(), measured);
    }
}
