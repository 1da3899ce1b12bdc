//! Tests the list of jobs with its filters, and the page of a job with its forms.

use reqwest::Method;
use serde_json::Value;

use crate::pages::{Browser, hidden};
use crate::support::{Team, TestServer, send};

const DOCS: &[(&str, &str)] =
    &[("a.md", "# Title\n\none <script>alert(1)</script> ![p](https://evil.example/x.png)\n")];
const CHANGE: &str = "Replace \"one\" with \"two\".";

fn root(team: &Team) -> String {
    format!("/p/{}/jobs", team.project.id)
}

async fn job(server: &TestServer, team: &Team, prompt: &str) -> String {
    let created = server.create_job(team, prompt).await;
    format!("{}/{}", root(team), created["id"].as_str().unwrap())
}

#[tokio::test]
async fn the_list_shows_states_and_can_be_filtered_and_searched() {
    let server = TestServer::start().await;
    let team = server.team("acme", DOCS).await;
    let browser = Browser::signed_in(&server, &team).await;
    job(&server, &team, CHANGE).await;
    job(&server, &team, "Replace \"nowhere\" with \"there\".").await;
    server.run_queued_jobs().await;
    job(&server, &team, "Fix <b>typos</b>").await;
    let matches = async |query: &str| {
        let page = browser.get(&format!("{}?{query}", root(&team))).await;
        assert_eq!(page.status, 200);
        ["two", "there", "typos"].map(|word| page.body.contains(&format!("{word}&#"))).map(u8::from)
    };
    assert_eq!(matches("").await, [1, 1, 1]);
    assert_eq!(matches("state=review").await, [1, 0, 0]);
    assert_eq!(matches("state=unchanged").await, [0, 1, 0]);
    assert_eq!(matches("state=running").await, [0, 0, 1]);
    assert_eq!(matches("state=merged").await, [0, 0, 0]);
    assert_eq!(matches("q=REPLACE").await, [1, 1, 0]);
    assert_eq!(matches("q=replace&state=review").await, [1, 0, 0]);
    assert_eq!(matches("state=%ff%00&offset=x").await, [1, 1, 1]);

    let page = browser.get(&root(&team)).await.body;
    assert!(page.contains("+1<span") && page.contains("−1<span"), "lines of the change");
    browser.merge(&format!("/p/{}/pulls/1", team.project.id)).await;
    assert_eq!(matches("state=merged").await, [1, 0, 0]);
    let none = browser.get(&format!("{}?q=%22%3E%3Cscript%3E", root(&team))).await.body;
    assert!(none.contains("No jobs match") && !none.contains("\"><script>"));
}

#[tokio::test]
async fn the_preview_of_a_page_contains_no_html_of_the_page() {
    let server = TestServer::start().await;
    let team = server.team("acme", DOCS).await;
    let browser = Browser::signed_in(&server, &team).await;
    let job = job(&server, &team, CHANGE).await;
    server.run_queued_jobs().await;
    let page = browser.get(&job).await.body;
    assert!(page.contains("<p class=\"title level-1\">Title</p>"), "{page}");
    assert!(!page.contains("<script>alert") && !page.contains("<img"));
    assert!(page.contains("Review the changes below"));
}

#[tokio::test]
async fn a_follow_up_continues_the_job_and_an_empty_one_is_refused() {
    let server = TestServer::start().await;
    let team = server.team("acme", DOCS).await;
    let browser = Browser::signed_in(&server, &team).await;
    let job = job(&server, &team, CHANGE).await;
    server.run_queued_jobs().await;
    let message = format!("{job}/message");
    let empty = browser.post(&message, &[("prompt", " \n")]).await;
    assert_eq!(empty.status, 400);
    assert!(empty.body.contains("prompt must not be empty"));
    let more = browser.post(&message, &[("prompt", "Replace \"two\" with \"three\".")]).await;
    assert_eq!((more.status, more.header("location")), (303, job.as_str()));
    assert!(browser.get(&job).await.body.contains("Follow-up: "));
    server.run_queued_jobs().await;
    browser.merge(&format!("/p/{}/pulls/1", team.project.id)).await;
    let late = browser.post(&message, &[("prompt", "kept & typed")]).await;
    assert_eq!(late.status, 409);
    assert!(late.body.contains("pull request is merged; create a new job"));
}

