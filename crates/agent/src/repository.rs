//! What the model is told before it begins: who it is, what is asked, and what the repository looks like.

use pages::{Files, Paths};

use crate::Task;
use crate::fence::fenced;

/// The same for every job, so that providers can keep it.
pub(crate) const SYSTEM: &str = include_str!("system.md");

const MAX_FOLDERS: usize = 60;
const MAX_LIKELY: usize = 8;
/// Of a prompt, that are looked for in names.
const MAX_WORDS: usize = 200;
/// Bytes of a file of instructions that are heeded.
pub const MAX_INSTRUCTIONS: usize = 16 * 1024;

/// The task with a map of the repository: where to begin without a look at everything.
pub(crate) fn opening(task: &Task<'_>, files: &dyn Files) -> String {
    let paths = files.paths();
    let mut text = task.prompt.render();
    for (path, said) in task.instructions {
        let (heeded, more) = heeded(said);
        text += &format!("\n<instructions path={path:?}>\n{}\n</instructions>\n", fenced(heeded.trim()));
        if more {
            text += &format!("(The beginning of {path:?}; the rest is too long to be shown.)\n");
        }
    }
    text += "\n<map>\n";
    let mut map = format!("{} files", paths.files.len());
    if !files.root().is_empty() {
        map += &format!(", all under {:?}", files.root());
    }
    map += ":\n";
    map += &outline(&paths);
    if !paths.navigation().is_empty() {
        map += &format!("navigation: {}\n", paths.navigation().join(", "));
    }
    let quoted = task.prompt.quotations().map(|(_, text)| text.to_owned());
    let words: Vec<_> = std::iter::once(task.prompt.instruction_text()).chain(quoted).collect();
    let likely = likely(&words.join("\n"), &paths);
    if !likely.is_empty() {
        map += &format!("perhaps: {}\n", likely.join(", "));
    }
    text + &fenced(&map) + "</map>\n"
}

/// The lines of a file of instructions that are heeded, and whether it has more.
pub(crate) fn heeded(text: &str) -> (&str, bool) {
    if text.len() <= MAX_INSTRUCTIONS {
        return (text, false);
    }
    let beginning = &text[..text.floor_char_boundary(MAX_INSTRUCTIONS)];
    (beginning.rsplit_once('\n').map_or(beginning, |(lines, _)| lines), true)
}

/// Each folder with how many files it holds.
fn outline(paths: &Paths) -> String {
    let folders = paths.files_by_folder();
    let line = |(folder, count): &(String, usize)| format!("{folder}/ {count}\n");
    let mut text: String = folders.iter().take(MAX_FOLDERS).map(line).collect();
    if folders.len() > MAX_FOLDERS {
        text += &format!("and {} more folders\n", folders.len() - MAX_FOLDERS);
    }
    text
}

/// The pages whose names share the most words with the prompt.
fn likely<'a>(prompt: &str, paths: &'a Paths) -> Vec<&'a str> {
    let prompt = prompt.to_lowercase();
    let words = prompt.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 3);
    let words: Vec<_> = words.take(MAX_WORDS).map(str::to_owned).collect();
    paths.sharing(&words, MAX_LIKELY)
}
