//! Tests trouble of the machine: jobs wait and then continue, writes get a 503, reads still work, and
//! `/readyz` names the trouble.

use jiff::SignedDuration;
use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, ORIGIN};
use serde_json::{Value, json};

use crate::disk::Disk;
use crate::pages::Browser;
use crate::support::{Answer, Team, TestServer, bare_repository, git, send};

const FILES: &[(&str, &str)] = &[("a.md", "one\n")];
const PROMPT: &str = "Replace \"one\" with \"two\".";
const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";
const SITE: &str = "https://docs.acme.dev";
/// Longer than any delay of a job.
const LATER: SignedDuration = SignedDuration::from_mins(10);

/// A project whose repository is on the disk.
async fn team_on(server: &TestServer, disk: &Disk) -> Team {
    let repository = disk.path().join("docs.git");
    bare_repository(&repository, FILES);
    let team = server.team("acme", FILES).await;
    let project = server.project(&team, |new| new.repository = repository.to_str().unwrap().into()).await;
    Team { project, repository, ..team }
}

/// Runs the job, and checks that it's delayed by this cause.
async fn check_waits_for(server: &TestServer, team: &Team, job: &Value, cause: &str, sentence: &str) {
    server.run_queued_jobs().await;
    let events = server.events(team, &job["id"]).await;
    let last = events.last().unwrap();
    assert_eq!((&last["type"], &last["cause"]), (&json!("waiting"), &json!(cause)), "{events:#?}");
    let message = last["message"].as_str().unwrap();
    assert!(
        message.starts_with(sentence) && message.contains("; the job then continues by itself. Trying"),
        "{message}"
    );
    assert_eq!(server.job(team, &job["id"]).await["status"], "active");
    server.clock.advance(LATER);
}

/// Runs the job, and checks that it opens one pull request in its first attempt.
async fn check_completes(server: &TestServer, team: &Team, job: &Value) {
    server.run_queued_jobs().await;
    let events = server.events(team, &job["id"]).await;
    assert_eq!(server.job(team, &job["id"]).await["status"], "completed", "{events:#?}");
    assert_eq!(server.app.pulls.pulls(&team.project.id, 10).await.unwrap().len(), 1);
    let began = events.iter().filter(|event| event["type"] == "started");
    assert!(began.clone().all(|event| event["attempt"] == 1), "{events:#?}");
    let branch = format!("docwright/{}:a.md", job["id"].as_str().unwrap());
    assert_eq!(git(&team.repository, &["show", &branch]).lines().next(), Some("two"));
}

#[tokio::test]
async fn a_job_waits_however_long_the_disk_of_its_repository_is_full() {
    let Some(disk) = Disk::new(2_048) else { return };
    let server = TestServer::start().await;
    let team = team_on(&server, &disk).await;
    let job = server.create_job(&team, PROMPT).await;
    disk.fill();
    // A host or a model in trouble would end the job after 50 delays.
    for _ in 0..55 {
        check_waits_for(
            &server,
            &team,
            &job,
            "disk_full",
            "The disk of the repository is full. Free up space",
        )
        .await;
    }
    disk.free();
    check_completes(&server, &team, &job).await;
}

#[tokio::test]
async fn a_job_waits_while_its_repository_cannot_be_written() {
    let Some(disk) = Disk::new(2_048) else { return };
    let server = TestServer::start().await;
    let team = team_on(&server, &disk).await;
    let job = server.create_job(&team, PROMPT).await;
    disk.remount("ro");
    check_waits_for(
        &server,
        &team,
        &job,
        "read_only",
        "The disk of the repository is read-only. Make it writable again",
    )
    .await;
    disk.remount("rw");
    check_completes(&server, &team, &job).await;
}

