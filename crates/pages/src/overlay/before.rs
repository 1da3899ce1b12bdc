//! The commit below an overlay, as if nothing had been changed.

use std::sync::Arc;

use super::Overlay;
use crate::files::{Edits, Files, FilesError, Tree};
use crate::ground::Paths;

pub(super) struct Before<'a, T: Tree>(pub(super) &'a Overlay<T>);

impl<T: Tree> Files for Before<'_, T> {
    fn root(&self) -> &str {
        &self.0.ground.root
    }

    fn paths(&self) -> Arc<Paths> {
        self.0.ground.paths()
    }

    fn read(&self, path: &str) -> Result<String, FilesError> {
        self.0.check(path)?;
        self.0.base_text(path)
    }

    fn write(&mut self, path: &str, _: String) -> Result<(), FilesError> {
        Err(done(path))
    }

    fn rename(&mut self, from: &str, _: &str) -> Result<(), FilesError> {
        Err(done(from))
    }

    fn delete(&mut self, path: &str) -> Result<(), FilesError> {
        Err(done(path))
    }

    fn before(&self) -> Box<dyn Files + '_> {
        Box::new(Before(self.0))
    }

    fn changed(&self) -> Vec<String> {
        Vec::new()
    }

    fn edits(&self) -> Edits {
        Edits::default()
    }
}

fn done(path: &str) -> FilesError {
    FilesError::refused(path, "a commit cannot be changed")
}
