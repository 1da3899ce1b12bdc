//! GitHub: github.com and Enterprise.

use async_trait::async_trait;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::api::{Answer, Api, with};
use super::dialect::{About, Created, Dialect, Merge};
use super::hub;
use super::pull::{HubPull, fitted, says};
use super::trouble::Who;
use crate::{Error, NewPull, PullRequest, Result};

/// Pages of a hundred, of pull requests with one head.
const PAGES: usize = 20;

const LONGEST_BODY: usize = 65_536;

/// No branch can have two dots in its name.
const NO_BRANCH: &str = "docwright..checks-the-token";

pub(super) struct GitHub(pub(super) Api);

#[derive(Deserialize)]
struct Repository {
    default_branch: Option<String>,
    #[serde(default)]
    archived: bool,
    #[serde(default)]
    private: bool,
    /// In kilobytes, and counted late.
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
        let answer = self.api().get(with(self.api().at(&["branches"]), &[("per_page", "1")])).await?;
        Ok(self.api().read::<Vec<Value>>(answer)?.is_empty())
    }

    /// `permissions` are the person's; what the token may do of them is said in a header, if it is
    /// one of the older ones.
    fn refusal(&self, repository: &Repository, scopes: Option<&str>) -> Option<String> {
        let place = &self.api().place;
        match place.who {
            Who::Nobody => return Some(place.wants_token()),
            // It has a token, and that is given for both permissions or not at all.
            Who::App => return None,
            Who::Token => {}
        }
        let has = |wanted: &str| scopes.is_some_and(|all| all.split(',').any(|one| one.trim() == wanted));
        let is_enough = scopes.is_none() || has("repo") || (has("public_repo") && !repository.private);
        let (path, advice) = (&place.path, place.advice());
        match repository.permissions.push {
            true if is_enough => None,
            true => Some(format!("the token for {path} lacks the scope `repo`: {advice}")),
            false => Some(place.may_not_push()),
        }
    }

    async fn try_to_create(&self, new: &NewPull, draft: bool) -> Result<Answer> {
        let body = json!({
            "title": new.title,
            "body": fitted(&new.body, LONGEST_BODY),
            "head": new.head,
            "base": new.base,
            "draft": draft,
        });
        self.api().send(Method::POST, self.api().at(&["pulls"]), body).await
    }

    fn created(&self, answer: Answer, new: &NewPull) -> Result<Created> {
        if answer.status != 422 {
            return self.api().read::<HubPull>(answer)?.into_pull().map(Created::Now);
        }
        let is_invalid = |field: &str| {
            let mut errors = answer.body["errors"].as_array().into_iter().flatten();
            errors.any(|error| error["field"] == field && error["code"] == "invalid")
        };
        if says(answer.said.text(), &["already exists"]) {
            return Ok(Created::There);
        }
        if is_invalid("head") {
            return Ok(Created::NotYet(Error::NoSuchBranch(new.head.clone())));
        }
        if is_invalid("base") {
            return Err(Error::NoSuchBranch(new.base.clone()));
        }
        Err(Error::Refused(format!("{} opens no pull request: {}", self.api().place.host, answer.said)))
    }
}

#[async_trait]
impl Dialect for GitHub {
    async fn about(&self) -> Result<About> {
        let answer = self.api().get(self.api().at(&[])).await?;
        let scopes = answer.header("x-oauth-scopes").map(str::to_owned);
        let repository: Repository = self.api().read(answer)?;
        Ok(About {
            refusal: self.refusal(&repository, scopes.as_deref()),
            // An app's was asked for with all that is needed.
            is_of_token: scopes.is_some() || self.api().place.who == Who::App,
            is_archived: repository.archived,
            is_empty: repository.size == Some(0) && self.has_no_branch().await?,
            default_branch: repository.default_branch,
        })
    }

    /// A newer token does not tell what it may do. It is refused before what it asks for is looked at, and what is
    /// asked for here cannot be given.
    async fn may_open(&self, base: &str) -> Result<()> {
        let body = json!({ "title": "May this token open pull requests?", "head": NO_BRANCH, "base": base });
        let answer = self.api().send(Method::POST, self.api().at(&["pulls"]), body).await?;
        if answer.status == 422 {
            return Ok(());
        }
        // Somebody's idea of GitHub opens it all the same.
        let opened = self.api().read::<HubPull>(answer)?.into_pull()?;
        self.close(opened.number).await
    }

    async fn has_branch(&self, branch: &str) -> Result<bool> {
        hub::has_branch(self.api(), branch).await
    }

    async fn has_folder(&self, branch: &str, folder: &str) -> Result<bool> {
        hub::has_folder(self.api(), branch, folder).await
    }

    async fn find(&self, head: &str, _base: Option<&str>) -> Result<Vec<PullRequest>> {
        let owner = self.api().place.path.split('/').next().unwrap_or_default();
        let head_of = format!("{owner}:{head}");
        let query = [("state", "all"), ("head", head_of.as_str()), ("sort", "created"), ("per_page", "100")];
        let found: Vec<HubPull> = self.api().list(&with(self.api().at(&["pulls"]), &query), PAGES).await?;
        found.into_iter().filter(|pull| pull.is_from(head)).map(HubPull::into_pull).collect()
    }

    async fn get(&self, number: u64) -> Result<Option<PullRequest>> {
        hub::get(self.api(), number).await?.map(HubPull::into_pull).transpose()
    }

    async fn create(&self, new: &NewPull) -> Result<Created> {
        let answer = self.try_to_create(new, new.draft).await?;
        // Not every plan has drafts; a pull request is better than none.
        let no_drafts =
            new.draft && answer.status == 422 && says(answer.said.text(), &["draft pull request"]);
        let answer = if no_drafts { self.try_to_create(new, false).await? } else { answer };
        self.created(answer, new)
    }

    async fn set_body(&self, number: u64, body: &str) -> Result<()> {
        hub::change(self.api(), number, json!({ "body": body })).await
    }

    async fn close(&self, number: u64) -> Result<()> {
        hub::change(self.api(), number, json!({ "state": "closed" })).await
    }

    async fn merge(&self, pull: &PullRequest) -> Result<Merge> {
        hub::merge(self.api(), pull, Method::PUT, ("merge_method", "sha")).await
    }

    async fn add_labels(&self, number: u64, labels: &[String]) -> Result<()> {
        let url = self.api().at(&["issues", &number.to_string(), "labels"]);
        let answer = self.api().send(Method::POST, url, json!({ "labels": labels })).await?;
        self.api().done(answer).map(drop)
    }

    async fn ask_for_review(&self, number: u64, reviewers: &[String]) -> Result<()> {
        hub::ask_for_review(self.api(), number, reviewers).await
    }

    fn longest_body(&self) -> usize {
        LONGEST_BODY
    }
}
