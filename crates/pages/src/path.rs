//! Validates and combines paths of a repository.
//!
//! A path that is valid here is safe on every system that can check out the commit later. Windows and macOS fold case,
//! drop some characters, and have other spellings of `.git`.

const MAX_PATH_BYTES: usize = 1024;
const MAX_COMPONENT_BYTES: usize = 255;

/// Returns an error with the reason when `path` can't be used.
pub(crate) fn check(path: &str) -> Result<(), &'static str> {
    if path.is_empty() {
        return Err("it is empty");
    }
    if path.len() > MAX_PATH_BYTES {
        return Err("it is longer than 1024 bytes");
    }
    if path.starts_with('/') {
        return Err("it must be relative to the root of the repository");
    }
    if path.chars().any(is_control) {
        return Err("it contains a control character");
    }
    if path.contains('\\') {
        return Err("it contains a backslash; separate folders with `/`");
    }
    if has_drive_letter(path) {
        return Err("it begins with a drive letter");
    }
    path.split('/').try_for_each(check_component)
}

fn check_component(name: &str) -> Result<(), &'static str> {
    if name.is_empty() {
        return Err("it has an empty part between two slashes");
    }
    if name == "." || name == ".." {
        return Err("it contains `.` or `..`");
    }
    if name.ends_with(['.', ' ']) {
        return Err("a part of it ends with a dot or a space");
    }
    if name.len() > MAX_COMPONENT_BYTES {
        return Err("a part of it is longer than 255 bytes");
    }
    if is_git_folder(name) {
        return Err("it is in a `.git` folder");
    }
    Ok(())
}

/// Line separators, paragraph separators and direction marks count as control characters: they can make a path look like
/// another.
fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn has_drive_letter(path: &str) -> bool {
    let mut chars = path.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic()) && chars.next() == Some(':')
}

/// Whether some file system reads a name as `.git`. HFS+ drops ignorable characters. NTFS has short names (`git~1`) and
/// stream suffixes (`.git::$INDEX_ALLOCATION`), and drops dots and spaces at the end.
fn is_git_folder(name: &str) -> bool {
    // Folding is slow, and almost no name needs it.
    if name.is_ascii() && !name.starts_with(['.', 'g', 'G']) {
        return false;
    }
    let folded = fold(name);
    let base = folded.split(':').next().unwrap_or_default();
    let base = base.trim_end_matches(['.', ' ']);
    if base == ".git" {
        return true;
    }
    base.strip_prefix("git~").is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
}

/// The case-folded name. Two files with the same one are the same file to some file systems.
pub(crate) fn fold(name: &str) -> String {
    name.chars().filter(|c| !is_ignorable(*c)).flat_map(char::to_lowercase).collect()
}

fn is_ignorable(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// The folders above `path`, from the root down: `a/b/c.md` gives `a` and `a/b`.
pub(crate) fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

/// The folder of `path`. Empty for the root.
pub(crate) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The last part of `path`.
pub(crate) fn name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// `path` below `folder`. The root is the empty string.
pub(crate) fn join(folder: &str, path: &str) -> String {
    match (folder, path) {
        ("", path) => path.to_owned(),
        (folder, "") => folder.to_owned(),
        (folder, path) => format!("{folder}/{path}"),
    }
}

/// The rest of `path` below `folder`. `None` when it is elsewhere.
pub(crate) fn below<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    if folder.is_empty() {
        return Some(path);
    }
    path.strip_prefix(folder)?.strip_prefix('/')
}

/// `path` relative to `folder`, with `.` and `..` resolved. `None` when it leaves the repository.
pub(crate) fn normalize(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The relative path from `folder` to `target`.
pub(crate) fn relative(folder: &str, target: &str) -> String {
    let from: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    let to: Vec<&str> = target.split('/').collect();
    let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count().min(to.len() - 1);
    let mut parts = vec![".."; from.len() - shared];
    parts.extend(&to[shared..]);
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths() {
        assert_eq!(relative("docs/a", "docs/b/c.md"), "../b/c.md");
        assert_eq!(relative("docs", "docs/c.md"), "c.md");
        assert_eq!(relative("", "docs/c.md"), "docs/c.md");
        assert_eq!(relative("docs/a", "docs"), "../../docs");
    }
}
