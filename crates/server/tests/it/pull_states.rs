//! Tests that jobs follow the state of their pull request on a host that sends no webhooks.

use fakehost::{Effect, Kind};
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::hosts::{HostFixture, NAME, PAGES, WEB};
use crate::pages::Browser;

/// A host that can't reach the server sends no webhooks, so pages of the dashboard ask for the state.
#[tokio::test]
async fn a_page_refreshes_the_state_of_a_pull_request() {
    for kind in WEB {
        let fixture = HostFixture::on(kind).await;
        let browser = Browser::signed_in(&fixture.server, &fixture.team).await;
        let root = format!("/p/{}", fixture.team.project.id);
        let (mut jobs, pages) = (Vec::new(), [("one", "/jobs"), ("two", "/pulls"), ("three", "/jobs/")]);
        for (number, (word, page)) in (1..).zip(pages) {
            let job = fixture.create(&format!("Replace \"{word}\" with \"wort {number}\".")).await;
            fixture.run_to_completion(&job).await;
            let page =
                if page == "/jobs/" { page.to_owned() + job["id"].as_str().unwrap() } else { page.into() };
            if number == 2 {
                fixture.fake().close_pull(NAME, 2)
            } else {
                fixture.merge(number).await
            }
            browser.get(&format!("{root}{page}")).await;
            let is_refreshed = async || fixture.events(&job).await.pop().unwrap()["type"] == "pull_request";
            while !is_refreshed().await {
                tokio::task::yield_now().await;
            }
            jobs.push(job);
        }
        let requests = fixture.fake().request_count();
        let list = browser.get(&format!("{root}/pulls")).await;
        assert_eq!(list.status, 200);
        for (state, words) in [("merged", ["wort 1", "wort 3"]), ("closed", ["wort 2", "wort 2"])] {
            let list = browser.get(&format!("{root}/pulls?state={state}")).await.body;
            assert!(words.iter().all(|word| list.contains(word)), "{kind:?} {state}");
        }
        let job = browser.get(&format!("{root}/jobs/{}", jobs[0]["id"].as_str().unwrap())).await.body;
        assert!(job.contains("Pull request #1 was merged") && !job.contains("is open"), "{kind:?}");
        assert_eq!(
            fixture.fake().request_count(),
            requests,
            "merged and closed ones are not requested again"
        );
    }
}

#[tokio::test]
async fn the_state_of_a_pull_request_does_not_depend_on_another() {
    let fixture = HostFixture::on(Kind::Gitea).await;
    let browser = Browser::signed_in(&fixture.server, &fixture.team).await;
    let root = format!("/p/{}/jobs", fixture.team.project.id);
    let mut jobs = Vec::new();
    for word in ["one", "two"] {
        jobs.push(fixture.create(&format!("Replace \"{word}\" with \"wort\".")).await);
        fixture.run_to_completion(jobs.last().unwrap()).await;
    }
    let state = async |job: &Value| fixture.events(job).await.pop().unwrap()["state"].clone();
    let refreshes = async |job: &Value, page: &str, expected: &str| {
        browser.get(page).await;
        while state(job).await != expected {
            tokio::task::yield_now().await;
        }
    };
    // The newest comes first, and its request fails.
    fixture.fake().faults().always("GET", "/pulls/2", Effect::Garbage);
    fixture.fake().close_pull(NAME, 1);
    refreshes(&jobs[0], &root, "closed").await;
    let page = format!("{root}/{}", jobs[0]["id"].as_str().unwrap());
    fixture.fake().reopen_pull(NAME, 1);
    fixture.server.clock.advance(SignedDuration::from_secs(5));
    refreshes(&jobs[0], &page, "open").await;
    assert_eq!(state(&jobs[1]).await, Value::Null);
}

#[tokio::test]
async fn a_follow_up_fails_in_another_repository() {
    let fixture = HostFixture::on(Kind::Gitea).await;
    let job = fixture.create("Replace \"one\" with \"eins\".").await;
    let link = fixture.run_to_completion(&job).await["prLink"].clone();
    let other = fixture.fake().repository("acme/other", &PAGES).await;
    let elsewhere = tempfile::tempdir().unwrap();
    fakehost::bare_repository(elsewhere.path(), &PAGES);
    for repository in
        [other.clone_url.trim_end_matches(".git").to_owned(), elsewhere.path().display().to_string()]
    {
        let change = store::ProjectChange { repository: Some(repository), ..store::ProjectChange::default() };
        fixture.server.app.accounts.update_project(&fixture.team.project.id, &change).await.unwrap();
        fixture.follow_up(&job, "Replace \"two\" with \"zwei\".").await;
        let now = fixture.run_to_end(&job).await;
        assert_eq!((&now["status"], &now["prLink"]), (&json!("failed"), &link));
        let end = fixture.events(&job).await.pop().unwrap();
        assert!(
            end["message"].as_str().unwrap().contains("has another repository now; create a new job"),
            "{end}"
        );
    }
    assert!(fixture.fake().pulls("acme/other").is_empty());
    assert_eq!(fixture.pulls().await.len(), 1);
}
