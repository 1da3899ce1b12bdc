//! Stores the results of tasks, one line each, so that an interrupted evaluation continues where it stopped.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context;
use eval::TaskResult;
use sha2::{Digest, Sha256};

use super::tasks::TaskId;

/// A longer name is cut.
const MAX_NAME_CHARS: usize = 100;

pub(super) struct Results {
    folder: PathBuf,
    all: Vec<TaskResult>,
}

impl Results {
    /// Reads the results of earlier runs. A line that was cut off by an interruption is ignored.
    pub(super) fn open(folder: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("{} cannot be created", folder.display()))?;
        let path = folder.join("results.jsonl");
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            read => read.with_context(|| format!("{} cannot be read", path.display()))?,
        };
        if !text.is_empty() && !text.ends_with('\n') {
            // The next result must not continue a line that was cut off.
            OpenOptions::new().append(true).open(&path)?.write_all(b"\n")?;
        }
        let all = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok(Self { folder: folder.to_owned(), all })
    }

    pub(super) fn find(&self, model: &str, task: &TaskId) -> Option<&TaskResult> {
        let is_same = |result: &&TaskResult| {
            result.model == model && result.task == task.name && result.fingerprint == task.fingerprint
        };
        self.all.iter().find(is_same)
    }

    /// Writes the change first: a result without its diff would not be repeated.
    pub(super) fn add(&mut self, result: TaskResult, patch: &str) -> anyhow::Result<()> {
        let folder = self.folder.join(file_name(&result.model));
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(format!("{}.diff", file_name(&result.task))), patch)?;
        let path = self.folder.join("results.jsonl");
        let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
        writeln!(file, "{}", serde_json::to_string(&result)?)
            .with_context(|| format!("{} cannot be written", path.display()))?;
        self.all.push(result);
        Ok(())
    }
}

/// A name that isn't one of a file gets a part that identifies it. No plain name contains the character before it.
fn file_name(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let plain: String =
        name.chars().map(|c| if is_plain(c) { c } else { '-' }).take(MAX_NAME_CHARS).collect();
    let plain = plain.trim_start_matches('.');
    if plain == name && !name.is_empty() {
        return name.to_owned();
    }
    let hash: String = Sha256::digest(name).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{plain}~{hash}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::file_name;

    #[test]
    fn different_names_are_different_files() {
        assert_eq!(file_name("setup-time"), "setup-time");
        assert_eq!(file_name("a/b"), file_name("a/b"));
        let (long, longer) = ("x".repeat(100), "x".repeat(101));
        let names = [
            "a/b",
            "a-b",
            "a b",
            "ä",
            "ö",
            "",
            ".",
            "..",
            ".a",
            "a",
            "-",
            &long,
            &longer,
            &format!("{longer}y"),
        ];
        let files: BTreeSet<_> = names.iter().map(|name| file_name(name)).collect();
        assert_eq!(files.len(), names.len(), "{files:?}");
        assert!(files.iter().all(|file| !file.contains('/') && !file.starts_with('.') && file.len() < 200));
    }
}
