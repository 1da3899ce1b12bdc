//! The actor of a request: a member, the user of a login link, or an API key.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::account::DEFAULT_LOGIN_NAME;
use crate::{ApiKey, Session};

/// Stored with a job as JSON. The audit log has only its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Actor {
    Member {
        name: String,
    },
    /// A user without an account who has access to the server's machine.
    LoginLink {
        name: String,
    },
    ApiKey {
        id: String,
        name: String,
        prefix: String,
    },
}

impl Actor {
    pub fn of_session(session: &Session) -> Self {
        match &session.person {
            Some(person) => Self::Member { name: person.name.clone() },
            None => Self::LoginLink {
                name: session.name.clone().unwrap_or_else(|| DEFAULT_LOGIN_NAME.to_owned()),
            },
        }
    }

    pub fn of_key(key: &ApiKey) -> Self {
        Self::ApiKey { id: key.id.0.clone(), name: key.name.clone(), prefix: key.hint.clone() }
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member { name } => f.write_str(name),
            Self::LoginLink { name } if name == DEFAULT_LOGIN_NAME => f.write_str("login link"),
            Self::LoginLink { name } => write!(f, "login link ({name})"),
            Self::ApiKey { name, prefix, .. } => write!(f, "API key {name} ({prefix}…)"),
        }
    }
}