#[tokio::test]
async fn a_job_waits_while_the_disk_of_the_caches_is_full() {
    let mut disk = None;
    let server =
        TestServer::start_with(|settings| disk = Disk::at(&settings.data.join("repos"), 1_024)).await;
    let Some(disk) = disk else { return };
    let team = server.team("acme", FILES).await;
    let job = server.create_job(&team, PROMPT).await;
    disk.fill();
    check_waits_for(
        &server,
        &team,
        &job,
        "disk_full",
        "The disk of the data directory is full. Free up space",
    )
    .await;
    // The same with an existing cache.
    disk.free();
    check_completes(&server, &team, &job).await;
    let next = server.create_job(&team, "Replace \"one\" with \"drei\".").await;
    disk.fill();
    check_waits_for(
        &server,
        &team,
        &next,
        "disk_full",
        "The disk of the data directory is full. Free up space",
    )
    .await;
    disk.free();
    server.run_queued_jobs().await;
    assert_eq!(server.job(&team, &next["id"]).await["status"], "completed");
}

/// The number of this process's POSIX locks, such as those of SQLite.
fn count_locks() -> usize {
    let own = std::process::id().to_string();
    let all = std::fs::read_to_string("/proc/locks").unwrap();
    let own_locks =
        all.lines().filter(|line| line.contains("POSIX") && line.split_whitespace().any(|word| word == own));
    own_locks.count()
}

/// Closing any descriptor of a file ends all locks of the process on it. Then another process could change
/// the database while the server uses it.
#[tokio::test]
async fn a_check_of_the_machine_keeps_the_locks_of_the_databases() {
    let server = TestServer::start().await;
    let team = server.team("acme", FILES).await;
    let before = count_locks();
    let path = format!("/v2/agent/{}/job", team.project.id);
    let job = server.post(&team.key, &path, &json!({ "prompt": PROMPT, "ref": "none" })).await.json();
    server.run_queued_jobs().await;
    assert_eq!(server.job(&team, &job["id"]).await["status"], "failed");
    assert!(before > 0 && count_locks() >= before, "{before} locks before, {} after", count_locks());
}

/// Pages whose diff is larger than the free space.
fn large_pages() -> Vec<(String, String)> {
    let line = |page: usize, n: usize| format!("one {} {page} {n}\n", "word ".repeat(20));
    (0..40).map(|page| (format!("p{page}.md"), (0..200).map(|n| line(page, n)).collect())).collect()
}

#[tokio::test]
async fn a_job_waits_when_the_disk_of_the_database_fills_up_during_its_run() {
    let Some(disk) = Disk::new(8_192) else { return };
    let mut caches = None;
    let server = TestServer::start_with(|settings| {
        settings.data = disk.path().join("data");
        caches = Disk::at(&settings.data.join("repos"), 65_536);
    })
    .await;
    let Some(_caches) = caches else { return };
    let pages = large_pages();
    let files: Vec<_> = pages.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let team = server.team("acme", &[&files[..], FILES].concat()).await;
    let job = server.create_job(&team, PROMPT).await;
    disk.fill_up_to(1_024);
    for _ in 0..3 {
        check_waits_for(
            &server,
            &team,
            &job,
            "disk_full",
            "The disk of the data directory is full. Free up space",
        )
        .await;
    }
    disk.free();
    check_completes(&server, &team, &job).await;
}

/// A server whose data directory is on a small disk and has a job and page views.
struct SmallDiskServer {
    server: TestServer,
    team: Team,
    job: Value,
    disk: Disk,
}

impl SmallDiskServer {
    async fn on(disk: Option<Disk>) -> Option<Self> {
        let disk = disk?;
        let server = TestServer::start_with(|settings| settings.data = disk.path().join("data")).await;
        let team = server.team("acme", FILES).await;
        let project = server.project(&team, |new| new.sites = vec![SITE.into()]).await;
        let team = Team { project, ..team };
        let job = server.create_job(&team, PROMPT).await;
        server.run_queued_jobs().await;
        let small = Self { server, team, job, disk };
        assert_eq!(small.send_views(10).await.status, 202);
        Some(small)
    }

