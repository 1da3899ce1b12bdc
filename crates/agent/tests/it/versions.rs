//! Tests which mentions of a version change.

use crate::{Steps, edit, try_edit};

/// How often a page has the new version, `9.9.9` or `v9`, after a prompt.
async fn changed(prompt: &str, path: &str, text: &str) -> usize {
    let edited = edit(&[(path, text)], prompt).await;
    let added: String = edited.lines().lines().filter(|line| line.starts_with('+')).collect();
    added.matches("9.9.9").count() + added.matches("v9").count() - added.matches("v9.9.9").count()
}

#[track_caller]
fn check(prompt: &str, text: &str, expected: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(runtime.block_on(changed(prompt, "a.md", text)), expected, "{prompt}: {text}");
}

const BUMP: &str = "Bump version 1.4.2 to 9.9.9";

#[test]
fn whole_versions() {
    for text in [
        "1.4.2",
        "v1.4.2",
        "(1.4.2)",
        "1.4.2.",
        "acme@1.4.2",
        "^1.4.2",
        "acme-1.4.2.tar.gz",
        "acme-1.4.2-linux.tgz",
        "`npm i acme@1.4.2`",
        "```\nFROM acme:1.4.2\n```\n",
        "---\ntitle: Acme 1.4.2\n---\n",
        "---\nversion: 1.4.2\n---\n",
        "==1.4.2",
        "<https://a.b/releases/v1.4.2>",
        "[x](https://a.b/1.4.2/y)",
        "https://a.b/v1.4.2",
    ] {
        check(BUMP, text, 1);
    }
}

#[test]
fn other_versions_and_addresses_are_not_changed() {
    for text in [
        "11.4.2",
        "1.4.20",
        "1.4.2.1",
        "0.1.4.2",
        "10.1.4.2",
        "1.4.2-rc.1",
        "1.4.2+5",
        "x1.4.2",
        "vv1.4.2",
        "1.4.2a",
        "[x](/docs/1.4.2/y)",
        "[x](https://a.b/acme-1.4.2.tgz)",
        "<img alt=\"1.4.2\">",
        "Added in 1.4.2",
        "https://a.b/x?v=1.4.2",
        "---\nsince: 1.4.2\nadded: 1.4.2\nslug: /v/1.4.2\ndate: 1.4.2\n# 1.4.2\n---\n",
    ] {
        check(BUMP, text, 0);
    }
}

#[test]
fn historical_mentions_are_not_changed() {
    for text in [
        "Added in 1.4.2",
        "Since version `1.4.2`",
        "deprecated since v1.4.2",
        "from 1.4.2 on",
        "starting with 1.4.2",
        "requires at least 1.4.2",
        "Requires Node 1.4.2",
        ">=1.4.2 <2",
        "≥ 1.4.2",
        "removed after 1.4.2",
        "deprecated in\n1.4.2",
        "upgrade from 1.4.1 to 1.4.2",
        "upgrading from 1.4.2 to 1.4.3",
        "1.4.2 and later",
        "`1.4.2` or newer",
        "1.4.2 onwards",
        "1.4.2+",
        "1.4.2 to 1.5.0",
        "versions 1.4.0–1.4.2",
        "!!! versionadded \"1.4.2\"",
        "```{versionadded} 1.4.2",
        ".. versionchanged:: 1.4.2",
        "{{ since(1.4.2) }}",
        "| 1.4.2 | added x |",
        "### 1.4.2",
        "## Version 1.4.2 (2024-01-01)",
        "section 1.4.2",
        "Deprecated (1.4.2)",
        "1.4.2 was released on Monday",
    ] {
        check(BUMP, text, 0);
    }
}

#[test]
fn current_mentions_are_changed() {
    for text in [
        "Acme 1.4.2",
        "Acme 1.4.1, 1.4.2",
        "The version is 1.4.2.",
        "npm i acme@1.4.2",
        "FROM acme:1.4.2",
        "acme==1.4.2",
        "since then.\n\n1.4.2 is here",
        "version = \"1.4.2\"",
        "curl https://a.b/v1.4.2/x",
    ] {
        check(BUMP, text, 1);
    }
}

#[test]
fn short_versions_need_a_word_that_says_so() {
    let bump = "Bump version 1.4 to 9.9.9";
    for text in ["version 1.4", "v1.4", "release 1.4", "acme@1.4", "acme==1.4", "`version: \"1.4\"`"] {
        check(bump, text, 1);
    }
    for text in [
        "costs $1.4",
        "1.4 GB",
        "1.4%",
        "`lineHeight: 1.4`",
        "TLS 1.4",
        "section 1.4",
        "1.4.2",
        "`GET /v1.4/users`",
        "1.4.",
    ] {
        check(bump, text, 0);
    }
    for text in ["API v1", "/v1/users", "`apiVersion: v1`", "uses: actions/checkout@v1", "apps/v1", "acme@v1"]
    {
        check("Bump version v1 to v9", text, 0);
    }
    check("Bump version v1 to v9", "version v1", 1);
    check("Bump acme from v1 to v9", "acme v1, acme@v1 and other v1", 2);
    check("Bump Acme from 1.4 to 9.9.9", "Acme 1.4 and 1.4 GB", 1);
}

#[test]
fn packages_are_distinguished() {
    let text = "`npm i acme@1.4.2` `npm i @x/lodash@1.4.2` `pip install acme==1.4.2`";
    check(BUMP, text, 0);
    check("Bump acme from 1.4.2 to 9.9.9", text, 2);
    check(BUMP, "`npm i @acme/sdk@1.4.2` `pip install acme-sdk==1.4.2`", 2);
}

#[test]
fn code_can_be_excluded() {
    check("Bump version 1.4.2 to 9.9.9, but not in code", "1.4.2 and `1.4.2`", 1);
}

#[tokio::test]
async fn versions_in_prompts() {
    for version in ["v1.4.2", "1.4", "2.0.0-rc.1", "v2"] {
        let prompt = format!("Bump version {version} to 9.9.9");
        assert_eq!(changed(&prompt, "a.md", &format!("version {version}")).await, 1, "{version}");
    }
    for word in ["2", "latest", "1."] {
        let prompt = format!("Bump version {word} to 9.9.9");
        assert!(try_edit(&[("a.md", "A")], &prompt, &mut Steps::default()).await.is_err(), "{word}");
    }
}

#[tokio::test]
async fn files_about_past_versions_are_not_changed() {
    for file in [
        "CHANGELOG.md",
        "docs/changelog/1.md",
        "HISTORY.md",
        "docs/Release Notes.md",
        "release_notes/a.md",
        "NEWS.md",
        "CHANGES.md",
        "UPGRADING.md",
        "docs/migration.md",
        "docs/migrating-to-v2.md",
        "docs/relnotes/x.md",
        "docs/about/release.md",
        "docs/blog/2024.md",
        "versioned_docs/version-1.4.2/a.md",
        "docs/version-1.4.2/a.md",
        "docs/v1.4.2/a.md",
    ] {
        assert_eq!(changed(BUMP, file, "Acme 1.4.2").await, 0, "{file}");
    }
    for file in ["docs/historical.md", "docs/install.md", "newsletter.md", "docs/v1.5/a.md"] {
        assert_eq!(changed(BUMP, file, "Acme 1.4.2").await, 1, "{file}");
    }
}
