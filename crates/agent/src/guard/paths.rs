//! Which files an editor of docs may not change: those that make somebody's machine do something.
//!
//! A name is judged as any file system may read it: whatever its case, without characters that
//! are not seen. What runs when the docs are built stands here as much as what runs in CI.

mod lists;

use super::added::{Added, Place};
use super::markup::Shown;
use super::sources::Imports;
use super::{Change, Finding, Policy, Rule, data_only, mintlify};

use lists::{
    AGENTS, ALSO_PAGES, AT_ROOTS, ENDINGS, FOLDERS, HOST_PAGES, INSTRUCTIONS, NAMES, PAGES, PARTS, PLACES,
    STARTS,
};

pub(super) fn judge<'a>(
    change: &Change<'a>,
    policy: &Policy<'_>,
    added: &Added<'a>,
    shown: &Shown<'_, 'a>,
    found: &mut Vec<Finding<'a>>,
) {
    let asked = change.asked.as_str().to_lowercase();
    let imports = Imports::of(shown, change.base);
    for path in change.edits.keys().filter(|path| !policy.allow.permits(path)) {
        let data = || data_only::refusal(path, added).unwrap_or_else(|| imports.refusal(path));
        let why = refusal(path, &asked).or_else(data).or_else(|| mintlify::refusal(path, added, &asked));
        if let Some(why) = why {
            let what = format!("may not be changed, because {why}; an operator can allow it");
            found.push(Finding { rule: Rule::Path, place: Place::File(path), line: None, what, fatal: true });
        }
    }
}

fn refusal(path: &str, asked: &str) -> Option<&'static str> {
    let folded = fold(path);
    let parts: Vec<&str> = folded.split('/').collect();
    let (name, folders) = parts.split_last()?;
    let is_instruction = |part: &&&str| INSTRUCTIONS.contains(*part) && !is_page_about_agents(path, part);
    if parts.iter().find(is_instruction).is_some_and(|part| !names_whole(asked, part)) {
        return Some(AGENTS);
    }
    let is_page = PAGES.iter().any(|ending| name.ends_with(ending)) && !name.starts_with('.');
    let is_host_page = is_page && HOST_PAGES.contains(&folders.join("/").as_str());
    let in_folder = FOLDERS.iter().find(|(folder, _)| folders.contains(folder) && !is_host_page);
    let named = || NAMES.iter().find(|(wanted, _)| name == wanted);
    let at_root = || AT_ROOTS.iter().find(|(wanted, _)| name == wanted && folders.len() < 2);
    let started = || STARTS.iter().find(|(start, _)| name.starts_with(start) && !is_page);
    let ended = || ENDINGS.iter().find(|(ending, _)| name.ends_with(ending));
    let simple = in_folder.or_else(named).or_else(at_root).or_else(started).or_else(ended);
    let holds = || PARTS.iter().find(|(part, ending, _)| name.contains(part) && name.ends_with(ending));
    let placed =
        |(folder, ending, _): &&(&str, &str, &str)| folders.last() == Some(folder) && name.ends_with(ending);
    let pair = || holds().or_else(|| PLACES.iter().find(placed));
    simple.map(|(_, why)| *why).or_else(|| pair().map(|(_, _, why)| *why))
}

/// Whether a path tells agents what to do, and nobody asked for a change of it by name.
pub(super) fn is_instruction(path: &str, asked: &str) -> bool {
    let (folded, asked) = (fold(path), asked.to_lowercase());
    let is_one = |part: &str| INSTRUCTIONS.contains(&part) && !is_page_about_agents(path, part);
    folded.split('/').find(|part| is_one(part)).is_some_and(|part| !names_whole(&asked, part))
}

