//! Checks whether a server runs on this data directory and is ready.

use std::path::{Path, PathBuf};
use std::time::Duration;

use store::DataDir;

use super::report::Report;
use crate::{client, output};

const READY_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) async fn check_local_server(report: &mut Report, dir: &DataDir) {
    check_deleted_files(report, dir.path());
    if !dir.is_locked() {
        return report_no_server(report, dir).await;
    }
    let Some(url) = dir.url() else {
        return report.warn("server", "a server is starting", "check again in a few seconds");
    };
    if let Some(sentence) = dir.untrusted_proxy() {
        report.warn("proxy", sentence, "set trusted_proxies, and restart the server");
    }
    match check_ready(&url).await {
        Ok(None) => report.ok("server", format!("runs and is ready at {url}")),
        // What it says is checked with the data directory.
        Ok(Some(_)) => report.ok("server", format!("runs at {url} and is ready for most requests")),
        Err(Unready::Reported(reason)) => {
            report.fail("server", format!("{url}: {reason}"), "do what the message says")
        }
        Err(Unready::NoAnswer(reason)) if client::is_untrusted(&reason) => report.warn(
            "server",
            format!("runs at {url}, but its certificate is not trusted on this machine: {reason}"),
            "set SSL_CERT_FILE to a PEM file with the certificate of its authority, and check again",
        ),
        Err(Unready::NoAnswer(reason)) => report.fail(
            "server",
            format!("runs, but {url} does not answer: {reason}"),
            "read its log; behind a proxy, check that --public-url is right",
        ),
    }
}

/// A server whose lock file was deleted still answers, and so does a server on another directory.
async fn report_no_server(report: &mut Report, dir: &DataDir) {
    if let Some(url) = dir.url()
        && check_ready(&url).await.is_ok()
    {
        return report.warn(
            "server",
            format!("a server answers at {url}, but does not use this data directory"),
            "if it should use it, somebody replaced the directory while it ran: restart it",
        );
    }
    let advice = format!("docwright serve{}", report.repeat_flags);
    report.warn("server", "no server runs on this data directory", advice);
}

/// Reports servers whose files in this directory were deleted or replaced, as far as this user can see them.
pub(super) fn check_deleted_files(report: &mut Report, directory: &Path) {
    for process in processes_with_deleted_files(directory) {
        report.fail(
            "server",
            format!(
                "process {process} uses files of {} that were deleted or replaced: it accepts no writes",
                directory.display()
            ),
            format!(
                "if you have no backup, its open files are the last copy: save them from /proc/{process}/fd. Then stop it, restore the data directory and start it again"
            ),
        );
    }
}

/// Finds processes by their open files in `/proc`; finds none on systems without it.
fn processes_with_deleted_files(directory: &Path) -> Vec<u32> {
    let deleted: Vec<_> = ["lock", "docwright.db", "views.db"]
        .map(|name| format!("{} (deleted)", resolve(directory).join(name).display()))
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

/// Resolves links in the path, also if the directory no longer exists.
fn resolve(directory: &Path) -> PathBuf {
    let absolute = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let by_parent = || Some(absolute.parent()?.canonicalize().ok()?.join(absolute.file_name()?));
    absolute.canonicalize().ok().or_else(by_parent).unwrap_or(absolute)
}

/// Checks the server for commands over HTTP.
pub(super) async fn check_url(report: &mut Report, url: &str) {
    match check_ready(url).await {
        Ok(None) => report.ok("DOCWRIGHT_URL", format!("{url} is ready")),
        Ok(Some(trouble)) => {
            report.warn("DOCWRIGHT_URL", format!("{url} is ready, {trouble}"), "do what the message says")
        }
        Err(Unready::Reported(reason)) => {
            report.fail("DOCWRIGHT_URL", format!("{url}: {reason}"), "do what the message says")
        }
        Err(Unready::NoAnswer(reason)) => report.fail(
            "DOCWRIGHT_URL",
            format!("{url} does not answer: {reason}"),
            "start that server, or set DOCWRIGHT_URL to its address",
        ),
    }
}

/// Why a server is not ready.
enum Unready {
    /// The server's own message, which says what to do.
    Reported(String),
    /// Nothing answers, or another program does.
    NoAnswer(String),
}

/// What a server that is ready says besides.
async fn check_ready(url: &str) -> Result<Option<String>, Unready> {
    let (client, base) =
        client::create_http_client(url).map_err(|error| Unready::NoAnswer(error.to_string()))?;
    let request = client.get(format!("{base}/readyz")).timeout(READY_TIMEOUT);
    let response = request.send().await.map_err(|error| Unready::NoAnswer(output::root_cause(&error)))?;
    let status = response.status();
    let body = response.text().await.unwrap_or_default();
    if let Some(rest) = body.strip_prefix("ready\n").filter(|_| status.is_success()) {
        return Ok(Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty()));
    }
    match serde_json::from_str::<wire::Error>(&body) {
        Ok(wire::Error { error, .. }) if status.as_u16() == 503 => Err(Unready::Reported(error)),
        _ => Err(Unready::NoAnswer(format!("/readyz answers {status}, and not as a Docwright server does"))),
    }
}
