//! GitLab. Its merge requests are pull requests here, known by the number within the project.

use async_trait::async_trait;
use net::RemoteMessage;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::api::{Answer, Api, below, with};
use super::dialect::{About, Created, Dialect, Merge};
use super::pull::{job_of, link, milliseconds, says};
use super::trouble::{Who, moved};
use crate::{Error, NewPull, Oid, PullRequest, Result, State};

/// Pages of a hundred, of merge requests with one head.
const PAGES: usize = 20;

/// The role that may push and open merge requests.
const DEVELOPER: u64 = 30;

pub(super) struct GitLab(pub(super) Api);

#[derive(Deserialize)]
struct Project {
    path_with_namespace: String,
    web_url: String,
    default_branch: Option<String>,
    #[serde(default)]
    archived: bool,
    #[serde(default)]
    empty_repo: bool,
    merge_requests_enabled: Option<bool>,
    permissions: Option<Permissions>,
}

#[derive(Deserialize)]
struct Permissions {
    project_access: Option<Role>,
    group_access: Option<Role>,
}

#[derive(Deserialize)]
struct Role {
    access_level: u64,
}

#[derive(Deserialize)]
struct MergeRequest {
    iid: u64,
    web_url: String,
    title: String,
    description: Option<String>,
    state: String,
    sha: Option<String>,
    source_branch: String,
    target_branch: String,
    source_project_id: Option<u64>,
    target_project_id: u64,
    merge_commit_sha: Option<String>,
    squash_commit_sha: Option<String>,
    diff_refs: Option<DiffRefs>,
    created_at: Option<String>,
    #[serde(default)]
    has_conflicts: bool,
    detailed_merge_status: Option<String>,
}

#[derive(Deserialize)]
struct DiffRefs {
    base_sha: Option<String>,
}

impl MergeRequest {
    fn is_from(&self, head: &str) -> bool {
        self.source_branch == head && self.source_project_id == Some(self.target_project_id)
    }

    fn into_pull(self) -> Result<PullRequest> {
        let body = self.description.unwrap_or_default();
        let state = match self.state.as_str() {
            "merged" => State::Merged,
            "closed" => State::Closed,
            // `locked` is one that is being merged.
            _ => State::Open,
        };
        let merge_commit = self.merge_commit_sha.or(self.squash_commit_sha);
        // Lists leave it out, and so does an answer while the host still works it out.
        let head_commit = Oid::parse(&self.sha.unwrap_or_default())?;
        let base_commit = self.diff_refs.and_then(|refs| Oid::parse(&refs.base_sha?).ok());
        Ok(PullRequest {
            number: self.iid,
            url: link(&self.web_url)?,
            title: self.title,
            head: self.source_branch,
            base: self.target_branch,
            state,
            base_commit: base_commit.unwrap_or_else(|| head_commit.clone()),
            head_commit,
            merge_commit: merge_commit.and_then(|commit| Oid::parse(&commit).ok()),
            job: job_of(&body),
            body,
            created_at: milliseconds(self.created_at.as_deref()),
        })
    }
}

impl GitLab {
    fn api(&self) -> &Api {
        &self.0
    }

    async fn request(&self, number: u64) -> Result<Option<MergeRequest>> {
        let answer = self.api().get(self.api().at(&["merge_requests", &number.to_string()])).await?;
        self.api().read_if_there(answer)
    }

    async fn change(&self, number: u64, change: Value) -> Result<()> {
        let url = self.api().at(&["merge_requests", &number.to_string()]);
        let answer = self.api().send(Method::PUT, url, change).await?;
        self.api().done(answer).map(drop)
    }

    async fn refusal(&self, project: &Project, may_quote: bool) -> Result<Option<String>> {
        let place = &self.api().place;
        if place.who == Who::Nobody {
            return Ok(Some(place.wants_token()));
        }
        let (path, advice) = (&place.path, place.advice());
        // Its API goes along with a project that moved; pushing to the old address does not.
        if !project.path_with_namespace.eq_ignore_ascii_case(path) {
            return Ok(Some(match may_quote {
                true => moved(&project.web_url),
                false => format!("{path} has moved: give the project the new address"),
            }));
        }
        if project.merge_requests_enabled == Some(false) {
            let told = format!("merge requests are turned off for {path}: turn them on in its settings");
            return Ok(Some(told));
        }
        let lacks = |what: &str| Some(format!("the token for {path} lacks {what}: {advice}"));
        Ok(match self.scopes().await? {
            Some(scopes) if !scopes.iter().any(|scope| scope == "api") => lacks("the scope `api`"),
            _ => match role(project) {
                Some(role) if role < DEVELOPER => lacks("the role Developer"),
                _ => None,
            },
        })
    }

    /// What the token says of itself. Those of OAuth say nothing.
    async fn scopes(&self) -> Result<Option<Vec<String>>> {
        let url = below(&self.api().root, &["personal_access_tokens", "self"]);
        let answer = self.api().get(url).await?;
        let scopes = answer.body["scopes"].as_array().filter(|_| answer.is_success());
        let texts = |all: &Vec<Value>| all.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        Ok(scopes.map(texts))
    }

    async fn user(&self, name: &str) -> Result<u64> {
        let url = with(below(&self.api().root, &["users"]), &[("username", name)]);
        let found: Value = self.api().read(self.api().get(url).await?)?;
        found[0]["id"].as_u64().ok_or_else(|| {
            Error::Denied(format!("{} has no user {}", self.api().place.host, net::sanitize(name, 100)))
        })
    }