/// Whether `path`, as it is written, is a page among others that has its name from what it is about.
fn is_page_about_agents(path: &str, name: &str) -> bool {
    let is_deep = path.split('/').count() > 2;
    ALSO_PAGES.contains(&name) && is_deep && path.rsplit('/').next() == Some(name)
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
    let seen = path.chars().filter(|c| !super::hidden::is_ignorable(*c)).map(super::unescape::narrow);
    let folded: String = seen.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect();
    folded.split('/').map(|part| part.trim_end_matches(['.', ' '])).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_paths() {
        for path in [
            ".github/workflows/ci.yml",
            "docs/.GitHub/workflows/x.yaml",
            ".gitlab-ci.yml",
            ".circleci/config.yml",
            "azure-pipelines.yml",
            "Jenkinsfile",
            ".drone.yml",
            ".forgejo/workflows/a.yml",
            "docs/package.json",
            "package.j\u{17f}on",
            "docs/pac\u{200b}kage.json",
            "ｐackage.json",
            "pnpm-lock.yaml",
            "Cargo.lock",
            "docs/Makefile",
            "Dockerfile.dev",
            "install.sh",
            "INSTALL.SH ",
            ".npmrc",
            ".gitattributes",
            ".gitmodules",
            ".vscode/tasks.json",
            "AGENTS.md",
            "docs/CLAUDE.md",
            ".cursor/rules/x.mdc",
            ".docwright/settings.toml",
            ".husky/pre-commit",
            ".pre-commit-config.yaml",
            ".envrc",
            ".env.local",
            "docusaurus.config.ts",
            "docs/.vitepress/config.mts",
            "docs/conf.py",
            "next.config.mjs",
            "docs/_quarto.yml",
            "Doxyfile",
            "docs/a.11tydata.js",
            "antora-playbook.yml",
            "local-antora-playbook.yml",
            "requirements/docs.txt",
            "docs/doc_requirements.txt",
            "environment.yml",
            "_config.yaml",
            "static/_redirects",
            "docs/CNAME",
            "fern/docs.yml",
            ".githooks/pre-commit",
            "lefthook.yml",
            "OWNERS",
            "docs/_metadata.yml",
            "_quarto-prod.yml",
            "azure-pipelines-docs.yml",
            "Jenkinsfile.docs",
            ".remarkrc.mjs",
            "gulpfile.js",
            ".kiro/steering/x.md",
            "claude.md",
            "docs/gemini.md",
            "docs/a/b/CLAUDE.md",
            "docs/a/b/Agents.md",
            "docs/a/b/claude.\u{200b}md",
            ".github/copilot-instructions.md",
            ".github/instructions/a.md",
            ".github/ISSUE_TEMPLATE/config.yml",
        ] {
            assert!(refusal(path, "").is_some(), "{path:?}");
        }
    }

    #[test]
    fn pages_are_free() {
        for path in [
            "README.md",
            "docs/install.mdx",
            "docs/package.md",
            "docs/agents/index.md",
            "docs/github.md",
            "docs/makefile.md",
            "docs/environment.md",
            "docs/img/a.svg",
            "docs/docs.json",
            "docs/_meta.json",
            "mkdocs.yml",
            "sidebars.js",
            "docs/examples/app.py",
            "docs/dockerfile-reference/x.md",
            "docs/requirements.md",
            "docs/dockerfile.mdx",
            "docs/jenkinsfile.md",
            "docs/lefthook.md",
            "docs/api/environment.yml",
            "docs/integrations/claude.md",
            "docs/concepts/agents.md",
            ".github/CONTRIBUTING.md",
            ".github/ISSUE_TEMPLATE/bug.md",
            ".github/PULL_REQUEST_TEMPLATE.md",
        ] {
            assert_eq!(refusal(path, ""), None, "{path}");
        }
    }

    #[test]
    fn instructions_for_agents_are_changed_when_asked_for() {
        assert_eq!(refusal("docs/AGENTS.md", "add a rule to agents.md"), None);
        assert_eq!(refusal("docs/AGENTS.md", "mend the agents page"), Some(AGENTS));
        assert_eq!(refusal(".claude/settings.json", "see .claude/settings.json"), None);
        assert_eq!(refusal(".github/copilot-instructions.md", "mend copilot-instructions.md."), None);
        for asked in
            ["link https://docs.claude.com/en", "about www.claude.ai", "x.claude", ".claude.json", ".claudes"]
        {
            assert_eq!(refusal(".claude/settings.json", asked), Some(AGENTS), "{asked}");
        }
        // What else is wrong with it stays wrong.
        assert!(refusal(".claude/hooks/x.sh", "add a hook to .claude").is_some_and(|why| why != AGENTS));
        assert_eq!(refusal("package.json", "change package.json"), Some(lists::PACKAGE));
    }
}
