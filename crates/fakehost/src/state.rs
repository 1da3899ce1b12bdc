//! What the host knows: repositories, who may do what, what time it is.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde::Serialize;

use crate::Kind;
use crate::access::Grant;
use crate::app::App;
use crate::faults::Faults;
use crate::hooks::Hooks;
use crate::log::Log;
use crate::pulls::Pull;

/// What GitHub grants an hour.
pub(crate) const HOURLY: u32 = 5000;

pub(crate) struct Host {
    pub(crate) kind: Kind,
    /// Scheme and authority, without a slash at the end.
    pub(crate) url: String,
    /// The bare repositories: `{root}/{name}.git`.
    pub(crate) root: PathBuf,
    pub(crate) faults: Faults,
    pub(crate) log: Log,
    pub(crate) hooks: Hooks,
    world: Mutex<World>,
}

pub(crate) struct World {
    pub(crate) repositories: BTreeMap<String, Repository>,
    /// By the repository's id.
    pub(crate) pulls: HashMap<u64, Vec<Pull>>,
    pub(crate) grants: HashMap<String, Grant>,
    pub(crate) users: Vec<User>,
    pub(crate) app: Option<App>,
    /// Requests left until GitHub's limit.
    pub(crate) budget: u32,
    now: Option<Timestamp>,
    last_id: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Repository {
    pub(crate) id: u64,
    /// `acme/docs`; with GitLab also `acme/team/docs`.
    pub(crate) name: String,
    pub(crate) git_dir: PathBuf,
    /// What Gitea calls a label by: its place here, from 1.
    pub(crate) labels: Vec<String>,
    pub(crate) settings: Settings,
}

/// What a person sets on a repository's page.
#[derive(Clone, Debug)]
pub struct Settings {
    pub private: bool,
    pub archived: bool,
    pub default_branch: String,
    /// Branches that take no push.
    pub protected: BTreeSet<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct User {
    pub id: u64,
    pub login: String,
}

impl Default for Settings {
    fn default() -> Self {
        let default_branch = "main".to_owned();
        Self { private: true, archived: false, default_branch, protected: BTreeSet::new() }
    }
}

impl User {
    /// Whoever comes with a token.
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

impl World {
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
    pub(crate) fn new(kind: Kind, url: String, root: PathBuf, hooks: Hooks) -> Self {
        let world = World {
            repositories: BTreeMap::new(),
            pulls: HashMap::new(),
            grants: HashMap::new(),
            users: vec![User::bot()],
            app: None,
            budget: HOURLY,
            now: None,
            last_id: 0,
        };
        let (faults, log, world) = (Faults::default(), Log::default(), Mutex::new(world));
        Self { kind, url, root, faults, log, hooks, world }
    }

    /// Never held while git works.
    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.world().now()
    }

    pub(crate) fn set_now(&self, now: Option<Timestamp>) {
        self.world().now = now;
    }

    pub(crate) fn repository(&self, name: &str) -> Option<Repository> {
        self.world().repositories.get(name).cloned()
    }
}
