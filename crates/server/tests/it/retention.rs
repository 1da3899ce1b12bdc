//! Tests that old branches of merged and closed pull requests are removed, and no others.

use fakehost::{Effect, Fault, Kind};
use forge::Host as _;
use jiff::SignedDuration;
use serde_json::Value;
use server::{Admin, Settings, do_chores};
use store::PullState;

use crate::hosts::{HostFixture, NAME, branch};
use crate::support::git;

fn has_branch(fixture: &HostFixture, name: &str) -> bool {
    let list = git(&fixture.team.repository, &["branch", "--list", "--format=%(refname:short)", name]);
    list == name
}

async fn advance_90_days(fixture: &HostFixture) {
    fixture.server.clock.advance(SignedDuration::from_hours(24 * 90));
    do_chores(&fixture.server.app).await;
}

/// Closes the job's pull request on the host, and records it.
async fn close(fixture: &HostFixture, job: &Value) {
    let link = job["prLink"].as_str().unwrap();
    let number: u64 = link.rsplit('/').next().unwrap().parse().unwrap();
    let project = &fixture.team.project;
    match &fixture.host {
        Some(host) => host.close_pull(NAME, number),
        None => {
            let admin =
                Admin::open(&Settings::new(fixture.server.data()), fixture.server.clock.clone()).await;
            admin.unwrap().host(project).await.unwrap().close(number).await.unwrap();
        }
    }
    fixture.server.app.pulls.record_pull_state(&project.id, link, PullState::Closed).await.unwrap();
}

/// Three jobs: one whose pull request is closed, one closed with later commits, and one open.
async fn check_branches(fixture: &HostFixture) {
    let mut jobs = Vec::new();
    for word in ["one", "two", "three"] {
        let job = fixture.create(&format!("Replace \"{word}\" with \"word\".")).await;
        jobs.push(fixture.run_to_completion(&job).await);
    }
    for job in &jobs[..2] {
        close(fixture, job).await;
    }
    let pushed = branch(&jobs[1]);
    let tree = format!("{pushed}^{{tree}}");
    let tree = git(&fixture.team.repository, &["rev-parse", &tree]);
    let more = git(&fixture.team.repository, &["commit-tree", &tree, "-p", pushed, "-m", "By hand"]);
    git(&fixture.team.repository, &["update-ref", &format!("refs/heads/{pushed}"), &more]);

    do_chores(&fixture.server.app).await;
    assert!(has_branch(fixture, branch(&jobs[0])), "not yet");
    advance_90_days(fixture).await;
    let remaining: Vec<_> = jobs.iter().map(|job| has_branch(fixture, branch(job))).collect();
    assert_eq!(remaining, [false, true, true]);
}

#[tokio::test]
async fn old_branches_are_removed_on_the_embedded_host() {
    check_branches(&HostFixture::local().await).await;
}

#[tokio::test]
async fn old_branches_are_removed_on_github_and_gitlab() {
    for kind in [Kind::GitHub, Kind::GitLab] {
        check_branches(&HostFixture::on(kind).await).await;
    }
}

#[tokio::test]
async fn an_old_branch_is_removed_when_its_host_is_back() {
    let fixture = HostFixture::on(Kind::GitHub).await;
    let job = fixture.create("Replace \"one\" with \"eins\".").await;
    let job = fixture.run_to_completion(&job).await;
    close(&fixture, &job).await;
    let down = Fault { method: None, path: String::new(), times: None, effect: Effect::status(503) };
    fixture.fake().faults().add(down);
    advance_90_days(&fixture).await;
    fixture.fake().faults().clear();
    do_chores(&fixture.server.app).await;
    assert!(has_branch(&fixture, branch(&job)), "the host is not asked all the time");
    fixture.server.clock.advance(SignedDuration::from_hours(1));
    do_chores(&fixture.server.app).await;
    assert!(!has_branch(&fixture, branch(&job)));
}
