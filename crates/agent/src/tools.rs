//! Runs the tool calls of a model. Tools reach the virtual tree of files, and nothing else.

mod arguments;
mod definitions;
mod reading;

use std::collections::BTreeSet;

use pages::{Files, FilesError};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::budget::{Limits, limit_reached};
use crate::edit::EditError;
use crate::editor::{AgentError, StepKind};
use crate::model::{Arguments, ToolCall};

use arguments::{Change, Delete, Finish, List, Move, Plan, Read, Search, Write};

pub(crate) use definitions::tools;

/// The outcome of a tool call.
pub(crate) enum CallOutcome {
    /// `content` is for the model, `step` for the job's events.
    Done { content: String, step: Option<(StepKind, String)> },
    /// The model gets the reason.
    Failed(String),
    /// The model called `finish`.
    Finish { title: String, summary: String },
}

/// The files of a run, and what the model did with them.
pub(crate) struct Workbench<'a> {
    files: &'a mut (dyn Files + Send),
    limits: Limits,
    /// Files that the model has read completely. Only these can be rewritten.
    read_files: BTreeSet<String>,
    bytes_written: usize,
    /// Why the last failed edit failed.
    failed_edit: Option<String>,
    has_edited: bool,
}

impl<'a> Workbench<'a> {
    pub(crate) fn new(files: &'a mut (dyn Files + Send), limits: Limits) -> Self {
        Self {
            files,
            limits,
            read_files: BTreeSet::new(),
            bytes_written: 0,
            failed_edit: None,
            has_edited: false,
        }
    }

    pub(crate) fn files(&self) -> &dyn Files {
        &*self.files
    }

    /// Runs a call. The model can react to a failed call, but an error ends the run.
    pub(crate) fn run(&mut self, call: &ToolCall) -> Result<CallOutcome, AgentError> {
        let arguments = match &call.arguments {
            Arguments::Json(value) => value,
            Arguments::Broken(_) => {
                return Ok(CallOutcome::Failed("the arguments are not valid JSON; send them again".into()));
            }
        };
        let outcome = match call.name.as_str() {
            "list" => parse_and_run(arguments, |List { path }| self.list(path.as_deref())),
            "read" => parse_and_run(arguments, |read| self.read(read)),
            "search" => parse_and_run(arguments, |search| self.search(&search)),
            "edit" => parse_and_run(arguments, |change| self.edit(&change)),
            "write" => parse_and_run(arguments, |write| self.write(write)),
            "move" => parse_and_run(arguments, |Move { from, to }| self.relocate(&from, &to)),
            "delete" => parse_and_run(arguments, |Delete { path }| self.delete(&path)),
            "check" => self.check(),
            "plan" => parse_and_run(arguments, |Plan { steps }| Ok(plan(&steps))),
            "finish" => parse_and_run(arguments, |Finish { title, summary }| {
                Ok(CallOutcome::Finish { title, summary })
            }),
            other => Ok(CallOutcome::Failed(format!(
                "there is no tool {other:?}; the tools are {}",
                definitions::names()
            ))),
        };
        match outcome {
            Ok(outcome) => Ok(outcome),
            Err(FilesError::Tree(cause)) => Err(FilesError::Tree(cause).into()),
            Err(error) => Ok(CallOutcome::Failed(error.to_string())),
        }
        .and_then(|outcome| self.check_limits(outcome))
        .inspect(|outcome| self.record_edit(call, outcome))
    }

    fn record_edit(&mut self, call: &ToolCall, outcome: &CallOutcome) {
        match outcome {
            CallOutcome::Done { step: Some((StepKind::Edit, _)), .. } => self.has_edited = true,
            CallOutcome::Failed(why) if definitions::is_edit(&call.name) => {
                self.failed_edit = Some(short_reason(why).to_owned())
            }
            _ => {}
        }
    }

    /// Why the last edit failed, if no edit succeeded.
    pub(crate) fn failed_edit(&self) -> Option<&str> {
        self.failed_edit.as_deref().filter(|_| !self.has_edited)
    }

    fn edit(&mut self, Change { path, old, new, all }: &Change) -> Result<CallOutcome, FilesError> {
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
        let exists = match self.files.read(&path) {
            Ok(_) => true,
            Err(FilesError::NotFound(_)) => false,
            Err(error) => return Err(error),
        };
        if exists && !self.read_files.contains(&path) {
            return Ok(CallOutcome::Failed(format!("{path} already exists: read it first, or use edit")));
        }
        self.put(&path, text)?;
        self.read_files.insert(path.clone());
        Ok(edit_done(format!("{} {path}", if exists { "rewrote" } else { "wrote" })))
    }

    fn relocate(&mut self, from: &str, to: &str) -> Result<CallOutcome, FilesError> {
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

    fn check_limits(&self, outcome: CallOutcome) -> Result<CallOutcome, AgentError> {
        let Limits { files, bytes, .. } = self.limits;
        if self.bytes_written > bytes {
            return Err(limit_reached(&format!("the limit of {bytes} bytes written")));
        }
        if self.files.changed().len() > files {
            let changed = if files == 1 { "file" } else { "files" };
            return Err(limit_reached(&format!("the limit of {files} changed {changed}")));
        }
        Ok(outcome)
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

fn parse_and_run<T: DeserializeOwned>(
    arguments: &Value,
    run: impl FnOnce(T) -> Result<CallOutcome, FilesError>,
) -> Result<CallOutcome, FilesError> {
    match serde_json::from_value(arguments.clone()) {
        Ok(arguments) => run(arguments),
        Err(error) => Ok(CallOutcome::Failed(format!("the arguments don't fit the tool: {error}"))),
    }
}

fn edit_done(summary: String) -> CallOutcome {
    CallOutcome::Done { content: summary.clone(), step: Some((StepKind::Edit, summary)) }
}

fn plan(steps: &[String]) -> CallOutcome {
    let all: Vec<_> = steps.iter().take(20).map(|step| step.chars().take(200).collect::<String>()).collect();
    CallOutcome::Done { content: "noted".into(), step: Some((StepKind::Plan, all.join(" → "))) }
}
