//! Words of others on a terminal: in every place where a command shows them.

use std::process::Command;

use crate::live::shown;
use crate::support::{Client, Serving, commit_file, docwright, git, home};

/// Clears the screen, sets the title, and paints what follows, by a C1 character.
const STEERS: &str = "\x1b[2J\x1b]0;owned\x07\u{9b}31m";

/// What a terminal is sent, without what the program itself does to draw over a line.
fn seen(mut command: Command, args: &[&str]) -> String {
    command.env("TERM", "xterm").env("LANG", "C.UTF-8").env("NO_COLOR", "1").args(args);
    shown(command, 200, true).1.replace("\r\x1b[2K", "").replace("\r\n", "\n")
}

#[track_caller]
fn harmless(what: &str, seen: &str) {
    let steers = |c: char| c.is_control() && c != '\n' || matches!(c, '\u{202a}'..='\u{202e}');
    assert!(!seen.contains(steers), "{what}: {seen:?}");
    assert!(seen.trim().len() > 20, "{what} shows something: {seen:?}");
}

#[test]
fn ansi_log() {
    let home = home();
    let serving = Serving::start(home.path());
    let client = Client::of(home.path(), &serving);
    let project = client.project.as_str();
    let refused = client.job(&["create", &format!("Replace \"one\" with \"{STEERS}eins\"."), "--watch"]);
    assert_eq!(refused.status.code(), Some(3), "the guard lets no job write it");
    // Somebody pushes to the base what a change then shows.
    commit_file(home.path(), "a.md", &format!("# A\n\none {STEERS}\n"));
    let repository = home.path().join("docs.git");
    let prompt = "Replace \"one\" with \"eins\".";
    let created = seen(client.docwright(), &["job", "create", project, prompt, "--watch"]);
    harmless("job create --watch", &created);
    let listed = client.json(&["list", "--json"]);
    let id = listed["jobs"][0]["id"].as_str().unwrap();
    assert_eq!(listed["jobs"][0]["status"], "completed", "{created}");
    // Somebody pushes to the branch what no command of ours would have written.
    let branch = listed["jobs"][0]["source"]["ref"].as_str().unwrap();
    let (parent, tree) = (format!("refs/heads/{branch}"), format!("refs/heads/{branch}^{{tree}}"));
    let by_hand =
        git(&repository, &["commit-tree", "-p", &parent, "-m", &format!("By hand {STEERS}"), &tree]);
    git(&repository, &["update-ref", &parent, &by_hand]);
    for args in [
        &["job", "view", project, id][..],
        &["job", "view", project, id, "--watch"],
        &["job", "diff", project, id],
        &["job", "diff", project, id, "--json"],
        &["job", "transcript", project, id],
        &["pull", "list", project],
        &["pull", "list", project, "--json"],
        &["pull", "view", project, "1"],
        &["pull", "view", project, "1", "--json"],
    ] {
        harmless(&args.join(" "), &seen(client.docwright(), args));
    }
    let refused = format!("no \u{202e}{STEERS}");
    harmless("an error", &seen(docwright(home.path()), &["pull", "list", &refused]));
    let failed = client.job(&["create", &format!("Write a poem {STEERS}."), "--watch"]);
    assert_eq!(failed.status.code(), Some(3));
    let log = serving.stop();
    assert!(!log.contains(|c: char| c.is_control() && c != '\n'), "{log:?}");
}
