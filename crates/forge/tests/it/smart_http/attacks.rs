//! Tests attacks over smart HTTP. The test names are those in the table in docs/security.md.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, Weak};

use fakehost::{Access, Effect, FakeHost, Kind};
use forge::{Error, HttpRemote, Kind as Entry, Remote};
use net::NetworkPolicy;

use super::{Bearer, CANARY, HEAD, NAME, Site, remote};
use crate::support::{Repo, git, script};

#[tokio::test]
async fn redirect_token() {
    let site = Site::new().await;
    let other = FakeHost::start(Kind::GitHub).await;
    let base = site.fetch("job-1").await.unwrap();
    let new = site.edit(&base, "x");
    let away = || Effect::Redirect(other.url().to_owned());
    let error = |path: &str| {
        let (host, other) = (site.host.url().trim_start_matches("http://"), other.url());
        format!(
            "{host} redirects to {other}{path}, and redirects are not followed: give the project that address"
        )
    };
    site.host.faults().next(1, "POST", "git-upload-pack", away());
    let refused = site.fetch("job-1").await.unwrap_err();
    assert!(matches!(refused, Error::Denied(_)), "{refused:?}");
    assert_eq!(refused.to_string(), error("/acme/docs.git"));
    site.host.faults().next(1, "GET", "info/refs", away());
    assert_eq!(site.push(&new, HEAD, None).await.unwrap_err().to_string(), error("/acme/docs.git"));
    site.host.faults().next(1, "POST", "git-receive-pack", away());
    assert_eq!(site.push(&new, HEAD, None).await.unwrap_err().to_string(), error("/acme/docs.git"));
    assert_eq!(other.request_count(), 0, "no request and no token went to the other host");
}

#[tokio::test]
async fn sideband_ansi() {
    let site = Site::new().await;
    let base = site.fetch("job-1").await.unwrap();
    let new = site.edit(&base, "x");
    let hook = site.git_dir.join("hooks/pre-receive");
    script(&hook, r"printf '\033[31mno\033]0;title\007 \342\200\256way\r\n' >&2; exit 1");
    let refused = site.push(&new, HEAD, None).await.unwrap_err().to_string();
    assert!(refused.ends_with("pre-receive hook declined; [31mno ]0;title way"), "{refused:?}");
    assert!(!refused.contains(|c: char| c.is_control() || c == '\u{202e}'));
}

/// A repository whose files try to make git fetch or run something.
fn repository_with_fetch_traps() -> Repo {
    let repo = Repo::new();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n";
    repo.write("big.bin", pointer);
    repo.write(".lfsconfig", "[lfs]\n\turl = http://127.0.0.1:1/\n");
    repo.write(".gitattributes", "* filter=lfs diff=lfs merge=lfs\n");
    repo.write(".gitmodules", "[submodule \"m\"]\n\tpath = m\n\turl = -u/../x\r\n");
    std::os::unix::fs::symlink(".git/hooks", repo.path().join("link")).unwrap();
    repo.git(&["add", "-A"]);
    let tip = repo.tip("HEAD");
    repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{tip},m")]);
    repo.git(&["commit", "-q", "-m", "Greedy"]);
    repo
}

/// Checks that only the repository itself was requested, and that its entries are only data.
async fn check_is_only_data(path: &str, kind: Entry) {
    let repo = repository_with_fetch_traps();
    let site = Site::mirror(&repo.path()).await;
    let base = site.fetch("job-1").await.unwrap();
    let new = site.edit(&base, "x");
    site.push(&new, HEAD, None).await.unwrap();
    let entries = site.cache.snapshot(&base).unwrap().entries().unwrap();
    assert_eq!(entries.iter().find(|entry| entry.path == path).map(|entry| entry.kind), Some(kind));
    let services =
        ["POST git-upload-pack", "GET info/refs?service=git-receive-pack", "POST git-receive-pack"];
    assert!(
        site.requests_since(0).iter().all(|request| services.contains(&request.as_str())),
        "{:?}",
        site.requests_since(0)
    );
    let changed = git(&site.dir(), &["diff-tree", "-r", "--name-only", base.as_str(), new.as_str()]);
    assert_eq!(changed, "guides/install.md");
}

#[tokio::test]
async fn lfs() {
    check_is_only_data("big.bin", Entry::File).await;
}

#[tokio::test]
async fn submodule_url() {
    check_is_only_data("m", Entry::Submodule).await;
}

#[tokio::test]
async fn submodule_symlink() {
    check_is_only_data("link", Entry::Symlink).await;
}

#[tokio::test]
async fn insteadof() {
    let (site, other) = (Site::new().await, FakeHost::start(Kind::GitHub).await);
    other.token(CANARY, Access::Full);
    let base = site.fetch("job-1").await.unwrap();
    let new = site.edit(&base, "x");
    for key in ["insteadOf", "pushInsteadOf"] {
        git(
            &site.dir(),
            &["config", &format!("url.{}/.{key}", other.url()), &format!("{}/", site.host.url())],
        );
    }
    git(&site.dir(), &["config", "http.proxy", other.url()]);
    site.push(&new, HEAD, None).await.unwrap();
    assert_eq!((site.tip(HEAD), other.request_count()), (Some(new), 0));
}

