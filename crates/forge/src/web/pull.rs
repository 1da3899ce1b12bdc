//! Parses pull requests in GitHub's format, which Gitea and Forgejo share, and the trailer in the body that
//! names the job.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::{Error, NewPull, Oid, PullRequest, Result, State};

/// The start of the line that names the job.
const TRAILER: &str = "Docwright-Job: ";

#[derive(Deserialize)]
pub(super) struct GitHubPull {
    number: u64,
    html_url: String,
    title: String,
    body: Option<String>,
    state: String,
    #[serde(default)]
    merged: bool,
    merged_at: Option<String>,
    pub(super) mergeable: Option<bool>,
    #[serde(default)]
    draft: bool,
    merge_commit_sha: Option<String>,
    /// Only Gitea and Forgejo send it.
    merge_base: Option<String>,
    head: BranchSide,
    base: BranchSide,
    created_at: Option<String>,
}

#[derive(Deserialize)]
struct BranchSide {
    #[serde(rename = "ref")]
    name: String,
    label: Option<String>,
    sha: String,
    /// `None` when the fork was deleted.
    repo: Option<Repo>,
}

#[derive(Deserialize)]
struct Repo {
    id: u64,
}

impl BranchSide {
    /// After a branch is deleted, Gitea's `ref` is internal, and `label` has the branch name.
    fn branch(&self) -> &str {
        match &self.label {
            Some(label) if self.name.starts_with("refs/pull/") => label,
            _ => &self.name,
        }
    }
}

impl GitHubPull {
    /// Whether the head is this branch of the repository itself. A fork can have a branch of the same name.
    pub(super) fn is_from(&self, head: &str) -> bool {
        let id = |side: &BranchSide| side.repo.as_ref().map(|repo| repo.id);
        self.head.branch() == head && id(&self.head).is_some() && id(&self.head) == id(&self.base)
    }

    pub(super) fn into_pull(self) -> Result<PullRequest> {
        let body = self.body.unwrap_or_default();
        let state = match self.state.as_str() {
            _ if self.merged || self.merged_at.is_some() => State::Merged,
            "open" => State::Open,
            _ => State::Closed,
        };
        // For an open pull request, this is a temporary test merge.
        let merge_commit = self.merge_commit_sha.filter(|_| state == State::Merged);
        let head_commit = Oid::parse(&self.head.sha)?;
        // A deleted base has no tip.
        let base_commit =
            Oid::parse(&self.base.sha).or_else(|_| Oid::parse(&self.merge_base.unwrap_or_default()));
        Ok(PullRequest {
            number: self.number,
            url: checked_link(&self.html_url)?,
            title: self.title,
            head: self.head.branch().to_owned(),
            base: self.base.name,
            state,
            base_commit: base_commit.unwrap_or_else(|_| head_commit.clone()),
            head_commit,
            // Gitea can't merge a draft either.
            has_conflicts: state == State::Open && self.mergeable == Some(false) && !self.draft,
            merge_commit: merge_commit.and_then(|commit| Oid::parse(&commit).ok()),
            job: job_of(&body),
            body,
            created_at: milliseconds(self.created_at.as_deref()),
        })
    }
}

/// People click on this link, so it must be a web address and not a script.
pub(super) fn checked_link(url: &str) -> Result<String> {
    match url.starts_with("https://") || url.starts_with("http://") {
        true => Ok(net::sanitize(url, 500)),
        false => Err(Error::Denied(
            "the host gave a pull request an address that is not a web address: check the host".to_owned(),
        )),
    }
}

pub(super) fn milliseconds(time: Option<&str>) -> i64 {
    time.and_then(|time| time.parse::<Timestamp>().ok()).map_or(0, Timestamp::as_millisecond)
}

/// The job that a body names. The last trailer counts, because others can write text above it.
pub(super) fn job_of(body: &str) -> Option<String> {
    let job = body.lines().rev().find_map(|client| client.strip_prefix(TRAILER))?;
    Some(net::sanitize(job, 100)).filter(|job| !job.is_empty())
}

/// Chooses the existing pull request: this job's own, in any state, or else the open one.
pub(super) fn choose_existing(mut found: Vec<PullRequest>, new: &NewPull) -> Option<PullRequest> {
    let is_own = |pull: &PullRequest| pull.job.as_deref() == Some(&new.job);
    found.retain(|pull| is_own(pull) || pull.state == State::Open);
    found.into_iter().min_by_key(|pull| (!is_own(pull), pull.number))
}

/// Appends the text of a follow-up. `None` when the body already contains it, or would become too long.
pub(super) fn append_to_body(body: &str, new: &str, max_chars: usize) -> Option<String> {
    // Hosts trim the text, and browsers send CRLF line ends.
    let current = body.replace("\r\n", "\n");
    if current.contains(new.trim()) {
        return None;
    }
    let appended = format!("{current}\n\n## Then\n\n{new}");
    (appended.chars().count() <= max_chars).then_some(appended)
}

/// Shortens a body to the host's limit. Cuts before the trailer, which names the job.
pub(super) fn shorten_body(body: &str, max_chars: usize) -> String {
    const ELLIPSIS: &str = "\n\n[…]\n\n";
    if body.chars().count() <= max_chars {
        return body.to_owned();
    }
    let end = body.rfind(TRAILER).map_or("", |at| &body[at..]);
    let remaining = max_chars.saturating_sub(ELLIPSIS.chars().count() + end.chars().count());
    let start: String = body.chars().take(remaining).collect();
    format!("{start}{ELLIPSIS}{end}")
}

/// Whether the host's message contains one of these lower-case texts.
pub(super) fn contains_any(message: &str, marks: &[&str]) -> bool {
    let message = message.to_ascii_lowercase();
    marks.iter().any(|mark| message.contains(mark))
}

/// The request body for a reviewer: a user name, or `organization/team`.
pub(super) fn reviewer(name: &str) -> Value {
    match name.split_once('/') {
        Some((_, team)) => serde_json::json!({ "team_reviewers": [team] }),
        None => serde_json::json!({ "reviewers": [name] }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_trailer_names_the_job() {
        let body =
            "Use pnpm\r\n\r\nDocwright-Job: old\r\n> Docwright-Job: quoted\r\nDocwright-Job: job-1\r\n";
        assert_eq!(job_of(body).as_deref(), Some("job-1"));
        assert_eq!(job_of("see Docwright-Job: x"), None);
        assert_eq!(job_of("Docwright-Job: "), None);
    }

    #[test]
    fn a_follow_up_is_appended_once() {
        let then =
            append_to_body("By hand.\r\n\r\nDocwright-Job: 1", "More.\n\nDocwright-Job: 1\n", 1000).unwrap();
        assert_eq!(then, "By hand.\n\nDocwright-Job: 1\n\n## Then\n\nMore.\n\nDocwright-Job: 1\n");
        assert_eq!(append_to_body(&then.replace('\n', "\r\n"), "More.\n\nDocwright-Job: 1\n", 1000), None);
        assert_eq!(append_to_body("there", "too long", 10), None);
    }

    #[test]
    fn a_long_body_keeps_its_job() {
        let body = format!("{}\n\nDocwright-Job: job-1\n", "ü".repeat(100));
        let cut = shorten_body(&body, 60);
        assert_eq!((cut.chars().count(), job_of(&cut).as_deref()), (60, Some("job-1")));
        assert_eq!(shorten_body(&body, 200), body);
    }
}
