//! Collects the modifiers of an instruction: its pages, the excluded pages, and whether code changes.

use super::command::{Command, Instruction};
use super::phrases::Phrases;

#[derive(Debug, Clone, Default)]
pub(super) struct Modifiers {
    /// `None` if the prompt names no pages. Empty if it names all pages.
    scope: Option<Vec<String>>,
    except: Vec<String>,
    code: Option<bool>,
}

impl Modifiers {
    pub(super) fn is_empty(&self) -> bool {
        self.scope.is_none() && self.except.is_empty() && self.code.is_none()
    }

    pub(super) fn has_scope(&self) -> bool {
        self.scope.is_some()
    }

    /// Reads all modifiers that follow. `None` if a pattern is invalid, or if there are two scopes, because it's not
    /// clear whether both or only their common pages are meant.
    pub(super) fn read(&mut self, tokens: &mut Phrases<'_>) -> Option<()> {
        loop {
            if let Some(included) = tokens.code_phrase() {
                self.code = Some(included);
            } else if let Some(paths) = tokens.except_phrase() {
                self.except.extend(valid_paths(paths)?);
            } else if let Some(paths) = tokens.scope_phrase() {
                self.set_scope(paths)?;
            } else {
                return Some(());
            }
        }
    }

    /// Sets the scope. "All pages" does not replace a narrower scope.
    pub(super) fn set_scope(&mut self, paths: Vec<String>) -> Option<()> {
        let paths = valid_paths(paths)?;
        match &self.scope {
            Some(before) if !before.is_empty() && !paths.is_empty() => return None,
            Some(before) if !before.is_empty() => {}
            _ => self.scope = Some(paths),
        }
        Some(())
    }

    /// Combines these modifiers with those before the instruction.
    pub(super) fn within(mut self, leading: &Self) -> Option<Self> {
        match (&self.scope, &leading.scope) {
            (Some(own), Some(outer)) if !own.is_empty() && !outer.is_empty() => return None,
            (Some(own), _) if !own.is_empty() => {}
            (_, outer) => self.scope = outer.clone().or(self.scope),
        }
        self.except.extend(leading.except.iter().cloned());
        self.code = self.code.or(leading.code);
        Some(self)
    }

    /// Applies the modifiers to a command. `None` if the command can't change code as required.
    pub(super) fn apply(&self, mut command: Command) -> Option<Instruction> {
        let possible = self.code.is_none_or(|included| command.set_code(included))
            && (command.has_scope()
                || self.scope.as_ref().is_none_or(Vec::is_empty) && self.except.is_empty());
        let scope = self.scope.clone().unwrap_or_default();
        possible.then(|| Instruction { command, scope, except: self.except.clone() })
    }

    /// Narrows an earlier instruction of the same sentence. Never widens it.
    pub(super) fn narrow(&self, instruction: &mut Instruction) -> Option<()> {
        if !instruction.command.has_scope() {
            return Some(());
        }
        if let Some(scope) = self.scope.as_ref().filter(|_| instruction.scope.is_empty()) {
            instruction.scope.clone_from(scope);
        }
        instruction.except.extend(self.except.iter().cloned());
        match self.code {
            Some(false) => instruction.command.set_code(false).then_some(()),
            _ => Some(()),
        }
    }
}

fn valid_paths(paths: Vec<String>) -> Option<Vec<String>> {
    paths.iter().all(|path| pages::Scope::parse(path).is_some()).then_some(paths)
}
