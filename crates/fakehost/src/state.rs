//! The state of the fake host: repositories, pull requests, tokens, users and the clock.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde::Serialize;

use crate::Kind;
use crate::access::Grant;
use crate::app::App;
use crate::faults::Faults;
use crate::pulls::Pull;
use crate::request_log::Log;
use crate::webhooks::Webhooks;

/// GitHub's rate limit.
pub(crate) const REQUESTS_PER_HOUR: u32 = 5000;

pub(crate) struct Host {
    pub(crate) kind: Kind,
    /// Scheme and authority, without a slash at the end.
    pub(crate) url: String,
    /// The bare repositories: `{root}/{name}.git`.
    pub(crate) root: PathBuf,
    pub(crate) faults: Faults,
    pub(crate) log: Log,
    pub(crate) hooks: Webhooks,
    data: Mutex<HostData>,
}

pub(crate) struct HostData {
    pub(crate) repositories: BTreeMap<String, Repository>,
    /// By the repository's id.
    pub(crate) pulls: HashMap<u64, Vec<Pull>>,
    pub(crate) grants: HashMap<String, Grant>,
    pub(crate) users: Vec<User>,
    pub(crate) app: Option<App>,
    /// The remaining requests of GitHub's rate limit.
    pub(crate) requests_left: u32,
    now: Option<Timestamp>,
    last_id: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Repository {
    pub(crate) id: u64,
    /// `acme/docs`; with GitLab also `acme/team/docs`.
    pub(crate) name: String,
    pub(crate) git_dir: PathBuf,
    /// Gitea's id of a label is its index here plus 1.
    pub(crate) labels: Vec<String>,
    pub(crate) settings: Settings,
}

/// A repository's settings.
#[derive(Clone, Debug)]
pub struct Settings {
    pub private: bool,
    pub archived: bool,
    pub default_branch: String,
    /// Branches that refuse pushes.
    pub protected: BTreeSet<String>,
    /// Whether a fetch can omit files.
    pub has_filter: bool,
    /// Whether a fetch can name any object. Otherwise it can name only the tips of branches.
    pub sends_any_object: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct User {
    pub id: u64,
    pub login: String,
}

impl Default for Settings {
    fn default() -> Self {
        let default_branch = "main".to_owned();
        Self {
            private: true,
            archived: false,
            default_branch,
            protected: BTreeSet::new(),
            has_filter: true,
            sends_any_object: true,
        }
    }
}

impl User {
    /// The user of every token.
    pub(crate) fn bot() -> Self {
        Self { id: 1, login: "docs-bot".to_owned() }
    }
}

impl Repository {
    pub(crate) fn owner(&self) -> &str {
        self.name.rsplit_once('/').map_or("", |(owner, _)| owner)
    }

    pub(crate) fn short_name(&self) -> &str {
        self.name.rsplit_once('/').map_or(self.name.as_str(), |(_, name)| name)
    }
}

impl HostData {
    pub(crate) fn now(&self) -> Timestamp {
        self.now.unwrap_or_else(Timestamp::now)
    }

    pub(crate) fn new_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    pub(crate) fn user(&self, login: &str) -> Option<User> {
        self.users.iter().find(|user| user.login == login).cloned()
    }
}

impl Host {
    pub(crate) fn new(kind: Kind, url: String, root: PathBuf, hooks: Webhooks) -> Self {
        let data = HostData {
            repositories: BTreeMap::new(),
            pulls: HashMap::new(),
            grants: HashMap::new(),
            users: vec![User::bot()],
            app: None,
            requests_left: REQUESTS_PER_HOUR,
            now: None,
            last_id: 0,
        };
        let (faults, log, data) = (Faults::default(), Log::default(), Mutex::new(data));
        Self { kind, url, root, faults, log, hooks, data }
    }

    /// Locks the state. Never hold the lock while git runs.
    pub(crate) fn data(&self) -> MutexGuard<'_, HostData> {
        self.data.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.data().now()
    }

    pub(crate) fn set_now(&self, now: Option<Timestamp>) {
        self.data().now = now;
    }

    pub(crate) fn repository(&self, name: &str) -> Option<Repository> {
        self.data().repositories.get(name).cloned()
    }
}