    fn created(&self, answer: Answer, new: &NewPull) -> Result<Created> {
        match answer.status {
            409 => Ok(Created::There),
            400 | 422 if says(answer.said.text(), &["source_branch", "source branch"]) => {
                Ok(Created::NotYet(Error::NoSuchBranch(new.head.clone())))
            }
            400 | 422 => Err(Error::Refused(format!(
                "{} opens no merge request: {}",
                self.api().place.host,
                answer.said
            ))),
            _ => self.api().read::<MergeRequest>(answer)?.into_pull().map(Created::Now),
        }
    }

    /// Why a merge was refused: the status alone does not tell.
    async fn why_not(&self, number: u64, said: RemoteMessage) -> Result<Merge> {
        let now = self.request(number).await?;
        let status = now.as_ref().and_then(|request| request.detailed_merge_status.as_deref());
        Ok(match (&now, status) {
            (Some(request), _) if request.has_conflicts => Merge::Conflict,
            (_, Some("conflict")) => Merge::Conflict,
            (_, Some("checking" | "unchecked" | "preparing")) => Merge::NotYet(said.to_string()),
            (_, Some("draft_status")) => Merge::No("it is a draft".to_owned()),
            (_, Some(status)) if !said.is_hidden() => {
                Merge::No(format!("{said} ({})", net::sanitize(status, 100)))
            }
            _ => Merge::No(said.to_string()),
        })
    }
}

/// The higher of the person's roles; `None` where the host does not tell.
fn role(project: &Project) -> Option<u64> {
    let permissions = project.permissions.as_ref()?;
    let roles = [&permissions.project_access, &permissions.group_access];
    roles.into_iter().flatten().map(|role| role.access_level).max()
}

#[async_trait]
impl Dialect for GitLab {
    async fn about(&self) -> Result<About> {
        let answer = self.api().get(self.api().at(&[])).await?;
        let may_quote = answer.may_quote;
        let project: Project = self.api().read(answer)?;
        Ok(About {
            refusal: self.refusal(&project, may_quote).await?,
            // One of OAuth does not tell what it is for.
            is_of_token: false,
            is_archived: project.archived,
            is_empty: project.empty_repo,
            default_branch: project.default_branch,
        })
    }

    async fn has_branch(&self, branch: &str) -> Result<bool> {
        let answer = self.api().get(self.api().at(&["repository", "branches", branch])).await?;
        self.api().read_if_there::<Value>(answer).map(|found| found.is_some())
    }

    async fn has_folder(&self, branch: &str, folder: &str) -> Result<bool> {
        let query = [("ref", branch), ("path", folder), ("per_page", "1")];
        let answer = self.api().get(with(self.api().at(&["repository", "tree"]), &query)).await?;
        let found = self.api().read_if_there::<Vec<Value>>(answer)?;
        Ok(found.is_some_and(|found| !found.is_empty()))
    }

    async fn find(&self, head: &str, _base: Option<&str>) -> Result<Vec<PullRequest>> {
        let query = [("source_branch", head), ("state", "all"), ("scope", "all"), ("per_page", "100")];
        let url = with(self.api().at(&["merge_requests"]), &query);
        let found: Vec<MergeRequest> = self.api().list(&url, PAGES).await?;
        found.into_iter().filter(|request| request.is_from(head)).map(MergeRequest::into_pull).collect()
    }

    async fn get(&self, number: u64) -> Result<Option<PullRequest>> {
        self.request(number).await?.map(MergeRequest::into_pull).transpose()
    }

    async fn create(&self, new: &NewPull) -> Result<Created> {
        let body = json!({
            "title": new.title_with("Draft: "),
            "description": new.body,
            "source_branch": new.head,
            "target_branch": new.base,
        });
        let answer = self.api().send(Method::POST, self.api().at(&["merge_requests"]), body).await?;
        self.created(answer, new)
    }

    async fn set_body(&self, number: u64, body: &str) -> Result<()> {
        self.change(number, json!({ "description": body })).await
    }

    async fn close(&self, number: u64) -> Result<()> {
        self.change(number, json!({ "state_event": "close" })).await
    }

    async fn merge(&self, pull: &PullRequest) -> Result<Merge> {
        let url = self.api().at(&["merge_requests", &pull.number.to_string(), "merge"]);
        let body = json!({ "sha": pull.head_commit.as_str() });
        let answer = self.api().send(Method::PUT, url, body).await?;
        match answer.status {
            409 => Ok(Merge::Moved),
            405 | 406 | 422 => self.why_not(pull.number, answer.said).await,
            _ => self.api().done(answer).map(|_| Merge::Done),
        }
    }

    async fn add_labels(&self, number: u64, labels: &[String]) -> Result<()> {
        self.change(number, json!({ "add_labels": labels.join(",") })).await
    }

    async fn ask_for_review(&self, number: u64, reviewers: &[String]) -> Result<()> {
        let (mut ids, mut all) = (Vec::new(), Ok(()));
        for name in reviewers {
            match self.user(name).await {
                Ok(id) => ids.push(id),
                Err(error) => all = Err(error),
            }
        }
        self.change(number, json!({ "reviewer_ids": ids })).await.and(all)
    }

    fn longest_body(&self) -> usize {
        1_048_576
    }
}
