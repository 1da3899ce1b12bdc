//! Runs the tool calls of a model. Tools reach the virtual tree of files, and nothing else.

mod definitions;
mod reading;

use std::collections::BTreeSet;

use pages::{Files, FilesError};
use serde::de::DeserializeOwned;

use crate::budget::{Limits, limit_reached};
use crate::call_reader::{
    Change, Delete, Finish, List, Move, Plan, Read, Search, Write, find_tool, read_arguments,
};
use crate::edit::EditError;
use crate::editor::{AgentError, StepKind};
use crate::model::{Arguments, Profile, Tool, ToolCall};

#[cfg(test)]
pub(crate) use definitions::tools;
pub(crate) use definitions::tools_for;

/// The outcome of a tool call.
pub(crate) enum CallOutcome {
    /// `content` is for the model, `step` for the job's events.
    Done { content: String, step: Option<(StepKind, String)> },
    /// The model gets the reason.
    Failed(String),
    /// The call was not tried. The model gets the reason.
    NotRun(String),
    /// The call could not be read. The model gets the reason.
    Malformed(String),
    /// The model called `finish`.
    Finish { title: String, summary: String },
}

/// The files of a run, and what the model did with them.
pub(crate) struct Workbench<'a> {
    files: &'a mut (dyn Files + Send),
    limits: Limits,
    tools: Vec<Tool>,
    /// Lines of a page that a read shows, unless the model asks for another number, and the most that it can ask for.
    default_lines: usize,
    max_lines: usize,
    /// Bytes of a page that a read shows.
    max_shown: usize,
    /// Files that the model has read completely. Only these can be rewritten.
    read_files: BTreeSet<String>,
    bytes_written: usize,
    /// Why the last edit failed, unless a later edit succeeded.
    failed_edit: Option<FailedEdit>,
    /// A call that succeeded in an interrupted attempt succeeds again.
    is_replaying: bool,
}

struct FailedEdit {
    why: String,
    /// The call could not be read, so it may not have been an edit that the change needs.
    is_malformed: bool,
}

impl<'a> Workbench<'a> {
    pub(crate) fn new(
        files: &'a mut (dyn Files + Send),
        limits: Limits,
        profile: Profile,
        max_shown: usize,
    ) -> Self {
        let (default_lines, max_lines) = reading::window(profile);
        Self {
            files,
            limits,
            tools: tools_for(profile),
            default_lines,
            max_lines,
            max_shown,
            read_files: BTreeSet::new(),
            bytes_written: 0,
            failed_edit: None,
            is_replaying: false,
        }
    }

    pub(crate) fn set_max_shown(&mut self, bytes: usize) {
        self.max_shown = bytes;
    }

    pub(crate) fn files(&self) -> &dyn Files {
        &*self.files
    }

    /// Announces the files that the calls of an answer name.
    pub(crate) fn prefetch(&self, calls: &[ToolCall]) -> Result<(), AgentError> {
        let path = |call: &ToolCall| match &call.arguments {
            Arguments::Json(arguments) => Some(self.clean_path(arguments.get("path")?.as_str()?)),
            Arguments::Broken(_) => None,
        };
        Ok(pages::prefetch(&*self.files, &calls.iter().filter_map(path).collect::<Vec<_>>())?)
    }

    /// Runs a call. The model can react to a failed call, but an error ends the run.
    pub(crate) fn run(&mut self, call: &ToolCall) -> Result<CallOutcome, AgentError> {
        let outcome = match self.run_tool(call) {
            Err(FilesError::Tree(cause)) => return Err(FilesError::Tree(cause).into()),
            Err(error) => CallOutcome::Failed(error.to_string()),
            Ok(outcome) => outcome,
        };
        self.check_limits()?;
        self.record(call, &outcome);
        Ok(outcome)
    }

    /// Repeats a call that succeeded in an interrupted attempt.
    pub(crate) fn replay(&mut self, call: &ToolCall) -> Result<(), AgentError> {
        self.is_replaying = true;
        let outcome = self.run(call);
        self.is_replaying = false;
        outcome.map(drop)
    }

    /// Whether the call would change a file.
    pub(crate) fn is_edit(&self, call: &ToolCall) -> bool {
        match find_tool(&self.tools, &call.name) {
            Some(tool) => definitions::is_edit(tool.name),
            None => definitions::looks_like_edit(&call.arguments),
        }
    }

