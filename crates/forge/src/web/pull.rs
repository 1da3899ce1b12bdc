//! A pull request as GitHub writes it, which Gitea and Forgejo copied; and the words in its body
//! that say whose it is.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::{Error, NewPull, Oid, PullRequest, Result, State};

/// The line of a body that names the job.
const TRAILER: &str = "Docwright-Job: ";

#[derive(Deserialize)]
pub(super) struct HubPull {
    number: u64,
    html_url: String,
    title: String,
    body: Option<String>,
    state: String,
    #[serde(default)]
    merged: bool,
    merged_at: Option<String>,
    pub(super) mergeable: Option<bool>,
    merge_commit_sha: Option<String>,
    /// Of Gitea and Forgejo.
    merge_base: Option<String>,
    head: Side,
    base: Side,
    created_at: Option<String>,
}

#[derive(Deserialize)]
struct Side {
    #[serde(rename = "ref")]
    name: String,
    label: Option<String>,
    sha: String,
    /// `None` when a fork is gone.
    repo: Option<Repo>,
}

#[derive(Deserialize)]
struct Repo {
    id: u64,
}

impl Side {
    /// Once a branch is gone, Gitea shows where its commits are kept, and the name beside it.
    fn branch(&self) -> &str {
        match &self.label {
            Some(label) if self.name.starts_with("refs/pull/") => label,
            _ => &self.name,
        }
    }
}

impl HubPull {
    /// From a branch of the repository itself: forks can have any name.
    pub(super) fn is_from(&self, head: &str) -> bool {
        let id = |side: &Side| side.repo.as_ref().map(|repo| repo.id);
        self.head.branch() == head && id(&self.head).is_some() && id(&self.head) == id(&self.base)
    }

    pub(super) fn into_pull(self) -> Result<PullRequest> {
        let body = self.body.unwrap_or_default();
        let state = match self.state.as_str() {
            _ if self.merged || self.merged_at.is_some() => State::Merged,
            "open" => State::Open,
            _ => State::Closed,
        };
        // What an open one has is a trial of the host's.
        let merge_commit = self.merge_commit_sha.filter(|_| state == State::Merged);
        let head_commit = Oid::parse(&self.head.sha)?;
        // A base that is gone has no tip.
        let base_commit =
            Oid::parse(&self.base.sha).or_else(|_| Oid::parse(&self.merge_base.unwrap_or_default()));
        Ok(PullRequest {
            number: self.number,
            url: link(&self.html_url)?,
            title: self.title,
            head: self.head.branch().to_owned(),
            base: self.base.name,
            state,
            base_commit: base_commit.unwrap_or_else(|_| head_commit.clone()),
            head_commit,
            merge_commit: merge_commit.and_then(|commit| Oid::parse(&commit).ok()),
            job: job_of(&body),
            body,
            created_at: milliseconds(self.created_at.as_deref()),
        })
    }
}

/// People are shown it to click on, so it must be one of the web and no script.
pub(super) fn link(url: &str) -> Result<String> {
    match url.starts_with("https://") || url.starts_with("http://") {
        true => Ok(net::sanitize(url, 500)),
        false => {
            Err(Error::Denied("the host gave a pull request an address that is not on the web".to_owned()))
        }
    }
}

pub(super) fn milliseconds(time: Option<&str>) -> i64 {
    time.and_then(|time| time.parse::<Timestamp>().ok()).map_or(0, Timestamp::as_millisecond)
}

/// The job that a body names; the last one, because what stands above it was written by others.
pub(super) fn job_of(body: &str) -> Option<String> {
    let named = body.lines().rev().find_map(|line| line.strip_prefix(TRAILER))?;
    Some(net::sanitize(named, 100)).filter(|job| !job.is_empty())
}

/// The one that is there already: this job's own, in whatever state, or else the open one.
pub(super) fn adopted(mut found: Vec<PullRequest>, new: &NewPull) -> Option<PullRequest> {
    let is_own = |pull: &PullRequest| pull.job.as_deref() == Some(&new.job);
    found.retain(|pull| is_own(pull) || pull.state == State::Open);
    found.into_iter().min_by_key(|pull| (!is_own(pull), pull.number))
}

/// What a follow-up's pull request says then: its own words after everything that stands there.
/// `None` when they stand there already, or when there is no room for them.
pub(super) fn added(body: &str, new: &str, most: usize) -> Option<String> {
    // Hosts trim, and browsers send line ends of their own.
    let there = body.replace("\r\n", "\n");
    if there.contains(new.trim()) {
        return None;
    }
    let added = format!("{there}\n\n## Then\n\n{new}");
    (added.chars().count() <= most).then_some(added)
}

/// A body that the host takes: the middle gives way, since the job stands at the end.
pub(super) fn fitted(body: &str, most: usize) -> String {
    const CUT: &str = "\n\n[…]\n\n";
    if body.chars().count() <= most {
        return body.to_owned();
    }
    let end = body.rfind(TRAILER).map_or("", |at| &body[at..]);
    let room = most.saturating_sub(CUT.chars().count() + end.chars().count());
    let start: String = body.chars().take(room).collect();
    format!("{start}{CUT}{end}")
}

/// Whether the host's words about a failure contain any of these, in small letters.
pub(super) fn says(said: &str, marks: &[&str]) -> bool {
    let said = said.to_ascii_lowercase();
    marks.iter().any(|mark| said.contains(mark))
}

/// Reviewers as settings name them: a person, or `organization/team`.
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
    fn the_last_trailer_counts() {
        let body =
            "Use pnpm\r\n\r\nDocwright-Job: old\r\n> Docwright-Job: quoted\r\nDocwright-Job: job-1\r\n";
        assert_eq!(job_of(body).as_deref(), Some("job-1"));
        assert_eq!(job_of("see Docwright-Job: x"), None);
        assert_eq!(job_of("Docwright-Job: "), None);
    }

    #[test]
    fn a_follow_up_is_said_once() {
        let then = added("By hand.\r\n\r\nDocwright-Job: 1", "More.\n\nDocwright-Job: 1\n", 1000).unwrap();
        assert_eq!(then, "By hand.\n\nDocwright-Job: 1\n\n## Then\n\nMore.\n\nDocwright-Job: 1\n");
        assert_eq!(added(&then.replace('\n', "\r\n"), "More.\n\nDocwright-Job: 1\n", 1000), None);
        assert_eq!(added("there", "too long", 10), None);
    }

    #[test]
    fn a_long_body_keeps_its_job() {
        let body = format!("{}\n\nDocwright-Job: job-1\n", "ü".repeat(100));
        let cut = fitted(&body, 60);
        assert_eq!((cut.chars().count(), job_of(&cut).as_deref()), (60, Some("job-1")));
        assert_eq!(fitted(&body, 200), body);
    }
}
