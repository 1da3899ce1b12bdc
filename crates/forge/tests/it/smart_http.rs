//! Tests git over smart HTTP with the real `git http-backend` behind a fake host.

mod attacks;
mod history;
mod malformed_responses;
mod on_demand;
mod refusals;
mod scripted_host;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use fakehost::{Access, Effect, FakeHost, Kind};
use forge::{Cache, Credentials, Error, HttpRemote, Oid, Remote, Result};
use net::{NetworkPolicy, Secret};
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};

use crate::support::{commit, edits, git, script, tree};

const CANARY: &str = "canary-3a9b15f-token";
const NAME: &str = "acme/docs";
const HEAD: &str = "docwright/job-1";

/// Credentials with a fixed token, or none.
struct Bearer(Option<&'static str>);

#[async_trait]
impl Credentials for Bearer {
    async fn token(&self) -> Result<Option<Secret>> {
        Ok(self.0.and_then(Secret::parse))
    }
}

fn remote(url: &str, token: Option<&'static str>) -> HttpRemote {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = net::client(NetworkPolicy { allow_private: true, use_proxy: false }).build().unwrap();
    HttpRemote::new(http, url.parse().unwrap(), Arc::new(Bearer(token)))
}

/// A host with one repository, and a cache of it.
struct Site {
    host: FakeHost,
    /// The repository, on the host's side.
    git_dir: PathBuf,
    temp_dir: TempDir,
    cache: Cache,
    remote: Remote,
}

impl Site {
    async fn new() -> Self {
        Self::with(&[("index.md", "# Home\n"), ("guides/install.md", "Run `npm i acme`.\n")]).await
    }

    async fn with(files: &[(&str, &str)]) -> Self {
        let host = FakeHost::start(Kind::GitHub).await;
        let repo = host.repository(NAME, files).await;
        Self::of(host, repo).await
    }

    /// A host with a mirror of a local repository.
    async fn mirror(from: &Path) -> Self {
        let host = FakeHost::start(Kind::GitHub).await;
        let repo = host.mirror(NAME, from).await;
        Self::of(host, repo).await
    }

    async fn of(host: FakeHost, repo: fakehost::Repo) -> Self {
        net::quote_test_host(host.url().trim_start_matches("http://").parse().unwrap());
        host.token(CANARY, Access::Full);
        let temp_dir = tempfile::tempdir().unwrap();
        let cache = Cache::open(&temp_dir.path().join("p.git")).await.unwrap();
        let remote = Remote::Http(remote(&repo.clone_url, Some(CANARY)));
        Self { host, git_dir: repo.git_dir, temp_dir, cache, remote }
    }

    fn dir(&self) -> PathBuf {
        self.temp_dir.path().join("p.git")
    }

    async fn fetch(&self, pin: &str) -> Result<Oid> {
        self.cache.fetch(&self.remote, "main", pin).await
    }

    async fn push(&self, commit: &Oid, branch: &str, from: Option<&Oid>) -> Result<()> {
        self.cache.push(&self.remote, commit, branch, from).await
    }

    fn edit(&self, base: &Oid, text: &str) -> Oid {
        commit(&self.cache, base, &edits(&[("guides/install.md", Some(text))])).unwrap()
    }

    fn tip(&self, branch: &str) -> Option<Oid> {
        self.host.tip(NAME, branch).map(|tip| Oid::parse(&tip).unwrap())
    }

    /// The requests after the first `since`, as `METHOD path`.
    fn requests_since(&self, since: u64) -> Vec<String> {
        let short = |path: &str| path.trim_start_matches("/acme/docs.git/").to_owned();
        let seen = self.host.requests().into_iter().skip(usize::try_from(since).unwrap());
        seen.map(|seen| format!("{} {}", seen.method, short(&seen.path))).collect()
    }

    /// The sizes of the cache's packfiles, largest first.
    fn packs(&self) -> Vec<u64> {
        let entries = fs::read_dir(self.dir().join("objects/pack")).unwrap().map(|entry| entry.unwrap());
        let packs = entries.filter(|entry| entry.path().extension().is_some_and(|kind| kind == "pack"));
        let mut sizes: Vec<_> = packs.map(|pack| pack.metadata().unwrap().len()).collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        sizes
    }

    /// Checks the cache with `git fsck`, and that no temporary files are left.
    fn assert_sound(&self) {
        assert_eq!(git(&self.dir(), &["fsck", "--strict", "--no-dangling"]), "");
        let left = fs::read_dir(self.dir().join("objects/pack")).unwrap();
        let left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let left: Vec<_> = left.filter(|name| name.starts_with("tmp_")).collect();
        assert!(left.is_empty() && !self.dir().join("shallow.lock").exists(), "{left:?}");
    }
}

#[tokio::test]
async fn an_edit_is_fetched_committed_and_pushed() {
    let site = Site::new().await;
    site.host.push(NAME, "main", &[("index.md", "# Newer\n")]).await;
    let base = site.fetch("job-1").await.unwrap();
    assert_eq!(Some(&base), site.tip("main").as_ref());
    let files = site.cache.snapshot(&base).unwrap();
    assert_eq!(files.read("index.md", usize::MAX).unwrap().unwrap(), b"# Newer\n");
    assert_eq!(git(&site.dir(), &["rev-list", "--count", base.as_str()]), "1");

    let new = site.edit(&base, "Run `pnpm add acme`.\n");
    site.push(&new, HEAD, None).await.unwrap();
    assert_eq!(site.tip(HEAD).as_ref(), Some(&new));
    assert_eq!(site.cache.tip(&site.remote, HEAD).await.unwrap(), Some(new.clone()));
    assert_eq!(git(&site.git_dir, &["show", &format!("{HEAD}:guides/install.md")]), "Run `pnpm add acme`.");
    assert_eq!(git(&site.git_dir, &["fsck", "--strict", "--no-dangling"]), "");
    site.assert_sound();

    // A second push to the branch, twice.
    let more = site.edit(&new, "Run `pnpm add acme` twice.\n");
    site.push(&more, HEAD, Some(&new)).await.unwrap();
    site.push(&more, HEAD, Some(&new)).await.unwrap();
    assert_eq!(site.tip(HEAD), Some(more));
}

#[tokio::test]
async fn cached_commits_are_not_requested_again() {
    let site = Site::new().await;
    let base = site.fetch("job-1").await.unwrap();
    assert_eq!(site.requests_since(0), ["POST git-upload-pack", "POST git-upload-pack"]);

    let before = site.host.request_count();
    assert_eq!(site.fetch("job-2").await.unwrap(), base);
    assert_eq!(site.requests_since(before), ["POST git-upload-pack"]);
    assert_eq!(git(&site.dir(), &["rev-parse", "refs/docwright/pins/job-2"]), base.as_str());

    let before = site.host.request_count();
    let new = site.edit(&base, "x");
    site.push(&new, HEAD, None).await.unwrap();
    let push = ["GET info/refs?service=git-receive-pack", "POST git-receive-pack"];
    assert_eq!(site.requests_since(before), push);
    // The cache has its own pushed commits, so a follow-up fetches nothing.
    let before = site.host.request_count();
    assert_eq!(site.cache.fetch(&site.remote, HEAD, "job-1").await.unwrap(), new);
    assert_eq!(site.requests_since(before), ["POST git-upload-pack"]);
}

/// Starts a proxy that counts connections.
async fn counting_proxy(host: &str) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    net::quote_test_host(listener.local_addr().unwrap());
    let (count, host) = (Arc::new(AtomicUsize::new(0)), host.trim_start_matches("http://").to_owned());
    let counter = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            counter.fetch_add(1, Ordering::Relaxed);
            let mut server = TcpStream::connect(&host).await.unwrap();
            tokio::spawn(async move { tokio::io::copy_bidirectional(&mut client, &mut server).await });
        }
    });
    (url, count)
}