/// Such a job pushed no branch. Its follow-up opens a pull request of its own.
#[tokio::test]
async fn the_page_of_an_equal_job_shows_the_branch_of_the_pull_request_that_it_names() {
    let server = TestServer::start().await;
    let team = server.team("acme", DOCS).await;
    let browser = Browser::signed_in(&server, &team).await;
    let (first, second) = (server.create_job(&team, CHANGE).await, server.create_job(&team, CHANGE).await);
    server.run_queued_jobs().await;
    let [branch, missing] = [&first, &second].map(|job| job["source"]["ref"].as_str().unwrap().to_owned());
    let page = async |job: &Value| {
        browser.get(&format!("{}/{}", root(&team), job["id"].as_str().unwrap())).await.body
    };
    let own = page(&first).await;
    assert!(own.contains(&branch) && own.contains("on the same branch and pull request."), "{own}");
    let equal = page(&second).await;
    assert!(equal.contains(&format!("<code>{branch}</code>")), "{equal}");
    assert!(!equal.contains(&format!("<code>{missing}</code>")), "{equal}");
    assert!(equal.contains("opens its own pull request with both changes."), "{equal}");
    let pulls = browser.get(&format!("/p/{}/pulls", team.project.id)).await.body;
    assert!(pulls.contains(&branch) && !pulls.contains(&missing), "{pulls}");
}

#[tokio::test]
async fn a_job_can_be_archived_and_retried() {
    let server = TestServer::start().await;
    let team = server.team("acme", DOCS).await;
    let browser = Browser::signed_in(&server, &team).await;
    let job = job(&server, &team, CHANGE).await;
    assert!(browser.get(&job).await.body.contains("Stop and archive"));
    assert_eq!(browser.post(&format!("{job}/archive"), &[]).await.status, 303);
    let page = browser.get(&job).await.body;
    assert!(page.contains("archived") && !page.contains("Archive job") && !page.contains("Send a follow-up"));
    let again = browser.post(&format!("{job}/retry"), &[]).await;
    let new = again.header("location").to_owned();
    assert!(again.status == 303 && new != job, "{again}");
    server.run_queued_jobs().await;
    assert!(browser.get(&new).await.body.contains("review needed"));
}

#[tokio::test]
async fn the_event_stream_notifies_the_page_until_the_job_ends() {
    let server = TestServer::start().await;
    let team = server.team("acme", DOCS).await;
    let browser = Browser::signed_in(&server, &team).await;
    let job = job(&server, &team, CHANGE).await;
    let path = format!("{job}/events?after=1");
    let (stream, ()) = tokio::join!(browser.get(&path), server.run_queued_jobs());
    assert!(stream.header("content-type").starts_with("text/event-stream"));
    assert!(stream.body.starts_with("id: 2\ndata: news\n\n"), "{}", stream.body);
    let transcript = browser.get(&format!("{job}/transcript")).await;
    assert!(transcript.header("content-disposition").starts_with("attachment"));
    assert!(transcript.body.lines().count() > 3);
}

#[tokio::test]
async fn pull_requests_are_filtered_by_state_and_a_conflict_is_shown_before_the_merge() {
    let server = TestServer::start().await;
    let team = server.team("acme", DOCS).await;
    let browser = Browser::signed_in(&server, &team).await;
    job(&server, &team, CHANGE).await;
    job(&server, &team, "Replace \"one\" with \"three\".").await;
    server.run_queued_jobs().await;
    let pulls = format!("/p/{}/pulls", team.project.id);
    browser.merge(&format!("{pulls}/1")).await;
    let listed = async |state: &str| {
        let page = browser.get(&format!("{pulls}?state={state}")).await.body;
        ["#1", "#2"].map(|number| page.contains(&format!(">{number}<"))).map(u8::from)
    };
    assert_eq!(listed("").await, [1, 1]);
    assert_eq!(listed("open").await, [0, 1]);
    assert_eq!(listed("merged").await, [1, 0]);
    assert_eq!(listed("closed").await, [0, 0]);
    let page = browser.get(&format!("{pulls}/2")).await.body;
    assert!(page.contains("conflict") && !page.contains("Merge into"), "{page}");
}

