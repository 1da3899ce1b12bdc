//! Tests `docwright eval` with the offline editor, and with providers that fail.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::models::{KEY, provider_with_headers, write_settings};
use crate::support::{docwright, git, home, json, refusal, run};

const FIX: &str = "Replace \"teh\" with \"the\".";
const TASK: &str = r##"
[[task]]
name = "NAME"
prompt = 'Replace "teh" with "the".'
[task.files]
"docs/a.md" = "# A\n\nPress teh button.\n"
[task.expected]
"docs/a.md" = "# A\n\nPress the button.\n"
"##;

/// A repository with a page that has a typo.
fn repository(home: &Path) -> PathBuf {
    let repo = home.join("repo");
    fs::create_dir_all(repo.join("docs")).unwrap();
    git(&repo, &["init", "--quiet", "."]);
    fs::write(repo.join("docs/a.md"), "# A\n\nPress teh button.\n").unwrap();
    commit(&repo, "Write the first page");
    repo
}

fn commit(repo: &Path, message: &str) {
    git(repo, &["add", "--all"]);
    git(repo, &["commit", "--quiet", "-m", message]);
}

fn fix_typo(repo: &Path) {
    fs::write(repo.join("docs/a.md"), "# A\n\nPress the button.\n").unwrap();
    commit(repo, &format!("{FIX}\n\nDocwright-Job: job-1"));
}

fn write_tasks(home: &Path, text: &str) {
    fs::write(home.join("tasks.toml"), text).unwrap();
}

