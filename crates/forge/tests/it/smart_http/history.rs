//! Tests the history of a repository on a web host, which is fetched without the contents of files.

use std::fs;
use std::path::PathBuf;

use fakehost::Effect;
use forge::{Error, History, HistoryCache, HistoryLimits, Oid, Remote};

use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream};

use super::{CANARY, NAME, Site, remote};
use crate::history::{START, is_page, page, show};
use crate::support::{Repo, git};

/// A host with a copy of a repository, and the cache of its history.
struct Past {
    repo: Repo,
    site: Site,
    limits: HistoryLimits,
}

impl Past {
    async fn of(repo: Repo) -> Self {
        let site = Site::mirror(&repo.path()).await;
        Self { repo, site, limits: HistoryLimits::default() }
    }

    async fn read(&self) -> forge::Result<History> {
        self.read_commit(&self.repo.tip("HEAD")).await
    }

    async fn read_commit(&self, commit: &Oid) -> forge::Result<History> {
        let cache = HistoryCache::new(&self.dir(), self.limits).unwrap();
        cache.read(&self.site.remote, commit, &is_page).await
    }

    fn dir(&self) -> PathBuf {
        self.site.temp_dir.path().join("p.history.git")
    }

    fn push(&self) {
        self.repo.git(&["push", "-q", "--force", self.site.git_dir.to_str().unwrap(), "main"]);
    }

    /// Renames the moving page and changes another.
    fn step(&self, step: i64) {
        step_in(&self.repo, step);
        self.push();
    }

    fn blobs(&self) -> usize {
        let all = git(&self.dir(), &["cat-file", "--batch-all-objects", "--batch-check=%(objecttype)"]);
        all.lines().filter(|kind| *kind == "blob").count()
    }
}

fn step_in(repo: &Repo, step: i64) {
    repo.git(&["mv", &format!("docs/{}.md", step - 1), &format!("docs/{step}.md")]);
    repo.write("docs/changing.md", &step.to_string());
    repo.save_at(START + step, "Step");
}

fn steps(count: i64) -> Repo {
    let repo = Repo::empty();
    repo.write("docs/untouched.md", "Old.\n");
    repo.write("docs/0.md", &page("moving"));
    repo.save_at(START, "Start");
    (1..=count).for_each(|step| step_in(&repo, step));
    repo
}

#[tokio::test]
async fn a_history_is_fetched_once_and_without_contents() {
    let past = Past::of(steps(5)).await;
    let first = past.read().await.unwrap();
    assert_eq!(
        show(&first),
        [
            "complete since 0",
            r#"5 renamed "docs/4.md" > "docs/5.md" 100%"#,
            r#"4 renamed "docs/3.md" > "docs/4.md" 100%"#,
            r#"3 renamed "docs/2.md" > "docs/3.md" 100%"#,
            r#"2 renamed "docs/1.md" > "docs/2.md" 100%"#,
            r#"1 renamed "docs/0.md" > "docs/1.md" 100%"#,
            r#"0 changed "docs/5.md""#,
            r#"5 changed "docs/changing.md""#,
            r#"0 changed "docs/untouched.md""#,
        ]
    );
    assert_eq!(past.blobs(), 0);
    let fetch = ["GET info/refs?service=git-upload-pack", "POST git-upload-pack"];
    assert_eq!(past.site.requests_since(0), fetch);

    let before = past.site.host.request_count();
    assert_eq!(past.read().await.unwrap(), first);
    assert!(past.site.requests_since(before).is_empty());

    // A later commit adds only itself.
    past.step(6);
    let later = past.read().await.unwrap();
    assert_eq!(later.renames[1..], first.renames);
    assert!(later.complete);
    assert_eq!(past.blobs(), 0);
    let packs = fs::read_dir(past.dir().join("objects/pack")).unwrap().map(|file| file.unwrap().path());
    let packs = packs.filter(|file| file.extension().is_some_and(|kind| kind == "pack"));
    let smallest = packs.map(|pack| pack.metadata().unwrap().len()).min().unwrap();
    assert!(smallest < 700, "one commit and two folders take {smallest} bytes");
}

