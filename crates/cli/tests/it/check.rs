//! Tests `docwright check` with clean folders, and with a broken copy of the sample docs.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{home, json, refusal, run};

fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../app/sample/docs")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn a_clean_folder_has_no_problems() {
    let home = home();
    let docs = home.path().join("docs");
    fs::create_dir(&docs).unwrap();
    fs::write(docs.join("a.md"), "---\ntitle: A\n---\n\n[b](b.mdx#b) ![i](i.png)\n").unwrap();
    fs::write(docs.join("b.mdx"), "# B\n\n<Note>\n\ntext\n\n</Note>\n").unwrap();
    fs::write(docs.join("i.png"), [0, 159, 146, 150]).unwrap();
    fs::write(docs.join("docs.json"), "{\"navigation\": {\"pages\": [\"a\", \"b\"]}}").unwrap();
    let clean = run(home.path(), &["check", "docs"]);
    assert_eq!(clean.status.code(), Some(0));
    assert_eq!((clean.stdout.as_slice(), clean.stderr.as_slice()), (&b""[..], &b"No problems\n"[..]));
    assert_eq!(json(home.path(), &["check", "docs", "--json"]), serde_json::json!({ "findings": [] }));
}

/// The sample has the broken links that the demo's job fixes, and no other problem.
#[test]
fn the_sample_has_only_the_broken_links_that_the_demo_fixes() {
    let home = home();
    let sample = sample();
    let found = run(home.path(), &["check", sample.to_str().unwrap(), "--json"]);
    assert_eq!(found.status.code(), Some(1));
    let found: serde_json::Value = serde_json::from_slice(&found.stdout).unwrap();
    let found = found["findings"].as_array().unwrap();
    assert!(found.len() > 10, "{found:?}");
    let is_link =
        |found: &serde_json::Value| ["link", "anchor", "image"].iter().any(|kind| found["kind"] == *kind);
    assert!(found.iter().all(is_link), "{found:?}");
}

#[test]
fn problems_are_reported_by_file_and_line() {
    let home = home();
    let docs = home.path().join("docs");
    copy(&sample(), &docs);
    let before = String::from_utf8(run(home.path(), &["check", "docs"]).stdout).unwrap();
    let page = docs.join("guides/docker.md");
    let text = fs::read_to_string(&page).unwrap();
    fs::write(&page, format!("{text}\n[x](no\u{202e}pe.md)\n\n```\n")).unwrap();
    fs::remove_file(docs.join("changelog.md")).unwrap();
    let output = run(home.path(), &["check", "docs"]);
    assert_eq!(output.status.code(), Some(1));
    let after = String::from_utf8(output.stdout).unwrap();
    let new: Vec<_> = after.lines().filter(|line| !before.contains(line)).collect();
    let line = text.lines().count() + 2;
    for expected in [
        format!("guides/docker.md:{line}: the link to \"no\\u{{202e}}pe.md\" leads nowhere"),
        format!("guides/docker.md:{}: the code block is never closed", line + 2),
        "docs.json:30: the entry \"changelog\" names no page".to_owned(),
    ] {
        assert!(new.contains(&expected.as_str()), "{expected}: {new:?}");
    }
    let messages = String::from_utf8(output.stderr).unwrap();
    assert_eq!(messages, format!("{} problems\n", after.lines().count()));
}

#[test]
fn nothing_outside_of_the_folder_is_read() {
    let home = home();
    let docs = home.path().join("docs");
    fs::create_dir_all(docs.join("node_modules/x")).unwrap();
    fs::create_dir_all(docs.join("cache")).unwrap();
    fs::create_dir_all(home.path().join("outside")).unwrap();
    let broken = "[x](nope.md)\n";
    for file in ["outside/a.md", "docs/node_modules/x/a.md", "docs/cache/a.md"] {
        fs::write(home.path().join(file), broken).unwrap();
    }
    fs::write(docs.join("cache/CACHEDIR.TAG"), "").unwrap();
    std::os::unix::fs::symlink("../outside/a.md", docs.join("a.md")).unwrap();
    std::os::unix::fs::symlink("../outside", docs.join("b")).unwrap();
    std::os::unix::fs::symlink(".", docs.join("c")).unwrap();
    let pipe = docs.join("d.md");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    assert_eq!(run(home.path(), &["check", "docs"]).status.code(), Some(0));

    let (code, messages) = refusal(home.path(), &["check", "nowhere"]);
    assert!(code == 1 && messages.contains("nowhere cannot be read"), "{messages}");
    let (code, messages) = refusal(home.path(), &["check", "outside/a.md"]);
    assert!(code == 1 && messages.contains("is not a folder"), "{messages}");
    assert_eq!(refusal(home.path(), &["check"]).0, 2);
}
