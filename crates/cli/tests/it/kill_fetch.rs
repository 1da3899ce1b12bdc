//! Tests SIGKILL during the first job on a large repository, whose files are fetched when they are read.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fakehost::{Access, FakeHost, Kind};

use crate::models::write_settings;
use crate::support::{Client, Serving, git, home, json, run};

const TOKEN: &str = "tok-canary-0123456789abcdef";
const NAME: &str = "acme/docs";
/// More than are fetched with their commit.
const FILES: usize = 1_100;
/// Set `DOCWRIGHT_KILLS` for more.
const KILLS: u64 = 6;
const DEADLINE: Duration = Duration::from_secs(60);

struct Site {
    host: FakeHost,
    git_dir: PathBuf,
    project: String,
}

async fn site(home: &Path) -> Site {
    write_settings(home, "hosts_allow_private = true\n");
    let host = FakeHost::start(Kind::GitHub).await;
    host.token(TOKEN, Access::Full);
    host.set_rate_limit(1_000_000);
    let page = |n: usize| (format!("s{}/p{n}.md", n % 30), format!("# Page {n}\n\nThis is one page.\n"));
    let pages: Vec<_> = (0..FILES).map(page).collect();
    let pages: Vec<_> = pages.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let repository = host.repository(NAME, &pages).await;
    std::fs::write(home.join("token"), TOKEN).unwrap();
    let (url, token) = (format!("{}/{NAME}", host.url()), home.join("token"));
    let mut args = vec!["project", "create", "--name", "D", "--host", "github", "--json"];
    args.extend(["--token-file", token.to_str().unwrap(), "--repository", &url]);
    let project = json(home, &args)["id"].as_str().unwrap().to_owned();
    Site { host, git_dir: repository.git_dir, project }
}

fn poll(mut is_done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_done() {
        assert!(start.elapsed() < DEADLINE, "not in time");
        std::thread::yield_now();
    }
}

/// The server dies after the first, second … request of a first job. Each job ends with one right pull request, and a
/// cache that was interrupted is used again.
#[tokio::test(flavor = "multi_thread")]
async fn a_first_job_survives_sigkill_after_any_request() {
    let home = home();
    let Site { host, git_dir, project } = site(home.path()).await;
    let kills = std::env::var("DOCWRIGHT_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let mut first: Option<Client<'_>> = None;
    for number in 0..kills {
        let mut serving = Serving::start(home.path());
        let mut client = match &first {
            Some(first) => first.at(home.path(), &serving),
            None => Client::of(home.path(), &serving),
        };
        client.project.clone_from(&project);
        let prompt = format!("Replace \"This is one\" with \"This is page {number}, one\".");
        let before = host.request_count();
        let id = client.json(&["create", &prompt, "--json"])["id"].as_str().unwrap().to_owned();
        poll(|| host.request_count() > before + number % 8);
        serving.signal("-KILL");
        serving.child.wait().unwrap();
        let serving = Serving::start(home.path());
        let client = client.at(home.path(), &serving);
        poll(|| client.json(&["view", &id, "--json"])["status"] != "active");
        let ended = client.json(&["view", &id, "--json"]);
        assert_eq!(ended["status"], "completed", "{ended}");
        let branch = ended["source"]["ref"].as_str().unwrap();
        let changed = git(&git_dir, &["diff", "--shortstat", &format!("main..{branch}")]);
        assert!(changed.contains(&format!("{FILES} files changed, {FILES} insertions(+)")), "{changed}");
        assert_eq!(host.pulls(NAME).len() as u64, number + 1);
        let report = String::from_utf8(run(home.path(), &["doctor"]).stdout).unwrap();
        assert!(report.contains("D: files are fetched when a job reads them: "), "{report}");
        first = Some(client);
        drop(serving);
        // The next job is a first job again. A git program that outlived its server may still write.
        let cache = home.path().join(format!(".local/share/docwright/repos/{project}.git"));
        poll(|| std::fs::remove_dir_all(&cache).is_ok() || !cache.exists());
    }
    assert_eq!(git(&git_dir, &["fsck", "--strict", "--no-dangling"]), "");
}
