//! The first run, step by step, as data.

use askama::Template;

use super::{NewKey, Said, Section, Shell};

/// `/welcome`: a name and a password, or not.
#[derive(Template)]
#[template(path = "welcome.html")]
pub(crate) struct Welcome {
    pub(crate) shell: Shell,
    /// What was typed, kept when it was refused.
    pub(crate) name: String,
    pub(crate) error: Option<String>,
}

/// `/welcome/repository`
#[derive(Template)]
#[template(path = "welcome_repository.html")]
pub(crate) struct WelcomeRepository {
    pub(crate) shell: Shell,
    pub(crate) form: NewProjectForm,
    /// Whether a path of the server's machine, and the sample on it, can be chosen.
    pub(crate) operator: bool,
    pub(crate) error: Option<String>,
}

/// The token is not here: what was typed of it is not shown again.
#[derive(Default)]
pub(crate) struct NewProjectForm {
    pub(crate) name: String,
    pub(crate) repository: String,
    pub(crate) branch: String,
    pub(crate) folder: String,
}

/// `/p/{projectId}/welcome`
#[derive(Template)]
#[template(path = "welcome_model.html")]
pub(crate) struct WelcomeModel {
    pub(crate) shell: Shell,
    pub(crate) models: Vec<OneModel>,
    pub(crate) said: Option<Said>,
}

pub(crate) struct OneModel {
    pub(crate) name: String,
    pub(crate) chosen: bool,
}

/// The last step: all that a script needs.
#[derive(Template)]
#[template(path = "welcome_done.html")]
pub(crate) struct WelcomeDone {
    pub(crate) shell: Shell,
    pub(crate) project_id: String,
    pub(crate) key: NewKey,
    /// Globs of folders with code that jobs may not change yet.
    pub(crate) offers: Vec<String>,
}