fn stored(home: &Path) -> Vec<Value> {
    let text = fs::read_to_string(home.join("docwright-eval/results.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn messages(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The guard asks whether files exist that aren't there, such as `SKILL.md`.
#[test]
fn the_right_change_of_a_commit_is_not_refused() {
    let home = home();
    fix_typo(&repository(home.path()));
    let args = ["eval", "--from-history", "5", "--model", "offline", "--repo", "repo"];
    let output = run(home.path(), &args);
    assert!(messages(&output).contains(": the right change\n"), "{output:?}");
    let found = json(home.path(), &[&args[..], &["--model", "offline", "--json"]].concat());
    assert_eq!(found["models"]["offline"]["right"], 1, "{found}");
    assert_eq!(found["models"]["offline"]["tasks"], 1, "a repeated model counts once: {found}");
    let result = &found["results"][0];
    assert_eq!((&result["outcome"], &result["refusals"]), (&"right".into(), &0.into()), "{result}");

    let (repo, task) = (home.path().join("repo"), TASK.replace("NAME", "typo"));
    git(&repo, &["revert", "--no-edit", "HEAD"]);
    let without_files = task.replace("[task.files]\n\"docs/a.md\" = \"# A\\n\\nPress teh button.\\n\"\n", "");
    assert!(!without_files.contains("task.files"));
    write_tasks(home.path(), &without_files);
    let args = ["eval", "--tasks", "tasks.toml", "--model", "offline", "--repo", "repo", "--json"];
    let result = &json(home.path(), &args)["results"][0];
    assert_eq!((&result["outcome"], &result["refusals"]), (&"right".into(), &0.into()), "{result}");
}

#[test]
fn a_refusal_has_a_reason() {
    let home = home();
    let with_skill = TASK.replace("[task.files]", "[task.files]\n\"docs/SKILL.md\" = \"# Skill\\n\"");
    let other = with_skill.replace("the button", "a button");
    write_tasks(home.path(), &(with_skill.replace("NAME", "a/b") + &other.replace("NAME", "a-b")));
    let output = run(home.path(), &["eval", "--tasks", "tasks.toml", "--model", "offline"]);
    let text = messages(&output);
    let reason = "The guard refused the change at `docs/a.md`: it can't be changed, because";
    for expected in
        [format!("a/b: the right change, but refused: {reason}"), format!("a-b: refused: {reason}")]
    {
        assert!(text.contains(&expected), "{text}");
    }
    let results = stored(home.path());
    assert_eq!(results[1]["outcome"], "refused");
    assert!(results[1]["refusalReasons"][0].as_str().unwrap().starts_with(reason), "{results:?}");
    let diffs = fs::read_dir(home.path().join("docwright-eval/offline")).unwrap().count();
    assert_eq!(diffs, 2, "tasks with similar names have a diff each");
}

#[test]
fn an_outage_is_not_a_result() {
    let home = home();
    write_tasks(home.path(), &(TASK.replace("NAME", "one") + &TASK.replace("NAME", "two")));
    let eval = |status: &'static str, kind: &'static str, body: &str| {
        let (url, _requests) = provider_with_headers(status, kind, body.to_owned());
        write_settings(
            home.path(),
            &format!(
                "[models.fast]\nprovider = \"compatible\"\nmodel = \"m\"\nbase_url = \"{url}\"\n\
                 allow_private = true\napi_key_env = \"FAST_KEY\"\n"
            ),
        );
        let mut command = docwright(home.path());
        command.env("FAST_KEY", KEY).args(["eval", "--tasks", "tasks.toml", "--model", "fast"]);
        command.args(["--model", "offline"]).output().unwrap()
    };
    for (status, kind, expected) in [
        ("401 No", "application/json", "rejects the API key"),
        ("503 No", "text/plain\r\nretry-after: 0", "failed with the status 503"),
    ] {
        let output = eval(status, kind, "{}");
        let text = messages(&output);
        assert!(
            text.contains("fast: task 1 of 2, one: no result, because ") && text.contains(expected),
            "{text}"
        );
        assert!(text.contains("fast gets no more tasks") && !text.contains("fast: task 2"), "{text}");
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stdout).contains("offline"), "the table is printed");
        let results = stored(home.path());
        assert!(
            results.len() == 2 && results.iter().all(|result| result["model"] == "offline"),
            "{results:?}"
        );
    }
    // The provider refuses only this content, so the task failed.
    let filtered = r#"{"error":{"message":"content_filter"}}"#;
    let output = eval("400 No", "application/json", filtered);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(messages(&output).contains("fast: task 2 of 2, two: failed: "), "{output:?}");
    assert_eq!(stored(home.path()).len(), 4, "the same command continued");
}

#[test]
fn a_task_file_is_checked_before_anything_runs() {
    let home = home();
    let repo = repository(home.path());
    symlink("a.md", repo.join("docs/link.md")).unwrap();
    commit(&repo, "Add a link to the page");
    let good = TASK.replace("NAME", "good");
    let with_paths = |files: &str, expected: &str| {
        format!(
            "{good}[[task]]\nname = \"bad\"\nprompt = \"x\"\n[task.files]\n{files:?} = \"x\"\n[task.expected]\n\
             {expected:?} = \"y\"\n"
        )
    };
    let linked = format!(
        "{good}[[task]]\nname = \"bad\"\nprompt = \"x\"\n[task.expected]\n\"docs/link.md\" = \"y\"\n"
    );
    for (text, expected) in [
        (with_paths("../x.md", "a.md"), "[task.files] of the task \"bad\": \"../x.md\" cannot be used"),
        (with_paths("a.md", "/x.md"), "[task.expected] of the task \"bad\": \"/x.md\" cannot be used"),
        (with_paths(".git/x.md", "a.md"), "[task.files] of the task \"bad\""),
        (
            linked,
            "[task.expected] of the task \"bad\": \"docs/link.md\" cannot be used: it is a symbolic link",
        ),
        (good.repeat(2), "two tasks are named \"good\""),
        (good.clone() + &TASK.replace("NAME", " "), "the name \" \" of task 2"),
    ] {
        write_tasks(home.path(), &text);
        let args = ["eval", "--tasks", "tasks.toml", "--model", "offline", "--repo", "repo"];
        let (code, message) = refusal(home.path(), &args);
        assert!(code == 1 && message.lines().count() == 1 && message.contains(expected), "{message}");
        assert!(message.starts_with("error: tasks.toml: "), "{message}");
        assert!(stored(home.path()).is_empty());
    }
    let (code, message) = refusal(home.path(), &["eval", "--model", "offline"]);
    assert!(code == 2 && message.contains("--tasks") && message.contains("--from-history"), "{message}");
}

#[test]
fn commits_that_no_editor_could_make_are_skipped() {
    let home = home();
    let repo = repository(home.path());
    fix_typo(&repo);
    symlink("a.md", repo.join("docs/link.md")).unwrap();
    commit(&repo, "Add a link to the page");
    fs::write(repo.join("docs/new\nline.md"), "# New\n").unwrap();
    commit(&repo, "Add a page with a strange name");
    let args = ["eval", "--from-history", "1", "--model", "offline", "--repo", "repo"];
    let output = run(home.path(), &args);
    assert!(
        messages(&output).starts_with("2 commits were skipped, because no editor could make them"),
        "{output:?}"
    );
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(stored(home.path())[0]["outcome"], "right");
}
