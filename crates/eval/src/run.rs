//! Runs one task with one editor.

use agent::model::Usage;
use agent::{AgentError, Prompt, Report, Task, Vocabulary};
use pages::{Files, FilesError, Overlay, Tree};
use tokio::time::Instant;

use crate::candidate::Candidate;
use crate::compare::{Changes, Matched, compare_files, compare_hunks};
use crate::observer::Observer;
use crate::result::{Outcome, TaskResult};

/// A task: the files to start from, what to do, and what people did.
pub struct EvalTask {
    pub name: String,
    pub fingerprint: String,
    pub prompt: String,
    pub tree: Box<dyn Tree + Send + Sync>,
    pub docs_path: Option<String>,
    /// The new content of each changed file. `None` is a deleted file.
    pub expected: Changes,
}

/// How the run of a task ended.
#[derive(Debug)]
pub enum Ended {
    /// The task has a result. `patch` is the change.
    Done { result: Box<TaskResult>, patch: String },
    /// The provider of the model failed, so the run says nothing about the model. Contains a sentence.
    Outage(String),
}

/// Runs the task. Fails if the files can't be read.
pub async fn run(candidate: &Candidate, task: &EvalTask) -> Result<Ended, FilesError> {
    let (tree, docs_path): (&dyn Tree, _) = (&*task.tree, task.docs_path.as_deref());
    let expected = patch_of(tree, docs_path, &task.expected)?;
    let mut files = Overlay::new(tree, docs_path)?;
    let prompt = Prompt::instruction(&task.prompt);
    let mut observer = Observer {
        tree,
        docs_path,
        prompt: &prompt,
        vocabulary: Vocabulary::default(),
        usage: Usage::default(),
        requests: 0,
        failed_calls: 0,
    };
    let start = Instant::now();
    let work = Task { prompt: prompt.clone(), docs_path, ..Task::default() };
    let edited = candidate.editor.edit(&work, &mut files, &mut observer).await;
    if let Some(sentence) = candidate.outage().filter(|_| edited.is_err()) {
        return Ok(Ended::Outage(sentence));
    }
    let seconds = start.elapsed().as_secs_f64();
    let (edits, patch) = (files.edits(), files.diff()?);
    let matched = (compare_files(&task.expected, &edits.0), compare_hunks(&expected, &patch));
    let report = edited.as_ref().ok().cloned().unwrap_or_default();
    let refusals = observer.judge(&edits, &report).into_iter().filter(|refusal| refusal.fatal);
    let refusal_reasons: Vec<_> = refusals.map(|refusal| refusal.to_string()).collect();
    let refusals = refusal_reasons.len();
    let (outcome, sentence) = judge_outcome(edited, edits.0.is_empty(), refusals, matched.0);
    let Usage { input, output, cached } = observer.usage;
    let result = TaskResult {
        model: candidate.name.clone(),
        task: task.name.clone(),
        fingerprint: task.fingerprint.clone(),
        outcome,
        sentence,
        files: matched.0,
        hunks: matched.1,
        problems: report.checks.len(),
        refusals,
        refusal_reasons,
        failed_calls: observer.failed_calls,
        requests: observer.requests,
        input_tokens: input,
        output_tokens: output,
        cached_tokens: cached,
        cost: candidate.prices.map(|prices| prices.cost(observer.usage)),
        seconds,
    };
    Ok(Ended::Done { result: Box::new(result), patch })
}

/// Fails if an editor couldn't make this change in the tree.
pub fn check_change(tree: &dyn Tree, docs_path: Option<&str>, change: &Changes) -> Result<(), FilesError> {
    apply(tree, docs_path, change).map(drop)
}

fn judge_outcome(
    edited: Result<Report, AgentError>,
    is_empty: bool,
    refusals: usize,
    files: Matched,
) -> (Outcome, String) {
    match edited {
        Err(error) => (Outcome::Failed, error.to_string()),
        Ok(report) if files.is_exact() => (Outcome::Right, report.title),
        Ok(report) if is_empty => (Outcome::Unchanged, report.summary),
        Ok(report) if refusals > 0 => (Outcome::Refused, report.title),
        Ok(report) => (Outcome::Different, report.title),
    }
}

fn patch_of(tree: &dyn Tree, docs_path: Option<&str>, change: &Changes) -> Result<String, FilesError> {
    apply(tree, docs_path, change)?.diff()
}

fn apply<'a>(
    tree: &'a dyn Tree,
    docs_path: Option<&str>,
    change: &Changes,
) -> Result<Overlay<&'a dyn Tree>, FilesError> {
    let mut files = Overlay::new(tree, docs_path)?;
    // A file can take the name of a deleted one in another case.
    let (deleted, written): (Vec<_>, Vec<_>) = change.iter().partition(|(_, content)| content.is_none());
    for (path, content) in deleted.into_iter().chain(written) {
        match content {
            Some(bytes) => files.write(path, String::from_utf8_lossy(bytes).into_owned())?,
            None => files.delete(path)?,
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use pages::MemoryTree;

    use super::*;

    fn task(prompt: &str, expected: &[(&str, &str)]) -> EvalTask {
        let files =
            [("index.md", "# Kettle\n\nPress teh button.\n"), ("more.md", "# More\n\nNothing yet.\n")];
        let expected =
            expected.iter().map(|(path, text)| ((*path).to_owned(), Some(text.as_bytes().to_vec())));
        EvalTask {
            name: "typo".into(),
            fingerprint: "1".into(),
            prompt: prompt.into(),
            tree: Box::new(MemoryTree::new(files.map(|(path, text)| (path, text.as_bytes().to_vec())))),
            docs_path: None,
            expected: expected.collect(),
        }
    }

    #[tokio::test]
    async fn a_task_ends_in_each_way() {
        let fixed = [("index.md", "# Kettle\n\nPress the button.\n")];
        let other = [("index.md", "# Kettle\n\nPress a button.\n")];
        for (prompt, expected, outcome, matched) in [
            ("Replace \"teh\" with \"the\".", &fixed, Outcome::Right, (1, 1)),
            ("Replace \"teh\" with \"the\".", &other, Outcome::Different, (0, 0)),
            ("Fix broken links and anchors.", &fixed, Outcome::Unchanged, (0, 0)),
            ("Make it nice.", &fixed, Outcome::Failed, (0, 0)),
        ] {
            let ended = run(&Candidate::offline("offline"), &task(prompt, expected)).await.unwrap();
            let Ended::Done { result, patch } = ended else { panic!("{prompt}: {ended:?}") };
            assert_eq!(result.outcome, outcome, "{prompt}: {result:?}");
            assert_eq!((result.files.matched, result.hunks.matched), matched, "{prompt}");
            assert_eq!(patch.is_empty(), matches!(outcome, Outcome::Unchanged | Outcome::Failed), "{patch}");
        }
    }
}
