//! Checks the machine: git, the clock, open files, the data directory and free disk space.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::process::{Resource, getrlimit};
use store::Project;

use super::report::Report;

/// A server opens a few files per client and job.
const MIN_OPEN_FILES: u64 = 1_024;
const MIB: u64 = 1024 * 1024;
const LOW_SPACE_BYTES: u64 = 1_024 * MIB;
const CRITICAL_SPACE_BYTES: u64 = 64 * MIB;
/// A job creates a few dozen files.
const LOW_INODES: u64 = 1_000;
/// Before the first release of this program.
const EARLIEST_TIME: &str = "2026-01-01T00:00:00Z";

pub(super) async fn check_git(report: &mut Report) {
    match server::check_git().await {
        Ok(version) => report.ok("git", version),
        Err(error) => report.fail(
            "git",
            error.to_string(),
            "install git 2.38 or newer in a directory of the server's PATH",
        ),
    }
}

pub(super) fn check_clock(report: &mut Report) {
    let now = Timestamp::now();
    let is_wrong = EARLIEST_TIME.parse::<Timestamp>().is_ok_and(|earliest| now < earliest);
    match is_wrong {
        false => report.ok("clock", format!("{now:.0}")),
        true => report.fail(
            "clock",
            format!("{now:.0} is before the first release of Docwright"),
            "set the clock: API keys, sessions and page views depend on it",
        ),
    }
}

pub(super) fn check_open_files(report: &mut Report) {
    // `None` is no limit.
    let limit = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    match limit {
        u64::MAX => report.ok("open files", "no limit"),
        MIN_OPEN_FILES.. => report.ok("open files", format!("up to {limit}")),
        _ => report.warn(
            "open files",
            format!("up to {limit}, which is too few"),
            "raise the limit to 4096 or more, with `ulimit -Hn` or LimitNOFILE= of the service",
        ),
    }
}

/// Checks that the directory belongs to this user, is closed to others, and is writable.
pub(super) fn check_directory(report: &mut Report, path: &Path) {
    let name = path.display();
    let Ok(metadata) = std::fs::metadata(path) else {
        return report.fail(
            "data directory",
            format!("{name} cannot be read"),
            "check its path and its permissions",
        );
    };
    let user = rustix::process::geteuid().as_raw();
    if metadata.uid() != user {
        let message = format!("{name} belongs to user {}, and you are user {user}", metadata.uid());
        return report.fail("data directory", message, "run docwright as the user that the server runs as");
    }
    if let Err(error) = tempfile::tempfile_in(path) {
        let advice = "make it writable for its owner, or set --data to another directory";
        return report.fail("data directory", format!("{name} cannot be written: {error}"), advice);
    }
    match metadata.mode() & 0o077 {
        0 => report.ok("data directory", name.to_string()),
        _ => report.warn(
            "data directory",
            format!("{name} is open to other users (mode {:o})", metadata.mode() & 0o777),
            format!("chmod 700 {name}"),
        ),
    }
}

pub(super) fn check_disk(report: &mut Report, path: &Path) {
    let advice = "free some space: a full disk stops jobs and page views";
    check_free_space(report, "disk space", path, "", advice);
}

/// Checks the disks of the caches and of repositories on this machine, once each, except the disk of the data directory.
pub(super) fn check_repository_disks<'a>(
    report: &mut Report,
    data: &Path,
    projects: impl Iterator<Item = &'a Project>,
) {
    let device = |path: &Path| std::fs::metadata(path).map(|metadata| metadata.dev()).ok();
    let mut checked: Vec<_> = device(data).into_iter().collect();
    let repositories = projects.map(|project| PathBuf::from(&project.repository));
    for path in std::iter::once(data.join("repos")).chain(repositories) {
        let path = path.as_path();
        let Some(disk) = device(path).filter(|disk| !checked.contains(disk)) else { continue };
        checked.push(disk);
        let advice = "free some space: a full disk stops jobs and merges there";
        check_free_space(report, "repository disk", path, &format!("{}: ", path.display()), advice);
    }
}

fn check_free_space(report: &mut Report, name: &'static str, path: &Path, label: &str, advice: &str) {
    let Ok(stats) = rustix::fs::statvfs(path) else {
        return report.warn(name, format!("{label}is unknown"), "check it with `df`");
    };
    let free = stats.f_bavail.saturating_mul(stats.f_frsize);
    // A file system without a fixed number of inodes reports 0 of 0.
    let inodes = if stats.f_files == 0 { u64::MAX } else { stats.f_favail };
    let message = match inodes {
        ..LOW_INODES => format!("{label}{} MiB free, and {inodes} inodes", free / MIB),
        _ => format!("{label}{} MiB free", free / MIB),
    };
    match (free, inodes) {
        (_, 0) => report.fail(name, format!("{label}no free inodes, so no file can be created"), advice),
        (..CRITICAL_SPACE_BYTES, _) => report.fail(name, message, advice),
        (CRITICAL_SPACE_BYTES..LOW_SPACE_BYTES, _) | (_, ..LOW_INODES) => report.warn(name, message, advice),
        _ => report.ok(name, message),
    }
}