    fn views_path(&self, rest: &str) -> String {
        format!("/v1/analytics/{}/{rest}", self.team.project.id)
    }

    fn job_path(&self, rest: &str) -> String {
        format!("/v2/agent/{}/job/{}{rest}", self.team.project.id, self.job["id"].as_str().unwrap())
    }

    async fn send_views(&self, count: usize) -> Answer {
        let view = |n: usize| json!({ "path": format!("/p{n}"), "userAgent": FIREFOX, "ip": "192.0.2.1" });
        let views: Value = (0..count).map(view).collect();
        self.server.post(&self.team.key, &self.views_path("events"), &views).await
    }

    async fn beacon(&self) -> Answer {
        let path = format!("/v1/collect/{}", self.team.project.id);
        let request = self.server.request(Method::POST, &path).header(ORIGIN, SITE);
        send(request.header(CONTENT_TYPE, "text/plain").body(r#"{"path":"/a"}"#)).await
    }

    async fn readyz(&self) -> String {
        self.server.get("", "/readyz").await.to_string()
    }

    /// Advances the clock by five seconds, so that the last result isn't fresh.
    async fn readyz_fresh(&self) -> String {
        self.server.clock.advance(SignedDuration::from_secs(5));
        self.readyz().await
    }

    async fn every_write(&self) -> Vec<Answer> {
        let (server, team) = (&self.server, &self.team);
        let part = format!("events?file={0}&hash={0}&from=0&to=9", "0f".repeat(32));
        vec![
            self.send_views(5).await,
            self.beacon().await,
            server.post(&team.key, &self.views_path(&part), &json!([{ "path": "/a" }])).await,
            server
                .post(&team.key, &format!("/v2/agent/{}/job", team.project.id), &json!({ "prompt": PROMPT }))
                .await,
            server.ask(team, &self.job, "message", &json!({ "prompt": PROMPT })).await,
            server.ask(team, &self.job, "archive", &json!({})).await,
        ]
    }

    async fn every_read(&self) -> Vec<Answer> {
        let lists = [
            "views",
            "visitors",
            "series",
            "agents",
            "referrers",
            "ai-referrals",
            "not-found",
            "redirected",
            "live",
        ];
        let import = format!("imports/{}", "0f".repeat(32));
        let views = lists.iter().copied().chain([import.as_str()]).map(|list| self.views_path(list));
        let job = ["", "/events", "/diff", "/transcript"].map(|rest| self.job_path(rest));
        let jobs = format!("/v2/agent/{}/jobs", self.team.project.id);
        let mut answers = Vec::new();
        for path in views.chain(job).chain([jobs]) {
            answers.push(self.server.get(&self.team.key, &path).await);
        }
        answers
    }
}

#[track_caller]
fn check_refused(answers: &[Answer]) {
    for answer in answers {
        let told = (answer.status, answer.header("x-error-code"), answer.header("retry-after"));
        assert_eq!(told, (503, "unavailable", "1"), "{answer}");
        let sentence = "the server can't use its disk; try again in a moment";
        assert_eq!(answer.json(), json!({ "error": sentence }));
    }
}

/// Checks that all reads work, that all writes are refused, and that refused writes change nothing.
async fn check_reads_work(small: &SmallDiskServer, browser: &Browser<'_>) {
    let before: Vec<_> = small.every_read().await.into_iter().map(|answer| answer.body).collect();
    let pages = ["/", "/p/{}/jobs", "/p/{}/readers", "/p/{}/readers/agents", "/p/{}/pulls", "/p/{}/pulls/1"];
    for page in pages.map(|page| page.replace("{}", &small.team.project.id.0)) {
        assert_eq!(browser.get(&page).await.status, 200, "{page}");
    }
    check_refused(&small.every_write().await);
    for (answer, before) in small.every_read().await.iter().zip(before) {
        assert_eq!((answer.status, &answer.body), (200, &before));
    }
}

#[tokio::test]
async fn on_a_full_disk_writes_are_refused_and_reads_work_and_readyz_names_it() {
    let Some(small) = SmallDiskServer::on(Disk::new(8_192)).await else { return };
    let browser = Browser::signed_in(&small.server, &small.team).await;
    assert_eq!(small.readyz_fresh().await, "200 ready\n");
    // Visitors aren't counted yet and views aren't compacted: both are usually written during a read.
    small.disk.fill();
    check_reads_work(&small, &browser).await;
    let sentence = "the server is not ready: the disk of the data directory is full; free up space";
    assert_eq!(small.readyz().await, "200 ready\n", "a result is fresh for five seconds");
    assert_eq!(small.readyz_fresh().await, format!(r#"503 {{"error":"{sentence}"}}"#));
    let keys = format!("/p/{}/keys", small.team.project.id);
    let refused = browser.post(&keys, &[("name", "x"), ("scope", "read"), ("expires", "7d")]).await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, "1"), "{refused}");

    small.disk.free();
    assert_eq!(small.readyz_fresh().await, "200 ready\n");
    let written = small.every_write().await;
    assert_eq!(
        written.iter().map(|answer| answer.status).collect::<Vec<_>>(),
        [202, 204, 202, 201, 200, 200]
    );
    // All accepted views are stored: 10 before, and then 5, 1 and 1.
    let views = small.server.get(&small.team.key, &small.views_path("views")).await;
    assert_eq!(views.json()["totals"]["human"], 15, "{views}");
    let agents = small.server.get(&small.team.key, &small.views_path("agents")).await.json();
    let all = agents["agents"].as_array().unwrap().iter().map(|agent| agent["views"].as_u64().unwrap());
    assert_eq!(all.sum::<u64>(), 17, "{agents}");
}

#[tokio::test]
async fn on_a_disk_that_became_read_only_writes_are_refused_and_reads_work() {
    let Some(small) = SmallDiskServer::on(Disk::ext4()).await else { return };
    let browser = Browser::signed_in(&small.server, &small.team).await;
    assert_eq!(small.readyz_fresh().await, "200 ready\n");
    if !small.disk.fail() {
        return;
    }
    check_reads_work(&small, &browser).await;
    let refused = small.readyz_fresh().await;
    let sentence = "the disk of the data directory is read-only; make it writable again";
    assert_eq!(refused, format!(r#"503 {{"error":"the server is not ready: {sentence}"}}"#));
}

#[tokio::test]
async fn a_server_without_its_data_directory_is_not_ready() {
    let server = TestServer::start().await;
    let ready = async || {
        server.clock.advance(SignedDuration::from_secs(5));
        server.get("", "/readyz").await
    };
    assert_eq!(ready().await.to_string(), "200 ready\n");
    let aside = server.data().with_extension("aside");
    std::fs::rename(server.data(), &aside).unwrap();
    let gone = ready().await;
    assert_eq!((gone.status, gone.header("retry-after")), (503, "1"));
    assert!(gone.body.contains("is gone or was replaced since the server opened it; put it back"), "{gone}");
    // A new directory with the same name is not the same directory.
    std::fs::create_dir(server.data()).unwrap();
    let other = ready().await;
    assert!(other.body.contains("is gone or was replaced since the server opened it"), "{other}");
    std::fs::remove_dir(server.data()).unwrap();
    std::fs::rename(&aside, server.data()).unwrap();
    assert_eq!(ready().await.to_string(), "200 ready\n");
    for file in ["views.db", "docwright.db", "docwright.db-wal", "docwright.db-shm"] {
        let (file, aside) = (server.data().join(file), server.data().join("aside"));
        std::fs::rename(&file, &aside).unwrap();
        assert_eq!(ready().await.status, 503, "{}", file.display());
        std::fs::rename(&aside, &file).unwrap();
        assert_eq!(ready().await.to_string(), "200 ready\n");
    }
}