#[tokio::test]
async fn a_form_that_is_sent_twice_creates_one_job() {
    let server = TestServer::start().await;
    let team = server.team("acme", DOCS).await;
    let browser = Browser::signed_in(&server, &team).await;
    let jobs = format!("/p/{}/jobs", team.project.id);
    let once = async || hidden(&browser.get(&jobs).await.body, "once");
    let send = async |once: &str, prompt: &str| {
        let answer = browser.post(&jobs, &[("prompt", prompt), ("once", once)]).await;
        assert_eq!(answer.status, 303, "{}", answer.body);
        answer.header("location").to_owned()
    };
    let first = once().await;
    let job = send(&first, CHANGE).await;
    assert_eq!(send(&first, CHANGE).await, job, "the same form");
    assert_ne!(send(&first, "Replace \"two\" with \"2\".").await, job, "the same form with another prompt");
    assert_ne!(send(&once().await, CHANGE).await, job, "another form");
    assert_ne!(send("", CHANGE).await, send("", CHANGE).await, "a form without a token");
    server.run_queued_jobs().await;
    assert_ne!(send(&first, CHANGE).await, job, "a form can create another job after the first ended");
}

#[tokio::test]
async fn a_follow_up_or_a_retry_that_is_sent_twice_counts_once() {
    let server = TestServer::start().await;
    let team = server.team("acme", DOCS).await;
    let browser = Browser::signed_in(&server, &team).await;
    let job = job(&server, &team, CHANGE).await;
    server.run_queued_jobs().await;
    let once = hidden(&browser.get(&job).await.body, "once");
    let (message, retry) = (format!("{job}/message"), format!("{job}/retry"));
    let send = async |prompt: &str| {
        assert_eq!(browser.post(&message, &[("prompt", prompt), ("once", &once)]).await.status, 303);
    };
    for prompt in ["Replace \"two\" with \"2\".", "Replace \"two\" with \"2\".", "Replace \"p\" with \"q\"."]
    {
        send(prompt).await;
    }
    let page = browser.get(&job).await.body;
    assert_eq!(page.matches("Follow-up: ").count(), 2, "{page}");
    let retried = async || browser.post(&retry, &[("once", &once)]).await.header("location").to_owned();
    assert_eq!(retried().await, retried().await);
    // The same prompt in another form of the page is another request.
    send(CHANGE).await;
    assert_eq!(browser.get(&job).await.body.matches("Follow-up: ").count(), 3);
}

#[tokio::test]
async fn a_large_diff_is_truncated_and_shown_in_full_on_request() {
    let server = TestServer::start().await;
    let long = "one line of a page that goes on and on\n".repeat(1_000);
    let team = server.team("acme", &[("a.md", long.as_str())]).await;
    let browser = Browser::signed_in(&server, &team).await;
    let job = job(&server, &team, CHANGE).await;
    server.run_queued_jobs().await;
    for path in [job, format!("/p/{}/pulls/1", team.project.id)] {
        let light = browser.get(&path).await.body;
        assert!(light.len() < 80_000, "{}", light.len());
        assert!(light.contains("Show all changes"));
        let whole = browser.get(&format!("{path}?all=1")).await.body;
        assert!(whole.len() > light.len() && !whole.contains("Show all changes"));
    }
}

#[tokio::test]
async fn jobs_of_other_organizations_are_not_found_and_forms_need_a_session() {
    let server = TestServer::start().await;
    let (team, other) = (server.team("acme", DOCS).await, server.team("globex", DOCS).await);
    let browser = Browser::signed_in(&server, &team).await;
    let theirs = job(&server, &other, CHANGE).await;
    let id = theirs.rsplit('/').next().unwrap();
    for job in [theirs.clone(), format!("{}/{id}", root(&team)), format!("{}/%ff", root(&team))] {
        for what in ["", "/events", "/transcript"] {
            assert_eq!(browser.get(&format!("{job}{what}")).await.status, 404, "{job}{what}");
        }
        for what in ["/message", "/archive", "/retry"] {
            let answer = browser.post(&format!("{job}{what}"), &[("prompt", "x")]).await;
            assert_eq!(answer.status, 404, "{job}{what}");
        }
    }
    for what in ["message", "archive", "retry"] {
        let stranger = server.request(Method::POST, &format!("{theirs}/{what}")).form(&[("csrf", "x")]);
        assert_eq!(send(stranger).await.status, 401);
    }
}
