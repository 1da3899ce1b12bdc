//! Builds the start of a conversation: the system prompt, the task, the repository's instructions, and a map of the
//! repository.

use pages::{Files, Paths};

use crate::editor::Task;
use crate::fence::{escape_tags, fence_page};
use crate::model::Profile;

/// Returns the system prompt. It's the same for every job, so that providers can cache it.
pub(crate) fn system_prompt(profile: Profile) -> &'static str {
    match profile {
        Profile::Full => include_str!("system.md"),
        Profile::Small => include_str!("system_small.md"),
    }
}

const MAX_FOLDERS: usize = 60;
const MAX_LIKELY_PAGES: usize = 8;
const MAX_NAMED_PAGES: usize = 2;
const MAX_NAMED_LINES: usize = 100;
/// Of each named page. It's small, because a first message can't be shortened when a provider refuses it.
const MAX_NAMED_BYTES: usize = 3 * 1024;
/// The words of a prompt that are searched for in file names.
const MAX_WORDS: usize = 200;
/// The model gets this many bytes of each file of instructions.
pub const MAX_INSTRUCTIONS_BYTES: usize = 16 * 1024;

/// Returns how many bytes of each file of instructions a model gets that takes conversations of `max_bytes`.
pub(crate) fn instruction_limit(max_bytes: usize) -> usize {
    MAX_INSTRUCTIONS_BYTES.min(max_bytes / 8)
}

/// Returns the first message: the task with a map of the repository, so that the model finds a start without reading
/// everything.
pub(crate) fn first_message(task: &Task<'_>, files: &dyn Files, instruction_limit: usize) -> String {
    let paths = files.paths();
    let mut text = task.prompt.render();
    for (path, instructions) in task.instructions {
        let (shown, is_cut) = truncate_instructions(instructions, instruction_limit);
        text += &format!("\n<instructions path={path:?}>\n{}\n</instructions>\n", escape_tags(shown.trim()));
        if is_cut {
            text += &format!("(This is the beginning of {path:?}. The rest is too long to show.)\n");
        }
    }
    text += "\n<map>\n";
    let mut map = format!("{} files", paths.files.len());
    if !files.root().is_empty() {
        map += &format!(", all under {:?}", files.root());
    }
    map += ":\n";
    map += &folder_outline(&paths);
    if !paths.navigation_files().is_empty() {
        map += &format!("navigation: {}\n", paths.navigation_files().join(", "));
    }
    let quoted = task.prompt.quotations().map(|(_, text)| text.to_owned());
    let words: Vec<_> = std::iter::once(task.prompt.instruction_text()).chain(quoted).collect();
    let likely = likely_pages(&words.join("\n"), &paths);
    if !likely.is_empty() {
        map += &format!("perhaps: {}\n", likely.join(", "));
    }
    text + &escape_tags(&map) + "</map>\n"
}

/// Shows the beginnings of the pages that the task names, or of the one that its words fit best. A small model rarely
/// reads a page before it edits it, so it would make the old text up.
pub(crate) fn named_pages(task: &Task<'_>, files: &dyn Files) -> String {
    let (prompt, paths) = (task.prompt.instruction_text(), files.paths());
    let mut named = Vec::new();
    for path in names_of_files(&prompt).filter_map(|name| paths.files.get(name)) {
        if named.len() < MAX_NAMED_PAGES && !named.contains(&path.as_str()) {
            named.push(path.as_str());
        }
    }
    if named.is_empty() {
        named = likely_pages(&prompt, &paths);
        named.truncate(1);
    }
    // A page that cannot be fetched is not shown.
    let _ = pages::prefetch(files, &named);
    let show = |path: &&str| {
        let text = files.read(path).ok()?;
        let beginning = text.split_inclusive('\n').take(MAX_NAMED_LINES).map(str::len).sum::<usize>();
        let (shown, is_cut) = truncate_instructions(&text[..beginning], MAX_NAMED_BYTES);
        let more =
            if is_cut || beginning < text.len() { "(There is more. Call read or search.)\n" } else { "" };
        Some(format!("\n{}{more}", fence_page(path, shown.trim_end_matches('\n'))))
    };
    named.iter().filter_map(show).collect()
}

/// The words that can be names of files.
fn names_of_files(prompt: &str) -> impl Iterator<Item = &str> {
    let words = prompt.split(|c: char| c.is_whitespace() || "`\"'()<>,;:".contains(c));
    words.map(|word| word.trim_start_matches(['.', '/']).trim_end_matches(['.', '!', '?']))
}

/// Returns the lines of a file of instructions that the model gets, and whether the file has more.
pub(crate) fn truncate_instructions(text: &str, limit: usize) -> (&str, bool) {
    if text.len() <= limit {
        return (text, false);
    }
    let beginning = &text[..text.floor_char_boundary(limit)];
    (beginning.rsplit_once('\n').map_or(beginning, |(lines, _)| lines), true)
}

/// Lists each folder with its number of files.
fn folder_outline(paths: &Paths) -> String {
    let folders = paths.files_by_folder();
    let line = |(folder, count): &(String, usize)| format!("{folder}/ {count}\n");
    let mut text: String = folders.iter().take(MAX_FOLDERS).map(line).collect();
    if folders.len() > MAX_FOLDERS {
        text += &format!("and {} more folders\n", folders.len() - MAX_FOLDERS);
    }
    text
}

/// Returns the pages whose names share the most words with the prompt.
fn likely_pages<'a>(prompt: &str, paths: &'a Paths) -> Vec<&'a str> {
    let prompt = prompt.to_lowercase();
    let words = prompt.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 3);
    let words: Vec<_> = words.take(MAX_WORDS).map(str::to_owned).collect();
    paths.best_matches(&words, MAX_LIKELY_PAGES)
}
