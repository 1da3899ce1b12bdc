//! Tests the dashboard over HTTP, as a browser without JavaScript.

use reqwest::Method;

use crate::support::{Answer, Team, TestServer, git, send};

pub(crate) struct Browser<'a> {
    server: &'a TestServer,
    cookie: String,
}

impl<'a> Browser<'a> {
    pub(crate) async fn signed_in(server: &'a TestServer, team: &Team) -> Self {
        let link = server.app.sessions.create_login(&team.organization.id).await.unwrap();
        let sign_in = server.request(Method::POST, "/login").form(&[("token", link.reveal())]);
        let answer = send(sign_in).await;
        Self::with(server, &answer)
    }

    /// Uses the session that a response starts.
    pub(crate) fn with(server: &'a TestServer, answer: &Answer) -> Self {
        assert_eq!((answer.status, answer.header("location")), (303, "/"));
        Self::with_cookie(server, answer)
    }

    pub(crate) fn with_cookie(server: &'a TestServer, answer: &Answer) -> Self {
        let cookie = answer.header("set-cookie").to_owned();
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
        Self { server, cookie: cookie.split(';').next().unwrap().to_owned() }
    }

    pub(crate) fn cookie(&self) -> &str {
        &self.cookie
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        send(self.server.request(Method::GET, path).header("cookie", &self.cookie)).await
    }

    pub(crate) async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let csrf = self.csrf().await;
        let fields: Vec<_> = fields.iter().copied().chain([("csrf", csrf.as_str())]).collect();
        send(self.server.request(Method::POST, path).header("cookie", &self.cookie).form(&fields)).await
    }

    pub(crate) async fn csrf(&self) -> String {
        hidden(&self.get("/").await.body, "csrf")
    }

    /// Merges as the button of the page does: with the commit that the page showed.
    pub(crate) async fn merge(&self, pull: &str) -> Answer {
        let seen = hidden(&self.get(pull).await.body, "seen");
        self.post(&format!("{pull}/merge"), &[("seen", &seen)]).await
    }
}

/// The value of a hidden field. Empty if there is none.
pub(crate) fn hidden(page: &str, name: &str) -> String {
    let field = page.split(&format!("name=\"{name}\" value=\"")).nth(1).unwrap_or("\"");
    field.split('"').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_login_link_shows_a_button_and_works_once() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let link = server.app.sessions.create_login(&team.organization.id).await.unwrap();
    let path = format!("/login?token={}", link.reveal());
    for _ in 0..3 {
        let preview = send(server.request(Method::GET, &path)).await;
        assert_eq!(preview.status, 200);
        assert!(preview.body.contains("<button"));
        assert_eq!(preview.header("set-cookie"), "");
    }
    let sign_in = || server.request(Method::POST, "/login").form(&[("token", link.reveal())]);
    assert_eq!(send(sign_in()).await.status, 303);
    assert_eq!(send(sign_in()).await.status, 410);
    assert_eq!(send(server.request(Method::GET, &path)).await.status, 410);
    assert_eq!(send(server.request(Method::GET, "/login?token=x")).await.status, 410);
}

#[tokio::test]
async fn every_page_without_a_session_shows_the_sign_in_form() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let root = format!("/p/{}", team.project.id);
    for path in [
        "/".into(),
        format!("{root}/jobs"),
        format!("{root}/keys"),
        format!("{root}/pulls/1"),
        "/p/x/jobs".into(),
    ] {
        let answer = send(server.request(Method::GET, &path)).await;
        assert_eq!(answer.status, 401, "{path}");
        assert!(answer.body.contains("docwright login"), "{path}");
        let policy = answer.header("content-security-policy");
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    }
    let created = send(server.request(Method::POST, &format!("{root}/jobs")).form(&[("prompt", "x")])).await;
    assert_eq!(created.status, 401);
}

#[tokio::test]
async fn a_created_key_works_is_shown_once_and_can_be_revoked() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let browser = Browser::signed_in(&server, &team).await;
    let path = format!("/p/{}/keys", team.project.id);
    let form = [
        ("name", "CI <b>"),
        ("scope", "read"),
        ("expires", "30d"),
        ("only_this_project", "true"),
        ("allow", "127.0.0.1\n"),
    ];
    let page = browser.post(&path, &form).await;
    assert_eq!(page.status, 200);
    assert_eq!(page.header("cache-control"), "no-store");
    let at = page.body.find("dw_").unwrap();
    let secret = page.body[at..at + 49].to_owned();
    assert!(!page.body.contains("CI <b>"));
    let views = format!("/v1/analytics/{}/views", team.project.id);
    assert_eq!(server.get(&secret, &views).await.status, 200);
    assert!(!browser.get(&path).await.body.contains(&secret));

    let key =
        server.app.accounts.keys(None).await.unwrap().into_iter().find(|key| key.name == "CI <b>").unwrap();
    for _ in 0..2 {
        let revoked = browser.post(&format!("{path}/{}/revoke", key.id), &[]).await;
        assert_eq!(revoked.status, 303);
        assert_eq!(server.get(&secret, &views).await.status, 401);
    }
    let log = browser.get("/audit").await.body;
    assert_eq!(log.matches("revoked the key").count(), 1, "one entry for one revocation: {log}");
}