#[tokio::test]
async fn a_limited_depth_moves_with_the_branch() {
    let mut past = Past::of(steps(9)).await;
    past.limits.depth = 3;
    let expected = |tip: i64| {
        [
            format!("cut off since {}", tip - 2),
            format!(r#"{tip} renamed "docs/{}.md" > "docs/{tip}.md" 100%"#, tip - 1),
            format!(r#"{} renamed "docs/{}.md" > "docs/{}.md" 100%"#, tip - 1, tip - 2, tip - 1),
            format!(r#"{tip} changed "docs/changing.md""#),
        ]
    };
    assert_eq!(show(&past.read().await.unwrap()), expected(9));
    past.step(10);
    assert_eq!(show(&past.read().await.unwrap()), expected(10));
    (11..=17).for_each(|step| past.step(step));
    assert_eq!(show(&past.read().await.unwrap()), expected(17));

    // A deeper history arrives with the next commit.
    past.limits.depth = 100;
    past.step(18);
    let all = past.read().await.unwrap();
    assert_eq!((all.complete, all.renames.len()), (true, 18), "{:#?}", show(&all));
    assert_eq!(past.blobs(), 0);
}

#[tokio::test]
async fn a_rewritten_branch_has_its_own_history() {
    let past = Past::of(steps(3)).await;
    past.read().await.unwrap();
    let old = past.repo.tip("HEAD");
    past.repo.git(&["checkout", "-q", "--orphan", "other"]);
    past.repo.git(&["branch", "-q", "-D", "main"]);
    past.repo.git(&["checkout", "-q", "-b", "main"]);
    past.repo.save_at(START + 20, "Everything at once");
    past.push();
    let history = past.read().await.unwrap();
    assert_eq!(
        show(&history),
        [
            "complete since 20",
            r#"20 changed "docs/3.md""#,
            r#"20 changed "docs/changing.md""#,
            r#"20 changed "docs/untouched.md""#,
        ]
    );
    // The host still has the old commit.
    assert_eq!(past.read_commit(&old).await.unwrap().renames.len(), 3);
}

#[tokio::test]
async fn a_host_that_cannot_omit_contents_sends_only_a_small_history() {
    let mut past = Past::of(steps(8)).await;
    git(&past.site.git_dir, &["config", "uploadpack.allowFilter", "false"]);
    past.limits.depth = 16;
    let history = past.read().await.unwrap();
    // A quarter of the depth.
    assert_eq!((history.complete, history.since, history.renames.len()), (false, START + 5, 3));

    let mut past = Past::of(steps(8)).await;
    git(&past.site.git_dir, &["config", "uploadpack.allowFilter", "false"]);
    past.limits.pack = 400;
    assert_eq!(past.read().await.unwrap(), History::unknown(&past.repo.tip("HEAD")));
    let before = past.site.host.request_count();
    past.step(9);
    assert_eq!(show(&past.read().await.unwrap()), ["cut off since nothing"]);
    assert!(past.site.requests_since(before).is_empty(), "it is not tried again soon");
}

#[tokio::test]
async fn an_interrupted_fetch_is_repeated() {
    let past = Past::of(steps(4)).await;
    for effect in [Effect::DropBefore, Effect::DropAfter, Effect::Garbage, Effect::status(502)] {
        past.site.host.faults().next(1, "POST", "git-upload-pack", effect.clone());
        let error = past.read().await.unwrap_err();
        assert!(matches!(error, Error::Temporary { .. }), "{effect:?}: {error}");
    }
    past.site.host.faults().next(1, "GET", "info/refs", Effect::DropAfter);
    assert!(matches!(past.read().await.unwrap_err(), Error::Temporary { .. }));
    assert!(past.read().await.unwrap().complete);
}

/// Starts a proxy that closes each connection after so many bytes of its responses.
async fn cutting_proxy(host: &str, bytes: u64) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    net::quote_test_host(listener.local_addr().unwrap());
    let host = host.trim_start_matches("http://").to_owned();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let (mut requests, mut to_client) = client.into_split();
            let (responses, mut to_host) = TcpStream::connect(&host).await.unwrap().into_split();
            let mut responses = responses.take(bytes);
            tokio::spawn(async move { tokio::io::copy(&mut requests, &mut to_host).await });
            tokio::spawn(async move { tokio::io::copy(&mut responses, &mut to_client).await });
        }
    });
    url
}

