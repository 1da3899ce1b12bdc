//! The tools that a model has: they reach the virtual tree, and nothing else there is.

mod arguments;
mod describe;
mod look;

use std::collections::BTreeSet;

use pages::{Files, FilesError};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::limits::{Limits, ended};
use crate::model::{Arguments, ToolCall};
use crate::{AgentError, Missed, StepKind};

use arguments::{Change, Delete, Finish, List, Move, Plan, Read, Search, Write};

pub(crate) use describe::tools;

/// What a call came to.
pub(crate) enum Done {
    /// Something to read: what the model is told, and what a watcher is.
    Told { content: String, step: Option<(StepKind, String)> },
    /// It cannot be done; the model is told why.
    Failed(String),
    /// The model says that it has done its work.
    Finish { title: String, summary: String },
}

/// The files, and what was done with them.
pub(crate) struct Workbench<'a> {
    files: &'a mut (dyn Files + Send),
    limits: Limits,
    /// Files whose text the model has seen: only those may be replaced as a whole.
    seen: BTreeSet<String>,
    written: usize,
    /// Why the last change was not made, as long as none was.
    refused: Option<String>,
    made: bool,
}

impl<'a> Workbench<'a> {
    pub(crate) fn new(files: &'a mut (dyn Files + Send), limits: Limits) -> Self {
        Self { files, limits, seen: BTreeSet::new(), written: 0, refused: None, made: false }
    }

    pub(crate) fn files(&self) -> &dyn Files {
        &*self.files
    }

    /// Carries a call out. What goes wrong with it is the model's to mend; an error ends the run.
    pub(crate) fn carry_out(&mut self, call: &ToolCall) -> Result<Done, AgentError> {
        let arguments = match &call.arguments {
            Arguments::Json(value) => value,
            Arguments::Broken(_) => {
                return Ok(Done::Failed("the arguments are not valid JSON; send them again".into()));
            }
        };
        let done = match call.name.as_str() {
            "list" => parsed(arguments, |List { path }| self.list(path.as_deref())),
            "read" => parsed(arguments, |read| self.read(read)),
            "search" => parsed(arguments, |search| self.search(&search)),
            "edit" => parsed(arguments, |change| self.edit(&change)),
            "write" => parsed(arguments, |write| self.write(write)),
            "move" => parsed(arguments, |Move { from, to }| self.relocate(&from, &to)),
            "delete" => parsed(arguments, |Delete { path }| self.delete(&path)),
            "check" => self.check(),
            "plan" => parsed(arguments, |Plan { steps }| Ok(plan(&steps))),
            "finish" => parsed(arguments, |Finish { title, summary }| Ok(Done::Finish { title, summary })),
            other => Ok(Done::Failed(format!("there is no tool {other:?}; there are {}", describe::names()))),
        };
        match done {
            Ok(done) => Ok(done),
            Err(FilesError::Tree(cause)) => Err(FilesError::Tree(cause).into()),
            Err(error) => Ok(Done::Failed(error.to_string())),
        }
        .and_then(|done| self.within_limits(done))
        .inspect(|done| self.remember(call, done))
    }

    fn remember(&mut self, call: &ToolCall, done: &Done) {
        match done {
            Done::Told { step: Some((StepKind::Edit, _)), .. } => self.made = true,
            Done::Failed(why) if describe::changes(&call.name) => self.refused = Some(reason(why).to_owned()),
            _ => {}
        }
    }

    /// Why a run that ends now has nothing to show, if it meant to change something.
    pub(crate) fn refused(&self) -> Option<&str> {
        self.refused.as_deref().filter(|_| !self.made)
    }

    fn edit(&mut self, Change { path, old, new, all }: &Change) -> Result<Done, FilesError> {
        let text = self.files.read(path)?;
        match crate::edit::edit(&text, old, new, *all) {
            Ok(edited) => {
                let lines: Vec<_> = edited.places.iter().map(usize::to_string).collect();
                self.put(path, edited.text)?;
                Ok(changed(format!("changed {path} at line {}", lines.join(", "))))
            }
            Err(so @ Missed::AlreadySo { .. }) => Ok(Done::Told { content: so.to_string(), step: None }),
            Err(missed) => Ok(Done::Failed(missed.to_string())),
        }
    }