#[tokio::test]
async fn an_invalid_key_form_is_refused_with_the_cause() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let browser = Browser::signed_in(&server, &team).await;
    let path = format!("/p/{}/keys", team.project.id);
    for (field, value, sentence) in [
        ("name", " ", "a key needs a name"),
        ("scope", "admin", "scope is read or write"),
        ("expires", "1000y", "expiry is 7d"),
        ("allow", "0.0.0.0/0", "too much of the internet"),
        ("expires", "2020-01-01", "in the past"),
    ] {
        let mut form = vec![("name", "CI"), ("scope", "write"), ("expires", "90d"), ("allow", "")];
        form.iter_mut().find(|(name, _)| *name == field).unwrap().1 = value;
        let page = browser.post(&path, &form).await;
        assert_eq!(page.status, 400, "{field}");
        assert!(page.body.contains(sentence), "{field}");
    }
    assert_eq!(server.app.accounts.keys(None).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_form_without_the_csrf_token_or_from_another_site_changes_nothing() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let browser = Browser::signed_in(&server, &team).await;
    let csrf = browser.csrf().await;
    let path = format!("/p/{}/jobs", team.project.id);
    let post = |csrf: &str| {
        let form = [("prompt", "Fix broken links".to_owned()), ("csrf", csrf.to_owned())];
        server.request(Method::POST, &path).header("cookie", &browser.cookie).form(&form)
    };
    assert_eq!(send(post("")).await.status, 403);
    assert_eq!(send(post(&"0".repeat(64))).await.status, 403);
    assert_eq!(send(post(&csrf).header("sec-fetch-site", "cross-site")).await.status, 403);
    assert_eq!(send(post(&csrf).header("origin", "https://evil.example")).await.status, 403);
    assert!(server.has_no_jobs(&team.project.id).await);
    assert_eq!(send(post(&csrf).header("sec-fetch-site", "same-origin")).await.status, 303);
}

#[tokio::test]
async fn a_prompt_becomes_a_merged_pull_request() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[("a.md", "<script>alert(1)</script> one\n")]).await;
    let browser = Browser::signed_in(&server, &team).await;
    let root = format!("/p/{}", team.project.id);
    let started = browser.post(&format!("{root}/jobs"), &[("prompt", "Replace \"one\" with \"two\".")]).await;
    let job = started.header("location").to_owned();
    assert!(browser.get(&job).await.body.contains("running"));
    server.run_queued_jobs().await;
    assert!(browser.get(&job).await.body.contains("review needed"));
    assert!(browser.get(&format!("{root}/jobs")).await.body.contains("review needed"));
    assert!(browser.get(&format!("{root}/pulls")).await.body.contains("#1"));

    let pull = browser.get(&format!("{root}/pulls/1")).await;
    assert_eq!(pull.status, 200);
    assert!(pull.body.contains("alert(1)") && !pull.body.contains("<script>alert"));
    let merged = browser.merge(&format!("{root}/pulls/1")).await;
    assert_eq!((merged.status, merged.header("location")), (303, format!("{root}/pulls/1").as_str()));
    assert_eq!(git(&team.repository, &["show", "main:a.md"]), "<script>alert(1)</script> two");
    assert!(browser.get(&format!("{root}/pulls/1")).await.body.contains("merged"));
}

#[tokio::test]
async fn a_closed_pull_request_stays_closed() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[("a.md", "one\n")]).await;
    server.create_job(&team, "Replace \"one\" with \"two\".").await;
    server.run_queued_jobs().await;
    let browser = Browser::signed_in(&server, &team).await;
    let pull = format!("/p/{}/pulls/1", team.project.id);
    assert_eq!(browser.post(&format!("{pull}/close"), &[]).await.status, 303);
    assert!(browser.get(&pull).await.body.contains("closed"));
    let tip = git(&team.repository, &["for-each-ref", "--format=%(objectname)", "refs/heads/docwright"]);
    assert_eq!(browser.post(&format!("{pull}/merge"), &[("seen", &tip)]).await.status, 409);
    assert_eq!(git(&team.repository, &["show", "main:a.md"]), "one");
}

#[tokio::test]
async fn a_head_that_moved_since_the_review_is_not_merged() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[("a.md", "one\n")]).await;
    server.create_job(&team, "Replace \"one\" with \"two\".").await;
    server.run_queued_jobs().await;
    let browser = Browser::signed_in(&server, &team).await;
    let pull = format!("/p/{}/pulls/1", team.project.id);
    let seen = hidden(&browser.get(&pull).await.body, "seen");
    let moved = git(&team.repository, &["commit-tree", "main^{tree}", "-p", &seen, "-m", "Sneak in"]);
    let branch = git(&team.repository, &["for-each-ref", "--format=%(refname)", "refs/heads/docwright"]);
    git(&team.repository, &["update-ref", &branch, &moved]);
    assert_eq!(browser.post(&format!("{pull}/merge"), &[("seen", &seen)]).await.status, 409);
    let without_commit = browser.post(&format!("{pull}/merge"), &[]).await;
    assert!(
        without_commit.status == 400 && without_commit.body.contains("The field seen must be"),
        "{without_commit}"
    );
    assert_eq!(git(&team.repository, &["show", "main:a.md"]), "one");
}

