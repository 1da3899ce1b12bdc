//! Tests that machine trouble, such as too many open files, is reported as such and not as damage of the
//! cache, and that work continues afterwards.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;

use forge::{Cache, Error};

use crate::support::{Repo, commit, edits};

const CHILD: &str = "DOCWRIGHT_TEST_FEW_FILES";
/// Enough for the test, and quickly exhausted.
const FILES: &str = "96";

/// Runs one test of this binary in a separate process with a low limit of open files.
fn with_few_files(test: &str) {
    let program = std::env::current_exe().unwrap();
    let limited = format!("ulimit -n {FILES}; exec \"$0\" \"$@\"");
    let output = Command::new("sh")
        .args(["-c", &limited])
        .arg(program)
        .args(["--exact", test, "--nocapture", "--test-threads", "1"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let output_text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && output_text.contains("1 passed"), "{output_text}");
}

/// Opens files until the limit is reached.
fn exhaust_descriptors() -> Vec<File> {
    std::iter::from_fn(|| File::open("/dev/null").ok()).collect()
}

#[track_caller]
fn check<T>(result: Result<T, Error>) {
    let error = result.err().unwrap();
    assert!(matches!(error, Error::Machine(_)), "{error:?}");
    assert!(error.to_string().starts_with("the server has too many open files; raise"), "{error}");
}

fn is_unchanged(dir: &Path, inode: u64) -> bool {
    fs::metadata(dir).unwrap().ino() == inode && !dir.join("docwright-suspect").exists()
}

#[test]
fn too_few_descriptors_are_not_damage() {
    match std::env::var_os(CHILD) {
        None => with_few_files("machine_trouble::too_few_descriptors_are_not_damage"),
        Some(_) => tokio::runtime::Runtime::new().unwrap().block_on(few_descriptors()),
    }
}

async fn few_descriptors() {
    let repo = Repo::new();
    let (cache, remote, dir) = (repo.cache().await, repo.remote(), repo.beside("cache/p.git"));
    let base = cache.fetch(&remote, "main", "job-1").await.unwrap();
    let files = cache.snapshot(&base).unwrap();
    let all = exhaust_descriptors();
    check(files.read("guides/install.md", usize::MAX));
    check(files.entries());
    drop((all, files));
    // Now the objects are in a packfile. gix treats a packfile that it cannot open as missing.
    crate::support::git(&dir, &["gc", "-q"]);
    let cache = Cache::open(&dir).await.unwrap();
    let inode = fs::metadata(&dir).unwrap().ino();
    let change = edits(&[("index.md", Some("# New\n"))]);

    let all = exhaust_descriptors();
    check(cache.contains(&base));
    check(cache.snapshot(&base));
    check(commit(&cache, &base, &change));
    check(cache.fetch(&remote, "main", "job-1").await);
    check(cache.fetch_commit(&remote, &base, "job-2").await);
    check(Cache::open(&dir).await);
    check(cache.tip(&remote, "main").await);
    drop(all);

    assert!(is_unchanged(&dir, inode), "the cache was treated as damaged");
    let new = commit(&cache, &base, &change).unwrap();
    let all = exhaust_descriptors();
    check(cache.push(&remote, &new, "docwright/job-1", None).await);
    drop(all);
    cache.push(&remote, &new, "docwright/job-1", None).await.unwrap();
    assert_eq!(repo.tip("docwright/job-1"), new);
    assert!(is_unchanged(&dir, inode));
}

/// Real damage is still reported and repaired.
#[tokio::test]
async fn real_damage_is_reported_and_repaired() {
    let repo = Repo::new();
    let (cache, remote, dir) = (repo.cache().await, repo.remote(), repo.beside("cache/p.git"));
    let base = cache.fetch(&remote, "main", "job-1").await.unwrap();
    fs::remove_dir_all(dir.join("objects")).unwrap();
    fs::create_dir(dir.join("objects")).unwrap();
    assert!(!cache.contains(&base).unwrap());
    assert!(matches!(cache.snapshot(&base).err().unwrap(), Error::Damaged(_)));
    assert_eq!(cache.fetch(&remote, "main", "job-1").await.unwrap(), base);
    assert!(cache.contains(&base).unwrap());
}
