//! Whether a server runs on this data directory, and answers.

use std::path::{Path, PathBuf};
use std::time::Duration;

use store::DataDir;

use super::report::Report;
use crate::{client, output};

const PATIENCE: Duration = Duration::from_secs(5);

pub(super) async fn here(report: &mut Report, dir: &DataDir) {
    left_behind(report, dir.path());
    if !dir.is_locked() {
        return none_here(report, dir).await;
    }
    let Some(url) = dir.url() else {
        return report.warn("server", "one is starting just now", "look again in a moment");
    };
    if let Some(sentence) = dir.untrusted_proxy() {
        report.warn("proxy", sentence, "set trusted_proxies, and start the server again");
    }
    match ready(&url).await {
        Ok(()) => report.ok("server", format!("runs and is ready at {url}")),
        Err(Unready::Says(why)) => report.fail("server", format!("{url}: {why}"), "do what it says"),
        Err(Unready::Silent(why)) => report.fail(
            "server",
            format!("runs, but {url} does not answer: {why}"),
            "read its log; behind a proxy, check that --public-url leads to it",
        ),
    }
}

/// One whose lock was deleted answers all the same, and so does one on another directory.
async fn none_here(report: &mut Report, dir: &DataDir) {
    if let Some(url) = dir.url()
        && ready(&url).await.is_ok()
    {
        return report.warn(
            "server",
            format!("a server answers at {url}, but does not hold this data directory"),
            "if it is meant to be this one's, the directory was replaced under it: stop it and start it again",
        );
    }
    let advice = format!("docwright serve{}", report.again);
    report.warn("server", "none runs on this data directory", advice);
}

/// Servers whose files in this directory were deleted or replaced, as far as this user can see them.
pub(super) fn left_behind(report: &mut Report, directory: &Path) {
    for process in processes_with_deleted_files(directory) {
        report.fail(
            "server",
            format!(
                "process {process} uses files of {} that were deleted or replaced: it takes no writes",
                directory.display()
            ),
            format!(
                "without a backup, its open files are the last copy: save them from /proc/{process}/fd; then stop it, restore the data directory and start it again"
            ),
        );
    }
}

/// By their open files, as `/proc` of Linux shows them; none where there is no such thing.
fn processes_with_deleted_files(directory: &Path) -> Vec<u32> {
    let deleted: Vec<_> = ["lock", "docwright.db", "views.db"]
        .map(|name| format!("{} (deleted)", resolved(directory).join(name).display()))
        .into();
    let has_deleted = |process: &u32| {
        let files = std::fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
        let mut names = files.filter_map(|file| std::fs::read_link(file.path()).ok());
        names.any(|name| deleted.iter().any(|deleted| name.as_os_str() == deleted.as_str()))
    };
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.filter(|id| *id != std::process::id()).filter(has_deleted).collect()
}

/// The path without links, also of a directory that is gone.
fn resolved(directory: &Path) -> PathBuf {
    let whole = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let of_parent = || Some(whole.parent()?.canonicalize().ok()?.join(whole.file_name()?));
    whole.canonicalize().ok().or_else(of_parent).unwrap_or(whole)
}

/// The one that the client commands talk to.
pub(super) async fn named(report: &mut Report, url: &str) {
    match ready(url).await {
        Ok(()) => report.ok("DOCWRIGHT_URL", format!("{url} is ready")),
        Err(Unready::Says(why)) => report.fail("DOCWRIGHT_URL", format!("{url}: {why}"), "do what it says"),
        Err(Unready::Silent(why)) => report.fail(
            "DOCWRIGHT_URL",
            format!("{url} does not answer: {why}"),
            "start that server, or set DOCWRIGHT_URL to where it runs",
        ),
    }
}

/// Why a server is not ready.
enum Unready {
    /// Its own sentence, with what to do.
    Says(String),
    /// Nobody answers, or somebody else does.
    Silent(String),
}

async fn ready(url: &str) -> Result<(), Unready> {
    let (client, base) = client::http(url).map_err(|error| Unready::Silent(error.to_string()))?;
    let request = client.get(format!("{base}/readyz")).timeout(PATIENCE);
    let answer = request.send().await.map_err(|error| Unready::Silent(output::root_cause(&error)))?;
    let status = answer.status();
    let body = answer.text().await.unwrap_or_default();
    if status.is_success() && body.trim() == "ready" {
        return Ok(());
    }
    match serde_json::from_str::<wire::Error>(&body) {
        Ok(wire::Error { error, .. }) if status.as_u16() == 503 => Err(Unready::Says(error)),
        _ => Err(Unready::Silent(format!(
            "/readyz answers {status}, and not as Docwright does when it is ready"
        ))),
    }
}
