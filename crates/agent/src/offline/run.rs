//! Runs instructions, page by page.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use pages::redirects::History;
use pages::{Files, FilesError, LinkedFragments, MAX_TEXT_BYTES, Page, Scope, splice};

use crate::editor::{AgentError, Progress, StepKind, Task};
use crate::guard::{Change, Policy, Vocabulary, judge, refusal_of_path};
use crate::prompt::Instructions;

use super::command::{Bump, Command, Instruction, Replace};
use super::report::{Outcome, code, count};
use super::{history, links, redirects, replace, spelling, version};

/// The files and the progress of one task.
pub(super) struct Run<'a> {
    pub(super) files: &'a mut (dyn Files + Send),
    progress: &'a mut dyn Progress,
    policy: Policy<'a>,
    instructions: Instructions,
    /// Every page that can be read as text.
    pub(super) pages: Vec<String>,
    /// The texts of the quotations.
    pub(super) quotations: Vec<String>,
    /// What the repository's history says of pages that are gone.
    pub(super) history: Option<&'a History>,
    /// Notes that don't depend on the instructions.
    pub(super) notes: Vec<String>,
}

impl<'a> Run<'a> {
    pub(super) fn start(
        task: &Task<'a>,
        files: &'a mut (dyn Files + Send),
        progress: &'a mut dyn Progress,
    ) -> Result<Self, AgentError> {
        let policy = Policy { allow: task.allow.clone(), docs_path: task.docs_path, secrets: &[] };
        let instructions = task.prompt.instructions();
        let quotations = task.prompt.quotations().map(|(_, text)| text.to_owned()).collect();
        let mut run = Self {
            files,
            progress,
            policy,
            instructions,
            pages: Vec::new(),
            quotations,
            history: task.history,
            notes: Vec::new(),
        };
        let pages = pages::pages(run.files);
        pages::prefetch(run.files, &pages)?;
        for page in pages {
            run.check_cancelled()?;
            match run.files.read(&page) {
                Ok(_) => run.pages.push(page),
                Err(error @ FilesError::NotText { .. }) => {
                    run.notes.push(format!("A page was skipped: {error}."));
                }
                Err(error) => return Err(error.into()),
            }
        }
        run.step(StepKind::Read, format!("Read {}", count(run.pages.len(), "page", "pages")));
        Ok(run)
    }

    pub(super) fn run_instruction(&mut self, instruction: Instruction) -> Result<Outcome, AgentError> {
        let mut outcome = Outcome::new(instruction.command.clone());
        let selected = self.select_pages(&instruction, &mut outcome);
        match instruction.command {
            Command::AddRedirects(paths) => redirects::add(self, paths, &mut outcome)?,
            _ if selected.is_empty() => {}
            Command::Replace(replace) => self.replace(&selected, &replace, &mut outcome)?,
            Command::Bump(bump) => self.bump(&selected, &bump, &mut outcome)?,
            Command::FixLinks => links::fix(self, &selected, &mut outcome)?,
            Command::FixSpelling => spelling::fix(self, &selected, &mut outcome)?,
        }
        Ok(outcome)
    }

    /// Selects the pages of an instruction. A scope without pages becomes a note, because it can be misspelled.
    fn select_pages(&self, instruction: &Instruction, outcome: &mut Outcome) -> Vec<String> {
        let excluded = instruction.except.iter().map(|text| self.pages_in_scope(text, outcome));
        let excluded: Vec<Vec<&str>> = excluded.collect();
        // If excluded pages are not found, they could be changed by mistake.
        if excluded.iter().any(Vec::is_empty) {
            return Vec::new();
        }
        let mut selected: BTreeSet<&str> = BTreeSet::new();
        for text in &instruction.scope {
            selected.extend(self.pages_in_scope(text, outcome));
        }
        if instruction.scope.is_empty() {
            selected.extend(self.pages.iter().map(String::as_str));
        }
        excluded.into_iter().flatten().for_each(|page| {
            selected.remove(page);
        });
        selected.into_iter().map(str::to_owned).collect()
    }

    fn pages_in_scope(&self, text: &str, outcome: &mut Outcome) -> Vec<&str> {
        let found = Scope::parse(text).map(|scope| scope.choose(&self.pages, self.files.root()));
        let found = found.unwrap_or_default();
        if !found.is_empty() {
            return found;
        }
        // Without a folder of that name, "in docs" means all pages.
        if text.eq_ignore_ascii_case("docs") {
            return self.pages.iter().map(String::as_str).collect();
        }
        outcome.unmatched.push(text.to_owned());
        Vec::new()
    }

    fn replace(
        &mut self,
        selected: &[String],
        replace: &Replace,
        outcome: &mut Outcome,
    ) -> Result<(), AgentError> {
        let mut skipped = replace::Skipped::default();
        let fragments = self.fragments()?;
        for file in selected {
            let (text, page) = self.open(file)?;
            let mut found = replace::find(&page, file, &text, replace);
            skipped.add(&found.skipped);
            exclude_linked_headings(&page, &fragments, &mut found.ranges, outcome);
            let message = format!("Replaced {} in {file}", count(found.ranges.len(), "place", "places"));
            let changes = found.ranges.into_iter().map(|range| replace::change(&text, range, &replace.new));
            self.change(file, &text, changes.collect(), vec![message], outcome)?;
        }
        outcome.notes.extend(skipped.notes(replace));
        Ok(())
    }

