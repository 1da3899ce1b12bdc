//! Names of files: how file systems may read them, and which of them tell agents what to do.

use pages::WordList;

use super::allowlist::WARNINGS;
use super::hidden::is_ignorable;
use super::unescape;

/// Folders and files that tell agents what to do; a person may ask for a change of them by name.
const INSTRUCTIONS: WordList = WordList(
    "agents.md agents.override.md claude.md gemini.md qwen.md copilot-instructions.md agent.md \
     amazonq.md knowledge.md best_practices.md claude.local.md crush.md replit.md skill.md warp.md .claude .cursor .cursorrules .windsurfrules \
     .clinerules .codex .gemini .kiro .junie .roo .agents .docwright docwright.toml",
);
/// Of these, names that a page about the thing has as well: in small letters and deep among other pages it is one.
const ALSO_PAGES: WordList = WordList(
    "agents.md agent.md claude.md crush.md gemini.md qwen.md replit.md skill.md warp.md knowledge.md best_practices.md",
);

/// Words before the name of a file that a sentence is only about.
const TOPIC: WordList = WordList(
    "about what explain explains explaining describe describes describing why how whether according follow follows \
     following obey per read see",
);
/// Verbs that ask for a change.
const CHANGES: WordList = WordList(
    "add append change clarify complete correct create document edit expand explain extend fix format \
     improve insert list make mention move note put record rename replace reword rewrite revise shorten \
     simplify sort split state summarize tidy translate trim update write",
);

/// Whether a person asked for a change of this file by name, if it is one that tells agents what to do.
pub(super) fn is_wanted_instruction(path: &str, asked: &str) -> Option<bool> {
    let (folded, asked) = (fold(path), asked.to_lowercase());
    let is_one = |part: &str| INSTRUCTIONS.contains(part) && !is_page_about_agents(path, part);
    let sentences = || asked.split_inclusive(['\n', '!', ';', '?']).flat_map(|line| line.split(". "));
    let has = |sentence: &str, list: WordList| {
        let words = sentence.split(|c: char| c.is_whitespace() || matches!(c, ',' | ':' | '(' | ')'));
        words.into_iter().any(|word| list.contains(word))
    };
    let asks =
        |sentence: &str| has(sentence, CHANGES) && !has(sentence, WARNINGS) && !sentence.ends_with('?');
    let is_named = |part: &str| {
        sentences().any(|sentence| names_whole(sentence, part) && asks(sentence) && !is_topic(sentence, part))
    };
    folded.split('/').find(|part| is_one(part)).map(is_named)
}

/// Whether a sentence is about such a file, and does not ask for a change of it: "a page about AGENTS.md".
fn is_topic(sentence: &str, name: &str) -> bool {
    let ahead = sentence.split(name).next().unwrap_or_default();
    let words = ahead.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let last = words.rev().find(|word| !matches!(*word, "a" | "an" | "the" | "to" | "your" | "our"));
    last.is_some_and(|word| TOPIC.contains(word))
}

/// Whether `path`, as it is written, is a page among others that has its name from what it is about.
fn is_page_about_agents(path: &str, name: &str) -> bool {
    let is_deep = path.split('/').count() > 2;
    ALSO_PAGES.contains(name) && is_deep && path.rsplit('/').next() == Some(name)
}

/// Whether the words of a person hold this name, and not one that it is a part of: `docs.claude.com` is no `.claude`.
pub(super) fn names_whole(asked: &str, name: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    asked.match_indices(name).any(|(at, _)| {
        let (ahead, behind) = (&asked[..at], &asked[at + name.len()..]);
        let goes_on = behind.starts_with(part) || behind.starts_with('.') && behind[1..].starts_with(part);
        !ahead.ends_with(part) && !ahead.ends_with('.') && !goes_on
    })
}

/// The path as a file system that folds case and drops what is not seen may hold it. Upper case first:
/// `ſ` and `ı` have no lower case of their own and still stand for `s` and `i` there.
pub(super) fn fold(path: &str) -> String {
    let seen = path.chars().filter(|c| !is_ignorable(*c)).map(unescape::narrow);
    let folded: String = seen.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    folded.split('/').map(|part| part.trim_end_matches(['.', ' '])).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_for_agents_are_changed_when_a_person_names_them() {
        for (path, prompt, expected) in [
            ("AGENTS.md", "", true),
            ("docs/CLAUDE.md", "", true),
            ("docs/a/b/CLAUDE.md", "", true),
            ("docs/a/b/claude.\u{200b}md", "", true),
            (".cursor/rules/x.mdc", "", true),
            (".github/copilot-instructions.md", "", true),
            ("docs/integrations/claude.md", "", false),
            ("docs/agents/index.md", "", false),
            ("docs/AGENTS.md", "Add a rule to agents.md", false),
            ("docs/AGENTS.md", "Correct the agents page", true),
            ("AGENTS.md", "Fix the docs page that explains what an AGENTS.md file is", true),
            ("AGENTS.md", "Write a page about `AGENTS.md`", true),
            ("AGENTS.md", "Add what we know about tests to AGENTS.md", false),
            ("AGENTS.md", "Explain the build in AGENTS.md", false),
            ("AGENTS.md", "Is AGENTS.md correct? Fix the page.", true),
            ("AGENTS.md", "Follow the rules of AGENTS.md", true),
            ("AGENTS.md", "According to AGENTS.md we write short sentences", true),
            ("AGENTS.md", "Leave AGENTS.md alone", true),
            (".claude/settings.json", "See .claude/settings.json", true),
            (".claude/settings.json", "Update .claude/settings.json", false),
            (".claude/settings.json", "Link https://docs.claude.com/en", true),
            (".claude/settings.json", "About .claude.json and .claudes", true),
        ] {
            let is_wanted = is_wanted_instruction(path, prompt);
            assert_eq!(is_wanted == Some(false), expected, "{path}: {prompt}");
        }
    }

    #[test]
    fn names_are_compared_as_file_systems_may_hold_them() {
        assert_eq!(fold("docs/.GitHub/x. "), "docs/.github/x");
        assert_eq!(fold("pac\u{200b}kage.j\u{17f}on"), "package.json");
        assert_eq!(fold("\u{ff50}ackage.json"), "package.json");
    }
}
