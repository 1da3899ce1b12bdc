//! The sample docs repository: compiled in, laid out as a bare git repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use include_dir::{Dir, include_dir};

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/sample");

pub(super) struct Sample {
    pub(super) repository: PathBuf,
    /// The paths of its pages on the site.
    pub(super) pages: Vec<String>,
}

/// Bare, so that no branch is checked out and a pull request can be merged by a click.
pub(super) fn create(data: &Path) -> anyhow::Result<Sample> {
    let repository = data.join("sample-docs.git");
    let files = tempfile::tempdir_in(data)?;
    FILES.extract(files.path()).context("the sample could not be written")?;
    git(files.path(), &["init", "--quiet", "--template=", "--initial-branch=main"])?;
    git(files.path(), &["add", "--all"])?;
    git(files.path(), &["commit", "--quiet", "--message=Document Kettle 1.4.2"])?;
    git(files.path(), &["config", "core.bare", "true"])?;
    fs::rename(files.path().join(".git"), &repository)?;
    Ok(Sample { repository, pages: pages() })
}

fn git(files: &Path, args: &[&str]) -> anyhow::Result<()> {
    let output = Command::new("git")
        .args(["-c", "core.hooksPath=/dev/null", "-c", "core.autocrlf=false", "-c", "commit.gpgSign=false"])
        .args(["-c", "user.name=Kettle", "-c", "user.email=docs@kettle.example"])
        .args(args)
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .current_dir(files)
        .stdin(Stdio::null())
        .output()
        .context("the git program is needed; install it")?;
    ensure!(output.status.success(), "git {}: {}", args[0], String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}

fn pages() -> Vec<String> {
    let mut pages = Vec::new();
    if let Some(docs) = FILES.get_dir("docs") {
        collect(docs, &mut pages);
    }
    pages.sort();
    pages
}

fn collect(dir: &Dir<'_>, pages: &mut Vec<String>) {
    for file in dir.files() {
        let path = file.path().with_extension("");
        let kind = file.path().extension().and_then(|kind| kind.to_str());
        if let (Some("md" | "mdx"), Some(path)) = (kind, path.to_str()) {
            let page = path.trim_start_matches("docs").trim_end_matches("index").trim_end_matches('/');
            pages.push(if page.is_empty() { "/".to_owned() } else { page.to_owned() });
        }
    }
    dir.dirs().for_each(|below| collect(below, pages));
}
