//! Which files an editor of docs may not change: those that make somebody's machine do something.
//!
//! A name is judged as any file system may read it: whatever its case, without characters that
//! are not seen. What runs when the docs are built stands here as much as what runs in CI.

use super::added::{Added, Place};
use super::markup::Shown;
use super::sources::Imports;
use super::{Change, Finding, Policy, Rule, data_only};

/// Folders, at any depth, that nothing in may be changed.
const FOLDERS: &[(&str, &str)] = &[
    (".github", CI),
    (".gitlab", CI),
    (".circleci", CI),
    (".buildkite", CI),
    (".forgejo", CI),
    (".gitea", CI),
    (".drone", CI),
    (".woodpecker", CI),
    (".azure-pipelines", CI),
    (".azuredevops", CI),
    (".teamcity", CI),
    (".semaphore", CI),
    (".tekton", CI),
    (".husky", TOOL),
    (".vscode", TOOL),
    (".idea", TOOL),
    (".devcontainer", TOOL),
    (".cargo", TOOL),
    (".yarn", TOOL),
    (".config", TOOL),
    (".git", TOOL),
    ("node_modules", PACKAGE),
    (".vitepress", SITE),
    (".vuepress", SITE),
    (".storybook", SITE),
];
/// Folders and files that tell agents what to do; a person may ask for a change of them by name.
const INSTRUCTIONS: &[&str] = &[
    "agents.md",
    "agents.override.md",
    "claude.md",
    "gemini.md",
    "copilot-instructions.md",
    ".claude",
    ".cursor",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".codex",
    ".gemini",
    ".docwright",
    "docwright.toml",
];
const NAMES: &[(&str, &str)] = &[
    ("jenkinsfile", CI),
    ("appveyor.yml", CI),
    ("azure-pipelines.yml", CI),
    ("azure-pipelines.yaml", CI),
    ("bitbucket-pipelines.yml", CI),
    ("cloudbuild.yaml", CI),
    ("buildspec.yml", CI),
    ("codemagic.yaml", CI),
    ("wercker.yml", CI),
    ("netlify.toml", SITE),
    ("vercel.json", SITE),
    ("wrangler.toml", SITE),
    ("firebase.json", SITE),
    ("render.yaml", SITE),
    ("fly.toml", SITE),
    ("procfile", SITE),
    ("book.toml", SITE),
    ("package.json", PACKAGE),
    ("deno.json", PACKAGE),
    ("deno.jsonc", PACKAGE),
    ("jsr.json", PACKAGE),
    ("composer.json", PACKAGE),
    ("pyproject.toml", PACKAGE),
    ("setup.py", PACKAGE),
    ("setup.cfg", PACKAGE),
    ("pipfile", PACKAGE),
    ("tox.ini", PACKAGE),
    ("noxfile.py", PACKAGE),
    ("conftest.py", PACKAGE),
    ("cargo.toml", PACKAGE),
    ("build.rs", PACKAGE),
    ("go.mod", PACKAGE),
    ("go.sum", PACKAGE),
    ("gemfile", PACKAGE),
    ("rakefile", PACKAGE),
    ("pom.xml", PACKAGE),
    ("build.gradle", PACKAGE),
    ("build.gradle.kts", PACKAGE),
    ("cmakelists.txt", PACKAGE),
    ("makefile", PACKAGE),
    ("gnumakefile", PACKAGE),
    ("justfile", PACKAGE),
    ("taskfile.yml", PACKAGE),
    ("flake.nix", PACKAGE),
    ("turbo.json", PACKAGE),
    ("nx.json", PACKAGE),
    ("lerna.json", PACKAGE),
    ("bunfig.toml", PACKAGE),
    ("pnpm-workspace.yaml", PACKAGE),
    ("npm-shrinkwrap.json", LOCK),
    ("package-lock.json", LOCK),
    ("pnpm-lock.yaml", LOCK),
    ("go.work", PACKAGE),
    ("conf.py", SITE),
    ("make.jl", SITE),
    ("doxyfile", SITE),
    ("_quarto.yml", SITE),
    ("_quarto.yaml", SITE),
    ("hugo.toml", SITE),
    ("hugo.yaml", SITE),
    ("hugo.json", SITE),
    ("_worker.js", SITE),
    ("middleware.js", SITE),
    ("middleware.ts", SITE),
    ("hooks.py", SITE),
    ("codeowners", TOOL),
];
const STARTS: &[(&str, &str)] = &[
    (".git", TOOL),
    (".env", TOOL),
    ("dockerfile", PACKAGE),
    ("containerfile", PACKAGE),
    ("docker-compose", PACKAGE),
    ("compose.y", PACKAGE),
    ("requirements", PACKAGE),
    (".npmrc", TOOL),
    (".yarnrc", TOOL),
    (".pnpmfile", TOOL),
    (".pypirc", TOOL),
    (".netrc", TOOL),
    (".envrc", TOOL),
    (".pre-commit", TOOL),
    (".lintstagedrc", TOOL),
    (".lfsconfig", TOOL),
    (".editorconfig", TOOL),
    (".tool-versions", TOOL),
    (".mise", TOOL),
    (".eslintrc", TOOL),
    (".prettierrc", TOOL),
    (".babelrc", TOOL),
    (".mcp", TOOL),
    (".travis", CI),
    (".drone", CI),
    (".woodpecker", CI),
    (".gitlab-ci", CI),
    (".cirrus", CI),
    (".readthedocs", SITE),
    ("docusaurus.config.", SITE),
    ("next.config.", SITE),
    ("nuxt.config.", SITE),
    ("astro.config.", SITE),
    ("vite.config.", SITE),
    ("vocs.config.", SITE),
    ("gatsby-", SITE),
    ("svelte.config.", SITE),
    ("webpack.config.", SITE),
    ("rollup.config.", SITE),
    ("babel.config.", SITE),
    ("postcss.config.", SITE),
    ("tailwind.config.", SITE),
    ("eslint.config.", SITE),
    ("prettier.config.", SITE),
    ("theme.config.", SITE),
    ("source.config.", SITE),
    ("mdx-components.", SITE),
    ("_config.yml", SITE),
    (".eleventy", SITE),
    ("eleventy.config.", SITE),
    ("rspress.config.", SITE),
    ("vuepress.config.", SITE),
    ("quartz.config.", SITE),
    ("content.config.", SITE),
    ("antora-playbook", SITE),
    (".dumirc", SITE),
    (".markdownlint-cli2", TOOL),
];
const ENDINGS: &[(&str, &str)] = &[
    (".sh", SCRIPT),
    (".bash", SCRIPT),
    (".zsh", SCRIPT),
    (".fish", SCRIPT),
    (".ps1", SCRIPT),
    (".bat", SCRIPT),
    (".cmd", SCRIPT),
    (".exe", SCRIPT),
    (".lock", LOCK),
    (".lockb", LOCK),
    (".gemspec", PACKAGE),
    (".csproj", PACKAGE),
    (".mk", PACKAGE),
    (".wasm", SCRIPT),
    (".11ty.js", SITE),
    (".11tydata.js", SITE),
];
/// What such a name ends with is a page about the thing, and not the thing.
const PAGES: &[&str] = &[".md", ".mdx", ".markdown", ".rst", ".adoc"];
const CI: &str = "it tells a build server what to run";
const PACKAGE: &str = "it tells a package tool what to run or install";
const LOCK: &str = "it pins what is installed";
const TOOL: &str = "it tells a tool on other machines how to behave";
const SITE: &str = "it is run when the docs are built";
const SCRIPT: &str = "it can be run";
const AGENTS: &str = "it instructs agents; a person can ask for it by its name";

