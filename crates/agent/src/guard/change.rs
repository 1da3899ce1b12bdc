//! Defines what the guard judges: the change of an editor, and what the operator allows.

use std::collections::BTreeMap;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use pages::Tree;

use super::vocabulary::Vocabulary;
use crate::prompt::Instructions;

/// The change of an editor to a commit.
#[derive(Clone, Copy)]
pub struct Change<'a> {
    pub base: &'a dyn Tree,
    /// The changed files with their new bytes. `None` means that the file is deleted.
    pub edits: &'a BTreeMap<String, Option<Vec<u8>>>,
    /// What the docs of the base already use.
    pub vocabulary: &'a Vocabulary,
    /// The instructions of the prompt and the follow-ups, in people's own words.
    pub instructions: &'a Instructions,
    pub title: &'a str,
    /// The summary and the notes: all other text for the pull request.
    pub summary: &'a str,
}

/// What the operator allows, and what must never be published.
#[derive(Default)]
pub struct Policy<'a> {
    pub allow: Allow,
    /// The folder of the docs. Without it, the docs are the whole repository.
    pub docs_path: Option<&'a str>,
    /// Known secret values, such as the token of the host and the key of the model.
    pub secrets: &'a [&'a str],
}

/// Globs of paths that can be edited although the guard refuses them by default.
#[derive(Debug, Clone, Default)]
pub struct Allow(GlobSet);

impl Allow {
    pub fn parse<'a>(globs: impl IntoIterator<Item = &'a str>) -> Result<Self, globset::Error> {
        let mut set = GlobSetBuilder::new();
        for glob in globs {
            set.add(GlobBuilder::new(glob).literal_separator(true).case_insensitive(true).build()?);
        }
        set.build().map(Self)
    }

    pub fn permits(&self, path: &str) -> bool {
        self.0.is_match(path)
    }
}
