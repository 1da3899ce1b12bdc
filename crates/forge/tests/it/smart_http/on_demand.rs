//! Tests fetches that omit files, and fetch them when they are read.

use std::fs;

use fakehost::{Effect, FakeHost, Kind};
use forge::{Cache, Error, FetchMode, FetchObserver, HttpRemote, Oid, Presence, Remote, Snapshot};

use super::malformed_responses::{fetch_response, pack_of_objects, upload_response};
use super::scripted_host::ScriptedHost;
use super::{CANARY, HEAD, NAME, Site, remote};
use crate::support::{commit, edits, git};

const FILES: usize = 40;

fn text(n: usize) -> String {
    format!("# Page {n}\n\n{}\n", "Words. ".repeat(n))
}

/// A site whose files are fetched on demand, however few they are.
async fn site() -> Site {
    site_on(Kind::GitHub).await
}

async fn site_on(kind: Kind) -> Site {
    let texts: Vec<_> = (0..FILES).map(|n| (format!("s{}/p{n}.md", n % 4), text(n))).collect();
    let mut files: Vec<_> = texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    files.push(("AGENTS.md", "Be brief.\n"));
    let host = FakeHost::start(kind).await;
    let repo = host.repository(NAME, &files).await;
    let mut site = Site::of(host, repo.clone()).await;
    site.remote = Remote::Http(on_demand(&repo.clone_url));
    site
}

fn on_demand(url: &str) -> HttpRemote {
    remote(url, Some(CANARY)).whole_up_to(0)
}

fn mode(site: &Site) -> Option<FetchMode> {
    site.cache.fetch_state().map(|state| state.mode)
}

impl Site {
    fn open(&self, commit: &Oid) -> Snapshot {
        self.cache.snapshot_on_demand(commit, &self.remote).unwrap()
    }
}

#[track_caller]
fn assert_page(files: &Snapshot, n: usize) {
    let read = files.read(&format!("s{}/p{n}.md", n % 4), usize::MAX);
    assert_eq!(String::from_utf8(read.unwrap().unwrap()).unwrap(), text(n));
}

