//! Carries instructions out, page by page.

use std::collections::BTreeSet;
use std::ops::Range;

use pages::{Files, FilesError, Fragments, MAX_TEXT_BYTES, Page, Scope, splice};

use crate::{AgentError, Policy, Progress, StepKind, Task, refusal_of_path};

use super::command::{Bump, Command, Instruction, Replace};
use super::report::{Outcome, code, count};
use super::{history, links, replace, spelling, version};

/// The files and the listener of one task.
pub(super) struct Run<'a> {
    pub(super) files: &'a mut (dyn Files + Send),
    progress: &'a mut dyn Progress,
    policy: Policy<'a>,
    /// What people ask for.
    asked: String,
    /// Every page that can be read as text.
    pub(super) pages: Vec<String>,
    /// What is to be said once, whatever the instructions.
    pub(super) notes: Vec<String>,
}

impl<'a> Run<'a> {
    pub(super) fn start(
        task: &Task<'a>,
        files: &'a mut (dyn Files + Send),
        progress: &'a mut dyn Progress,
    ) -> Result<Self, AgentError> {
        let policy = Policy { allow: task.allow.clone(), docs_path: task.docs_path, secrets: &[] };
        let asked = task.prompt.instruction_text();
        let mut run = Self { pages: Vec::new(), notes: Vec::new(), files, progress, policy, asked };
        for page in pages::pages(run.files) {
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
        let chosen = self.chosen(&instruction, &mut outcome);
        match instruction.command {
            _ if chosen.is_empty() => {}
            Command::Replace(replace) => self.replace(&chosen, &replace, &mut outcome)?,
            Command::Bump(bump) => self.bump(&chosen, &bump, &mut outcome)?,
            Command::FixLinks => links::fix(self, &chosen, &mut outcome)?,
            Command::FixSpelling => spelling::fix(self, &chosen, &mut outcome)?,
        }
        Ok(outcome)
    }

    /// The pages that an instruction is about. A place that holds none is worth a note: it may be misspelled.
    fn chosen(&self, instruction: &Instruction, outcome: &mut Outcome) -> Vec<String> {
        let left = instruction.except.iter().map(|text| self.pages_at(text, outcome));
        let left: Vec<Vec<&str>> = left.collect();
        // Pages that were to be left and cannot be found might be changed by mistake.
        if left.iter().any(Vec::is_empty) {
            return Vec::new();
        }
        let mut meant: BTreeSet<&str> = BTreeSet::new();
        for text in &instruction.scope {
            meant.extend(self.pages_at(text, outcome));
        }
        if instruction.scope.is_empty() {
            meant.extend(self.pages.iter().map(String::as_str));
        }
        left.into_iter().flatten().for_each(|page| {
            meant.remove(page);
        });
        meant.into_iter().map(str::to_owned).collect()
    }

    fn pages_at(&self, text: &str, outcome: &mut Outcome) -> Vec<&str> {
        let found = Scope::parse(text).map(|scope| scope.choose(&self.pages, self.files.root()));
        let found = found.unwrap_or_default();
        if !found.is_empty() {
            return found;
        }
        // Without a folder of that name, "in docs" speaks of all there is.
        if text.eq_ignore_ascii_case("docs") {
            return self.pages.iter().map(String::as_str).collect();
        }
        outcome.nowhere.push(text.to_owned());
        Vec::new()
    }

    fn replace(
        &mut self,
        chosen: &[String],
        replace: &Replace,
        outcome: &mut Outcome,
    ) -> Result<(), AgentError> {
        let mut left = replace::Left::default();
        let fragments = self.fragments()?;
        for file in chosen {
            let (text, page) = self.open(file)?;
            let mut found = replace::find(&page, file, &text, replace);
            left.add(&found.left);
            keep_linked_headings(&page, &fragments, &mut found.places, outcome);
            let message = format!("Replaced {} in {file}", found.places.len());
            let changes = found.places.into_iter().map(|place| replace::change(&text, place, &replace.new));
            self.change(file, &text, changes.collect(), vec![message], outcome)?;
        }
        outcome.notes.extend(left.notes(replace));
        Ok(())
    }

    fn bump(&mut self, chosen: &[String], bump: &Bump, outcome: &mut Outcome) -> Result<(), AgentError> {
        let (current, others) = self.bumpable(chosen, bump, outcome)?;
        let mut left = version::Left::default();
        let fragments = self.fragments()?;
        for file in current {
            let (text, page) = self.open(&file)?;
            let mut found = version::find(&page, &text, bump);
            left.add(&found.left);
            let other = found.packages.iter().filter(|(name, _)| others.contains(name));
            let other: BTreeSet<usize> = other.map(|(_, place)| place.start).collect();
            found.places.retain(|place| !other.contains(&place.start));
            keep_linked_headings(&page, &fragments, &mut found.places, outcome);
            let message = format!("Changed {} in {file}", count(found.places.len(), "version", "versions"));
            let changes = found.places.into_iter().map(|place| (place, bump.new.clone())).collect();
            self.change(&file, &text, changes, vec![message], outcome)?;
        }
        outcome.notes.extend(left.notes(bump));
        Ok(())
    }

    /// The pages that do not tell of the past, and the packages in them that the bump is not about.
    fn bumpable(
        &self,
        chosen: &[String],
        bump: &Bump,
        outcome: &mut Outcome,
    ) -> Result<(Vec<String>, BTreeSet<String>), AgentError> {
        let (mut current, mut names) = (Vec::new(), BTreeSet::new());
        for file in chosen {
            let (text, page) = self.open(file)?;
            let found = version::find(&page, &text, bump);
            if history::is_history(file, &bump.old) {
                let left = format!("{} was left: it tells of past versions.", code(file));
                outcome.notes.extend((!found.is_empty()).then_some(left));
            } else {
                names.extend(found.packages.into_iter().map(|(name, _)| name));
                current.push(file.clone());
            }
        }
        let others = version::other_packages(bump, names);
        if !others.is_empty() {
            let named: Vec<String> = others.iter().take(5).map(|name| code(name)).collect();
            outcome.notes.push(format!(
                "Version {} of {} was left: it is not certain that it is the version that is meant.",
                code(&bump.old),
                named.join(", ")
            ));
        }
        Ok((current, others))
    }

    /// Every anchor that some link of the tree leads to.
    pub(super) fn fragments(&self) -> Result<Fragments, AgentError> {
        let mut fragments = Fragments::default();
        for file in &self.pages {
            let (text, page) = self.open(file)?;
            fragments.learn(&page, &text);
        }
        Ok(fragments)
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
        // The change as a whole would be refused.
        if let Some(why) = refusal_of_path(&self.policy, &self.asked, file) {
            outcome.notes.push(format!("{} was left: {why}.", code(file)));
            return Ok(());
        }
        let places = changes.len();
        let new = splice(text, changes);
        if new.len() > MAX_TEXT_BYTES {
            outcome.notes.push(format!("{} was left: it would become larger than 2 MiB.", code(file)));
            return Ok(());
        }
        *outcome.files.entry(file.to_owned()).or_default() += places;
        self.files.write(file, new)?;
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

/// Drops the places in headings that links lead to: with another text they would have another anchor.
pub(super) fn keep_linked_headings(
    page: &Page,
    fragments: &Fragments,
    places: &mut Vec<Range<usize>>,
    outcome: &mut Outcome,
) {
    for heading in page.headings.iter().filter(|heading| fragments.lead_to(heading)) {
        let before = places.len();
        places.retain(|place| place.end <= heading.range.start || heading.range.end <= place.start);
        outcome.linked_headings += usize::from(places.len() < before);
    }
}
