//! Tests that every command has help, completions and manual pages, and that shells and groff accept them.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::support::{home, run};

/// Every command, found through the help of its parent.
fn commands(home: &std::path::Path) -> Vec<Vec<String>> {
    let mut found = vec![Vec::new()];
    let mut next = 0;
    while next < found.len() {
        let command: Vec<String> = found[next].clone();
        next += 1;
        let mut args: Vec<_> = command.iter().map(String::as_str).collect();
        args.push("--help");
        let help = run(home, &args);
        let text = String::from_utf8(help.stdout).unwrap();
        assert!(help.status.success() && text.ends_with('\n'), "{args:?}");
        assert!(text.contains("Usage: docwright") && !text.contains('\x1b'), "{args:?}: {text}");
        let below = text.split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next());
        let rows =
            below.unwrap_or_default().lines().filter(|row| row.starts_with("  ") && !row.starts_with("   "));
        for name in rows.filter_map(|row| row.split_whitespace().next()).filter(|name| *name != "help") {
            found.push(command.iter().cloned().chain([name.to_owned()]).collect());
        }
    }
    found
}

#[test]
fn every_command_has_help_and_a_page_of_the_manual() {
    let home = home();
    let commands = commands(home.path());
    assert!(commands.len() > 30, "{commands:?}");
    assert!(run(home.path(), &["man", "--dir", "man1"]).status.success());
    let pages = std::fs::read_dir(home.path().join("man1")).unwrap().count();
    assert_eq!(pages, commands.len());
    let all = String::from_utf8(run(home.path(), &["man"]).stdout).unwrap();
    for command in &commands {
        let name = [&["docwright".to_owned()], command.as_slice()].concat();
        let page = std::fs::read_to_string(home.path().join(format!("man1/{}.1", name.join("-")))).unwrap();
        assert!(page.contains(".SH SYNOPSIS") && page.ends_with('\n'), "{name:?}");
        let leads_on = commands.iter().any(|other| other.len() > command.len() && other.starts_with(command));
        let section = format!(".SH \"{}\"\n.SS SYNOPSIS", name.join(" ").to_uppercase());
        assert!(leads_on || all.contains(&section), "{section}");
    }
    assert!(all.contains("Exit codes"));
}

#[test]
fn the_manual_is_valid_troff() {
    let home = home();
    let page = run(home.path(), &["man"]).stdout;
    let Some((page_text, warnings)) = piped("groff", &["-man", "-Tutf8", "-Kutf8", "-ww", "-P-cbou"], &page)
    else {
        return;
    };
    assert_eq!(warnings, "");
    assert!(page_text.contains("DOCWRIGHT JOB CREATE"), "{page_text}");
}

#[test]
fn completions_are_valid_scripts() {
    let home = home();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let made = run(home.path(), &["completions", shell]);
        assert!(made.status.success());
        let script = String::from_utf8(made.stdout.clone()).unwrap();
        assert!(script.contains("completions") && script.contains("trusted-proxy"), "{shell}");
        if let "bash" | "zsh" | "fish" = shell {
            let output = piped(shell, &["-n"], &made.stdout);
            assert!(output.as_ref().is_none_or(|(_, complaints)| complaints.is_empty()), "{output:?}");
        }
    }
    assert_eq!(run(home.path(), &["completions", "cmd"]).status.code(), Some(2));
}

/// The standard output and error of a program for `input`; `None` if the program is not installed.
fn piped(program: &str, args: &[&str], input: &[u8]) -> Option<(String, String)> {
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().ok()?;
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writing = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Some((text(output.stdout), text(output.stderr)))
}

#[test]
fn the_api_description_has_the_url_of_the_server() {
    let home = home();
    let printed = |args: &[&str]| -> serde_json::Value {
        serde_json::from_slice(&run(home.path(), args).stdout).unwrap()
    };
    let default = printed(&["openapi"]);
    assert_eq!(
        (&default["openapi"], &default["servers"][0]["url"]),
        (&"3.1.0".into(), &"http://127.0.0.1:4747".into())
    );
    let elsewhere = printed(&["openapi", "--public-url", "https://docwright.acme.dev/"]);
    assert_eq!(elsewhere["servers"][0]["url"], "https://docwright.acme.dev");
    assert!(!run(home.path(), &["openapi", "--public-url", "acme"]).status.success());
}