    /// Forgets that the model has seen a whole page, because its result was cut.
    pub(crate) fn forget_read(&mut self, call: &ToolCall) {
        if let Some(read) = find_tool(&self.tools, &call.name).filter(|tool| tool.name == "read")
            && let Ok(Read { path, .. }) = read_arguments(read, &call.arguments)
        {
            self.read_files.remove(&self.clean_path(&path));
        }
    }

    fn run_tool(&mut self, call: &ToolCall) -> Result<CallOutcome, FilesError> {
        let Some(tool) = find_tool(&self.tools, &call.name).cloned() else {
            let names = self.tools.iter().map(|tool| tool.name).collect::<Vec<_>>().join(", ");
            let why = format!("there is no tool {:?}; the tools are {names}", call.name);
            return Ok(CallOutcome::Malformed(why));
        };
        match tool.name {
            "list" => run_with(&tool, call, |List { path }| self.list(path.as_deref())),
            "read" => run_with(&tool, call, |read| self.read(read)),
            "search" => run_with(&tool, call, |search| self.search(&search)),
            "edit" => run_with(&tool, call, |change| self.edit(&change)),
            "write" => run_with(&tool, call, |write| self.write(write)),
            "move" => run_with(&tool, call, |Move { from, to }| self.relocate(&from, &to)),
            "delete" => run_with(&tool, call, |Delete { path }| self.delete(&path)),
            "check" => self.check(),
            "plan" => run_with(&tool, call, |Plan { steps }| Ok(plan(&steps))),
            _ => run_with(&tool, call, |Finish { title, summary }| {
                let (title, summary) = (title.unwrap_or_default(), summary.unwrap_or_default());
                Ok(CallOutcome::Finish { title, summary })
            }),
        }
    }

    /// Remembers a failed edit, because a run without any edit must not look like one that needed none.
    pub(crate) fn record(&mut self, call: &ToolCall, outcome: &CallOutcome) {
        let (why, is_malformed) = match outcome {
            CallOutcome::Done { step: Some((StepKind::Edit, _)), .. } => return self.failed_edit = None,
            CallOutcome::Failed(why) => (why, false),
            CallOutcome::Malformed(why) => (why, true),
            _ => return,
        };
        if self.is_edit(call) {
            self.failed_edit = Some(FailedEdit { why: short_reason(why).to_owned(), is_malformed });
        }
    }

    /// Why the last edit failed, unless a later one succeeded.
    pub(crate) fn failed_edit(&self) -> Option<&str> {
        self.failed_edit.as_ref().map(|failed| failed.why.as_str())
    }

    /// Whether the change lacks an edit that the model wanted to make.
    pub(crate) fn has_missing_edit(&self) -> bool {
        self.failed_edit.as_ref().is_some_and(|failed| !failed.is_malformed)
    }

    /// Models write `./index.md` and `/index.md` for `index.md`. A path that starts at the root of the machine stays as
    /// it is, and is refused.
    fn clean_path(&self, path: &str) -> String {
        let path = path.trim().trim_start_matches("./");
        let Some(relative) = path.strip_prefix('/') else { return path.to_owned() };
        let paths = self.files.paths();
        let folder = relative.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
        let has_folder = paths.files.iter().any(|file| file.starts_with(&folder));
        if has_folder { relative.to_owned() } else { path.to_owned() }
    }

    fn edit(&mut self, Change { path, old, new, all }: &Change) -> Result<CallOutcome, FilesError> {
        let path = &self.clean_path(path);
        let text = self.files.read(path)?;
        match crate::edit::edit(&text, old, new, *all) {
            Ok(edited) => {
                let lines: Vec<_> = edited.lines.iter().map(usize::to_string).collect();
                self.put(path, edited.text)?;
                Ok(edit_done(format!("changed {path} at line {}", lines.join(", "))))
            }
            Err(error @ EditError::AlreadyApplied { .. }) => {
                Ok(CallOutcome::Done { content: error.to_string(), step: None })
            }
            Err(error) => Ok(CallOutcome::Failed(error.to_string())),
        }
    }

