//! Gitea and Forgejo.

use async_trait::async_trait;
use reqwest::Method;
use serde::Deserialize;
use serde_json::json;

use super::api::{Api, with};
use super::dialect::{About, Created, Dialect, Merge};
use super::hub;
use super::pull::HubPull;
use super::trouble::Who;
use crate::{Error, NewPull, PullRequest, Result};

/// Pages of fifty, the most that they give, of all pull requests.
const PAGES: usize = 100;

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
        let place = &self.api().place;
        let path = &place.path;
        match repository.permissions.push {
            _ if place.who == Who::Nobody => Some(place.wants_token()),
            false => Some(place.may_not_push()),
            true if repository.has_pull_requests == Some(false) => {
                Some(format!("pull requests are turned off for {path}: turn them on in its settings"))
            }
            true => None,
        }
    }

    /// The newest changes first.
    async fn list(&self, head: &str, pages: usize) -> Result<Vec<PullRequest>> {
        let query = [("state", "all"), ("sort", "recentupdate"), ("limit", "50")];
        let found: Vec<HubPull> = self.api().list(&with(self.api().at(&["pulls"]), &query), pages).await?;
        found.into_iter().filter(|pull| pull.is_from(head)).map(HubPull::into_pull).collect()
    }

    /// Whether there ever was one between the two. One of them is answered, no matter which.
    async fn has_any(&self, base: &str, head: &str) -> Result<bool> {
        let path: Vec<_> = ["pulls", base].into_iter().chain(head.split('/')).collect();
        let answer = self.api().get(self.api().at(&path)).await?;
        self.api().read_if_there::<HubPull>(answer).map(|found| found.is_some())
    }

    /// The number of a label of the repository or its organization, made if there is none.
    async fn label(&self, known: &[Label], name: &str) -> Result<u64> {
        if let Some(label) = known.iter().find(|label| label.name.eq_ignore_ascii_case(name)) {
            return Ok(label.id);
        }
        let new = json!({ "name": name, "color": "#5319e7" });
        let answer = self.api().send(Method::POST, self.api().at(&["labels"]), new).await?;
        self.api().read::<Label>(answer).map(|label| label.id)
    }
}

#[async_trait]
impl Dialect for Gitea {
    async fn about(&self) -> Result<About> {
        let answer = self.api().get(self.api().at(&[])).await?;
        let repository: Repository = self.api().read(answer)?;
        Ok(About {
            refusal: self.refusal(&repository),
            is_of_token: false,
            is_archived: repository.archived,
            is_empty: repository.empty,
            default_branch: repository.default_branch,
        })
    }

    async fn has_branch(&self, branch: &str) -> Result<bool> {
        hub::has_branch(self.api(), branch).await
    }

    async fn has_folder(&self, branch: &str, folder: &str) -> Result<bool> {
        hub::has_folder(self.api(), branch, folder).await
    }

    /// They have no list by head. But they know whether there ever was one between two branches; if
    /// not, ours could only be one that somebody has turned to another base since, and that is among
    /// the newest changes.
    async fn find(&self, head: &str, base: Option<&str>) -> Result<Vec<PullRequest>> {
        let pages = match base.filter(|base| !base.contains('/')) {
            Some(base) if !self.has_any(base, head).await? => 1,
            _ => PAGES,
        };
        self.list(head, pages).await
    }

    async fn get(&self, number: u64) -> Result<Option<PullRequest>> {
        hub::get(self.api(), number).await?.map(HubPull::into_pull).transpose()
    }

    async fn create(&self, new: &NewPull) -> Result<Created> {
        let body = json!({
            "title": new.title_with("WIP: "),
            "body": new.body,
            "head": new.head,
            "base": new.base,
        });
        let answer = self.api().send(Method::POST, self.api().at(&["pulls"]), body).await?;
        match answer.status {
            409 => Ok(Created::There),
            // Of the repository it is known by now that it is there.
            404 => Ok(Created::NotYet(Error::NoSuchBranch(new.head.clone()))),
            422 => Err(Error::Refused(format!(
                "{} opens no pull request: {}",
                self.api().place.host,
                answer.said
            ))),
            _ => self.api().read::<HubPull>(answer)?.into_pull().map(Created::Now),
        }
    }

    async fn set_body(&self, number: u64, body: &str) -> Result<()> {
        hub::change(self.api(), number, json!({ "body": body })).await
    }

    async fn close(&self, number: u64) -> Result<()> {
        hub::change(self.api(), number, json!({ "state": "closed" })).await
    }

    async fn merge(&self, pull: &PullRequest) -> Result<Merge> {
        hub::merge(self.api(), pull, Method::POST, ("Do", "head_commit_id")).await
    }

    async fn add_labels(&self, number: u64, labels: &[String]) -> Result<()> {
        let url = with(self.api().at(&["labels"]), &[("limit", "50")]);
        let known: Vec<Label> = self.api().list(&url, PAGES).await?;
        let mut ids = Vec::new();
        for name in labels {
            ids.push(self.label(&known, name).await?);
        }
        let url = self.api().at(&["issues", &number.to_string(), "labels"]);
        let answer = self.api().send(Method::POST, url, json!({ "labels": ids })).await?;
        self.api().done(answer).map(drop)
    }

    async fn ask_for_review(&self, number: u64, reviewers: &[String]) -> Result<()> {
        hub::ask_for_review(self.api(), number, reviewers).await
    }

    fn longest_body(&self) -> usize {
        // None is documented; more is no use to anybody.
        1_000_000
    }
}
