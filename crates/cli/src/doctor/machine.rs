//! What the machine gives: git, time, files, room.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::process::{Resource, getrlimit};
use store::Project;

use super::report::Report;

/// A server keeps a few files a client and a job.
const FEW_FILES: u64 = 1_024;
const MIB: u64 = 1024 * 1024;
const LITTLE_ROOM: u64 = 1_024 * MIB;
const NO_ROOM: u64 = 64 * MIB;
/// A job makes a few dozen files.
const FEW_INODES: u64 = 1_000;
/// This program is younger than that.
const LONG_AGO: &str = "2026-01-01T00:00:00Z";

pub(super) async fn git(report: &mut Report) {
    match server::check_git().await {
        Ok(version) => report.ok("git", version),
        Err(error) => report.fail(
            "git",
            error.to_string(),
            "install git 2.38 or newer, where the server's PATH finds it",
        ),
    }
}

pub(super) fn clock(report: &mut Report) {
    let now = Timestamp::now();
    let wrong = LONG_AGO.parse::<Timestamp>().is_ok_and(|then| now < then);
    match wrong {
        false => report.ok("clock", format!("{now:.0}")),
        true => report.fail(
            "clock",
            format!("{now:.0} is long ago"),
            "set the clock: keys, sessions and page views go by it",
        ),
    }
}

pub(super) fn open_files(report: &mut Report) {
    // No number is no limit.
    let most = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    match most {
        u64::MAX => report.ok("open files", "no limit"),
        FEW_FILES.. => report.ok("open files", format!("{most} at once")),
        _ => report.warn(
            "open files",
            format!("{most} at once is few"),
            "raise the limit to 4096 or more: `ulimit -Hn`, or LimitNOFILE= of the service",
        ),
    }
}

/// Ours, closed to others, and writable.
pub(super) fn directory(report: &mut Report, path: &Path) {
    let shown = path.display();
    let Ok(found) = std::fs::metadata(path) else {
        return report.fail("data directory", format!("{shown} cannot be looked at"), "check its path");
    };
    let us = rustix::process::geteuid().as_raw();
    if found.uid() != us {
        let whose = format!("{shown} is of user {}, and you are {us}", found.uid());
        return report.fail("data directory", whose, "run docwright as the user that the server runs as");
    }
    if let Err(error) = tempfile::tempfile_in(path) {
        let advice = "make it writable for its owner, or choose another with --data";
        return report.fail("data directory", format!("{shown} cannot be written: {error}"), advice);
    }
    match found.mode() & 0o077 {
        0 => report.ok("data directory", shown.to_string()),
        _ => report.warn(
            "data directory",
            format!("{shown} is open to other users (mode {:o})", found.mode() & 0o777),
            format!("chmod 700 {shown}"),
        ),
    }
}

pub(super) fn disk(report: &mut Report, path: &Path) {
    let advice = "make room: a full disk stops jobs and page views until there is some";
    free_space(report, "disk space", path, "", advice);
}

/// Those of the caches and of repositories on this machine, once each; the data directory's own is looked at already.
pub(super) fn repository_disks<'a>(
    report: &mut Report,
    data: &Path,
    projects: impl Iterator<Item = &'a Project>,
) {
    let device = |path: &Path| std::fs::metadata(path).map(|found| found.dev()).ok();
    let mut seen: Vec<_> = device(data).into_iter().collect();
    let repositories = projects.map(|project| PathBuf::from(&project.repository));
    for path in std::iter::once(data.join("repos")).chain(repositories) {
        let path = path.as_path();
        let Some(disk) = device(path).filter(|disk| !seen.contains(disk)) else { continue };
        seen.push(disk);
        let advice = "make room: a full disk stops jobs and merges there until there is some";
        free_space(report, "repository disk", path, &format!("{}: ", path.display()), advice);
    }
}

fn free_space(report: &mut Report, name: &'static str, path: &Path, label: &str, advice: &str) {
    let Ok(found) = rustix::fs::statvfs(path) else {
        return report.warn(name, format!("{label}is not known"), "look at it with `df`");
    };
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    // A file system without a fixed number of inodes says 0 of 0.
    let files = if found.f_files == 0 { u64::MAX } else { found.f_favail };
    let told = match files {
        ..FEW_INODES => format!("{label}{} MiB free, and {files} inodes", free / MIB),
        _ => format!("{label}{} MiB free", free / MIB),
    };
    match (free, files) {
        (_, 0) => report.fail(name, format!("{label}no room for another file"), advice),
        (..NO_ROOM, _) => report.fail(name, told, advice),
        (NO_ROOM..LITTLE_ROOM, _) | (_, ..FEW_INODES) => report.warn(name, told, advice),
        _ => report.ok(name, told),
    }
}
