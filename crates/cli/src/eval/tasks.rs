//! Reads the tasks of an evaluation: from a TOML file, or from the history of the repository.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail};
use eval::EvalTask;
use pages::MemoryTree;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::history::{HistoryTask, Repository};
use crate::args::Eval;

pub(super) struct TaskSource {
    tasks: Vec<Source>,
    repository: Option<Repository>,
    docs_path: Option<String>,
}

enum Source {
    File(TaskTable),
    History(HistoryTask),
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

impl TaskSource {
    pub(super) async fn open(args: &Eval) -> anyhow::Result<Self> {
        let docs_path = args.docs_path.clone();
        if let Some(count) = args.from_history {
            let repository = Repository::open(&args.repo).await?;
            let tasks = repository.docs_commits(count as usize, docs_path.as_deref()).await?;
            if tasks.is_empty() {
                bail!("{} has no commit that changes only pages; use --tasks FILE", args.repo.display());
            }
            let tasks = tasks.into_iter().map(Source::History).collect();
            return Ok(Self { tasks, repository: Some(repository), docs_path });
        }
        let tasks = read_file(args.tasks.as_deref().context("name the tasks with --tasks FILE")?)?;
        let needs_repository = tasks.iter().any(|task| task.files.is_none());
        let repository = match needs_repository {
            true => Some(Repository::open(&args.repo).await?),
            false => None,
        };
        Ok(Self { tasks: tasks.into_iter().map(Source::File).collect(), repository, docs_path })
    }

    pub(super) fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Makes the files of a task available.
    pub(super) async fn prepare(&self, number: usize) -> anyhow::Result<EvalTask> {
        let repository = || self.repository.as_ref().context("the task needs a repository");
        match &self.tasks[number] {
            Source::History(task) => {
                let expected = repository()?.contents(task).await?;
                let tree = Box::new(repository()?.check_out(&task.parent).await?);
                let parts = [task.commit.as_str(), &task.prompt];
                let (name, prompt) = (task.name(), task.prompt.clone());
                let docs_path = self.docs_path.clone();
                Ok(EvalTask { name, fingerprint: fingerprint(parts), prompt, tree, docs_path, expected })
            }
            Source::File(task) => {
                let expected = to_bytes(&task.expected).into_iter().map(|(path, text)| (path, Some(text)));
                let expected: BTreeMap<_, _> = expected.collect();
                let tree: Box<dyn pages::Tree + Send + Sync> = match &task.files {
                    Some(files) => Box::new(MemoryTree::new(to_bytes(files))),
                    None => Box::new(repository()?.check_out("HEAD").await?),
                };
                let parts = [task.prompt.clone(), format!("{:?} {expected:?}", task.files)];
                Ok(EvalTask {
                    name: task.name.clone(),
                    fingerprint: fingerprint(parts.iter().map(String::as_str)),
                    prompt: task.prompt.clone(),
                    tree,
                    docs_path: self.docs_path.clone(),
                    expected,
                })
            }
        }
    }
}

fn read_file(path: &Path) -> anyhow::Result<Vec<TaskTable>> {
    let name = path.display();
    let text = std::fs::read_to_string(path).with_context(|| format!("{name} cannot be read"))?;
    let file: TaskFile = toml::from_str(&text).with_context(|| format!("{name} is not a valid task file"))?;
    if file.task.is_empty() {
        bail!("{name} has no [[task]]; `docwright eval --help` shows an example");
    }
    let mut names = std::collections::BTreeSet::new();
    if let Some(twice) = file.task.iter().find(|task| !names.insert(&task.name)) {
        bail!("{name} has two tasks named {:?}; give each its own name", twice.name);
    }
    Ok(file.task)
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
