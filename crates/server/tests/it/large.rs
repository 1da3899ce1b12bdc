//! Runs jobs in very large repositories, on a host over HTTP.

use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use fakehost::Kind;

use crate::hosts::HostFixture;
use crate::support::git;

/// Adds a commit to main with `git fast-import`.
fn add_commit(repository: &Path, write: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>) {
    let mut import = Command::new("git")
        .args(["fast-import", "--quiet", "--big-file-threshold=1m"])
        .current_dir(repository)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stream = BufWriter::with_capacity(1 << 20, import.stdin.take().unwrap());
    stream.write_all(b"commit refs/heads/main\ncommitter T <t@example.com> 1700000000 +0000\n").unwrap();
    stream.write_all(b"data 4\nMore\nfrom refs/heads/main^0\n").unwrap();
    write(&mut stream).unwrap();
    stream.flush().unwrap();
    drop(stream);
    assert!(import.wait().unwrap().success());
}

async fn check_job(fixture: &HostFixture) -> String {
    let job = fixture.create("Replace \"one\" with \"eins\".").await;
    fixture.server.run_queued_jobs().await;
    let job = fixture.server.job(&fixture.team, &job["id"]).await;
    let last = fixture.server.events(&fixture.team, &job["id"]).await.pop().unwrap();
    assert_eq!(job["status"], "completed", "{last}");
    assert_eq!(fixture.pulls().await.len(), 1);
    let branch = format!("docwright/{}", job["id"].as_str().unwrap());
    assert_eq!(fixture.file(&branch, "a.md"), "eins two three");
    branch
}

#[tokio::test]
async fn a_job_runs_in_a_repository_of_100_000_files() {
    let fixture = HostFixture::on(Kind::GitHub).await;
    // The repository already has two pages.
    add_commit(&fixture.team.repository, |stream| {
        (0..99_998).try_for_each(|n| writeln!(stream, "M 100644 inline s{}/{n}.txt\ndata 2\nx", n / 100))
    });
    let branch = check_job(&fixture).await;
    let files = git(&fixture.team.repository, &["ls-tree", "-r", "--name-only", &branch]);
    assert_eq!(files.lines().count(), 100_000);
}

#[tokio::test]
async fn a_job_runs_in_a_repository_with_a_file_of_a_gigabyte() {
    let fixture = HostFixture::on(Kind::GitHub).await;
    add_commit(&fixture.team.repository, |stream| {
        writeln!(stream, "M 100644 inline film.mp4\ndata {}", 1 << 30)?;
        (0..1024).try_for_each(|_| stream.write_all(&[0; 1 << 20]))?;
        stream.write_all(b"\n")
    });
    let branch = check_job(&fixture).await;
    let size = git(&fixture.team.repository, &["cat-file", "-s", &format!("{branch}:film.mp4")]);
    assert_eq!(size, (1 << 30).to_string());
}
