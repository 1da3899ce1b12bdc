//! State that the jobs of one worker process share, besides the parts of the server.

use std::ops::Deref;
use std::sync::Arc;

use app::App;

use crate::grounds::Grounds;
use crate::later::Delays;
use crate::vocabularies::Vocabularies;

#[derive(Clone)]
pub(crate) struct Shared {
    app: App,
    pub(crate) grounds: Arc<Grounds>,
    pub(crate) vocabularies: Arc<Vocabularies>,
    pub(crate) delays: Arc<Delays>,
}

impl Shared {
    pub(crate) fn new(app: App) -> Self {
        Self { app, grounds: Arc::default(), vocabularies: Arc::default(), delays: Arc::default() }
    }
}

impl Deref for Shared {
    type Target = App;

    fn deref(&self) -> &App {
        &self.app
    }
}