    fn bump(&mut self, selected: &[String], bump: &Bump, outcome: &mut Outcome) -> Result<(), AgentError> {
        let (current, others) = self.current_pages(selected, bump, outcome)?;
        let mut skipped = version::Skipped::default();
        let fragments = self.fragments()?;
        for file in current {
            let (text, page) = self.open(&file)?;
            let mut found = version::find(&page, &text, bump);
            skipped.add(&found.skipped);
            let other = found.packages.iter().filter(|(name, _)| others.contains(name));
            let other: BTreeSet<usize> = other.map(|(_, range)| range.start).collect();
            found.ranges.retain(|range| !other.contains(&range.start));
            exclude_linked_headings(&page, &fragments, &mut found.ranges, outcome);
            let message = format!("Changed {} in {file}", count(found.ranges.len(), "version", "versions"));
            let changes = found.ranges.into_iter().map(|range| (range, bump.new.clone())).collect();
            self.change(&file, &text, changes, vec![message], outcome)?;
        }
        outcome.notes.extend(skipped.notes(bump));
        Ok(())
    }

    /// Returns the pages about the current version, and the packages in them that must not change.
    fn current_pages(
        &self,
        selected: &[String],
        bump: &Bump,
        outcome: &mut Outcome,
    ) -> Result<(Vec<String>, BTreeSet<String>), AgentError> {
        let (mut current, mut names) = (Vec::new(), BTreeSet::new());
        for file in selected {
            let (text, page) = self.open(file)?;
            let found = version::find(&page, &text, bump);
            if history::is_history_file(file, &bump.old) {
                let note = format!("{} was not changed, because it describes past versions.", code(file));
                outcome.notes.extend((!found.is_empty()).then_some(note));
            } else {
                names.extend(found.packages.into_iter().map(|(name, _)| name));
                current.push(file.clone());
            }
        }
        let others = version::other_packages(bump, names);
        if !others.is_empty() {
            let named: Vec<String> = others.iter().take(5).map(|name| code(name)).collect();
            outcome.notes.push(format!(
                "Version {} of {} was not changed, because it's not clear which package you mean. Name the package in the prompt.",
                code(&bump.old),
                named.join(", ")
            ));
        }
        Ok((current, others))
    }

    /// All anchors that links of the tree lead to.
    pub(super) fn fragments(&self) -> Result<LinkedFragments, AgentError> {
        let mut fragments = LinkedFragments::default();
        for file in &self.pages {
            let (text, page) = self.open(file)?;
            fragments.add_page(&page, &text);
        }
        Ok(fragments)
    }

    /// Reads a page. Fails if the job is canceled.
    pub(super) fn open(&self, file: &str) -> Result<(String, Page), AgentError> {
        self.check_cancelled()?;
        let text = self.files.read(file)?;
        let page = Page::parse(file, &text);
        Ok((text, page))
    }

    /// Writes a page with its changes, if there are any, and reports the steps.
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
        let number = changes.len();
        self.write(file, splice(text, changes), number, messages, outcome)?;
        Ok(())
    }

    /// Writes a file with a number of changes, and reports the steps. Returns whether it could be written.
    pub(super) fn write(
        &mut self,
        file: &str,
        new: String,
        number: usize,
        messages: Vec<String>,
        outcome: &mut Outcome,
    ) -> Result<bool, AgentError> {
        // With this file, the guard would refuse the whole change.
        if let Some(why) = refusal_of_path(&self.policy, &self.instructions, file) {
            outcome.notes.push(format!("{} was not changed, because {why}.", code(file)));
            return Ok(false);
        }
        if new.len() > MAX_TEXT_BYTES {
            outcome.notes.push(format!("{} was not changed, because it would exceed 2 MiB.", code(file)));
            return Ok(false);
        }
        *outcome.files.entry(file.to_owned()).or_default() += number;
        self.files.write(file, new)?;
        messages.into_iter().for_each(|message| self.step(StepKind::Edit, message));
        Ok(true)
    }

    /// Asks the guard about the current change.
    pub(super) fn judge<R>(&self, ask: impl FnOnce(&Change<'_>, &Policy<'_>) -> R) -> R {
        self.judge_with(BTreeMap::new(), ask)
    }

    /// The files among new texts that the guard would refuse.
    pub(super) fn refused_files(&self, texts: impl Iterator<Item = (String, String)>) -> BTreeSet<String> {
        let more: BTreeMap<_, _> = texts.map(|(file, text)| (file, Some(text.into_bytes()))).collect();
        if more.is_empty() {
            return BTreeSet::new();
        }
        let refusals = self.judge_with(more, judge);
        refusals.into_iter().filter(|refusal| refusal.fatal).map(|refusal| refusal.path).collect()
    }

    fn judge_with<R>(
        &self,
        more: BTreeMap<String, Option<Vec<u8>>>,
        ask: impl FnOnce(&Change<'_>, &Policy<'_>) -> R,
    ) -> R {
        let mut edits = self.files.edits().0;
        edits.extend(more);
        let vocabulary = Vocabulary::default();
        let change = Change {
            base: self.files.base(),
            edits: &edits,
            vocabulary: &vocabulary,
            instructions: &self.instructions,
            title: "",
            summary: "",
        };
        ask(&change, &self.policy)
    }

    pub(super) fn step(&mut self, kind: StepKind, message: String) {
        self.progress.step(kind, message);
    }

    fn check_cancelled(&self) -> Result<(), AgentError> {
        if self.progress.is_cancelled() { Err(AgentError::Cancelled) } else { Ok(()) }
    }
}

/// Removes the ranges in headings that links lead to, because another text would change the anchor.
pub(super) fn exclude_linked_headings(
    page: &Page,
    fragments: &LinkedFragments,
    ranges: &mut Vec<Range<usize>>,
    outcome: &mut Outcome,
) {
    for heading in page.headings.iter().filter(|heading| fragments.contains(heading)) {
        let before = ranges.len();
        ranges.retain(|range| range.end <= heading.range.start || heading.range.end <= range.start);
        outcome.linked_headings += usize::from(ranges.len() < before);
    }
}