/// All files, read one after the other.
#[track_caller]
fn assert_complete(files: &Snapshot) {
    let all = files.entries().unwrap();
    files.fetch_files(all.iter().map(|entry| entry.path.as_str())).unwrap();
    for entry in all {
        assert_eq!(files.presence(&entry.path).unwrap(), Presence::Here);
        assert!(files.read(&entry.path, usize::MAX).unwrap().is_some());
    }
    (0..FILES).for_each(|n| assert_page(files, n));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_fetched_when_it_is_read() {
    for kind in [Kind::GitHub, Kind::GitLab, Kind::Gitea, Kind::Forgejo] {
        let site = site_on(kind).await;
        let base = site.fetch("job-1").await.unwrap();
        let fetch = ["POST git-upload-pack", "GET info/refs?service=git-upload-pack", "POST git-upload-pack"];
        assert_eq!(site.requests_since(0)[..3], fetch);
        // The last request is for the file that most jobs read.
        assert_eq!((site.host.request_count(), mode(&site)), (4, Some(FetchMode::OnDemand)));
        let files = site.open(&base);
        assert_eq!(files.presence("AGENTS.md").unwrap(), Presence::Here);
        assert_eq!(files.presence("s1/p1.md").unwrap(), Presence::ToFetch);
        assert_eq!(files.presence("s1/p2.md").unwrap(), Presence::NotThere);
        assert_eq!(files.presence("s1").unwrap(), Presence::NotThere);
        assert_eq!(files.read("s1/p2.md", usize::MAX).unwrap(), None);
        assert_eq!(site.host.request_count(), 4);

        assert_page(&files, 1);
        assert_page(&files, 1);
        assert_eq!((files.presence("s1/p1.md").unwrap(), site.host.request_count()), (Presence::Here, 5));
        files.fetch_files(["s1/p1.md", "s2/p2.md", "s3/p3.md", "s1/p2.md"]).unwrap();
        assert_eq!(site.host.request_count(), 6);
        let state = site.cache.fetch_state().unwrap();
        assert_eq!((state.batches, state.files), (3, 4));
        assert_complete(&files);
        assert_eq!(site.host.request_count(), 7);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_to_few_files_is_committed_pushed_and_shown() {
    let site = site().await;
    let base = site.fetch("job-1").await.unwrap();
    let files = site.open(&base);
    assert_page(&files, 5);
    // One page is edited, one is deleted unread, and one is moved.
    let moved = files.read("s2/p6.md", usize::MAX).unwrap().unwrap();
    let moved = String::from_utf8(moved).unwrap();
    let changes = edits(&[
        ("s1/p5.md", Some("New\n")),
        ("s3/p7.md", None),
        ("s2/p6.md", None),
        ("s0/p6.md", Some(&moved)),
    ]);
    let new = commit(&site.cache, &base, &changes).unwrap();
    let diff = site.cache.diff_on_demand(&base, &new, &site.remote).await.unwrap();
    assert!(diff.contains("-# Page 5\n") && diff.contains("-# Page 7\n"), "{diff}");
    assert!(diff.contains("rename from s2/p6.md\nrename to s0/p6.md\n"), "{diff}");

    site.push(&new, HEAD, None).await.unwrap();
    assert_eq!(site.tip(HEAD).as_ref(), Some(&new));
    assert_eq!(git(&site.git_dir, &["fsck", "--strict", "--no-dangling"]), "");
    let on_host =
        git(&site.git_dir, &["diff-tree", "-r", "-M", "--name-status", base.as_str(), new.as_str()]);
    assert_eq!(on_host, "R100\ts2/p6.md\ts0/p6.md\nM\ts1/p5.md\nD\ts3/p7.md");
    // A follow-up continues from the pushed commit.
    assert_eq!(site.cache.fetch(&site.remote, HEAD, "job-2").await.unwrap(), new);
    let files = site.open(&new);
    assert_eq!(files.read("s1/p5.md", usize::MAX).unwrap().unwrap(), b"New\n");
    assert_page(&files, 9);
    let more = commit(&site.cache, &new, &edits(&[("s1/p9.md", Some("More\n"))])).unwrap();
    site.push(&more, HEAD, Some(&new)).await.unwrap();
    assert_eq!(site.tip(HEAD), Some(more));
}

#[tokio::test(flavor = "multi_thread")]
async fn later_fetches_omit_files_too_and_keep_what_is_there() {
    let site = site().await;
    let first = site.fetch("job-1").await.unwrap();
    let files = site.open(&first);
    assert_page(&files, 1);
    // Differences from files that the cache lacks would be useless.
    let long = |end: &str| format!("{}{end}\n", "The same words again and again. ".repeat(200));
    site.host.push(NAME, "main", &[("s1/p1.md", &long("1")), ("s2/p2.md", &long("2"))]).await;
    let second = site.fetch("job-2").await.unwrap();
    site.host.push(NAME, "main", &[("s1/p1.md", &long("3"))]).await;
    let third = site.fetch("job-3").await.unwrap();
    for (commit, end) in [(&second, "1"), (&third, "3")] {
        let files = site.open(commit);
        assert_eq!(files.presence("s1/p1.md").unwrap(), Presence::ToFetch);
        let read = files.read("s1/p1.md", usize::MAX).unwrap().unwrap();
        assert_eq!(String::from_utf8(read).unwrap(), long(end));
        assert_eq!(files.read("s2/p2.md", usize::MAX).unwrap().unwrap(), long("2").as_bytes());
    }
    assert_eq!(site.open(&first).presence("s1/p1.md").unwrap(), Presence::Here);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_repository_is_fetched_whole() {
    let site = Site::new().await;
    let base = site.fetch("job-1").await.unwrap();
    let before = site.host.request_count();
    assert_eq!((before, mode(&site)), (4, None));
    let files = site.open(&base);
    assert_eq!(files.read("index.md", usize::MAX).unwrap().unwrap(), b"# Home\n");
    assert_eq!(files.read("guides/install.md", usize::MAX).unwrap().unwrap(), b"Run `npm i acme`.\n");
    assert_eq!(site.host.request_count(), before);
    site.assert_sound();
    // Later fetches bring the new files.
    site.host.push(NAME, "main", &[("index.md", "# Newer\n")]).await;
    let next = site.fetch("job-2").await.unwrap();
    assert_eq!(site.host.request_count(), before + 2);
    assert_eq!(site.open(&next).read("index.md", usize::MAX).unwrap().unwrap(), b"# Newer\n");
    site.assert_sound();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_cannot_omit_files_or_refuses_ids_sends_all_of_them() {
    for (has_filter, sends_any_object, expected) in [
        (false, true, Some(FetchMode::NoFilter)),
        (false, false, Some(FetchMode::NoFilter)),
        (true, false, Some(FetchMode::RefusesIds)),
        (true, true, Some(FetchMode::OnDemand)),
    ] {
        let site = site().await;
        site.host.set(NAME, |settings| {
            (settings.has_filter, settings.sends_any_object) = (has_filter, sends_any_object);
        });
        let base = site.fetch("job-1").await.unwrap();
        assert_eq!(mode(&site), expected);
        assert_complete(&site.open(&base));
        // The choice is remembered, and the host is not asked again.
        let before = site.host.request_count();
        site.host.push(NAME, "main", &[("s1/p1.md", "Newer\n")]).await;
        let next = site.fetch("job-2").await.unwrap();
        assert_eq!(site.host.request_count() - before, 2);
        assert_eq!(mode(&site), expected);
        let files = site.open(&next);
        assert_eq!(files.read("s1/p1.md", usize::MAX).unwrap().unwrap(), b"Newer\n");
        let new = commit(&site.cache, &next, &edits(&[("s2/p2.md", Some("Mine\n"))])).unwrap();
        site.push(&new, HEAD, None).await.unwrap();
        assert_eq!(git(&site.git_dir, &["fsck", "--strict", "--no-dangling"]), "");
    }
}

/// Its owner changed the host's configuration after the first fetch.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_begins_to_refuse_ids_costs_one_more_fetch() {
    let site = site().await;
    let base = site.fetch("job-1").await.unwrap();
    site.host.set(NAME, |settings| settings.sends_any_object = false);
    let refused = site.open(&base).read("s1/p1.md", usize::MAX).unwrap_err();
    assert!(matches!(&refused, Error::Damaged(why) if why.contains("by their ids")), "{refused}");
    assert!(!site.cache.contains(&base).unwrap());
    assert_eq!(site.fetch("job-1").await.unwrap(), base);
    assert_eq!(mode(&site), Some(FetchMode::RefusesIds));
    assert_complete(&site.open(&base));
    site.assert_sound();
}

/// The disk returns other bytes than were written.
#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_cache_is_fetched_again() {
    for ending in ["pack", "idx"] {
        let site = site().await;
        let base = site.fetch("job-1").await.unwrap();
        assert_page(&site.open(&base), 1);
        let files = fs::read_dir(site.dir().join("objects/pack")).unwrap().map(|entry| entry.unwrap().path());
        for file in files.filter(|file| file.extension().is_some_and(|found| found == ending)) {
            let mut bytes = fs::read(&file).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle..middle + 20].fill(b'X');
            fs::remove_file(&file).unwrap();
            fs::write(&file, bytes).unwrap();
        }
        site.host.push(NAME, "main", &[("s1/p1.md", &text(1)), ("new.md", "# New\n")]).await;
        // Each run of a job tries once.
        let mut failures = Vec::new();
        while let Err(error) = read_everything(&site).await {
            failures.push(error.to_string());
            assert!(failures.len() < 4, "{ending}: {failures:#?}");
        }
    }
}

async fn read_everything(site: &Site) -> forge::Result<()> {
    let tip = site.fetch("job-1").await?;
    let files = site.cache.snapshot_on_demand(&tip, &site.remote)?;
    let all = files.entries()?;
    files.fetch_files(all.iter().map(|entry| entry.path.as_str()))?;
    all.iter().try_for_each(|entry| files.read(&entry.path, usize::MAX).map(drop))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_the_host_forgot_makes_the_job_start_over() {
    let site = site().await;
    let base = site.fetch("job-1").await.unwrap();
    // Somebody replaced the branch, and the host collected its garbage.
    let other =
        git(&site.git_dir, &["commit-tree", "-m", "Other", "4b825dc642cb6eb9a060e54bf8d69288fbee4904"]);
    git(&site.git_dir, &["update-ref", "refs/heads/main", &other]);
    git(&site.git_dir, &["-c", "gc.reflogExpire=now", "gc", "-q", "--prune=now"]);
    let forgotten = site.open(&base).read("s1/p1.md", usize::MAX).unwrap_err();
    assert!(
        matches!(&forgotten, Error::Damaged(why) if why.contains("no longer has the commit")),
        "{forgotten}"
    );
    // The next run finds that its base is gone, and takes the new tip.
    assert!(!site.cache.contains(&base).unwrap());
    let gone = site.cache.fetch_commit(&site.remote, &base, "job-1").await.unwrap_err();
    assert!(matches!(gone, Error::Repository(_)), "{gone}");
    assert_eq!(site.fetch("job-1").await.unwrap().as_str(), other);
    assert_ne!(mode(&site), Some(FetchMode::RefusesIds));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_fails_changes_nothing_and_can_be_repeated() {
    let site = site().await;
    let base = site.fetch("job-1").await.unwrap();
    let files = site.open(&base);
    let pages: Vec<_> = (1..30).map(|n| format!("s{}/p{n}.md", n % 4)).collect();
    let effects = [
        Effect::DropBefore,
        Effect::DropAfter,
        Effect::Cut(1),
        Effect::Cut(20),
        Effect::Cut(300),
        Effect::Garbage,
    ];
    for effect in effects {
        // The client tries a connection again that was closed before it sent anything.
        site.host.faults().next(2, "POST", "git-upload-pack", effect.clone());
        let error = files.fetch_files(pages.iter().map(String::as_str));
        assert!(matches!(error, Err(Error::Temporary { .. })), "{effect:?}: {error:?}");
        assert_eq!(files.presence("s1/p1.md").unwrap(), Presence::ToFetch);
        site.host.faults().clear();
    }
    site.host.faults().next(1, "POST", "git-upload-pack", Effect::too_many(7));
    match files.read("s1/p1.md", usize::MAX) {
        Err(Error::Temporary { retry_after: Some(wait), .. }) => assert_eq!(wait.as_secs(), 7),
        other => panic!("{other:?}"),
    }
    assert_complete(&files);
    let left = fs::read_dir(site.dir().join("objects/pack")).unwrap();
    assert_eq!(
        left.filter(|file| file.as_ref().unwrap().file_name().to_string_lossy().starts_with("tmp_")).count(),
        0
    );
}

/// A host sends another file, a part of the files, or more files than requested.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_with_other_objects_is_refused() {
    let site = site().await;
    let base = site.fetch("job-1").await.unwrap();
    let object = |path: &str| git(&site.git_dir, &["rev-parse", &format!("{base}:{path}")]);
    let (one, two, three) = (object("s1/p1.md"), object("s2/p2.md"), object("s3/p3.md"));
    let mut corrupt = pack_of_objects(&site.git_dir, &[&one, &two]);
    let middle = corrupt.len() / 2;
    corrupt[middle] ^= 0x55;
    for pack in [
        pack_of_objects(&site.git_dir, &[&one, &three]),
        pack_of_objects(&site.git_dir, &[&one]),
        pack_of_objects(&site.git_dir, &[&one, &two, &three]),
        corrupt,
    ] {
        let answers = (0..3).map(|_| upload_response(fetch_response(&pack))).collect();
        let host = ScriptedHost::start(answers).await;
        let elsewhere = Remote::Http(on_demand(&host.url));
        let files = site.cache.snapshot_on_demand(&base, &elsewhere).unwrap();
        // A batch with more objects than requested counts as too large, so it is divided.
        let fetched = files.fetch_files(["s1/p1.md", "s2/p2.md"]);
        assert!(files.read("s2/p2.md", usize::MAX).is_err(), "{fetched:?}");
    }
    assert_complete(&site.open(&base));
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_and_files_are_bounded() {
    let host = FakeHost::start(Kind::GitHub).await;
    let noise = |seed: u64, length: usize| {
        let next = |state: &mut u64| {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b'a' + (*state >> 59) as u8 % 26)
        };
        let mut state = seed;
        (0..length).map(|_| next(&mut state)).collect::<String>()
    };
    let (large, small) = (noise(1, 40_000), (2..10).map(|n| noise(n, 4_000)).collect::<Vec<_>>());
    let paths: Vec<_> = (0..8).map(|n| format!("p{n}.md")).collect();
    let mut files: Vec<_> = paths.iter().map(String::as_str).zip(small.iter().map(String::as_str)).collect();
    files.push(("large.md", &large));
    let repo = host.repository(NAME, &files).await;
    let mut site = Site::of(host, repo.clone()).await;
    site.remote = Remote::Http(on_demand(&repo.clone_url).max_batch(10_000));
    let base = site.fetch("job-1").await.unwrap();
    let snapshot = site.open(&base);
    snapshot.fetch_files(files.iter().map(|(path, _)| *path)).unwrap();
    for (path, text) in &files[..8] {
        assert_eq!(snapshot.presence(path).unwrap(), Presence::Here);
        assert_eq!(snapshot.read(path, usize::MAX).unwrap().unwrap(), text.as_bytes());
    }
    let refused = snapshot.read("large.md", usize::MAX).unwrap_err();
    assert!(matches!(refused, Error::TooLarge(_)), "{refused}");
    // It is not asked for again and again.
    let before = site.host.request_count();
    snapshot.read("large.md", usize::MAX).unwrap_err();
    snapshot.fetch_files(["large.md"]).unwrap();
    assert_eq!(site.host.request_count(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_file_is_fetched_once_by_many_readers() {
    let site = site().await;
    let base = site.fetch("job-1").await.unwrap();
    let before = site.host.request_count();
    let files = site.open(&base);
    std::thread::scope(|scope| {
        let runtime = tokio::runtime::Handle::current();
        for _ in 0..8 {
            let (files, runtime) = (&files, runtime.clone());
            scope.spawn(move || {
                let _context = runtime.enter();
                assert_page(files, 3);
            });
        }
    });
    assert_eq!(site.host.request_count() - before, 1);
}

struct Cancelled;

impl FetchObserver for Cancelled {
    fn fetched(&self, _: usize, _: usize) {}

    fn is_cancelled(&self) -> bool {
        true
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_canceled_reader_does_not_wait_for_the_host() {
    let site = site().await;
    let base = site.fetch("job-1").await.unwrap();
    let files = site.open(&base);
    files.observe_fetches(std::sync::Arc::new(Cancelled));
    site.host.faults().next(1, "POST", "git-upload-pack", Effect::Hang);
    let canceled = files.read("s1/p1.md", usize::MAX).unwrap_err();
    assert!(canceled.to_string().contains("canceled"), "{canceled}");
    // Its lock is free again.
    assert_complete(&site.open(&base));
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_collection_keeps_a_cache_with_missing_files() {
    let site = site().await;
    let base = site.fetch("job-1").await.unwrap();
    assert_page(&site.open(&base), 1);
    let mine = commit(&site.cache, &base, &edits(&[("s1/p1.md", Some("Mine\n"))])).unwrap();
    site.cache.collect_garbage().await.unwrap();
    let files = site.open(&base);
    assert_eq!(files.presence("s1/p1.md").unwrap(), Presence::Here);
    assert_eq!(files.presence("s2/p2.md").unwrap(), Presence::ToFetch);
    site.push(&mine, HEAD, None).await.unwrap();
    assert_complete(&files);
    site.host.push(NAME, "main", &[("s1/p1.md", "Theirs\n")]).await;
    site.fetch("job-2").await.unwrap();
    site.cache.collect_garbage().await.unwrap();
    assert_complete(&site.open(&base));
}

/// The cache lacks files that only the first repository has.
#[tokio::test(flavor = "multi_thread")]
async fn a_project_with_another_repository_starts_with_an_empty_cache() {
    let (site, other) = (site().await, site().await);
    site.fetch("job-1").await.unwrap();
    let base = site.cache.fetch(&other.remote, "main", "job-2").await.unwrap();
    assert_eq!(site.cache.pins().unwrap(), ["job-2"]);
    assert_complete(&site.cache.snapshot_on_demand(&base, &other.remote).unwrap());
    let here = Remote::file(&other.git_dir).unwrap();
    let base = site.cache.fetch(&here, "main", "job-3").await.unwrap();
    assert_eq!((mode(&site), site.cache.pins().unwrap()), (None, vec!["job-3".to_owned()]));
    assert_complete(&site.cache.snapshot_on_demand(&base, &here).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_cache_is_read_by_the_next_process() {
    let site = site().await;
    let base = site.fetch("job-1").await.unwrap();
    assert_page(&site.open(&base), 1);
    // A kill leaves temporary files, and a power cut loses the newest packfiles.
    let packs = site.dir().join("objects/pack");
    fs::write(packs.join("tmp_pack_left"), "PACK").unwrap();
    let reopened = Cache::open(&site.dir()).await.unwrap();
    assert_complete(&reopened.snapshot_on_demand(&base, &site.remote).unwrap());
    let mut all: Vec<_> = fs::read_dir(&packs).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.retain(|path| path.extension().is_some_and(|kind| kind == "pack"));
    all.sort_by_key(|path| fs::metadata(path).unwrap().modified().unwrap());
    let newest = all.pop().unwrap();
    for kind in ["pack", "idx", "rev", "promisor"] {
        let _ = fs::remove_file(newest.with_extension(kind));
    }
    let reopened = Cache::open(&site.dir()).await.unwrap();
    assert_complete(&reopened.snapshot_on_demand(&base, &site.remote).unwrap());
}
