//! Branches of settled pull requests go after a while, and no others.

use fakehost::{Effect, Fault, Kind};
use forge::Host as _;
use jiff::SignedDuration;
use serde_json::Value;
use server::{Admin, Settings, do_chores};
use store::PullState;

use crate::hosts::{NAME, Place, branch};
use crate::support::git;

fn has_branch(place: &Place, name: &str) -> bool {
    let list = git(&place.team.repository, &["branch", "--list", "--format=%(refname:short)", name]);
    list == name
}

async fn a_quarter_goes_by(place: &Place) {
    place.server.clock.advance(SignedDuration::from_hours(24 * 90));
    do_chores(&place.server.app).await;
}

/// The host closes the job's pull request, and tells us.
async fn close(place: &Place, job: &Value) {
    let link = job["prLink"].as_str().unwrap();
    let number: u64 = link.rsplit('/').next().unwrap().parse().unwrap();
    let project = &place.team.project;
    match &place.host {
        Some(host) => host.close_pull(NAME, number),
        None => {
            let admin = Admin::open(&Settings::new(place.server.data()), place.server.clock.clone()).await;
            admin.unwrap().host(project).await.unwrap().close(number).await.unwrap();
        }
    }
    place.server.app.pulls.note_pull(&project.id, link, PullState::Closed).await.unwrap();
}

/// One that was closed, one that was closed and pushed to since, and one that is open.
async fn story(place: &Place) {
    let mut jobs = Vec::new();
    for word in ["one", "two", "three"] {
        let job = place.create(&format!("Replace \"{word}\" with \"word\".")).await;
        jobs.push(place.completed(&job).await);
    }
    for job in &jobs[..2] {
        close(place, job).await;
    }
    let pushed = branch(&jobs[1]);
    let tree = format!("{pushed}^{{tree}}");
    let tree = git(&place.team.repository, &["rev-parse", &tree]);
    let more = git(&place.team.repository, &["commit-tree", &tree, "-p", pushed, "-m", "By hand"]);
    git(&place.team.repository, &["update-ref", &format!("refs/heads/{pushed}"), &more]);

    do_chores(&place.server.app).await;
    assert!(has_branch(place, branch(&jobs[0])), "not yet");
    a_quarter_goes_by(place).await;
    let left: Vec<_> = jobs.iter().map(|job| has_branch(place, branch(job))).collect();
    assert_eq!(left, [false, true, true]);
}

#[tokio::test]
async fn branches_on_the_embedded_host() {
    story(&Place::local().await).await;
}

#[tokio::test]
async fn branches_on_github_and_gitlab() {
    for kind in [Kind::GitHub, Kind::GitLab] {
        story(&Place::on(kind).await).await;
    }
}

#[tokio::test]
async fn a_branch_on_a_host_that_is_down_goes_when_it_is_back() {
    let place = Place::on(Kind::GitHub).await;
    let job = place.create("Replace \"one\" with \"eins\".").await;
    let job = place.completed(&job).await;
    close(&place, &job).await;
    let down = Fault { method: None, path: String::new(), times: None, effect: Effect::status(503) };
    place.fake().faults().add(down);
    a_quarter_goes_by(&place).await;
    place.fake().faults().clear();
    do_chores(&place.server.app).await;
    assert!(has_branch(&place, branch(&job)), "it is not asked all the time");
    place.server.clock.advance(SignedDuration::from_hours(1));
    do_chores(&place.server.app).await;
    assert!(!has_branch(&place, branch(&job)));
}
