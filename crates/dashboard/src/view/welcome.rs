//! Defines the data of the pages of the first run.

use askama::Template;

use super::{FormMessage, NewKey, Section, Shell};

/// `/welcome`: creates an account, which is optional.
#[derive(Template)]
#[template(path = "welcome.html")]
pub(crate) struct Welcome {
    pub(crate) shell: Shell,
    /// The name as typed, if the form was refused.
    pub(crate) name: String,
    pub(crate) error: Option<String>,
}

/// `/welcome/repository`
#[derive(Template)]
#[template(path = "welcome_repository.html")]
pub(crate) struct WelcomeRepository {
    pub(crate) shell: Shell,
    pub(crate) form: NewProjectForm,
    /// Operators can also choose a path on the server's machine, or the sample.
    pub(crate) is_operator: bool,
    pub(crate) error: Option<String>,
}

/// Has no token, because a page never shows one.
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
    pub(crate) models: Vec<ModelOption>,
    pub(crate) message: Option<FormMessage<()>>,
}

pub(crate) struct ModelOption {
    pub(crate) name: String,
    pub(crate) chosen: bool,
}

/// The last step: shows what a script needs to call the API.
#[derive(Template)]
#[template(path = "welcome_done.html")]
pub(crate) struct WelcomeDone {
    pub(crate) shell: Shell,
    pub(crate) project_id: String,
    pub(crate) key: NewKey,
    /// Globs of folders with code that jobs may not change yet.
    pub(crate) suggested_globs: Vec<String>,
}
