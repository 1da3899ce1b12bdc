//! Runs jobs on repositories that are so large that files are fetched when they are read.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use fakehost::{Effect, Kind};
use forge::FetchMode;
use serde_json::{Value, json};
use server::model::Provider;

use crate::hosts::{HostFixture, NAME, WEB};
use crate::provider::{FakeProvider, Turn, calls, finish};
use crate::support::git;

/// More than are fetched with their commit.
const FILES: usize = 1_100;

fn page(n: usize) -> (String, String) {
    (format!("s{}/p{n}.md", n % 30), format!("# Page {n}\n\nRun one command, number {n}.\n"))
}

async fn fixture(kind: Kind, provider: Option<&FakeProvider>) -> HostFixture {
    let models = provider.map(|provider| ("fast".to_owned(), provider.settings(Provider::ALL[0])));
    let pages: Vec<_> = (0..FILES).map(page).collect();
    let pages: Vec<_> = pages.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    HostFixture::with(kind, &pages, |settings| settings.models = BTreeMap::from_iter(models)).await
}

fn fetched(fixture: &HostFixture) -> (u64, u64) {
    let state = fixture.server.app.hosts.fetch_state(&fixture.team.project.id).unwrap();
    assert_eq!(state.mode, FetchMode::OnDemand);
    (state.batches, state.files)
}

fn messages(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["message"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_edits_two_pages_costs_two_files() {
    for kind in WEB {
        let read = |n: usize| ("read", json!({ "path": page(n).0 }));
        let edit = |n: usize| {
            calls("edit", json!({ "path": page(n).0, "old": "Run one command", "new": "Run two commands" }))
        };
        let provider = FakeProvider::start([
            Turn::Calls(vec![read(7), read(8)]),
            edit(7),
            edit(8),
            finish("Say how many commands to run"),
        ])
        .await;
        let fixture = fixture(kind, Some(&provider)).await;
        let path = format!("/v2/agent/{}/job", fixture.team.project.id);
        let prompt = json!({ "prompt": "Say how many commands to run", "model": "fast" });
        let job = fixture.server.post(&fixture.team.key, &path, &prompt).await.json();
        let done = fixture.run_to_end(&job).await;
        let events = fixture.events(&job).await;
        assert_eq!(done["status"], "completed", "{:?}", events.last());
        // The first batch has one file, which shows that the host sends files by their ids.
        assert_eq!(fetched(&fixture), (2, 3));
        let branch = done["source"]["ref"].as_str().unwrap();
        for n in [7, 8] {
            let text = fixture.file(branch, &page(n).0);
            assert_eq!(text, format!("# Page {n}\n\nRun two commands, number {n}."));
        }
        let metrics = fixture.server.app.hosts.fetch_counts();
        assert_eq!((metrics.batches(), metrics.misses()), (2, 2));
        assert!(metrics.bytes() > 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_of_the_whole_site_fetches_it_at_once_and_says_so() {
    let fixture = fixture(Kind::GitHub, None).await;
    let job = fixture.create("Replace \"one command\" with \"this command\".").await;
    let done = fixture.run_to_end(&job).await;
    let events = fixture.events(&job).await;
    assert_eq!(done["status"], "completed", "{:?}", events.last());
    let progress = format!("Fetched {0} of {0} files from the host", FILES - 1);
    assert!(messages(&events).contains(&progress.as_str()), "{:?}", messages(&events));
    assert_eq!(fetched(&fixture), (2, FILES as u64));
    let branch = done["source"]["ref"].as_str().unwrap();
    assert!(fixture.file(branch, &page(1_000).0).contains("Run this command, number 1000."));
    // Everything is there for the next job.
    let job = fixture.create("Replace \"number\" with \"no.\".").await;
    let done = fixture.run_to_end(&job).await;
    assert_eq!(done["status"], "completed", "{:?}", fixture.events(&job).await.last());
    assert_eq!(fetched(&fixture), (2, FILES as u64));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_in_trouble_in_the_middle_of_a_job_delays_it() {
    let fixture = fixture(Kind::GitHub, None).await;
    let job = fixture.create("Replace \"one command\" with \"this command\".").await;
    for effect in [Effect::Cut(5_000), Effect::too_many(30), Effect::status(503), Effect::Garbage] {
        fixture.fake().faults().next(3, "POST", "git-upload-pack", effect);
    }
    let done = fixture.run_to_end(&job).await;
    assert_eq!(done["status"], "completed", "{:?}", fixture.events(&job).await.last());
    assert_eq!(fixture.fake().pulls(NAME).len(), 1);
    let branch = done["source"]["ref"].as_str().unwrap();
    for n in [0, 500, FILES - 1] {
        assert_eq!(
            fixture.file(branch, &page(n).0),
            page(n).1.replace("one command", "this command").trim_end()
        );
    }
}

/// The owner of the host changed its configuration while the job waited.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_is_repeated_when_the_host_begins_to_refuse_ids() {
    let fixture = fixture(Kind::GitHub, None).await;
    let hosts = &fixture.server.app.hosts;
    let remote = hosts.open(&fixture.team.project).await.unwrap().remote();
    let cache = hosts.cache(&fixture.team.project.id).await.unwrap();
    cache.fetch(&remote, "main", "test").await.unwrap();
    drop(cache);
    fetched(&fixture);
    fixture.fake().set(NAME, |settings| settings.sends_any_object = false);
    let job = fixture.create("Replace \"one command\" with \"this command\".").await;
    let done = fixture.run_to_end(&job).await;
    assert_eq!(done["status"], "completed", "{:?}", fixture.events(&job).await.last());
    let state = hosts.fetch_state(&fixture.team.project.id).unwrap();
    assert_eq!(state.mode, FetchMode::RefusesIds);
    assert_eq!(fixture.fake().pulls(NAME).len(), 1);
}

/// The branch was replaced, and the host collected its garbage.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_starts_over_when_the_host_forgot_its_base() {
    let fixture = fixture(Kind::GitHub, None).await;
    let job = fixture.create("Replace \"one command\" with \"this command\".").await;
    // The job fetches its base, and then the host is in trouble.
    fixture.fake().faults().next(3, "POST", "git-upload-pack", Effect::Delay(0));
    fixture.fake().faults().next(1, "POST", "git-upload-pack", Effect::status(503));
    fixture.server.run_queued_jobs().await;
    assert_eq!(fixture.server.job(&fixture.team, &job["id"]).await["status"], "active");
    fetched(&fixture);
    let dir = &fixture.team.repository;
    let blob = git_with_stdin(dir, &["hash-object", "-w", "--stdin"], "Run one command of another site.\n");
    let tree = git_with_stdin(dir, &["mktree"], &format!("100644 blob {blob}\tnew.md\n"));
    let other = git(dir, &["commit-tree", &tree, "-m", "Other"]);
    git(dir, &["update-ref", "refs/heads/main", &other]);
    git(dir, &["-c", "gc.reflogExpire=now", "gc", "-q", "--prune=now"]);
    let done = fixture.run_to_end(&job).await;
    assert_eq!(done["status"], "completed", "{:?}", fixture.events(&job).await.last());
    let branch = done["source"]["ref"].as_str().unwrap();
    assert_eq!(git(dir, &["ls-tree", "-r", "--name-only", branch]), "new.md");
    assert_eq!(fixture.file(branch, "new.md"), "Run this command of another site.");
}

fn git_with_stdin(dir: &Path, args: &[&str], input: &str) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(dir).args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap().trim().to_owned()
}
