//! Implements the API of GitHub: github.com and GitHub Enterprise.

use async_trait::async_trait;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::api::{Api, ApiResponse, with_query};
use super::api_errors::Identity;
use super::github_compatible;
use super::host_api::{CreateOutcome, HostApi, MergeOutcome, RepositoryDetails};
use super::pull::{GitHubPull, contains_any, shorten_body};
use crate::{Error, NewPull, PullRequest, Result};

/// Limits the list of pull requests with one head. A page has 100 items.
const MAX_PAGES: usize = 20;

const MAX_BODY_CHARS: usize = 65_536;

/// A branch name cannot contain two dots, so this branch never exists.
const NONEXISTENT_BRANCH: &str = "docwright..checks-the-token";

pub(super) struct GitHub(pub(super) Api);

#[derive(Deserialize)]
struct Repository {
    default_branch: Option<String>,
    #[serde(default)]
    archived: bool,
    #[serde(default)]
    private: bool,
    /// In kilobytes, updated with a delay.
    size: Option<u64>,
    #[serde(default)]
    permissions: Permissions,
}

#[derive(Deserialize, Default)]
struct Permissions {
    #[serde(default)]
    push: bool,
}

impl GitHub {
    fn api(&self) -> &Api {
        &self.0
    }

    async fn has_no_branch(&self) -> Result<bool> {
        let response =
            self.api().get(with_query(self.api().url(&["branches"]), &[("per_page", "1")])).await?;
        Ok(self.api().parse::<Vec<Value>>(response)?.is_empty())
    }

    /// `permissions` belong to the token's owner. A classic token's own scopes are in a response header.
    fn refusal(&self, repository: &Repository, scopes: Option<&str>) -> Option<String> {
        let context = &self.api().context;
        match context.identity {
            Identity::Anonymous => return Some(context.token_required_message()),
            // The host issues the app's token with both required permissions or not at all.
            Identity::App => return None,
            Identity::Token => {}
        }
        let has = |wanted: &str| scopes.is_some_and(|all| all.split(',').any(|one| one.trim() == wanted));
        let is_enough = scopes.is_none() || has("repo") || (has("public_repo") && !repository.private);
        let (path, advice) = (&context.path, context.advice());
        match repository.permissions.push {
            true if is_enough => None,
            true => Some(format!("the token for {path} lacks the scope `repo`: {advice}")),
            false => Some(context.cannot_push_message()),
        }
    }

    async fn try_to_create(&self, new: &NewPull, draft: bool) -> Result<ApiResponse> {
        let body = json!({
            "title": new.title,
            "body": shorten_body(&new.body, MAX_BODY_CHARS),
            "head": new.head,
            "base": new.base,
            "draft": draft,
        });
        self.api().send(Method::POST, self.api().url(&["pulls"]), body).await
    }

    fn create_outcome(&self, response: ApiResponse, new: &NewPull) -> Result<CreateOutcome> {
        if response.status != 422 {
            return self.api().parse::<GitHubPull>(response)?.into_pull().map(CreateOutcome::Created);
        }
        let is_invalid = |field: &str| {
            let mut errors = response.body["errors"].as_array().into_iter().flatten();
            errors.any(|error| error["field"] == field && error["code"] == "invalid")
        };
        if contains_any(response.message.text(), &["already exists"]) {
            return Ok(CreateOutcome::AlreadyExists);
        }
        if is_invalid("head") {
            return Ok(CreateOutcome::HeadNotVisible(Error::NoSuchBranch(new.head.clone())));
        }
        if is_invalid("base") {
            return Err(Error::NoSuchBranch(new.base.clone()));
        }
        Err(Error::Refused(format!(
            "{} refused to open the pull request: {}",
            self.api().context.host,
            response.message
        )))
    }
}

#[async_trait]
impl HostApi for GitHub {
    async fn repository(&self) -> Result<RepositoryDetails> {
        let response = self.api().get(self.api().url(&[])).await?;
        let scopes = response.header("x-oauth-scopes").map(str::to_owned);
        let repository: Repository = self.api().parse(response)?;
        Ok(RepositoryDetails {
            refusal: self.refusal(&repository, scopes.as_deref()),
            // An app's token was requested with all required permissions.
            is_token_specific: scopes.is_some() || self.api().context.identity == Identity::App,
            is_archived: repository.archived,
            is_empty: repository.size == Some(0) && self.has_no_branch().await?,
            default_branch: repository.default_branch,
        })
    }

    /// A fine-grained token does not reveal its permissions. GitHub checks permissions before it validates a
    /// request, so this sends a request that is always invalid.
    async fn check_can_open(&self, base: &str) -> Result<()> {
        let body = json!({ "title": "May this token open pull requests?", "head": NONEXISTENT_BRANCH, "base": base });
        let response = self.api().send(Method::POST, self.api().url(&["pulls"]), body).await?;
        if response.status == 422 {
            return Ok(());
        }
        // A host that imitates GitHub may open it.
        let opened = self.api().parse::<GitHubPull>(response)?.into_pull()?;
        self.close(opened.number).await
    }

    async fn has_branch(&self, branch: &str) -> Result<bool> {
        github_compatible::has_branch(self.api(), branch).await
    }

    async fn has_folder(&self, branch: &str, folder: &str) -> Result<bool> {
        github_compatible::has_folder(self.api(), branch, folder).await
    }

    async fn find(&self, head: &str, _base: Option<&str>) -> Result<Vec<PullRequest>> {
        let owner = self.api().context.path.split('/').next().unwrap_or_default();
        let head_of = format!("{owner}:{head}");
        let query = [("state", "all"), ("head", head_of.as_str()), ("sort", "created"), ("per_page", "100")];
        let found: Vec<GitHubPull> =
            self.api().list(&with_query(self.api().url(&["pulls"]), &query), MAX_PAGES).await?;
        found.into_iter().filter(|pull| pull.is_from(head)).map(GitHubPull::into_pull).collect()
    }

    async fn get(&self, number: u64) -> Result<Option<PullRequest>> {
        github_compatible::get(self.api(), number).await?.map(GitHubPull::into_pull).transpose()
    }

    async fn create(&self, new: &NewPull) -> Result<CreateOutcome> {
        let response = self.try_to_create(new, new.draft).await?;
        // Not every plan supports drafts. Open an ordinary pull request then.
        let no_drafts = new.draft
            && response.status == 422
            && contains_any(response.message.text(), &["draft pull request"]);
        let response = if no_drafts { self.try_to_create(new, false).await? } else { response };
        self.create_outcome(response, new)
    }

    async fn set_body(&self, number: u64, body: &str) -> Result<()> {
        github_compatible::change(self.api(), number, json!({ "body": body })).await
    }

    async fn close(&self, number: u64) -> Result<()> {
        github_compatible::change(self.api(), number, json!({ "state": "closed" })).await
    }

    async fn merge(&self, pull: &PullRequest) -> Result<MergeOutcome> {
        github_compatible::merge(self.api(), pull, Method::PUT, ("merge_method", "sha")).await
    }

    async fn add_labels(&self, number: u64, labels: &[String]) -> Result<()> {
        let url = self.api().url(&["issues", &number.to_string(), "labels"]);
        let response = self.api().send(Method::POST, url, json!({ "labels": labels })).await?;
        self.api().check_status(response).map(drop)
    }

    async fn request_review(&self, number: u64, reviewers: &[String]) -> Result<()> {
        github_compatible::request_review(self.api(), number, reviewers).await
    }

    fn max_body_chars(&self) -> usize {
        MAX_BODY_CHARS
    }
}
