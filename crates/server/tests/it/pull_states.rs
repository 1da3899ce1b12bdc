//! What people do with a pull request on its host, and what becomes of its job, without a word from the host.

use fakehost::{Effect, Kind};
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::hosts::{NAME, PAGES, Place, WEB};
use crate::pages::Browser;

/// A server that the host cannot reach hears of nothing; whoever opens a page wants to know.
#[tokio::test]
async fn what_became_of_a_pull_request_is_asked_for_when_somebody_looks() {
    for kind in WEB {
        let place = Place::on(kind).await;
        let browser = Browser::signed_in(&place.server, &place.team).await;
        let root = format!("/p/{}", place.team.project.id);
        let (mut jobs, pages) = (Vec::new(), [("one", "/jobs"), ("two", "/pulls"), ("three", "/jobs/")]);
        for (number, (word, page)) in (1..).zip(pages) {
            let job = place.create(&format!("Replace \"{word}\" with \"wort {number}\".")).await;
            place.completed(&job).await;
            let page =
                if page == "/jobs/" { page.to_owned() + job["id"].as_str().unwrap() } else { page.into() };
            if number == 2 {
                place.fake().close_pull(NAME, 2)
            } else {
                place.merge(number).await
            }
            browser.get(&format!("{root}{page}")).await;
            let told = async || place.events(&job).await.pop().unwrap()["type"] == "pull_request";
            while !told().await {
                tokio::task::yield_now().await;
            }
            jobs.push(job);
        }
        let asked = place.fake().request_count();
        let list = browser.get(&format!("{root}/pulls")).await;
        assert_eq!(list.status, 200);
        for (state, words) in [("merged", ["wort 1", "wort 3"]), ("closed", ["wort 2", "wort 2"])] {
            let list = browser.get(&format!("{root}/pulls?state={state}")).await.body;
            assert!(words.iter().all(|word| list.contains(word)), "{kind:?} {state}");
        }
        let job = browser.get(&format!("{root}/jobs/{}", jobs[0]["id"].as_str().unwrap())).await.body;
        assert!(job.contains("Pull request #1 was merged") && !job.contains("is open"), "{kind:?}");
        assert_eq!(place.fake().request_count(), asked, "what is settled is not asked for again");
    }
}

#[tokio::test]
async fn what_became_of_one_does_not_hang_on_another() {
    let place = Place::on(Kind::Gitea).await;
    let browser = Browser::signed_in(&place.server, &place.team).await;
    let root = format!("/p/{}/jobs", place.team.project.id);
    let mut jobs = Vec::new();
    for word in ["one", "two"] {
        jobs.push(place.create(&format!("Replace \"{word}\" with \"wort\".")).await);
        place.completed(jobs.last().unwrap()).await;
    }
    let told = async |job: &Value| place.events(job).await.pop().unwrap()["state"].clone();
    let follows = async |job: &Value, page: &str, state: &str| {
        browser.get(page).await;
        while told(job).await != state {
            tokio::task::yield_now().await;
        }
    };
    // The newest comes first, and cannot be asked for.
    place.fake().faults().always("GET", "/pulls/2", Effect::Garbage);
    place.fake().close_pull(NAME, 1);
    follows(&jobs[0], &root, "closed").await;
    let page = format!("{root}/{}", jobs[0]["id"].as_str().unwrap());
    place.fake().reopen_pull(NAME, 1);
    place.server.clock.advance(SignedDuration::from_secs(5));
    follows(&jobs[0], &page, "open").await;
    assert_eq!(told(&jobs[1]).await, Value::Null);
}

#[tokio::test]
async fn a_follow_up_does_not_go_on_in_another_repository() {
    let place = Place::on(Kind::Gitea).await;
    let job = place.create("Replace \"one\" with \"eins\".").await;
    let link = place.completed(&job).await["prLink"].clone();
    let other = place.fake().repository("acme/other", &PAGES).await;
    let elsewhere = tempfile::tempdir().unwrap();
    fakehost::bare_repository(elsewhere.path(), &PAGES);
    for repository in
        [other.clone_url.trim_end_matches(".git").to_owned(), elsewhere.path().display().to_string()]
    {
        let change = store::ProjectChange { repository: Some(repository), ..store::ProjectChange::default() };
        place.server.app.accounts.update_project(&place.team.project.id, &change).await.unwrap();
        place.follow_up(&job, "Replace \"two\" with \"zwei\".").await;
        let now = place.settle(&job).await;
        assert_eq!((&now["status"], &now["prLink"]), (&json!("failed"), &link));
        let end = place.events(&job).await.pop().unwrap();
        assert!(
            end["message"].as_str().unwrap().contains("has another repository now; create a new job"),
            "{end}"
        );
    }
    assert!(place.fake().pulls("acme/other").is_empty());
    assert_eq!(place.pulls().await.len(), 1);
}
