//! Scans the docs of projects: their pages, redirects, dead links and history. Findings need them.
//!
//! Any worker takes the next scan that is due. A scan whose commit, docs folder, and allowed files are the same as last
//! time reads nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use agent::Allow;
use app::findings::{ScannedPage, SiteScan, day_of_second};
use forge::{Cache, History, Host, Oid};
use pages::redirects::SiteRedirects;
use pages::{Overlay, PathIndex, broken_links};
use store::{Chore, ChoreLease, Project};
use tokio_util::sync::CancellationToken;

use super::pause;
use super::tree::CommitTree;
use crate::shared::Shared;

const POLL_INTERVAL: Duration = Duration::from_secs(5);
const INTERVAL: Duration = Duration::from_secs(15 * 60);
const RETRY_DELAY: Duration = Duration::from_secs(5 * 60);
/// The pin of the scanned commit in the cache.
const PIN: &str = "scan";

pub(super) async fn scan_until_stopped(app: &Shared, stop: &CancellationToken) {
    while !stop.is_cancelled() {
        stop.run_until_cancelled(run_due_scans(app)).await;
        pause(stop, POLL_INTERVAL).await;
    }
}

pub(super) async fn run_due_scans(app: &Shared) {
    loop {
        match app.findings.next_chore(Chore::ScanSite).await {
            Ok(Some(lease)) => run_scan(app, &lease).await,
            Ok(None) => return,
            Err(error) => return tracing::warn!("cannot read the next scan of a site: {error}"),
        }
    }
}

async fn run_scan(app: &Shared, lease: &ChoreLease) {
    let wait = match scan_project(app, lease).await {
        Ok(()) => INTERVAL,
        Err(error) => {
            tracing::warn!("cannot scan the docs of project {}: {error:#}", lease.project);
            RETRY_DELAY
        }
    };
    if let Err(error) = app.findings.finish_chore(lease, wait).await {
        tracing::warn!("cannot schedule the next scan of project {}: {error}", lease.project);
    }
}

async fn scan_project(app: &Shared, lease: &ChoreLease) -> anyhow::Result<()> {
    let Some(project) = app.accounts.project(&lease.project).await? else { return Ok(()) };
    let host = app.hosts.open(&project).await?;
    let cache = app.hosts.cache(&project.id).await?;
    let commit = fetch_base(&project, &*host, &cache).await?;
    if is_scanned(app, &project, &commit).await? {
        return Ok(());
    }
    let tree = CommitTree::new(cache.snapshot_on_demand(&commit, &host.remote())?);
    let (scanned, read) = (project.clone(), tree.clone());
    // Reading thousands of pages takes long.
    let scan = tokio::task::spawn_blocking(move || scan_tree(tree, &scanned)).await??;
    if read.check().is_err() {
        anyhow::bail!("the repository can't be read now");
    }
    let history = app.hosts.site_history(&project, Some(&commit)).await?;
    let scan = with_history(scan, &history).bounded();
    let scan = tokio::task::spawn_blocking(|| scan.with_clues()).await?;
    let text = serde_json::to_string(&scan)?;
    app.findings.save_site_scan(lease, commit.as_str(), &text).await?;
    Ok(())
}

async fn fetch_base(project: &Project, host: &dyn Host, cache: &Cache) -> forge::Result<Oid> {
    let remote = host.remote();
    if let Some(branch) = &project.base_ref {
        return cache.fetch(&remote, branch, PIN).await;
    }
    match cache.fetch_default(&remote, PIN).await {
        // A repository on this machine doesn't name its default branch.
        Err(forge::Error::NoSuchBranch(_)) => cache.fetch(&remote, &host.default_branch().await?, PIN).await,
        fetched => Ok(fetched?.1),
    }
}

async fn is_scanned(app: &Shared, project: &Project, commit: &Oid) -> anyhow::Result<bool> {
    let Some(last) = app.findings.site_scan(&project.id).await? else { return Ok(false) };
    let scan: Option<SiteScan> = serde_json::from_str(&last.scan).ok();
    let has_same_files = |scan: SiteScan| {
        scan.is_current()
            && (scan.docs_path, scan.allow_paths) == (project.docs_path.clone(), project.allow_paths.clone())
    };
    Ok(last.commit == commit.as_str() && scan.is_some_and(has_same_files))
}

fn scan_tree(tree: CommitTree, project: &Project) -> anyhow::Result<SiteScan> {
    // Globs that can't be parsed allow nothing.
    let allow = Allow::parse(project.allow_paths.iter().map(String::as_str)).unwrap_or_default();
    let index = Arc::new(PathIndex::new(&tree, project.docs_path.as_deref())?);
    let files = Overlay::with_index(tree, index.allow(|path| allow.permits(path)));
    pages::prefetch(&files, &pages::pages(&files))?;
    let site = SiteRedirects::read(&files)?;
    let paths: HashMap<&str, &str> =
        site.pages_with_files().map(|(page, file)| (file, page.route.as_str())).collect();
    let dead_links = broken_links(&files)?.into_iter().filter_map(|link| {
        let page = *paths.get(link.file.as_str())?;
        Some((page.to_owned(), link.missing_path(&site.root)?))
    });
    let pages = site.pages_with_files().map(|(page, file)| ScannedPage {
        path: page.route.clone(),
        file: file.to_owned(),
        title: page.title.clone(),
        changed_on: None,
    });
    let redirects = site.redirects.iter().map(|redirect| (redirect.from.clone(), redirect.to.clone()));
    Ok(SiteScan {
        prefix: site.prefix.configured().map(str::to_owned),
        root: site.root.clone(),
        pages: pages.collect(),
        redirects: redirects.collect(),
        dead_links: dead_links.collect(),
        docs_path: project.docs_path.clone(),
        allow_paths: project.allow_paths.clone(),
        ..SiteScan::new()
    })
}

/// Adds renames, and the day of each page's last change. Renames between contents that weren't compared are guesses, so
/// they are left out.
fn with_history(mut scan: SiteScan, history: &History) -> SiteScan {
    let changed: HashMap<&str, i64> =
        history.last_changed.iter().map(|(path, date)| (path.as_str(), *date)).collect();
    for page in &mut scan.pages {
        page.changed_on = match changed.get(page.file.as_str()) {
            Some(date) => Some(day_of_second(*date)),
            None if history.complete => None,
            // It has not changed since the oldest commit that is known.
            None => (history.since != i64::MAX).then(|| day_of_second(history.since)),
        };
    }
    let paths: HashMap<&str, &str> =
        scan.pages.iter().map(|page| (page.file.as_str(), page.path.as_str())).collect();
    let path_of = |file: &str| {
        paths.get(file).map(|path| (*path).to_owned()).or_else(|| pages::route(file, &scan.root))
    };
    let certain = history.renames.iter().filter(|rename| rename.similarity.is_some());
    let renames = certain.filter_map(|rename| {
        Some((day_of_second(rename.date), path_of(&rename.from)?, path_of(&rename.to)?))
    });
    scan.renames = renames.filter(|(_, from, to)| from != to).collect();
    scan
}
