//! The JSON of GitHub: repositories, pull requests and webhook events.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::pulls::{Pull, PullState};
use crate::state::{Host, Repository, User};
use crate::webhooks::{Action, Push};

const ZERO_OID: &str = "0000000000000000000000000000000000000000";

/// A time in the format of GitHub and Gitea, with a precision of seconds.
pub(crate) fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

pub(super) fn user(host: &Host, user: &User) -> Value {
    let User { id, login } = user;
    json!({ "login": login, "id": id, "type": "User", "html_url": format!("{}/{login}", host.url) })
}

pub(super) fn repository(host: &Host, repository: &Repository) -> Value {
    let web = format!("{}/{}", host.url, repository.name);
    let settings = &repository.settings;
    json!({
        "id": repository.id,
        "name": repository.short_name(),
        "full_name": repository.name,
        "owner": { "login": repository.owner(), "type": "Organization" },
        "private": settings.private,
        "visibility": if settings.private { "private" } else { "public" },
        "archived": settings.archived,
        "disabled": false,
        "fork": false,
        "default_branch": settings.default_branch,
        "html_url": web,
        "clone_url": format!("{web}.git"),
        "url": format!("{}/repos/{}", host.url, repository.name),
        "allow_merge_commit": true,
        "allow_squash_merge": true,
        "allow_rebase_merge": false,
    })
}

pub(super) fn label(name: &str) -> Value {
    json!({ "name": name, "color": "ededed", "default": false, "description": null })
}

/// A pull request as in lists, without computed fields.
pub(super) fn pull(host: &Host, repository: &Repository, pull: &Pull) -> Value {
    let url = format!("{}/repos/{}/pulls/{}", host.url, repository.name, pull.number);
    let merged_at = pull.closed_at.filter(|_| pull.state == PullState::Merged);
    json!({
        "id": pull.id,
        "number": pull.number,
        "state": if pull.state == PullState::Open { "open" } else { "closed" },
        "locked": false,
        "title": pull.title,
        "body": pull.body,
        "draft": pull.draft,
        "user": user(host, &User::bot()),
        "head": side(host, repository, &pull.head, &pull.head_sha),
        "base": side(host, repository, &pull.base, &pull.base_sha),
        "labels": pull.labels.iter().map(|name| label(name)).collect::<Vec<_>>(),
        "requested_reviewers": pull.reviewers.iter().map(|reviewer| user(host, reviewer)).collect::<Vec<_>>(),
        "merge_commit_sha": pull.merge_commit,
        "created_at": time(pull.created_at),
        "updated_at": time(pull.updated_at),
        "closed_at": pull.closed_at.map(time),
        "merged_at": merged_at.map(time),
        "html_url": format!("{}/{}/pull/{}", host.url, repository.name, pull.number),
        "url": url,
    })
}

/// A single pull request, with computed fields.
pub(super) fn full_pull(host: &Host, repository: &Repository, pull: &Pull, mergeable: bool) -> Value {
    let mut shown = self::pull(host, repository, pull);
    let is_merged = pull.state == PullState::Merged;
    shown["merged"] = is_merged.into();
    shown["mergeable"] = if pull.state == PullState::Open { mergeable.into() } else { Value::Null };
    shown["mergeable_state"] = match (pull.state, mergeable) {
        (PullState::Open, true) => "clean".into(),
        (PullState::Open, false) => "dirty".into(),
        _ => "unknown".into(),
    };
    shown["merged_by"] = if is_merged { user(host, &User::bot()) } else { Value::Null };
    shown
}

fn side(host: &Host, repository: &Repository, branch: &str, sha: &str) -> Value {
    json!({
        "label": format!("{}:{branch}", repository.owner()),
        "ref": branch,
        "sha": sha,
        "repo": self::repository(host, repository),
    })
}

pub(crate) fn pull_event(host: &Host, repository: &Repository, pull: &Pull, action: Action) -> Value {
    let action = match action {
        Action::Opened => "opened",
        Action::Edited => "edited",
        Action::Moved => "synchronize",
        Action::Closed | Action::Merged => "closed",
        Action::Reopened => "reopened",
    };
    json!({
        "action": action,
        "number": pull.number,
        "pull_request": full_pull(host, repository, pull, true),
        "repository": self::repository(host, repository),
        "sender": user(host, &User::bot()),
    })
}

pub(crate) fn push_event(host: &Host, repository: &Repository, push: &Push<'_>) -> Value {
    json!({
        "ref": format!("refs/heads/{}", push.branch),
        "before": push.before.unwrap_or(ZERO_OID),
        "after": push.after.unwrap_or(ZERO_OID),
        "created": push.before.is_none(),
        "deleted": push.after.is_none(),
        "repository": self::repository(host, repository),
        "pusher": { "name": User::bot().login },
        "sender": user(host, &User::bot()),
    })
}