#[tokio::test]
async fn a_connection_that_breaks_anywhere_leaves_a_usable_cache() {
    let past = Past::of(steps(4)).await;
    let cache = HistoryCache::new(&past.dir(), past.limits).unwrap();
    let tip = past.repo.tip("HEAD");
    let mut failures = 0;
    for bytes in (100..).step_by(250) {
        let url = cutting_proxy(past.site.host.url(), bytes).await;
        let cut = Remote::Http(remote(&format!("{url}/{NAME}.git"), Some(CANARY)));
        match cache.read(&cut, &tip, &is_page).await {
            Ok(history) => {
                assert!(history.complete && history.renames.len() == 4, "{:#?}", show(&history));
                break;
            }
            Err(error) => assert!(matches!(error, Error::Temporary { .. }), "{bytes}: {error}"),
        }
        let left = fs::read_dir(past.dir().join("objects/pack")).unwrap();
        assert_eq!(left.count(), 0, "no temporary file stays");
        failures += 1;
    }
    assert!(failures > 4, "{failures}");
}

#[tokio::test]
async fn a_damaged_history_is_fetched_again() {
    let past = Past::of(steps(4)).await;
    let expected = past.read().await.unwrap();
    let packs = past.dir().join("objects/pack");
    fs::remove_dir_all(&packs).unwrap();
    fs::create_dir(&packs).unwrap();
    let error = past.read().await.unwrap_err();
    assert!(matches!(error, Error::Damaged(_)), "{error}");
    assert_eq!(past.read().await.unwrap(), expected);

    // The host would send only the difference to a commit that is no longer there.
    fs::remove_dir_all(&packs).unwrap();
    fs::create_dir(&packs).unwrap();
    past.step(5);
    assert_eq!(past.read().await.unwrap().renames.len(), 5);

    // A fetch that was killed left commits without their parents on the list, although they have them.
    let old = git(&past.dir(), &["rev-parse", &format!("{}~2", past.repo.tip("HEAD"))]);
    fs::write(past.dir().join("shallow"), format!("{old}\n")).unwrap();
    past.step(6);
    assert_eq!(past.read().await.unwrap().renames.len(), 6);
}

#[tokio::test]
async fn a_missing_commit_is_an_error() {
    let past = Past::of(steps(1)).await;
    let error = past.read_commit(&Oid::parse(&"1".repeat(40)).unwrap()).await.unwrap_err();
    assert!(error.to_string().contains("not our ref"), "{error}");
    assert!(past.read().await.unwrap().complete);
}

#[tokio::test]
async fn both_ways_find_the_same_changes() {
    let repo = Repo::empty();
    let mut random = 7_u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    let (mut files, mut created): (Vec<String>, u64) = (Vec::new(), 0);
    for step in 0..60 {
        for _ in 0..=next(4) {
            created += 1;
            let name = format!("docs/{}/{created}.md", next(3));
            // Contents without anything in common, so that none is similar to another.
            let write =
                |name: &str| repo.write(name, &format!("{created} {}\n", "x".repeat(created as usize)));
            match next(4) {
                0 if !files.is_empty() => {
                    let file = files.swap_remove(next(files.len() as u64) as usize);
                    fs::remove_file(repo.path().join(file)).unwrap();
                }
                1 if !files.is_empty() => {
                    let file = files.swap_remove(next(files.len() as u64) as usize);
                    fs::create_dir_all(repo.path().join(&name).parent().unwrap()).unwrap();
                    fs::rename(repo.path().join(file), repo.path().join(&name)).unwrap();
                    files.push(name);
                }
                2 if !files.is_empty() => write(&files[next(files.len() as u64) as usize]),
                _ => {
                    write(&name);
                    files.push(name);
                }
            }
        }
        repo.save_at(START + step, "Step");
    }
    let past = Past::of(repo).await;
    let fetched = past.read().await.unwrap();
    let here = HistoryCache::new(&past.dir(), past.limits).unwrap();
    let remote: Remote = past.repo.remote();
    let local = here.read(&remote, &past.repo.tip("HEAD"), &is_page).await.unwrap();
    assert!(local.renames.len() > 10 && local.removed.len() > 10, "{:#?}", show(&local));
    let sorted = |history: &History| {
        let mut lines = show(history);
        lines.sort();
        lines
    };
    assert_eq!(sorted(&fetched), sorted(&local));
    let listed = git(&past.repo.path(), &["ls-files", "docs"]);
    let changed: Vec<_> = local.last_changed.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(changed, listed.lines().collect::<Vec<_>>(), "every current file, and no other");
}
