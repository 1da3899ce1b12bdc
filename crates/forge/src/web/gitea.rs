//! Implements the API of Gitea and Forgejo.

use async_trait::async_trait;
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

use super::api::{Api, with_query};
use super::api_errors::Identity;
use super::github_compatible;
use super::host_api::{CreateOutcome, HostApi, MergeOutcome, RepositoryDetails};
use super::pull::GitHubPull;
use crate::{Error, NewPull, PullRequest, Result};

/// Limits the list of all pull requests. A page has 50 items, the hosts' maximum.
const MAX_PAGES: usize = 100;

pub(super) struct Gitea(pub(super) Api);

#[derive(Deserialize)]
struct Repository {
    default_branch: Option<String>,
    #[serde(default)]
    archived: bool,
    #[serde(default)]
    empty: bool,
    has_pull_requests: Option<bool>,
    #[serde(default)]
    permissions: Permissions,
}

#[derive(Deserialize, Default)]
struct Permissions {
    #[serde(default)]
    push: bool,
}

#[derive(Deserialize)]
struct Label {
    id: u64,
    name: String,
}

impl Gitea {
    fn api(&self) -> &Api {
        &self.0
    }

    fn refusal(&self, repository: &Repository) -> Option<String> {
        let context = &self.api().context;
        let path = &context.path;
        match repository.permissions.push {
            _ if context.identity == Identity::Anonymous => Some(context.token_required_message()),
            false => Some(context.cannot_push_message()),
            true if repository.has_pull_requests == Some(false) => {
                Some(format!("pull requests are disabled for {path}: enable them in its settings"))
            }
            true => None,
        }
    }

    /// Lists pull requests, most recently updated first.
    async fn list(&self, head: &str, pages: usize) -> Result<Vec<PullRequest>> {
        let query = [("state", "all"), ("sort", "recentupdate"), ("limit", "50")];
        let found: Vec<GitHubPull> =
            self.api().list(&with_query(self.api().url(&["pulls"]), &query), pages).await?;
        found.into_iter().filter(|pull| pull.is_from(head)).map(GitHubPull::into_pull).collect()
    }

    /// Whether a pull request between the two branches ever existed. The host returns any one of them.
    async fn has_any(&self, base: &str, head: &str) -> Result<bool> {
        let path: Vec<_> = ["pulls", base].into_iter().chain(head.split('/')).collect();
        let response = self.api().get(self.api().url(&path)).await?;
        self.api().parse_optional::<GitHubPull>(response).map(|found| found.is_some())
    }

    /// The id of a label of the repository or its organization. Creates the label if it is missing.
    async fn label(&self, known: &[Label], name: &str) -> Result<u64> {
        if let Some(label) = known.iter().find(|label| label.name.eq_ignore_ascii_case(name)) {
            return Ok(label.id);
        }
        let new = json!({ "name": name, "color": "#5319e7" });
        let response = self.api().send(Method::POST, self.api().url(&["labels"]), new).await?;
        self.api().parse::<Label>(response).map(|label| label.id)
    }
}

#[async_trait]
impl HostApi for Gitea {
    async fn repository(&self) -> Result<RepositoryDetails> {
        let response = self.api().get(self.api().url(&[])).await?;
        let repository: Repository = self.api().parse(response)?;
        Ok(RepositoryDetails {
            refusal: self.refusal(&repository),
            is_token_specific: false,
            is_archived: repository.archived,
            is_empty: repository.empty,
            default_branch: repository.default_branch,
        })
    }

    async fn has_branch(&self, branch: &str) -> Result<bool> {
        github_compatible::has_branch(self.api(), branch).await
    }

    async fn has_folder(&self, branch: &str, folder: &str) -> Result<bool> {
        github_compatible::has_folder(self.api(), branch, folder).await
    }

    /// The API cannot list pull requests by head, but it can tell whether one between two branches ever
    /// existed. If none did, the job's pull request can only be one that a person moved to another base
    /// recently, and the first page has it.
    async fn find(&self, head: &str, base: Option<&str>) -> Result<Vec<PullRequest>> {
        let pages = match base.filter(|base| !base.contains('/')) {
            Some(base) if !self.has_any(base, head).await? => 1,
            _ => MAX_PAGES,
        };
        self.list(head, pages).await
    }

    async fn get(&self, number: u64) -> Result<Option<PullRequest>> {
        github_compatible::get(self.api(), number).await?.map(GitHubPull::into_pull).transpose()
    }

    async fn create(&self, new: &NewPull) -> Result<CreateOutcome> {
        let body = json!({
            "title": new.title_with_draft_prefix("WIP: "),
            "body": new.body,
            "head": new.head,
            "base": new.base,
        });
        let response = self.api().send(Method::POST, self.api().url(&["pulls"]), body).await?;
        match response.status {
            409 => Ok(CreateOutcome::AlreadyExists),
            // The repository exists, so the missing resource is the head.
            404 => Ok(CreateOutcome::HeadNotVisible(Error::NoSuchBranch(new.head.clone()))),
            422 => Err(Error::Refused(format!(
                "{} refused to open the pull request: {}",
                self.api().context.host,
                response.message
            ))),
            _ => self.api().parse::<GitHubPull>(response)?.into_pull().map(CreateOutcome::Created),
        }
    }

    async fn set_body(&self, number: u64, body: &str) -> Result<()> {
        github_compatible::change(self.api(), number, json!({ "body": body })).await
    }

    async fn close(&self, number: u64) -> Result<()> {
        github_compatible::change(self.api(), number, json!({ "state": "closed" })).await
    }

    async fn merge(&self, pull: &PullRequest) -> Result<MergeOutcome> {
        github_compatible::merge(self.api(), pull, Method::POST, ("Do", "head_commit_id")).await
    }

    async fn add_labels(&self, number: u64, labels: &[String]) -> Result<()> {
        let url = with_query(self.api().url(&["labels"]), &[("limit", "50")]);
        let known: Vec<Label> = self.api().list(&url, MAX_PAGES).await?;
        let mut ids = Vec::new();
        for name in labels {
            ids.push(self.label(&known, name).await?);
        }
        let url = self.api().url(&["issues", &number.to_string(), "labels"]);
        let response = self.api().send(Method::POST, url, json!({ "labels": ids })).await?;
        self.api().check_status(response).map(drop)
    }

    async fn request_review(&self, number: u64, reviewers: &[String]) -> Result<()> {
        github_compatible::request_review(self.api(), number, reviewers).await
    }

    fn max_body_chars(&self) -> usize {
        // The hosts document no limit.
        1_000_000
    }
}
