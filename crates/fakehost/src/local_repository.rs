//! Creates local repositories for tests without a host. Panics on failure.
#![allow(clippy::expect_used, reason = "for tests alone")]

use std::path::Path;
use std::process::Command;

/// Creates a bare repository with these files on `main`.
pub fn bare_repository(path: &Path, files: &[(impl AsRef<Path>, impl AsRef<[u8]>)]) {
    let work = tempfile::tempdir().expect("a folder to work in");
    for (name, text) in files {
        let file = work.path().join(name);
        std::fs::create_dir_all(file.parent().expect("the file has a parent folder"))
            .expect("a folder for a file");
        std::fs::write(file, text).expect("a file");
    }
    git(work.path(), &["init", "-q", "-b", "main"]);
    git(work.path(), &["add", "-A"]);
    git(work.path(), &["commit", "-q", "--allow-empty", "-m", "Begin"]);
    git(work.path(), &["clone", "-q", "--bare", ".", path.to_str().expect("a path that is text")]);
}

/// Runs git in a folder without the user's configuration, and returns its output.
#[track_caller]
pub fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "protocol.file.allow=always"])
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git runs");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("git speaks UTF-8").trim().to_owned()
}
