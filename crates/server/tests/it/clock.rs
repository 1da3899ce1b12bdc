//! Tests a clock that jumps while the server runs: nothing is deleted, repeated events count once, and
//! `/metrics` reports it.

use jiff::SignedDuration;
use reqwest::Method;
use serde_json::{Value, json};
use server::{Admin, Host as _, Settings, do_chores};
use store::{DataDir, Expiry, PullState};

use crate::cluster::Database;
use crate::hosts::branch;
use crate::support::{Team, TestServer, git, send};

const HOUR: SignedDuration = SignedDuration::from_hours(1);
const DAY: SignedDuration = SignedDuration::from_hours(24);
const LONG_JUMP: SignedDuration = SignedDuration::from_hours(24 * 500);

/// A server with a job whose pull request was closed, and a page view.
struct ClockFixture {
    server: TestServer,
    settings: Settings,
    team: Team,
    job: Value,
    /// A key that doesn't expire.
    key: String,
}

impl ClockFixture {
    async fn start(shape: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = None;
        let server = TestServer::start_with(|new| {
            new.metrics = true;
            shape(new);
            settings = Some(new.clone());
        })
        .await;
        let team = server.team("acme", &[("a.md", "one\n")]).await;
        let key = server.key(&team.organization, |new| new.expiry = Expiry::Never).await;
        let job = server.create_job(&team, "Replace \"one\" with \"eins\".").await;
        server.run_queued_jobs().await;
        let job = server.job(&team, &job["id"]).await;
        assert_eq!(job["status"], "completed", "{job}");
        let fixture = Self { server, settings: settings.unwrap(), team, job, key };
        fixture.close().await;
        assert_eq!(fixture.send_view().await, 0);
        fixture
    }

    async fn close(&self) {
        let link = self.job["prLink"].as_str().unwrap();
        let number = link.rsplit('/').next().unwrap().parse().unwrap();
        self.admin().await.host(&self.team.project).await.unwrap().close(number).await.unwrap();
        self.server
            .app
            .pulls
            .record_pull_state(&self.team.project.id, link, PullState::Closed)
            .await
            .unwrap();
    }

    /// What an admin command uses.
    async fn admin(&self) -> Admin {
        Admin::open_existing(&self.settings, self.server.clock.clone()).await.unwrap()
    }

    async fn confirm(&self) {
        let id = DataDir::find(&self.server.data()).unwrap().known_id();
        assert!(id.is_some());
        self.admin().await.clocks.confirm_clocks(id.as_deref()).await.unwrap();
    }

    /// Sends a view with the same id each time. Returns the number of duplicates.
    async fn send_view(&self) -> u64 {
        let path = format!("/v1/analytics/{}/events", self.team.project.id);
        let view = json!([{ "path": "/a", "eventId": "1" }]);
        self.server.post(&self.key, &path, &view).await.json()["duplicates"].as_u64().unwrap()
    }

    /// Runs the chores. Returns whether the job's branch and its steps still exist.
    async fn has_branch_and_steps(&self) -> (bool, bool) {
        do_chores(&self.server.app).await;
        let name = branch(&self.job);
        let found = git(&self.team.repository, &["branch", "--list", "--format=%(refname:short)", name]);
        let path =
            format!("/v2/agent/{}/job/{}/events", self.team.project.id, self.job["id"].as_str().unwrap());
        let events = self.server.get(&self.key, &path).await;
        assert_eq!(events.status, 200, "{events}");
        (found == name, !events.body.contains("No longer kept"))
    }

    async fn is_paused(&self) -> bool {
        let metrics = send(self.server.request(Method::GET, "/metrics")).await.body;
        let is = |value: u8| metrics.contains(&format!("\ndocwright_deletion_paused {value}\n"));
        assert_ne!(is(0), is(1), "{metrics}");
        is(1)
    }

    async fn check_confirmed_jump(&mut self) {
        let clock = self.server.clock.clone();
        assert!(!self.is_paused().await);
        clock.jump(LONG_JUMP);
        assert!(self.is_paused().await);
        assert_eq!((self.has_branch_and_steps().await, self.send_view().await), ((true, true), 1));
        // The expiry of keys follows the clock.
        let path = format!("/v1/analytics/{}/views", self.team.project.id);
        assert_eq!(self.server.get(&self.team.key, &path).await.status, 401);
        assert_eq!(self.server.get(&self.key, &path).await.status, 200);

        self.server.restart(&self.settings).await;
        assert_eq!((self.has_branch_and_steps().await, self.send_view().await), ((true, true), 1));
        clock.advance(DAY - HOUR);
        assert!(self.has_branch_and_steps().await == (true, true) && self.is_paused().await);
        self.confirm().await;
        assert_eq!(self.has_branch_and_steps().await, (false, false));
        assert!(!self.is_paused().await);
        assert_eq!(self.send_view().await, 0, "that was 500 days ago");
    }

    async fn check_unconfirmed_jump(&mut self) {
        let clock = self.server.clock.clone();
        clock.jump(LONG_JUMP);
        assert_eq!(self.has_branch_and_steps().await, (true, true));
        clock.jump(-LONG_JUMP);
        assert!(self.has_branch_and_steps().await == (true, true) && !self.is_paused().await);
        clock.jump(LONG_JUMP);
        assert_eq!(self.has_branch_and_steps().await, (true, true));
        clock.advance(DAY);
        assert_eq!((self.has_branch_and_steps().await, self.is_paused().await), ((false, false), false));
    }
}

#[tokio::test]
async fn a_jump_ahead_deletes_nothing_until_it_is_confirmed() {
    ClockFixture::start(|_| {}).await.check_confirmed_jump().await;
}

#[tokio::test]
async fn a_jump_ahead_deletes_nothing_until_the_clock_was_steady_for_a_day() {
    ClockFixture::start(|_| {}).await.check_unconfirmed_jump().await;
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn a_jump_ahead_deletes_nothing_on_postgres() {
    let (database, keys) = (Database::create(), tempfile::tempdir().unwrap());
    let file = keys.path().join("master.key");
    std::fs::write(&file, "5ea1".repeat(16)).unwrap();
    let shape = |settings: &mut Settings| {
        settings.database_url = Some(database.url().parse().unwrap());
        settings.master_key_file = Some(file);
    };
    ClockFixture::start(shape).await.check_confirmed_jump().await;
}
