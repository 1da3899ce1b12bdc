//! Tests the web hosts with a stateful fake of each.

mod app;
mod errors;
mod merge_or_close;
mod open;
mod real_host;
mod webhooks;

use std::collections::BTreeMap;
use std::time::Duration;

use fakehost::{Access, Effect, FakeHost, Kind};
use forge::{
    Cache, Credential, Error, Host as _, HostKind, NewPull, Oid, State, Web, WebLimits, WebSettings,
};
use net::{NetworkPolicy, Secret};
use serde_json::json;

use crate::support::{commit, edits};

pub(crate) const TOKEN: &str = "canary-token-7f3a";
pub(crate) const DOCS: &str = "acme/docs";
pub(crate) const HEAD: &str = "docwright/job-1";
pub(crate) const KINDS: [Kind; 4] = [Kind::GitHub, Kind::GitLab, Kind::Gitea, Kind::Forgejo];

/// A host with one repository, `acme/docs`, in which `docwright/job-1` is a change ahead of `main`.
pub(crate) struct Site {
    pub(crate) fake: FakeHost,
    kind: Kind,
    main: String,
    head: String,
    http: reqwest::Client,
}

impl Site {
    pub(crate) async fn start(kind: Kind) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let fake = FakeHost::start(kind).await;
        net::quote_test_host(fake.url().trim_start_matches("http://").parse().unwrap());
        let main = fake.repository(DOCS, &[("docs/index.md", "# Home\n")]).await.sha;
        let head = fake.push(DOCS, HEAD, &[("docs/index.md", "# Docs\n")]).await;
        fake.token(TOKEN, Access::Full);
        Self { fake, kind, main, head, http: net::client(NetworkPolicy::default()).build().unwrap() }
    }

    pub(crate) fn settings(&self) -> WebSettings {
        let mut settings = WebSettings::new(format!("{}/{DOCS}", self.fake.url()));
        settings.kind = Some(host_kind(self.kind));
        settings.credential = Credential::Token(Secret::parse(TOKEN).unwrap());
        settings.reach = NetworkPolicy { allow_private: true, use_proxy: false };
        settings.limits = WebLimits {
            retry_delay: Duration::from_millis(1),
            timeout: Duration::from_secs(10),
            ..WebLimits::default()
        };
        settings
    }

    pub(crate) async fn web(&self) -> Web {
        Web::open(self.settings()).await.unwrap()
    }

    pub(crate) fn new_pull(&self, job: &str) -> NewPull {
        NewPull {
            title: "Use pnpm".to_owned(),
            body: format!("As asked.\n\nDocwright-Job: {job}\n"),
            head: HEAD.to_owned(),
            base: "main".to_owned(),
            head_commit: Oid::parse(&self.head).unwrap(),
            base_commit: Oid::parse(&self.main).unwrap(),
            job: job.to_owned(),
            draft: false,
            is_first: true,
        }
    }

    /// Opens a pull request directly with the API, without looking for an existing one.
    pub(crate) async fn post_pull(&self, new: &NewPull) {
        let url = match self.kind {
            Kind::GitLab => format!("{}/projects/acme%2Fdocs/merge_requests", self.fake.api_url()),
            _ => format!("{}/repos/acme/docs/pulls", self.fake.api_url()),
        };
        let body = json!({
            "title": new.title, "body": new.body, "head": new.head, "base": new.base,
            "description": new.body, "source_branch": new.head, "target_branch": new.base,
        });
        let answer = self.http.post(url).bearer_auth(TOKEN).json(&body).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), 201);
    }

    /// The end of the API's path for pull requests, for faults.
    pub(crate) fn pulls_path(&self) -> &'static str {
        if self.kind == Kind::GitLab { "/merge_requests" } else { "/pulls" }
    }

    /// How many requests had this method and this path suffix.
    pub(crate) fn count(&self, method: &str, end: &str) -> usize {
        let seen = self.fake.requests();
        seen.iter().filter(|seen| seen.method == method && seen.path.ends_with(end)).count()
    }
}

pub(crate) fn host_kind(kind: Kind) -> HostKind {
    match kind {
        Kind::GitHub => HostKind::GitHub,
        Kind::GitLab => HostKind::GitLab,
        Kind::Gitea => HostKind::Gitea,
        Kind::Forgejo => HostKind::Forgejo,
    }
}

