//! Runs one task with one editor.

use agent::model::{Prices, Usage};
use agent::{AgentError, Editor, Prompt, Report, Task, Vocabulary};
use pages::{Files, FilesError, Overlay, Tree};
use tokio::time::Instant;

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

/// Runs the task. Returns the result and the change as a patch. Fails if the files can't be read.
pub async fn run(
    model: &str,
    editor: &dyn Editor,
    prices: Option<Prices>,
    task: &EvalTask,
) -> Result<(TaskResult, String), FilesError> {
    let (tree, docs_path): (&dyn Tree, _) = (&*task.tree, task.docs_path.as_deref());
    let expected = expected_patch(task)?;
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
    let edited = editor.edit(&work, &mut files, &mut observer).await;
    let seconds = start.elapsed().as_secs_f64();
    let (edits, patch) = (files.edits(), files.diff()?);
    let matched = (compare_files(&task.expected, &edits.0), compare_hunks(&expected, &patch));
    let report = edited.as_ref().ok().cloned().unwrap_or_default();
    let refusals = observer.judge(&edits, &report).iter().filter(|refusal| refusal.fatal).count();
    let (outcome, sentence) = judge_outcome(edited, edits.0.is_empty(), refusals, matched.0);
    let Usage { input, output, cached } = observer.usage;
    let result = TaskResult {
        model: model.to_owned(),
        task: task.name.clone(),
        fingerprint: task.fingerprint.clone(),
        outcome,
        sentence,
        files: matched.0,
        hunks: matched.1,
        problems: report.checks.len(),
        refusals,
        failed_calls: observer.failed_calls,
        requests: observer.requests,
        input_tokens: input,
        output_tokens: output,
        cached_tokens: cached,
        cost: prices.map(|prices| prices.cost(observer.usage)),
        seconds,
    };
    Ok((result, patch))
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

fn expected_patch(task: &EvalTask) -> Result<String, FilesError> {
    let tree: &dyn Tree = &*task.tree;
    let mut files = Overlay::new(tree, task.docs_path.as_deref())?;
    for (path, content) in &task.expected {
        match content {
            Some(bytes) => files.write(path, String::from_utf8_lossy(bytes).into_owned())?,
            None => files.delete(path)?,
        }
    }
    files.diff()
}

#[cfg(test)]
mod tests {
    use agent::Offline;
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
            let (result, patch) = run("offline", &Offline, None, &task(prompt, expected)).await.unwrap();
            assert_eq!(result.outcome, outcome, "{prompt}: {result:?}");
            assert_eq!((result.files.matched, result.hunks.matched), matched, "{prompt}");
            assert_eq!(patch.is_empty(), matches!(outcome, Outcome::Unchanged | Outcome::Failed), "{patch}");
        }
    }
}
