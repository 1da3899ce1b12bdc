//! What instructions say beside what is to be done: where, where not, and whether in code.

use super::command::{Command, Instruction};
use super::phrases::Phrases;

#[derive(Debug, Clone, Default)]
pub(super) struct Modifiers {
    /// Nothing when no place was named; empty when all pages were.
    scope: Option<Vec<String>>,
    except: Vec<String>,
    code: Option<bool>,
}

impl Modifiers {
    pub(super) fn is_empty(&self) -> bool {
        self.scope.is_none() && self.except.is_empty() && self.code.is_none()
    }

    pub(super) fn names_a_place(&self) -> bool {
        self.scope.is_some()
    }

    /// Reads as much as there is. `None` when a pattern makes no sense, or when two places are named,
    /// of which one may be meant within the other or beside it.
    pub(super) fn read(&mut self, tokens: &mut Phrases<'_>) -> Option<()> {
        loop {
            if let Some(included) = tokens.code_phrase() {
                self.code = Some(included);
            } else if let Some(paths) = tokens.except_phrase() {
                self.except.extend(sane(paths)?);
            } else if let Some(paths) = tokens.scope_phrase() {
                self.place(paths)?;
            } else {
                return Some(());
            }
        }
    }

    /// Takes a place that was named; all pages are no narrower than a place that was named before.
    pub(super) fn place(&mut self, paths: Vec<String>) -> Option<()> {
        let paths = sane(paths)?;
        match &self.scope {
            Some(before) if !before.is_empty() && !paths.is_empty() => return None,
            Some(before) if !before.is_empty() => {}
            _ => self.scope = Some(paths),
        }
        Some(())
    }

    /// These, with what was said in front of the instruction.
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

    /// The instruction that was given; `None` when its command cannot do what is asked of code.
    pub(super) fn apply(&self, mut command: Command) -> Option<Instruction> {
        let possible = self.code.is_none_or(|included| command.set_code(included));
        let scope = self.scope.clone().unwrap_or_default();
        possible.then(|| Instruction { command, scope, except: self.except.clone() })
    }

    /// Narrows an earlier instruction of the same sentence, and never widens it.
    pub(super) fn narrow(&self, instruction: &mut Instruction) -> Option<()> {
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

fn sane(paths: Vec<String>) -> Option<Vec<String>> {
    paths.iter().all(|path| pages::Scope::parse(path).is_some()).then_some(paths)
}