#[tokio::test]
async fn pages_of_another_organization_are_not_found() {
    let server = TestServer::start().await;
    let (mine, theirs) = (server.team("acme", &[]).await, server.team("globex", &[("a.md", "one\n")]).await);
    let job = server.create_job(&theirs, "Replace \"one\" with \"two\".").await;
    server.run_queued_jobs().await;
    let browser = Browser::signed_in(&server, &mine).await;
    let nowhere = browser.get("/p/nowhere/jobs").await;
    assert_eq!(nowhere.status, 404);
    let root = format!("/p/{}", theirs.project.id);
    let job = job["id"].as_str().unwrap();
    for path in [
        "",
        "/jobs",
        "/keys",
        "/pulls",
        "/pulls/1",
        "/findings",
        "/findings/x",
        "/weekly",
        &format!("/jobs/{job}"),
    ] {
        let answer = browser.get(&format!("{root}{path}")).await;
        assert_eq!((answer.status, &answer.body), (404, &nowhere.body), "{path}");
    }
    for path in ["/jobs", "/keys", "/pulls/1/merge", "/pulls/1/close"] {
        let answer = browser.post(&format!("{root}{path}"), &[("prompt", "x"), ("name", "x")]).await;
        assert_eq!((answer.status, &answer.body), (404, &nowhere.body), "{path}");
    }
    let key = server.app.accounts.keys(Some(&theirs.organization.id)).await.unwrap()[0].id.clone();
    let revoke = format!("/p/{}/keys/{key}/revoke", mine.project.id);
    assert_eq!(browser.post(&revoke, &[]).await.status, 404);
    assert_eq!(git(&theirs.repository, &["show", "main:a.md"]), "one");
}

#[tokio::test]
async fn invalid_urls_get_an_error_page() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let browser = Browser::signed_in(&server, &team).await;
    let root = format!("/p/{}", team.project.id);
    for (path, status) in [
        ("/jobs/%ff", 404),
        ("/pulls/%ff", 404),
        ("/pulls/x", 404),
        ("/pulls/99999999999999999999", 404),
        ("/jobs?offset=abc", 200),
        ("/jobs?offset=18446744073709551615", 200),
    ] {
        let answer = browser.get(&format!("{root}{path}")).await;
        assert_eq!(answer.status, status, "{path}");
        assert!(answer.header("content-type").starts_with("text/html"), "{path}");
    }
    let many = send(server.request(Method::GET, "/login?token=a&token=b")).await;
    assert_eq!((many.status, many.header("content-type")), (410, "text/html; charset=utf-8"));
    let large = send(server.request(Method::POST, "/login").form(&[("token", "x".repeat(5_000))])).await;
    assert_eq!((large.status, large.header("content-type")), (413, "text/html; charset=utf-8"));
}

#[tokio::test]
async fn a_missing_repository_and_a_deleted_head_get_a_page() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[("a.md", "one\n")]).await;
    server.create_job(&team, "Replace \"one\" with \"two\".").await;
    server.run_queued_jobs().await;
    let browser = Browser::signed_in(&server, &team).await;
    let root = format!("/p/{}", team.project.id);
    let branch = git(&team.repository, &["for-each-ref", "--format=%(refname)", "refs/heads/docwright"]);
    git(&team.repository, &["update-ref", "-d", &branch]);
    git(&team.repository, &["reflog", "expire", "--expire=now", "--all"]);
    git(&team.repository, &["gc", "--quiet", "--prune=now"]);
    let headless = browser.get(&format!("{root}/pulls/1")).await;
    assert_eq!(headless.status, 200, "{}", headless.body);
    std::fs::remove_dir_all(&team.repository).unwrap();
    for path in ["/pulls", "/pulls/1"] {
        assert_eq!(browser.get(&format!("{root}{path}")).await.status, 409, "{path}");
    }
}

#[tokio::test]
async fn signing_out_ends_the_session() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let browser = Browser::signed_in(&server, &team).await;
    assert_eq!(browser.get("/").await.status, 200);
    assert_eq!(browser.post("/logout", &[]).await.status, 303);
    assert_eq!(browser.get("/").await.status, 401);
}

#[tokio::test]
async fn assets_are_served() {
    let server = TestServer::start().await;
    for (name, kind) in
        [("docwright.css", "text/css"), ("docwright.js", "text/javascript"), ("mark.svg", "image/svg+xml")]
    {
        let answer = send(server.request(Method::GET, &format!("/assets/{name}"))).await;
        assert_eq!(answer.status, 200);
        assert!(answer.header("content-type").starts_with(kind));
    }
    for name in ["..%2FCargo.toml", "%ff", ""] {
        assert_eq!(send(server.request(Method::GET, &format!("/assets/{name}"))).await.status, 404, "{name}");
    }
}