    fn write(&mut self, Write { path, text }: Write) -> Result<Done, FilesError> {
        let there = match self.files.read(&path) {
            Ok(_) => true,
            Err(FilesError::NotFound(_)) => false,
            Err(error) => return Err(error),
        };
        if there && !self.seen.contains(&path) {
            return Ok(Done::Failed(format!("{path} is there already: read it first, or better use edit")));
        }
        self.put(&path, text)?;
        self.seen.insert(path.clone());
        Ok(changed(format!("{} {path}", if there { "rewrote" } else { "wrote" })))
    }

    fn relocate(&mut self, from: &str, to: &str) -> Result<Done, FilesError> {
        let moved = pages::relocate(&mut *self.files, from, to)?;
        let mut told = format!("moved {from} to {to}");
        if moved.links > 0 {
            told += &format!("; {} links to it now lead there, in {}", moved.links, moved.pages.join(", "));
        }
        for left in &moved.left {
            told += &format!("\n{left}");
        }
        Ok(Done::Told { content: told, step: Some((StepKind::Edit, format!("moved {from} to {to}"))) })
    }

    fn delete(&mut self, path: &str) -> Result<Done, FilesError> {
        self.files.delete(path)?;
        Ok(changed(format!("deleted {path}")))
    }

    fn put(&mut self, path: &str, text: String) -> Result<(), FilesError> {
        self.written += text.len();
        self.files.write(path, text)
    }

    fn check(&mut self) -> Result<Done, FilesError> {
        let found = self.findings()?;
        let content = match found.is_empty() {
            true => "the change made nothing worse".to_owned(),
            false => found.join("\n"),
        };
        Ok(Done::Told { content, step: Some((StepKind::Check, verdict(found.len()))) })
    }

    /// What the change made worse, a line each.
    pub(crate) fn findings(&self) -> Result<Vec<String>, FilesError> {
        let found = pages::made_worse(&*self.files)?;
        Ok(found
            .iter()
            .map(|finding| format!("{}:{}: {}", finding.path, finding.line, finding.message))
            .collect())
    }

    fn within_limits(&self, done: Done) -> Result<Done, AgentError> {
        let Limits { files, bytes, .. } = self.limits;
        if self.written > bytes {
            return Err(ended(&format!("the limit of {bytes} bytes written")));
        }
        if self.files.changed().len() > files {
            return Err(ended(&format!("the limit of {files} files changed")));
        }
        Ok(done)
    }
}

/// Why a call was not carried out, for whoever watches: the advice after it is for the model.
pub(crate) fn reason(why: &str) -> &str {
    let line = why.lines().next().unwrap_or_default();
    line.split_once("; nothing was changed").map_or(line, |(reason, _)| reason)
}

pub(crate) fn verdict(findings: usize) -> String {
    match findings {
        0 => "Checked: the change made nothing worse".to_owned(),
        1 => "Checked: 1 finding".to_owned(),
        n => format!("Checked: {n} findings"),
    }
}

fn parsed<T: DeserializeOwned>(
    arguments: &Value,
    act: impl FnOnce(T) -> Result<Done, FilesError>,
) -> Result<Done, FilesError> {
    match serde_json::from_value(arguments.clone()) {
        Ok(arguments) => act(arguments),
        Err(error) => Ok(Done::Failed(format!("the arguments do not fit: {error}"))),
    }
}

fn changed(what: String) -> Done {
    Done::Told { content: what.clone(), step: Some((StepKind::Edit, what)) }
}

fn plan(steps: &[String]) -> Done {
    let all: Vec<_> = steps.iter().take(20).map(|step| step.chars().take(200).collect::<String>()).collect();
    Done::Told { content: "noted".into(), step: Some((StepKind::Plan, all.join(" → "))) }
}
