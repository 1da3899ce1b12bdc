//! The JSON of Gitea and Forgejo: repositories, pull requests and webhook events.

use serde_json::{Value, json};

use crate::github::json::time;
use crate::pulls::{Pull, PullState};
use crate::state::{Host, Repository, User};
use crate::webhooks::{Action, Push};

const ZERO_OID: &str = "0000000000000000000000000000000000000000";

pub(super) fn user(host: &Host, user: &User) -> Value {
    let User { id, login } = user;
    let html_url = format!("{}/{login}", host.url);
    json!({ "id": id, "login": login, "username": login, "full_name": "", "html_url": html_url })
}

pub(super) fn repository(host: &Host, repository: &Repository) -> Value {
    let web = format!("{}/{}", host.url, repository.name);
    let settings = &repository.settings;
    json!({
        "id": repository.id,
        "name": repository.short_name(),
        "full_name": repository.name,
        "owner": { "login": repository.owner(), "username": repository.owner() },
        "private": settings.private,
        "archived": settings.archived,
        "empty": false,
        "fork": false,
        "default_branch": settings.default_branch,
        "html_url": web,
        "clone_url": format!("{web}.git"),
        "has_pull_requests": true,
        "allow_merge_commits": true,
        "allow_squash_merge": true,
        "allow_rebase": false,
    })
}

pub(super) fn label(repository: &Repository, name: &str) -> Value {
    let id = repository.labels.iter().position(|label| label == name).map_or(0, |index| index + 1);
    json!({ "id": id, "name": name, "color": "ededed", "description": "" })
}

pub(super) fn pull(host: &Host, repository: &Repository, pull: &Pull, mergeable: bool) -> Value {
    let is_merged = pull.state == PullState::Merged;
    let url = format!("{}/{}/pulls/{}", host.url, repository.name, pull.number);
    json!({
        "id": pull.id,
        "number": pull.number,
        "state": if pull.state == PullState::Open { "open" } else { "closed" },
        "is_locked": false,
        "title": pull.title,
        "body": pull.body,
        "draft": pull.draft,
        "user": user(host, &User::bot()),
        "head": side(host, repository, &pull.head, &pull.head_sha),
        "base": side(host, repository, &pull.base, &pull.base_sha),
        "labels": pull.labels.iter().map(|name| label(repository, name)).collect::<Vec<_>>(),
        "requested_reviewers": pull.reviewers.iter().map(|reviewer| user(host, reviewer)).collect::<Vec<_>>(),
        "mergeable": mergeable,
        "merged": is_merged,
        "merge_commit_sha": pull.merge_commit,
        "merged_by": if is_merged { user(host, &User::bot()) } else { Value::Null },
        "created_at": time(pull.created_at),
        "updated_at": time(pull.updated_at),
        "closed_at": pull.closed_at.map(time),
        "merged_at": pull.closed_at.filter(|_| is_merged).map(time),
        "html_url": url,
        "url": url,
    })
}

fn side(host: &Host, repository: &Repository, branch: &str, sha: &str) -> Value {
    json!({
        "label": branch,
        "ref": branch,
        "sha": sha,
        "repo_id": repository.id,
        "repo": self::repository(host, repository),
    })
}

pub(crate) fn pull_event(host: &Host, repository: &Repository, pull: &Pull, action: Action) -> Value {
    let action = match action {
        Action::Opened => "opened",
        Action::Edited => "edited",
        Action::Moved => "synchronized",
        Action::Closed | Action::Merged => "closed",
        Action::Reopened => "reopened",
    };
    json!({
        "action": action,
        "number": pull.number,
        "pull_request": self::pull(host, repository, pull, true),
        "repository": self::repository(host, repository),
        "sender": user(host, &User::bot()),
    })
}

pub(crate) fn push_event(host: &Host, repository: &Repository, push: &Push<'_>) -> Value {
    json!({
        "ref": format!("refs/heads/{}", push.branch),
        "before": push.before.unwrap_or(ZERO_OID),
        "after": push.after.unwrap_or(ZERO_OID),
        "repository": self::repository(host, repository),
        "pusher": user(host, &User::bot()),
        "sender": user(host, &User::bot()),
    })
}