pub(super) fn judge<'a>(
    change: &Change<'a>,
    policy: &Policy<'_>,
    added: &Added<'a>,
    shown: &Shown<'_, 'a>,
    found: &mut Vec<Finding<'a>>,
) {
    let asked = change.asked.to_lowercase();
    let imports = Imports::of(shown, change.base);
    for path in change.edits.keys().filter(|path| !policy.allow.permits(path)) {
        let data = || data_only::refusal(path, added).unwrap_or_else(|| imports.refusal(path));
        let why = refusal(path, &asked).or_else(data);
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
    let instructs = |part: &&&str| INSTRUCTIONS.contains(*part);
    if let Some(part) = parts.iter().find(instructs) {
        return (!asked.contains(*part)).then_some(AGENTS);
    }
    let in_folder = FOLDERS.iter().find(|(folder, _)| folders.contains(folder));
    let named = || NAMES.iter().find(|(wanted, _)| name == wanted);
    let is_page = PAGES.iter().any(|ending| name.ends_with(ending)) && !name.starts_with('.');
    let started = || STARTS.iter().find(|(start, _)| name.starts_with(start) && !is_page);
    let ended = || ENDINGS.iter().find(|(ending, _)| name.ends_with(ending));
    in_folder.or_else(named).or_else(started).or_else(ended).map(|(_, why)| *why)
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
        ] {
            assert_eq!(refusal(path, ""), None, "{path}");
        }
    }

    #[test]
    fn instructions_for_agents_are_changed_when_asked_for() {
        assert_eq!(refusal("docs/AGENTS.md", "add a rule to agents.md"), None);
        assert_eq!(refusal("docs/AGENTS.md", "mend the agents page"), Some(AGENTS));
        assert_eq!(refusal("package.json", "change package.json"), Some(PACKAGE));
    }
}