    fn write(&mut self, Write { path, text }: Write) -> Result<CallOutcome, FilesError> {
        let path = self.clean_path(&path);
        let exists = match self.files.read(&path) {
            Ok(_) => true,
            Err(FilesError::NotFound(_)) => false,
            Err(error) => return Err(error),
        };
        if exists && !self.is_replaying && !self.read_files.contains(&path) {
            return Ok(CallOutcome::Failed(format!("{path} already exists: read it first, or use edit")));
        }
        self.put(&path, text)?;
        self.read_files.insert(path.clone());
        Ok(edit_done(format!("{} {path}", if exists { "rewrote" } else { "wrote" })))
    }

    fn relocate(&mut self, from: &str, to: &str) -> Result<CallOutcome, FilesError> {
        let (from, to) = (&self.clean_path(from), &self.clean_path(to));
        let moved = pages::relocate(&mut *self.files, from, to)?;
        let summary = format!("moved {from} to {to}");
        let mut content = summary.clone();
        if moved.links > 0 {
            let links = if moved.links == 1 { "link" } else { "links" };
            content += &format!("; updated {} {links} in {}", moved.links, moved.pages.join(", "));
        }
        for left in &moved.unresolved {
            content += &format!("\n{left}");
        }
        Ok(CallOutcome::Done { content, step: Some((StepKind::Edit, summary)) })
    }

    fn delete(&mut self, path: &str) -> Result<CallOutcome, FilesError> {
        let path = &self.clean_path(path);
        self.files.delete(path)?;
        Ok(edit_done(format!("deleted {path}")))
    }

    fn put(&mut self, path: &str, text: String) -> Result<(), FilesError> {
        self.bytes_written += text.len();
        self.files.write(path, text)
    }

    fn check(&mut self) -> Result<CallOutcome, FilesError> {
        let problems = self.problems()?;
        let content = match problems.is_empty() {
            true => "the change causes no problems".to_owned(),
            false => problems.join("\n"),
        };
        Ok(CallOutcome::Done { content, step: Some((StepKind::Check, check_summary(problems.len()))) })
    }

    /// Returns the problems that the change causes, one line each.
    pub(crate) fn problems(&self) -> Result<Vec<String>, FilesError> {
        let problems = pages::check_change(&*self.files)?;
        Ok(problems
            .iter()
            .map(|problem| format!("{}:{}: {}", problem.path, problem.line, problem.message))
            .collect())
    }

    fn check_limits(&self) -> Result<(), AgentError> {
        let Limits { files, bytes, .. } = self.limits;
        if self.bytes_written > bytes {
            return Err(limit_reached(&format!("the limit of {bytes} bytes written")));
        }
        if self.files.changed().len() > files {
            let changed = if files == 1 { "file" } else { "files" };
            return Err(limit_reached(&format!("the limit of {files} changed {changed}")));
        }
        Ok(())
    }
}

/// Why a call failed, for the job's events: without the advice behind it, which is for the model.
pub(crate) fn short_reason(why: &str) -> &str {
    let line = why.lines().next().unwrap_or_default();
    line.split_once("; nothing was changed").map_or(line, |(reason, _)| reason)
}

pub(crate) fn check_summary(problems: usize) -> String {
    match problems {
        0 => "Checked: the change causes no problems".to_owned(),
        1 => "Checked: the change causes 1 problem".to_owned(),
        n => format!("Checked: the change causes {n} problems"),
    }
}

fn run_with<T: DeserializeOwned>(
    tool: &Tool,
    call: &ToolCall,
    run: impl FnOnce(T) -> Result<CallOutcome, FilesError>,
) -> Result<CallOutcome, FilesError> {
    match read_arguments(tool, &call.arguments) {
        Ok(arguments) => run(arguments),
        Err(why) => Ok(CallOutcome::Malformed(why)),
    }
}

fn edit_done(summary: String) -> CallOutcome {
    CallOutcome::Done { content: summary.clone(), step: Some((StepKind::Edit, summary)) }
}

fn plan(steps: &[String]) -> CallOutcome {
    let all: Vec<_> = steps.iter().take(20).map(|step| step.chars().take(200).collect::<String>()).collect();
    CallOutcome::Done { content: "noted".into(), step: Some((StepKind::Plan, all.join(" → "))) }
}
