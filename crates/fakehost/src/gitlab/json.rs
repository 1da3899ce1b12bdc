//! The JSON of GitLab: projects, merge requests and webhook events.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::pulls::{Pull, PullState};
use crate::state::{Host, Repository, User};
use crate::webhooks::{Action, Push};

const ZERO_OID: &str = "0000000000000000000000000000000000000000";

fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

pub(super) fn user(host: &Host, user: &User) -> Value {
    let User { id, login } = user;
    let web_url = format!("{}/{login}", host.url);
    json!({ "id": id, "username": login, "name": login, "state": "active", "web_url": web_url })
}

pub(super) fn project(host: &Host, repository: &Repository) -> Value {
    let web = format!("{}/{}", host.url, repository.name);
    let settings = &repository.settings;
    json!({
        "id": repository.id,
        "name": repository.short_name(),
        "path": repository.short_name(),
        "path_with_namespace": repository.name,
        "namespace": { "full_path": repository.owner() },
        "default_branch": settings.default_branch,
        "visibility": if settings.private { "private" } else { "public" },
        "archived": settings.archived,
        "web_url": web,
        "http_url_to_repo": format!("{web}.git"),
        "merge_requests_enabled": true,
        "merge_method": "merge",
        "squash_option": "default_off",
    })
}

pub(super) fn pull(host: &Host, repository: &Repository, pull: &Pull, mergeable: bool) -> Value {
    let is_merged = pull.state == PullState::Merged;
    let name = &repository.name;
    json!({
        "id": pull.id,
        "iid": pull.number,
        "project_id": repository.id,
        "source_project_id": repository.id,
        "target_project_id": repository.id,
        "title": pull.title,
        "description": pull.body,
        "state": state(pull),
        "draft": pull.draft,
        "work_in_progress": pull.draft,
        "source_branch": pull.head,
        "target_branch": pull.base,
        "sha": pull.head_sha,
        "merge_commit_sha": pull.merge_commit,
        "diff_refs": { "base_sha": pull.base_sha, "head_sha": pull.head_sha, "start_sha": pull.base_sha },
        "labels": pull.labels,
        "author": user(host, &User::bot()),
        "reviewers": pull.reviewers.iter().map(|reviewer| user(host, reviewer)).collect::<Vec<_>>(),
        "merge_status": if mergeable { "can_be_merged" } else { "cannot_be_merged" },
        "detailed_merge_status": merge_status(pull, mergeable),
        "has_conflicts": pull.state == PullState::Open && !mergeable,
        "created_at": time(pull.created_at),
        "updated_at": time(pull.updated_at),
        "closed_at": pull.closed_at.filter(|_| !is_merged).map(time),
        "merged_at": pull.closed_at.filter(|_| is_merged).map(time),
        "references": { "short": format!("!{}", pull.number), "full": format!("{name}!{}", pull.number) },
        "web_url": web_url(host, repository, pull),
    })
}

fn web_url(host: &Host, repository: &Repository, pull: &Pull) -> String {
    format!("{}/{}/-/merge_requests/{}", host.url, repository.name, pull.number)
}

fn state(pull: &Pull) -> &'static str {
    match pull.state {
        PullState::Open => "opened",
        PullState::Closed => "closed",
        PullState::Merged => "merged",
    }
}

fn merge_status(pull: &Pull, mergeable: bool) -> &'static str {
    match pull.state {
        PullState::Open if pull.draft => "draft_status",
        PullState::Open if mergeable => "mergeable",
        PullState::Open => "conflict",
        _ => "not_open",
    }
}

pub(crate) fn pull_event(host: &Host, repository: &Repository, pull: &Pull, action: Action) -> Value {
    let action = match action {
        Action::Opened => "open",
        Action::Edited | Action::Moved => "update",
        Action::Closed => "close",
        Action::Reopened => "reopen",
        Action::Merged => "merge",
    };
    json!({
        "object_kind": "merge_request",
        "event_type": "merge_request",
        "user": user(host, &User::bot()),
        "project": project(host, repository),
        "object_attributes": {
            "id": pull.id,
            "iid": pull.number,
            "action": action,
            "state": state(pull),
            "title": pull.title,
            "description": pull.body,
            "draft": pull.draft,
            "source_branch": pull.head,
            "target_branch": pull.base,
            "source_project_id": repository.id,
            "target_project_id": repository.id,
            "last_commit": { "id": pull.head_sha },
            "merge_commit_sha": pull.merge_commit,
            "url": web_url(host, repository, pull),
        },
    })
}

pub(crate) fn push_event(host: &Host, repository: &Repository, push: &Push<'_>) -> Value {
    json!({
        "object_kind": "push",
        "event_name": "push",
        "ref": format!("refs/heads/{}", push.branch),
        "before": push.before.unwrap_or(ZERO_OID),
        "after": push.after.unwrap_or(ZERO_OID),
        "checkout_sha": push.after,
        "project_id": repository.id,
        "project": project(host, repository),
        "user_username": User::bot().login,
    })
}