#[tokio::test]
async fn one_connection_serves_a_whole_job() {
    let site = Site::new().await;
    let (url, count) = counting_proxy(site.host.url()).await;
    let remote = Remote::Http(remote(&format!("{url}/{NAME}.git"), Some(CANARY)));
    for n in 0..3 {
        site.host.push(NAME, "main", &[("index.md", &format!("# {n}\n"))]).await;
        let base = site.cache.fetch(&remote, "main", "job-1").await.unwrap();
        let head = format!("docwright/{n}");
        assert_eq!(site.cache.tip(&remote, &head).await.unwrap(), None);
        let new = site.edit(&base, &head);
        site.cache.push(&remote, &new, &head, None).await.unwrap();
    }
    assert_eq!(count.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_fetch_of_a_moved_branch_transfers_only_new_objects() {
    let noise = |n: u32| format!("{n} {}\n", "Words that differ from page to page. ".repeat(n as usize % 9));
    let texts: Vec<_> = (0..5000).map(|n| (format!("s{}/p{n}.md", n % 50), noise(n))).collect();
    let files: Vec<_> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let site = Site::with(&files).await;
    let first = site.fetch("job-1").await.unwrap();
    assert_eq!(site.cache.snapshot(&first).unwrap().entries().unwrap().len(), 5000);

    site.host.push(NAME, "main", &[("s1/p1.md", "Changed\n")]).await;
    let second = site.fetch("job-2").await.unwrap();
    assert_ne!(first, second);
    let packs = site.packs();
    assert!(packs.len() == 2 && packs[1] * 20 < packs[0], "{packs:?}");
    let files = site.cache.snapshot(&second).unwrap();
    assert_eq!(files.entries().unwrap().len(), 5000);
    assert_eq!(files.read("s1/p1.md", usize::MAX).unwrap().unwrap(), b"Changed\n");
    site.assert_sound();

    // A push sends only the changed objects: the blob, two trees and the commit.
    let new = commit(&site.cache, &second, &edits(&[("s2/p2.md", Some("Mine\n"))])).unwrap();
    site.push(&new, HEAD, None).await.unwrap();
    let sent = site.host.requests().last().unwrap().body_bytes;
    assert!(sent < 8 << 10, "{sent} bytes");
    assert_eq!(tree(&site.dir(), &new), tree(&site.dir(), &second));
}

#[tokio::test]
async fn a_branch_at_an_already_fetched_ancestor_can_be_changed() {
    let site = Site::new().await;
    site.fetch("job-1").await.unwrap();
    for behind in [1, 2] {
        for n in 0..5 {
            site.host.push(NAME, "main", &[("index.md", &format!("# {behind} {n}\n"))]).await;
        }
        site.fetch("job-1").await.unwrap();
        let older = format!("main~{behind}");
        git(&site.git_dir, &["branch", "-f", "release", &older]);
        let base = site.cache.fetch(&site.remote, "release", "job-2").await.unwrap();
        assert_eq!(base.as_str(), git(&site.git_dir, &["rev-parse", &older]));
        let new = site.edit(&base, "Mine\n");
        site.push(&new, &format!("docwright/{behind}"), None).await.unwrap();
        site.assert_sound();
    }
}

#[tokio::test]
async fn a_missing_commit_found_by_a_push_is_repaired_by_the_next_fetch() {
    let site = Site::new().await;
    site.host.push(NAME, "main", &[("index.md", "# Newer\n")]).await;
    let base = site.fetch("job-1").await.unwrap();
    let new = site.edit(&base, "Mine\n");
    let list = site.dir().join("shallow");
    fs::write(&list, fs::read_to_string(&list).unwrap().replace(&format!("{base}\n"), "")).unwrap();
    assert!(matches!(site.push(&new, HEAD, None).await, Err(Error::Damaged(_))));
    assert!(site.dir().join("docwright-suspect").exists(), "the cache is not marked");

    assert_eq!(site.fetch("job-1").await.unwrap(), base);
    let new = site.edit(&base, "Mine\n");
    site.push(&new, HEAD, None).await.unwrap();
    site.assert_sound();
}

#[tokio::test]
async fn a_cache_works_after_garbage_collection() {
    let site = Site::new().await;
    let first = site.fetch("job-1").await.unwrap();
    let mine = site.edit(&first, "Mine\n");
    site.cache.collect_garbage().await.unwrap();
    site.host.push(NAME, "main", &[("index.md", "# Newer\n")]).await;
    let second = site.fetch("job-2").await.unwrap();
    site.cache.collect_garbage().await.unwrap();
    assert!(site.cache.has_readable(&second).await);
    site.push(&mine, HEAD, None).await.unwrap();
    assert_eq!(site.tip(HEAD), Some(mine));
    site.assert_sound();
}

#[tokio::test]
async fn a_push_never_overwrites_other_pushes() {
    let site = Site::new().await;
    let base = site.fetch("job-1").await.unwrap();
    let first = site.edit(&base, "1");
    site.push(&first, HEAD, None).await.unwrap();
    let theirs = site.host.push(NAME, HEAD, &[("theirs.md", "x")]).await;
    let second = site.edit(&first, "2");
    for from in [None, Some(&first)] {
        let refused = site.push(&second, HEAD, from).await.unwrap_err();
        assert!(matches!(refused, Error::BranchMoved { .. }), "{refused}");
    }
    assert_eq!(site.host.tip(NAME, HEAD), Some(theirs));

    // A follow-up starts from the other push.
    let tip = site.cache.fetch(&site.remote, HEAD, "job-1").await.unwrap();
    let third = site.edit(&tip, "3");
    site.push(&third, HEAD, Some(&tip)).await.unwrap();
    let files = git(&site.dir(), &["ls-tree", "-r", "--name-only", third.as_str()]);
    assert_eq!(files, "guides/install.md\nindex.md\ntheirs.md");
}

/// A person deleted the branch while a follow-up was running.
#[tokio::test]
async fn a_push_recreates_a_deleted_branch() {
    let site = Site::new().await;
    let base = site.fetch("job-1").await.unwrap();
    let first = site.edit(&base, "1");
    site.push(&first, HEAD, None).await.unwrap();
    site.host.delete_branch(NAME, HEAD).await;
    let second = site.edit(&first, "2");
    site.push(&second, HEAD, Some(&first)).await.unwrap();
    assert_eq!(site.tip(HEAD), Some(second));
}

/// Another push happens between reading the branch and pushing to it.
#[tokio::test]
async fn the_host_checks_the_lease() {
    let site = Site::new().await;
    let base = site.fetch("job-1").await.unwrap();
    let new = site.edit(&base, "x");
    let hook = site.git_dir.join("hooks/update");
    script(&hook, &format!("git update-ref refs/heads/{HEAD} {base}"));
    let refused = site.push(&new, HEAD, None).await.unwrap_err();
    assert!(matches!(refused, Error::BranchMoved { .. }), "{refused}");
    assert_eq!(site.tip(HEAD), Some(base));
    // The other push has the same commit.
    script(&hook, "git update-ref $1 $3");
    site.push(&new, "docwright/other", None).await.unwrap();
    assert_eq!(site.tip("docwright/other"), Some(new));
}

#[tokio::test]
async fn a_lost_push_response_is_resolved() {
    let site = Site::new().await;
    let base = site.fetch("job-1").await.unwrap();
    let new = site.edit(&base, "x");
    site.host.faults().next(1, "POST", "git-receive-pack", Effect::DropAfter);
    site.push(&new, HEAD, None).await.unwrap();
    assert_eq!(site.tip(HEAD), Some(new));

    let other = site.edit(&base, "y");
    site.host.faults().next(2, "POST", "git-receive-pack", Effect::DropBefore);
    let lost = site.push(&other, "other", None).await.unwrap_err();
    assert!(matches!(lost, Error::Temporary { .. }), "{lost}");
    assert_eq!(site.tip("other"), None);
}

#[tokio::test]
async fn a_damaged_cache_is_recreated() {
    let site = Site::new().await;
    let tip = site.fetch("job-1").await.unwrap();
    let dir = site.dir();
    let damages: [&dyn Fn(); 5] = [
        &|| fs::write(dir.join("shallow"), "garbage\n").unwrap(),
        &|| fs::write(dir.join("packed-refs"), "garbage\n").unwrap(),
        &|| fs::remove_dir_all(dir.join("objects")).unwrap(),
        &|| fs::write(dir.join("config"), "[core").unwrap(),
        &|| {
            fs::remove_dir_all(dir.join("objects/pack")).unwrap();
            fs::create_dir(dir.join("objects/pack")).unwrap();
        },
    ];
    for (n, damage) in damages.iter().enumerate() {
        damage();
        site.host.push(NAME, "main", &[("index.md", &format!("# {n}\n"))]).await;
        let tip = site.fetch("job-2").await.unwrap_or_else(|error| panic!("damage {n}: {error}"));
        let read = site.cache.snapshot(&tip).unwrap().read("guides/install.md", usize::MAX);
        assert_eq!(read.unwrap().unwrap(), b"Run `npm i acme`.\n", "damage {n}");
        site.assert_sound();
    }
    assert_ne!(site.fetch("job-1").await.unwrap(), tip);
}
