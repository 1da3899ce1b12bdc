//! Creates the sample docs repository from files that are compiled in.

mod copy;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use include_dir::{Dir, include_dir};
use pages::FileKind;

pub use copy::copy;

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/sample");

/// The sample's docs folder.
pub const DOCS: &str = "docs";

/// Creates the repository at this path. It's bare, so that no branch is checked out and pull requests can be
/// merged.
pub fn create(repository: &Path) -> anyhow::Result<()> {
    let folder = repository.parent().context("a repository is in a folder")?;
    let files = tempfile::tempdir_in(folder)?;
    FILES.extract(files.path()).context("the sample could not be written")?;
    git(files.path(), &["init", "--quiet", "--template=", "--initial-branch=main"])?;
    git(files.path(), &["add", "--all"])?;
    git(files.path(), &["commit", "--quiet", "--message=Document Kettle 1.4.2"])?;
    git(files.path(), &["config", "core.bare", "true"])?;
    fs::rename(files.path().join(".git"), repository)?;
    // This is the only copy, so it must survive a power cut.
    Ok(forge::sync_tree(repository)?)
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
        .context("git is missing; install it")?;
    ensure!(output.status.success(), "git {}: {}", args[0], String::from_utf8_lossy(&output.stderr).trim());
    Ok(())
}

/// The paths of the sample's pages on the site.
pub fn pages() -> Vec<String> {
    let mut pages = Vec::new();
    if let Some(docs) = FILES.get_dir(DOCS) {
        collect(docs, &mut pages);
    }
    pages.sort();
    pages
}

fn collect(dir: &Dir<'_>, pages: &mut Vec<String>) {
    for file in dir.files() {
        let path = file.path().with_extension("");
        let is_page = file.path().to_str().is_some_and(|path| FileKind::of(path).is_markdown());
        if let Some(path) = path.to_str().filter(|_| is_page) {
            let page = path.trim_start_matches(DOCS).trim_end_matches("index").trim_end_matches('/');
            pages.push(if page.is_empty() { "/".to_owned() } else { page.to_owned() });
        }
    }
    dir.dirs().for_each(|subdir| collect(subdir, pages));
}