/// A JSON response that the fake does not produce itself.
pub(crate) fn json_response(status: u16, body: &str, headers: &[(&str, &str)]) -> Effect {
    let mut all = BTreeMap::from([("content-type".to_owned(), "application/json".to_owned())]);
    all.extend(headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    Effect::Status { status, body: body.to_owned(), headers: all }
}

#[tokio::test]
async fn a_repository_is_checked_before_it_is_used() {
    for kind in KINDS {
        let site = Site::start(kind).await;
        let web = site.web().await;
        assert_eq!(web.default_branch().await.unwrap(), "main");
        assert_eq!(web.check(None).await.unwrap(), "main");
        assert_eq!(web.check(Some(HEAD)).await.unwrap(), HEAD);
        assert!(matches!(web.check(Some("nope")).await, Err(Error::NoSuchBranch(_))));
        assert!(matches!(web.check(Some("a/../b")).await, Err(Error::BadName(_))));
        assert_eq!(web.web_url(), format!("{}/{DOCS}", site.fake.url()));

        site.fake.set(DOCS, |settings| settings.archived = true);
        let error = web.check(None).await.unwrap_err().to_string();
        assert_eq!(error, "acme/docs is archived: unarchive it, or give the project another repository");
    }
}

/// Fetches, commits, pushes, opens a pull request and merges it, only over HTTP.
pub(crate) async fn push_and_merge_a_change(site: &Site, web: &Web) {
    let temp_dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(&temp_dir.path().join("p.git")).await.unwrap();
    let base = cache.fetch(&web.remote(), "main", "job-9").await.unwrap();
    let head_commit = commit(&cache, &base, &edits(&[("docs/new.md", Some("New\n"))])).unwrap();
    let head = "docwright/job-9".to_owned();
    cache.push(&web.remote(), &head_commit, &head, None).await.unwrap();
    let new = NewPull { head, head_commit: head_commit.clone(), ..site.new_pull("job-9") };
    let pull = web.open(&new).await.unwrap();
    assert_eq!(pull.head_commit, head_commit);
    let merged = web.merge(pull.number, Some(&head_commit)).await.unwrap();
    let tip = cache.tip(&web.remote(), "main").await.unwrap();
    assert_eq!((merged.state, merged.merge_commit), (State::Merged, tip));
}

#[tokio::test]
async fn a_change_is_pushed_and_merged() {
    for kind in KINDS {
        let site = Site::start(kind).await;
        push_and_merge_a_change(&site, &site.web().await).await;
    }
}

#[tokio::test]
async fn folders_are_told_from_files() {
    for (kind, path, listed) in [
        (Kind::GitHub, "/contents/docs/api?ref=main", r#"[{"name":"a.md"}]"#),
        (Kind::GitLab, "/repository/tree?ref=main&path=docs%2Fapi", r#"[{"name":"a.md"}]"#),
        (Kind::Gitea, "/contents/docs/api?ref=main", "[]"),
    ] {
        let site = Site::start(kind).await;
        let web = site.web().await;
        site.fake.faults().next(1, "GET", path, json_response(200, listed, &[]));
        assert!(web.has_folder("main", "docs/api").await.unwrap(), "{kind:?}");
        // A file or a missing path.
        let other = if kind == Kind::GitLab { "[]" } else { r#"{"type":"file"}"# };
        site.fake.faults().next(1, "GET", path, json_response(200, other, &[]));
        assert!(!web.has_folder("main", "docs/api").await.unwrap());
        site.fake.faults().next(1, "GET", path, json_response(404, r#"{"message":"Not Found"}"#, &[]));
        assert!(!web.has_folder("main", "docs/api").await.unwrap());
        assert!(web.has_folder("main", "../x").await.is_err());
    }
}

#[tokio::test]
async fn the_kind_of_a_host_is_detected() {
    for kind in KINDS {
        let site = Site::start(kind).await;
        let meta = json_response(200, r#"{"verifiable_password_authentication":false}"#, &[]);
        if kind == Kind::GitHub {
            site.fake.faults().next(1, "GET", "/api/v3/meta", meta);
        }
        let mut settings = site.settings();
        settings.kind = None;
        let web = Web::open(settings).await.unwrap();
        assert_eq!((web.kind(), web.path()), (host_kind(kind), DOCS));
        let sent = site.fake.requests();
        assert!(
            sent.iter().all(|seen| seen.authorization.is_none()),
            "no token is sent before the host is identified"
        );
    }
    let site = Site::start(Kind::GitHub).await;
    let mut settings = site.settings();
    settings.kind = None;
    let error = Web::open(settings).await.unwrap_err().to_string();
    assert!(error.ends_with(
        "was not recognized: name its kind with --host of `docwright project create` or `update`: github, gitlab, gitea or forgejo"
    ));
    // A host that cannot be reached is a temporary error.
    let mut settings = site.settings();
    settings.kind = None;
    site.fake.faults().always("GET", "/api/", Effect::DropBefore);
    let error = Web::open(settings).await.unwrap_err();
    assert!(matches!(error, Error::Temporary { .. }), "{error:?}");
}
