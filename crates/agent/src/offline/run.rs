//! Carries instructions out, page by page.

use std::ops::Range;

use pages::{Files, FilesError, Page, Scope, splice};

use crate::{AgentError, Progress, StepKind};

use super::command::{Bump, Command, Instruction, Replace};
use super::replace::{self, Left};
use super::report::{Outcome, code, count};
use super::{links, spelling, version};

/// The files and the listener of one task.
pub(super) struct Run<'a> {
    pub(super) files: &'a mut (dyn Files + Send),
    progress: &'a mut dyn Progress,
    /// Every page that can be read as text.
    pub(super) pages: Vec<String>,
    /// What is to be said once, whatever the instructions.
    pub(super) notes: Vec<String>,
}

impl<'a> Run<'a> {
    pub(super) fn start(
        files: &'a mut (dyn Files + Send),
        progress: &'a mut dyn Progress,
    ) -> Result<Self, AgentError> {
        let mut run = Self { pages: Vec::new(), notes: Vec::new(), files, progress };
        for page in pages::pages(run.files)? {
            run.check_cancelled()?;
            match run.files.read(&page) {
                Ok(_) => run.pages.push(page),
                Err(error @ FilesError::NotText { .. }) => {
                    run.notes.push(format!("A page was left out: {error}."));
                }
                Err(error) => return Err(error.into()),
            }
        }
        run.step(StepKind::Read, format!("Read {}", count(run.pages.len(), "page", "pages")));
        Ok(run)
    }

    pub(super) fn carry_out(&mut self, instruction: Instruction) -> Result<Outcome, AgentError> {
        let mut outcome = Outcome::new(instruction.command.clone());
        let chosen = self.chosen(&instruction.scope, &mut outcome);
        match instruction.command {
            Command::Replace(replace) => self.replace(&chosen, &replace, &mut outcome)?,
            Command::Bump(bump) => self.bump(&chosen, &bump, &mut outcome)?,
            Command::FixLinks => links::fix(self, &chosen, &mut outcome)?,
            Command::FixSpelling => spelling::fix(self, &chosen, &mut outcome)?,
        }
        Ok(outcome)
    }

    /// The pages that an instruction is about. A place that holds none is worth a note: it may be misspelled.
    fn chosen(&self, scope: &[String], outcome: &mut Outcome) -> Vec<String> {
        if scope.is_empty() {
            return self.pages.clone();
        }
        let scopes: Vec<(&String, Scope)> =
            scope.iter().filter_map(|text| Some((text, Scope::parse(text)?))).collect();
        for (text, scope) in &scopes {
            if !self.pages.iter().any(|page| scope.contains(page)) {
                outcome.notes.push(format!("No page matches {}.", code(text)));
            }
        }
        self.pages
            .iter()
            .filter(|page| scopes.iter().any(|(_, scope)| scope.contains(page)))
            .cloned()
            .collect()
    }

    fn replace(
        &mut self,
        chosen: &[String],
        replace: &Replace,
        outcome: &mut Outcome,
    ) -> Result<(), AgentError> {
        let mut left = Left::default();
        for file in chosen {
            let (text, page) = self.open(file)?;
            let found = replace::find(&page, &text, replace);
            left.add(&found.left);
            let message = format!("Replaced {} in {file}", found.places.len());
            self.change(file, &text, with(found.places, &replace.new), vec![message], outcome)?;
        }
        outcome.notes.extend(left.notes(replace));
        Ok(())
    }

    fn bump(&mut self, chosen: &[String], bump: &Bump, outcome: &mut Outcome) -> Result<(), AgentError> {
        let mut historic = 0;
        for file in chosen {
            let (text, page) = self.open(file)?;
            let found = version::find(&page, &text, bump);
            if version::is_history(file) {
                if !found.places.is_empty() {
                    outcome.notes.push(format!("{} was left: it tells of past versions.", code(file)));
                }
                continue;
            }
            historic += found.historic;
            let message = format!("Changed {} in {file}", count(found.places.len(), "version", "versions"));
            self.change(file, &text, with(found.places, &bump.new), vec![message], outcome)?;
        }
        if historic > 0 {
            let places = count(historic, "place that tells", "places that tell");
            outcome
                .notes
                .push(format!("{places} since when something is there kept version {}.", code(&bump.old)));
        }
        Ok(())
    }

    /// Reads a page for an instruction; asked to stop, it stops here.
    pub(super) fn open(&self, file: &str) -> Result<(String, Page), AgentError> {
        self.check_cancelled()?;
        let text = self.files.read(file)?;
        let page = Page::parse(file, &text);
        Ok((text, page))
    }

    /// Writes a page anew when there is anything to change in it, and says so.
    pub(super) fn change(
        &mut self,
        file: &str,
        text: &str,
        changes: Vec<(Range<usize>, String)>,
        messages: Vec<String>,
        outcome: &mut Outcome,
    ) -> Result<(), AgentError> {
        if changes.is_empty() {
            return Ok(());
        }
        *outcome.files.entry(file.to_owned()).or_default() += changes.len();
        self.files.write(file, splice(text, changes))?;
        messages.into_iter().for_each(|message| self.step(StepKind::Edit, message));
        Ok(())
    }

    pub(super) fn step(&mut self, kind: StepKind, message: String) {
        self.progress.step(kind, message);
    }

    fn check_cancelled(&self) -> Result<(), AgentError> {
        if self.progress.cancelled() { Err(AgentError::Cancelled) } else { Ok(()) }
    }
}

fn with(places: Vec<Range<usize>>, new: &str) -> Vec<(Range<usize>, String)> {
    places.into_iter().map(|place| (place, new.to_owned())).collect()
}
