//! Branches of settled pull requests go after a while, and no others.

use fakehost::Kind;
use forge::Host as _;
use jiff::SignedDuration;
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

/// One that was closed, one that was closed and pushed to since, and one that is open.
async fn story(place: &Place) {
    let mut jobs = Vec::new();
    for word in ["one", "two", "three"] {
        let job = place.create(&format!("Replace \"{word}\" with \"word\".")).await;
        jobs.push(place.completed(&job).await);
    }
    for job in &jobs[..2] {
        let link = job["prLink"].as_str().unwrap();
        let number: u64 = link.rsplit('/').next().unwrap().parse().unwrap();
        let project = &place.team.project;
        match &place.host {
            Some(host) => host.close_pull(NAME, number),
            None => {
                let admin =
                    Admin::open(&Settings::new(place.server.data()), place.server.clock.clone()).await;
                admin.unwrap().host(project).await.unwrap().close(number).await.unwrap();
            }
        }
        place.server.app.pulls.note_pull(&project.id, link, PullState::Closed).await.unwrap();
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
