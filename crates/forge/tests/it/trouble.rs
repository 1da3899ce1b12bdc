//! A machine in trouble is told as such: it is no damage of the cache and no fault of the repository, and everything
//! goes on when it is over.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;

use forge::{Cache, Error};

use crate::support::{Repo, commit, edits};

const CHILD: &str = "DOCWRIGHT_TEST_FEW_FILES";
/// More than the test needs, and soon used up.
const FILES: &str = "96";

/// Runs one test of this binary in a process of its own that may open few files.
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
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

/// All the files that can be opened.
fn every_descriptor() -> Vec<File> {
    std::iter::from_fn(|| File::open("/dev/null").ok()).collect()
}

#[track_caller]
fn check<T>(result: Result<T, Error>) {
    let error = result.err().unwrap();
    assert!(matches!(error, Error::Machine(_)), "{error:?}");
    assert!(error.to_string().starts_with("the server has too many open files; raise"), "{error}");
}

fn is_the_same(dir: &Path, inode: u64) -> bool {
    fs::metadata(dir).unwrap().ino() == inode && !dir.join("docwright-suspect").exists()
}

#[test]
fn too_few_descriptors_are_no_damage() {
    match std::env::var_os(CHILD) {
        None => with_few_files("trouble::too_few_descriptors_are_no_damage"),
        Some(_) => tokio::runtime::Runtime::new().unwrap().block_on(few_descriptors()),
    }
}

async fn few_descriptors() {
    let repo = Repo::new();
    let (cache, remote, dir) = (repo.cache().await, repo.remote(), repo.beside("cache/p.git"));
    let base = cache.fetch(&remote, "main", "job-1").await.unwrap();
    let files = cache.snapshot(&base).unwrap();
    let all = every_descriptor();
    check(files.read("guides/install.md", usize::MAX));
    check(files.entries());
    drop((all, files));
    // Now in a pack, which gix takes for none when it cannot open it.
    crate::support::git(&dir, &["gc", "-q"]);
    let cache = Cache::open(&dir).await.unwrap();
    let inode = fs::metadata(&dir).unwrap().ino();
    let change = edits(&[("index.md", Some("# New\n"))]);

    let all = every_descriptor();
    check(cache.contains(&base));
    check(cache.snapshot(&base));
    check(commit(&cache, &base, &change));
    check(cache.fetch(&remote, "main", "job-1").await);
    check(cache.fetch_commit(&remote, &base, "job-2").await);
    check(Cache::open(&dir).await);
    check(cache.tip(&remote, "main").await);
    drop(all);

    assert!(is_the_same(&dir, inode), "the cache was taken for damaged");
    let new = commit(&cache, &base, &change).unwrap();
    let all = every_descriptor();
    check(cache.push(&remote, &new, "docwright/job-1", None).await);
    drop(all);
    cache.push(&remote, &new, "docwright/job-1", None).await.unwrap();
    assert_eq!(repo.tip("docwright/job-1"), new);
    assert!(is_the_same(&dir, inode));
}

/// What is damaged is still told, and made anew.
#[tokio::test]
async fn damage_is_still_damage() {
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
