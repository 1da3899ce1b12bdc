//! Reads the tasks of an evaluation: from a TOML file, or from the history of the repository. All of them are checked
//! before the first one runs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, bail};
use eval::{Changes, EvalTask};
use pages::{MemoryTree, Tree};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::history::{CheckedOut, DocsCommits, HistoryTask, Repository};
use crate::args::Eval;
use crate::output;

pub(super) struct TaskSource {
    tasks: Tasks,
    docs_path: Option<String>,
}

enum Tasks {
    /// Tasks of a file. Those without files of their own start from `head`.
    File {
        tasks: Vec<TaskTable>,
        head: Option<CheckedOut>,
    },
    History {
        tasks: Vec<HistoryTask>,
        repository: Repository,
    },
}

/// Identifies a task and its content.
pub(super) struct TaskId {
    pub(super) name: String,
    pub(super) fingerprint: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskFile {
    #[serde(default)]
    task: Vec<TaskTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskTable {
    name: String,
    prompt: String,
    files: Option<BTreeMap<String, String>>,
    expected: BTreeMap<String, String>,
}

impl TaskTable {
    fn expected(&self) -> Changes {
        to_changes(&self.expected)
    }

    fn tree(&self, head: Option<&CheckedOut>) -> anyhow::Result<Box<dyn Tree + Send + Sync>> {
        Ok(match &self.files {
            Some(files) => Box::new(MemoryTree::new(to_bytes(files))),
            None => Box::new(head.context("the task needs a repository")?.clone()),
        })
    }

    /// Fails with a sentence that names the task and its table.
    fn check(&self, head: Option<&CheckedOut>, docs_path: Option<&str>) -> anyhow::Result<()> {
        let name = &self.name;
        if let Some(files) = &self.files {
            eval::check_change(&MemoryTree::default(), None, &to_changes(files))
                .with_context(|| format!("[task.files] of the task {name:?}"))?;
        }
        eval::check_change(&*self.tree(head)?, docs_path, &self.expected())
            .with_context(|| format!("[task.expected] of the task {name:?}"))
    }
}

impl TaskSource {
    pub(super) async fn open(args: &Eval) -> anyhow::Result<Self> {
        let docs_path = args.docs_path.clone();
        let tasks = match (&args.tasks, args.from_history) {
            (Some(file), _) => read_file(file, args).await?,
            (None, Some(count)) => read_history(count as usize, args).await?,
            (None, None) => bail!("name the tasks with --tasks FILE or --from-history N"),
        };
        Ok(Self { tasks, docs_path })
    }

    pub(super) fn len(&self) -> usize {
        match &self.tasks {
            Tasks::File { tasks, .. } => tasks.len(),
            Tasks::History { tasks, .. } => tasks.len(),
        }
    }

    pub(super) fn id(&self, number: usize) -> TaskId {
        match &self.tasks {
            Tasks::File { tasks, .. } => {
                let task = &tasks[number];
                let parts = [task.prompt.clone(), format!("{:?} {:?}", task.files, task.expected())];
                let fingerprint = fingerprint(parts.iter().map(String::as_str));
                TaskId { name: task.name.clone(), fingerprint }
            }
            Tasks::History { tasks, .. } => {
                let task = &tasks[number];
                let fingerprint = fingerprint([task.commit.as_str(), &task.prompt]);
                TaskId { name: task.name(), fingerprint }
            }
        }
    }

    /// Makes the files of a task available.
    pub(super) async fn prepare(&self, number: usize) -> anyhow::Result<EvalTask> {
        let TaskId { name, fingerprint } = self.id(number);
        let docs_path = self.docs_path.clone();
        let (prompt, tree, expected): (_, Box<dyn Tree + Send + Sync>, _) = match &self.tasks {
            Tasks::File { tasks, head } => {
                let task = &tasks[number];
                (task.prompt.clone(), task.tree(head.as_ref())?, task.expected())
            }
            Tasks::History { tasks, repository } => {
                let task = &tasks[number];
                let expected = repository.contents(task).await?;
                (task.prompt.clone(), Box::new(repository.check_out(&task.parent).await?), expected)
            }
        };
        Ok(EvalTask { name, fingerprint, prompt, tree, docs_path, expected })
    }
}

async fn read_history(count: usize, args: &Eval) -> anyhow::Result<Tasks> {
    let repository = Repository::open(&args.repo).await?;
    let DocsCommits { tasks, skipped } = repository.docs_commits(count, args.docs_path.as_deref()).await?;
    let skipped = skipped.first().map(|first| match skipped.len() {
        1 => format!("1 commit was skipped, because no editor could make it: {first}"),
        count => format!("{count} commits were skipped, because no editor could make them, such as {first}"),
    });
    if tasks.is_empty() {
        let skipped = skipped.map(|sentence| format!(" ({sentence})")).unwrap_or_default();
        bail!("{} has no commit that changes only pages; use --tasks FILE{skipped}", args.repo.display());
    }
    skipped.into_iter().for_each(output::print_message);
    Ok(Tasks::History { tasks, repository })
}

async fn read_file(path: &Path, args: &Eval) -> anyhow::Result<Tasks> {
    let name = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("{name} cannot be read"))?;
    let TaskFile { task: tasks } =
        toml::from_str(&text).with_context(|| format!("{name} is not a valid task file"))?;
    if tasks.is_empty() {
        bail!("{name} has no [[task]]; `docwright eval --help` shows an example");
    }
    check_names(&tasks).with_context(|| name.to_string())?;
    let head = match tasks.iter().any(|task| task.files.is_none()) {
        true => Some(Repository::open(&args.repo).await?.check_out("HEAD").await?),
        false => None,
    };
    let check = |task: &TaskTable| task.check(head.as_ref(), args.docs_path.as_deref());
    tasks.iter().try_for_each(check).with_context(|| name.to_string())?;
    Ok(Tasks::File { tasks, head })
}

fn check_names(tasks: &[TaskTable]) -> anyhow::Result<()> {
    let mut names = BTreeSet::new();
    for (index, TaskTable { name, .. }) in tasks.iter().enumerate() {
        if name.trim().is_empty() || name.contains(char::is_control) {
            bail!("the name {name:?} of task {} is not one line of text; give the task a name", index + 1);
        }
        if !names.insert(name) {
            bail!("two tasks are named {name:?}; give each its own name");
        }
    }
    Ok(())
}

fn to_changes(files: &BTreeMap<String, String>) -> Changes {
    to_bytes(files).into_iter().map(|(path, bytes)| (path, Some(bytes))).collect()
}

fn to_bytes(files: &BTreeMap<String, String>) -> BTreeMap<String, Vec<u8>> {
    files.iter().map(|(path, text)| (path.clone(), text.clone().into_bytes())).collect()
}

fn fingerprint<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    parts.into_iter().for_each(|part| {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    });
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
