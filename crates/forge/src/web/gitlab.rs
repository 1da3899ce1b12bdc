//! Implements the API of GitLab. A pull request here is a merge request there, identified by its `iid`.

use async_trait::async_trait;
use net::RemoteMessage;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::api::{Api, ApiResponse, append_path, with_query};
use super::api_errors::{Identity, moved_message};
use super::host_api::{CreateOutcome, HostApi, MergeOutcome, RepositoryDetails};
use super::pull::{checked_link, contains_any, job_of, milliseconds};
use crate::{Error, NewPull, Oid, PullRequest, Result, State};

/// Limits the list of merge requests with one head. A page has 100 items.
const MAX_PAGES: usize = 20;

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
            // `locked` means that a merge is in progress.
            _ => State::Open,
        };
        let merge_commit = self.merge_commit_sha.or(self.squash_commit_sha);
        // Lists omit `diff_refs`, and so do responses while the host computes it.
        let head_commit = Oid::parse(&self.sha.unwrap_or_default())?;
        let base_commit = self.diff_refs.and_then(|refs| Oid::parse(&refs.base_sha?).ok());
        Ok(PullRequest {
            number: self.iid,
            url: checked_link(&self.web_url)?,
            title: self.title,
            head: self.source_branch,
            base: self.target_branch,
            state,
            base_commit: base_commit.unwrap_or_else(|| head_commit.clone()),
            head_commit,
            has_conflicts: state == State::Open && self.has_conflicts,
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
        let response = self.api().get(self.api().url(&["merge_requests", &number.to_string()])).await?;
        self.api().parse_optional(response)
    }

    async fn change(&self, number: u64, change: Value) -> Result<()> {
        let url = self.api().url(&["merge_requests", &number.to_string()]);
        let response = self.api().send(Method::PUT, url, change).await?;
        self.api().check_status(response).map(drop)
    }

    async fn refusal(&self, project: &Project, may_quote: bool) -> Result<Option<String>> {
        let context = &self.api().context;
        if context.identity == Identity::Anonymous {
            return Ok(Some(context.token_required_message()));
        }
        let (path, advice) = (&context.path, context.advice());
        // The API follows a project that moved, but a push to the old address fails.
        if !project.path_with_namespace.eq_ignore_ascii_case(path) {
            return Ok(Some(match may_quote {
                true => moved_message(&project.web_url),
                false => format!("{path} has moved: give the project the new address"),
            }));
        }
        if project.merge_requests_enabled == Some(false) {
            let refusal = format!("merge requests are disabled for {path}: enable them in its settings");
            return Ok(Some(refusal));
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

    /// The token's scopes. OAuth tokens do not reveal them.
    async fn scopes(&self) -> Result<Option<Vec<String>>> {
        let url = append_path(&self.api().root, &["personal_access_tokens", "self"]);
        let response = self.api().get(url).await?;
        let scopes = response.body["scopes"].as_array().filter(|_| response.is_success());
        let texts = |all: &Vec<Value>| all.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        Ok(scopes.map(texts))
    }

    async fn user(&self, name: &str) -> Result<u64> {
        let url = with_query(append_path(&self.api().root, &["users"]), &[("username", name)]);
        let found: Value = self.api().parse(self.api().get(url).await?)?;
        found[0]["id"].as_u64().ok_or_else(|| {
            Error::Denied(format!(
                "{} has no user {}: check the reviewers of the project",
                self.api().context.host,
                net::sanitize(name, 100)
            ))
        })
    }

    fn create_outcome(&self, response: ApiResponse, new: &NewPull) -> Result<CreateOutcome> {
        match response.status {
            409 => Ok(CreateOutcome::AlreadyExists),
            400 | 422 if contains_any(response.message.text(), &["source_branch", "source branch"]) => {
                Ok(CreateOutcome::HeadNotVisible(Error::NoSuchBranch(new.head.clone())))
            }
            400 | 422 => Err(Error::Refused(format!(
                "{} refused to open the merge request: {}",
                self.api().context.host,
                response.message
            ))),
            _ => self.api().parse::<MergeRequest>(response)?.into_pull().map(CreateOutcome::Created),
        }
    }

    /// Finds out why the host refused a merge, because the status code does not say.
    async fn refusal_outcome(&self, number: u64, message: RemoteMessage) -> Result<MergeOutcome> {
        let now = self.request(number).await?;
        let status = now.as_ref().and_then(|request| request.detailed_merge_status.as_deref());
        Ok(match (&now, status) {
            (Some(request), _) if request.has_conflicts => MergeOutcome::Conflict,
            (_, Some("conflict")) => MergeOutcome::Conflict,
            (_, Some("checking" | "unchecked" | "preparing")) => MergeOutcome::Pending(message.to_string()),
            (_, Some("draft_status")) => MergeOutcome::Refused("it is a draft".to_owned()),
            (_, Some(status)) if !message.is_hidden() => {
                MergeOutcome::Refused(format!("{message} ({})", net::sanitize(status, 100)))
            }
            _ => MergeOutcome::Refused(message.to_string()),
        })
    }
}

/// The user's highest role; `None` when the host does not report it.
fn role(project: &Project) -> Option<u64> {
    let permissions = project.permissions.as_ref()?;
    let roles = [&permissions.project_access, &permissions.group_access];
    roles.into_iter().flatten().map(|role| role.access_level).max()
}

#[async_trait]
impl HostApi for GitLab {
    async fn repository(&self) -> Result<RepositoryDetails> {
        let response = self.api().get(self.api().url(&[])).await?;
        let may_quote = response.may_quote;
        let project: Project = self.api().parse(response)?;
        Ok(RepositoryDetails {
            refusal: self.refusal(&project, may_quote).await?,
            // An OAuth token does not reveal its scopes.
            is_token_specific: false,
            is_archived: project.archived,
            is_empty: project.empty_repo,
            default_branch: project.default_branch,
        })
    }

    async fn has_branch(&self, branch: &str) -> Result<bool> {
        let response = self.api().get(self.api().url(&["repository", "branches", branch])).await?;
        self.api().parse_optional::<Value>(response).map(|found| found.is_some())
    }

    async fn has_folder(&self, branch: &str, folder: &str) -> Result<bool> {
        let query = [("ref", branch), ("path", folder), ("per_page", "1")];
        let response = self.api().get(with_query(self.api().url(&["repository", "tree"]), &query)).await?;
        let found = self.api().parse_optional::<Vec<Value>>(response)?;
        Ok(found.is_some_and(|found| !found.is_empty()))
    }

    async fn find(&self, head: &str, _base: Option<&str>) -> Result<Vec<PullRequest>> {
        let query = [("source_branch", head), ("state", "all"), ("scope", "all"), ("per_page", "100")];
        let url = with_query(self.api().url(&["merge_requests"]), &query);
        let found: Vec<MergeRequest> = self.api().list(&url, MAX_PAGES).await?;
        found.into_iter().filter(|request| request.is_from(head)).map(MergeRequest::into_pull).collect()
    }

    async fn get(&self, number: u64) -> Result<Option<PullRequest>> {
        self.request(number).await?.map(MergeRequest::into_pull).transpose()
    }

    async fn create(&self, new: &NewPull) -> Result<CreateOutcome> {
        let body = json!({
            "title": new.title_with_draft_prefix("Draft: "),
            "description": new.body,
            "source_branch": new.head,
            "target_branch": new.base,
        });
        let response = self.api().send(Method::POST, self.api().url(&["merge_requests"]), body).await?;
        self.create_outcome(response, new)
    }

    async fn set_body(&self, number: u64, body: &str) -> Result<()> {
        self.change(number, json!({ "description": body })).await
    }

    async fn close(&self, number: u64) -> Result<()> {
        self.change(number, json!({ "state_event": "close" })).await
    }

    async fn merge(&self, pull: &PullRequest) -> Result<MergeOutcome> {
        let url = self.api().url(&["merge_requests", &pull.number.to_string(), "merge"]);
        let body = json!({ "sha": pull.head_commit.as_str() });
        let response = self.api().send(Method::PUT, url, body).await?;
        match response.status {
            409 => Ok(MergeOutcome::HeadMoved),
            405 | 406 | 422 => self.refusal_outcome(pull.number, response.message).await,
            _ => self.api().check_status(response).map(|_| MergeOutcome::Merged),
        }
    }

    async fn add_labels(&self, number: u64, labels: &[String]) -> Result<()> {
        self.change(number, json!({ "add_labels": labels.join(",") })).await
    }

    async fn request_review(&self, number: u64, reviewers: &[String]) -> Result<()> {
        let (mut ids, mut all) = (Vec::new(), Ok(()));
        for name in reviewers {
            match self.user(name).await {
                Ok(id) => ids.push(id),
                Err(error) => all = Err(error),
            }
        }
        self.change(number, json!({ "reviewer_ids": ids })).await.and(all)
    }

    fn max_body_chars(&self) -> usize {
        1_048_576
    }
}
