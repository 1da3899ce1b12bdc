//! What the machine gives: git, time, files, room.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use jiff::Timestamp;
use rustix::process::{Resource, getrlimit};

use super::report::Report;

/// A server keeps a few files a client and a job.
const FEW_FILES: u64 = 1_024;
const MIB: u64 = 1024 * 1024;
const LITTLE_ROOM: u64 = 1_024 * MIB;
const NO_ROOM: u64 = 64 * MIB;
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
    let Ok(found) = rustix::fs::statvfs(path) else {
        return report.warn("disk space", "is not known", "look at it with `df`");
    };
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let told = format!("{} MiB free", free / MIB);
    let advice = "make room: a full disk stops jobs and page views until there is some";
    match free {
        _ if found.f_files > 0 && found.f_favail == 0 => {
            report.fail("disk space", "no room for another file", advice);
        }
        ..NO_ROOM => report.fail("disk space", told, advice),
        NO_ROOM..LITTLE_ROOM => report.warn("disk space", told, advice),
        _ => report.ok("disk space", told),
    }
}
