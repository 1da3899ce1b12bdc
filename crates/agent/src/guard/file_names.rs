//! Normalizes names of files as file systems do, and recognizes files with instructions for agents.

use pages::WordList;

use super::ignorable::is_ignorable;
use super::unescape;

/// Words that make a sentence a warning: it names something that is not to be used.
pub(super) const WARNINGS: WordList = WordList(
    "not never no don't dont avoid without remove delete drop stop bad instead unsafe malicious rid other block phishing",
);
/// Folders and files with instructions for agents. A person can ask for a change of them by name.
const AGENT_FILES: WordList = WordList(
    "agents.md agents.override.md claude.md gemini.md qwen.md copilot-instructions.md agent.md \
     amazonq.md knowledge.md best_practices.md claude.local.md crush.md replit.md skill.md warp.md .claude .cursor .cursorrules .windsurfrules \
     .clinerules .codex .gemini .kiro .junie .roo .agents .docwright docwright.toml",
);
/// Those names that a page about the product can also have, in lowercase and in a subfolder.
const ALSO_PAGES: WordList = WordList(
    "agents.md agent.md claude.md crush.md gemini.md qwen.md replit.md skill.md warp.md knowledge.md best_practices.md",
);

/// Words before a file name that make the file only the topic of a sentence.
const TOPIC_WORDS: WordList = WordList(
    "about what explain explains explaining describe describes describing why how whether according follow follows \
     following obey per read see",
);
/// Verbs that ask for a change.
const CHANGE_VERBS: WordList = WordList(
    "add append change clarify complete correct create document edit expand explain extend fix format \
     improve insert list make mention move note put record rename replace reword rewrite revise shorten \
     simplify sort split state summarize tidy translate trim update write",
);

/// Whether the instructions ask for a change of this file by name. `None` if it has no instructions for agents.
pub(super) fn is_requested_agent_file(path: &str, instructions: &str) -> Option<bool> {
    let (folded, instructions) = (fold(path), instructions.to_lowercase());
    let is_agent_file = |part: &str| AGENT_FILES.contains(part) && !is_page_about_agents(path, part);
    let sentences = || instructions.split_inclusive(['\n', '!', ';', '?']).flat_map(|line| line.split(". "));
    let has = |sentence: &str, list: WordList| {
        let words = sentence.split(|c: char| c.is_whitespace() || matches!(c, ',' | ':' | '(' | ')'));
        words.into_iter().any(|word| list.contains(word))
    };
    let asks_for_change =
        |sentence: &str| has(sentence, CHANGE_VERBS) && !has(sentence, WARNINGS) && !sentence.ends_with('?');
    let is_named = |part: &str| {
        sentences().any(|sentence| {
            names_whole(sentence, part) && asks_for_change(sentence) && !is_topic(sentence, part)
        })
    };
    folded.split('/').find(|part| is_agent_file(part)).map(is_named)
}

/// Whether the file is only the topic of a sentence: "a page about AGENTS.md".
fn is_topic(sentence: &str, name: &str) -> bool {
    let before = sentence.split(name).next().unwrap_or_default();
    let words = before.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let last = words.rev().find(|word| !matches!(*word, "a" | "an" | "the" | "to" | "your" | "our"));
    last.is_some_and(|word| TOPIC_WORDS.contains(word))
}

/// Whether `path` is a page in a subfolder that is named after its topic.
fn is_page_about_agents(path: &str, name: &str) -> bool {
    let is_deep = path.split('/').count() > 2;
    ALSO_PAGES.contains(name) && is_deep && path.rsplit('/').next() == Some(name)
}

/// Whether a text contains this name, and not as a part of a longer one: `docs.claude.com` does not contain `.claude`.
pub(super) fn names_whole(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        let is_continued =
            after.starts_with(is_part) || after.starts_with('.') && after[1..].starts_with(is_part);
        !before.ends_with(is_part) && !before.ends_with('.') && !is_continued
    })
}

/// Folds a path as a file system can that ignores case and invisible characters. Uppercase comes first, because `ſ` and
/// `ı` are lowercase already, and such a file system treats them as `s` and `i`.
pub(super) fn fold(path: &str) -> String {
    let visible = path.chars().filter(|c| !is_ignorable(*c)).map(unescape::narrow);
    let folded: String = visible.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    folded.split('/').map(|part| part.trim_end_matches(['.', ' '])).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_for_agents_are_changed_only_when_a_person_names_them() {
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
            let is_requested = is_requested_agent_file(path, prompt);
            assert_eq!(is_requested == Some(false), expected, "{path}: {prompt}");
        }
    }

    #[test]
    fn names_are_folded_as_file_systems_do() {
        assert_eq!(fold("docs/.GitHub/x. "), "docs/.github/x");
        assert_eq!(fold("pac\u{200b}kage.j\u{17f}on"), "package.json");
        assert_eq!(fold("\u{ff50}ackage.json"), "package.json");
    }
}
