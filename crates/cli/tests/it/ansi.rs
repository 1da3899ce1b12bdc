//! Tests that text from repositories and servers cannot control a terminal, in every command that prints it.

use std::process::Command;

use crate::support::{Client, Serving, commit_file, docwright, git, home};
use crate::terminal::run_on_terminal;

/// Clears the screen, sets the title, and colors what follows, with a C1 character.
const CONTROL_SEQUENCE: &str = "\x1b[2J\x1b]0;owned\x07\u{9b}31m";

/// The output on a terminal, without the sequences with which the program draws over a line.
fn terminal_output(mut command: Command, args: &[&str]) -> String {
    command.env("TERM", "xterm").env("LANG", "C.UTF-8").env("NO_COLOR", "1").args(args);
    run_on_terminal(command, 200, true).1.replace("\r\x1b[2K", "").replace("\r\n", "\n")
}

#[track_caller]
fn assert_harmless(command: &str, output: &str) {
    let controls = |c: char| c.is_control() && c != '\n' || matches!(c, '\u{202a}'..='\u{202e}');
    assert!(!output.contains(controls), "{command}: {output:?}");
    assert!(output.trim().len() > 20, "{command} prints something: {output:?}");
}

#[test]
fn ansi_log() {
    let home = home();
    let serving = Serving::start(home.path());
    let client = Client::of(home.path(), &serving);
    let project = client.project.as_str();
    let refused =
        client.job(&["create", &format!("Replace \"one\" with \"{CONTROL_SEQUENCE}eins\"."), "--watch"]);
    assert_eq!(refused.status.code(), Some(3), "the guard lets no job write it");
    // A push to the base adds text that the diff then contains.
    commit_file(home.path(), "a.md", &format!("# A\n\none {CONTROL_SEQUENCE}\n"));
    let repository = home.path().join("docs.git");
    let prompt = "Replace \"one\" with \"eins\".";
    let created = terminal_output(client.docwright(), &["job", "create", project, prompt, "--watch"]);
    assert_harmless("job create --watch", &created);
    let listed = client.json(&["list", "--json"]);
    let id = listed["jobs"][0]["id"].as_str().unwrap();
    assert_eq!(listed["jobs"][0]["status"], "completed", "{created}");
    // A push to the branch adds a commit message that no job would write.
    let branch = listed["jobs"][0]["source"]["ref"].as_str().unwrap();
    let (parent, tree) = (format!("refs/heads/{branch}"), format!("refs/heads/{branch}^{{tree}}"));
    let by_hand = git(
        &repository,
        &["commit-tree", "-p", &parent, "-m", &format!("By hand {CONTROL_SEQUENCE}"), &tree],
    );
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
        assert_harmless(&args.join(" "), &terminal_output(client.docwright(), args));
    }
    let refused = format!("no \u{202e}{CONTROL_SEQUENCE}");
    assert_harmless("an error", &terminal_output(docwright(home.path()), &["pull", "list", &refused]));
    let failed = client.job(&["create", &format!("Write a poem {CONTROL_SEQUENCE}."), "--watch"]);
    assert_eq!(failed.status.code(), Some(3));
    let log = serving.stop();
    assert!(!log.contains(|c: char| c.is_control() && c != '\n'), "{log:?}");
}