#[tokio::test]
async fn credential_newline() {
    let site = Site::new().await;
    let other = FakeHost::start(Kind::GitHub).await;
    let host = site.host.url().trim_start_matches("http://");
    for url in [
        format!("http://{host}/acme%0ahost=example.com/docs.git"),
        format!("http://{host}/acme/docs.git%0D%0Ax-evil:1"),
        format!("http://{host}/acme/docs%00.git"),
        format!("http://me:secret@{host}/acme/docs.git"),
        format!("http://{host}/acme/docs.git?host={}", other.url()),
    ] {
        let remote = Remote::Http(remote(&url, Some(CANARY)));
        let refused = site.cache.fetch(&remote, "main", "job-1").await.unwrap_err();
        assert!(matches!(refused, Error::BadName(_)), "{url}: {refused:?}");
        assert!(!refused.to_string().contains("secret"), "{refused}");
    }
    assert_eq!((site.host.request_count(), other.request_count()), (0, 0));
}

#[tokio::test]
async fn repo_url_ssrf() {
    let site = Site::new().await;
    let url = site.host.url().replace("127.0.0.1", "localhost");
    let http = net::client(NetworkPolicy::default()).build().unwrap();
    let url = format!("{url}/acme/docs.git").parse().unwrap();
    let remote = Remote::Http(HttpRemote::new(http, url, Arc::new(Bearer(Some(CANARY)))));
    let refused = site.cache.fetch(&remote, "main", "job-1").await.unwrap_err();
    assert!(matches!(refused, Error::Denied(_)), "{refused:?}");
    assert!(refused.to_string().contains("is not called: it is on this machine"), "{refused}");
    assert_eq!(site.host.request_count(), 0);
}

/// The host echoes the token in its error message.
#[tokio::test]
async fn a_token_in_an_error_message_is_redacted() {
    let site = Site::new().await;
    site.fetch("job-1").await.unwrap();
    let sent = site.host.requests()[0].authorization.clone().unwrap();
    let encoded = sent.trim_start_matches("Basic ");
    let kind = ("content-type".to_owned(), "text/plain".to_owned());
    let body = format!("no, {CANARY} or {sent}");
    let echo = |status| Effect::Status { status, body: body.clone(), headers: [kind.clone()].into() };
    for status in [400, 403, 500] {
        site.host.faults().next(1, "POST", "git-upload-pack", echo(status));
        let error = format!("{:?}", site.fetch("job-1").await.unwrap_err());
        assert!(error.contains("no, [key] or Basic [key]"), "{error}");
        assert!(!error.contains(CANARY) && !error.contains(encoded), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn token_in_config() {
    let site = Site::new().await;
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let watch = std::thread::spawn({
        let seen = Arc::downgrade(&seen);
        move || watch(&seen)
    });
    let both = || {
        let seen = seen.lock().unwrap();
        ["index-pack", "pack-objects"]
            .iter()
            .all(|name| seen.iter().any(|process: &String| process.contains(name)))
    };
    // The processes live for a few milliseconds, so repeat until the watcher has seen both.
    for n in 0..100 {
        site.host.push(NAME, "main", &[("index.md", &format!("# {n}\n"))]).await;
        let base = site.fetch(&format!("job-{n}")).await.unwrap();
        let new = site.edit(&base, &format!("{n}"));
        site.push(&new, &format!("docwright/{n}"), None).await.unwrap();
        if both() {
            break;
        }
    }
    assert!(both(), "not every kind of process was seen");
    assert!(seen.lock().unwrap().iter().all(|process| !process.contains(CANARY)), "in a process");
    drop(seen);
    watch.join().unwrap();
    assert_eq!(files_containing(site.temp_dir.path(), CANARY), Vec::<String>::new());
}

/// Collects the arguments and environments of child processes until the receiver is dropped.
fn watch(seen: &Weak<Mutex<BTreeSet<String>>>) {
    while let Some(seen) = seen.upgrade() {
        for task in fs::read_dir("/proc/self/task").unwrap().flatten() {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            for child in children.split_whitespace() {
                let read = |what: &str| fs::read(format!("/proc/{child}/{what}")).unwrap_or_default();
                let process = [read("cmdline"), read("environ")].concat();
                seen.lock().unwrap().insert(String::from_utf8_lossy(&process).into_owned());
            }
        }
    }
}

/// The files below `dir` that contain `text`.
fn files_containing(dir: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false if fs::read(&path).unwrap().windows(text.len()).any(|part| part == text.as_bytes()) => {
                    found.push(path.display().to_string());
                }
                false => {}
            }
        }
    }
    found
}
