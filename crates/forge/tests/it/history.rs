//! Tests the history of repositories on this machine.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use forge::{Error, History, HistoryCache, HistoryLimits, Oid, Remote};

use crate::support::{Repo, git, git_with};

/// Shows a history as lines, with the dates relative to [`START`].
pub(crate) fn show(history: &History) -> Vec<String> {
    let end = if history.complete { "complete" } else { "cut off" };
    let since = match history.since {
        i64::MAX => "nothing".to_owned(),
        since => (since - START).to_string(),
    };
    let renames = history.renames.iter().map(|it| {
        let similarity = it.similarity.map_or("by name".to_owned(), |percent| format!("{percent}%"));
        format!("{} renamed {:?} > {:?} {similarity}", it.date - START, it.from, it.to)
    });
    let removed = history.removed.iter().map(|it| format!("{} removed {:?}", it.date - START, it.path));
    let changed =
        history.last_changed.iter().map(|(path, date)| format!("{} changed {path:?}", date - START));
    std::iter::once(format!("{end} since {since}")).chain(renames).chain(removed).chain(changed).collect()
}

pub(crate) const START: i64 = 1_700_000_000;

pub(crate) fn is_page(path: &str) -> bool {
    path.starts_with("docs/")
}

pub(crate) fn page(name: &str) -> String {
    (1..=20).map(|line| format!("Line {line} about {name}.\n")).collect()
}

async fn read(remote: &Remote, commit: &Oid, limits: HistoryLimits) -> forge::Result<History> {
    let cache = HistoryCache::new(Path::new("/nonexistent/p.history.git"), limits).unwrap();
    cache.read(remote, commit, &is_page).await
}

async fn history_of(repo: &Repo) -> Vec<String> {
    show(&read(&repo.remote(), &repo.tip("HEAD"), HistoryLimits::default()).await.unwrap())
}

#[tokio::test]
async fn a_page_is_followed_through_renames() {
    let repo = Repo::empty();
    for name in ["a", "b", "c", "d", "e"] {
        repo.write(&format!("docs/{name}.md"), &page(name));
    }
    repo.write("notes/draft.md", &page("draft"));
    repo.save_at(START, "Start");
    repo.save_at(START + 1, "Nothing");
    repo.git(&["mv", "docs/a.md", "docs/a2.md"]);
    repo.save_at(START + 2, "Rename");
    repo.git(&["mv", "docs/a2.md", "docs/A2.md"]);
    repo.git(&["mv", "docs/b.md", "docs/b2.md"]);
    repo.write("docs/b2.md", &(page("b") + "More.\n"));
    repo.save_at(START + 3, "Rename with an edit");
    repo.git(&["mv", "docs/c.md", "old-c.md"]);
    repo.git(&["mv", "notes/draft.md", "docs/draft.md"]);
    repo.git(&["rm", "-q", "docs/d.md"]);
    repo.save_at(START + 4, "Move out, move in, remove");
    repo.write("docs/c.md", "Another page.\n");
    repo.save_at(START + 5, "Create it again");
    repo.git(&["update-index", "--chmod=+x", "docs/e.md"]);
    git_with(&repo.path(), &["commit", "-q", "-m", "Mode"], &[("GIT_COMMITTER_DATE", "@1700000006 +0000")]);

    assert_eq!(
        history_of(&repo).await,
        [
            "complete since 0",
            r#"4 renamed "notes/draft.md" > "docs/draft.md" 100%"#,
            r#"4 renamed "docs/c.md" > "old-c.md" 100%"#,
            r#"3 renamed "docs/a2.md" > "docs/A2.md" 100%"#,
            r#"3 renamed "docs/b.md" > "docs/b2.md" 98%"#,
            r#"2 renamed "docs/a.md" > "docs/a2.md" 100%"#,
            r#"4 removed "docs/d.md""#,
            r#"0 changed "docs/A2.md""#,
            r#"3 changed "docs/b2.md""#,
            r#"5 changed "docs/c.md""#,
            r#"0 changed "docs/draft.md""#,
            r#"0 changed "docs/e.md""#,
        ]
    );
}

#[tokio::test]
async fn names_that_are_exchanged_or_replaced_keep_their_history() {
    let repo = Repo::empty();
    repo.write("docs/a.md", &page("a"));
    repo.write("docs/b.md", &page("b"));
    repo.save_at(START, "Start");
    repo.git(&["mv", "docs/a.md", "docs/c.md"]);
    repo.write("docs/a.md", "New.\n");
    repo.save_at(START + 1, "Move a page, and write another in its place");
    repo.git(&["mv", "docs/b.md", "docs/t.md"]);
    repo.git(&["mv", "docs/c.md", "docs/b.md"]);
    repo.save_at(START + 2, "Move into the place of another");
    repo.git(&["rm", "-q", "docs/t.md"]);
    repo.save_at(START + 3, "Remove a page with an old name");

    let found = history_of(&repo).await;
    // git cannot see the moves of files whose names still exist.
    assert_eq!(found[0], "complete since 0");
    assert!(found.contains(&r#"3 removed "docs/t.md""#.to_owned()), "{found:#?}");
    assert!(found.contains(&r#"1 changed "docs/a.md""#.to_owned()), "{found:#?}");
    assert!(!found.iter().any(|line| line.contains("changed \"docs/t.md\"")), "{found:#?}");
}

#[tokio::test]
async fn a_merge_is_one_change() {
    let repo = Repo::empty();
    repo.write("docs/a.md", &page("a"));
    repo.write("docs/b.md", &page("b"));
    repo.save_at(START, "Start");
    for (branch, from, to) in [("x", "docs/a.md", "docs/x.md"), ("y", "docs/b.md", "docs/y.md")] {
        repo.git(&["checkout", "-q", "-b", branch, "main"]);
        repo.git(&["mv", from, "docs/step.md"]);
        repo.save_at(START + 1, "A step");
        repo.git(&["mv", "docs/step.md", to]);
        repo.save_at(START + 2, "Another");
    }
    repo.git(&["checkout", "-q", "main"]);
    let merge = ["merge", "-q", "--no-ff", "-m", "Octopus", "x", "y"];
    git_with(&repo.path(), &merge, &[("GIT_COMMITTER_DATE", "@1700000005 +0000")]);
    assert_eq!(
        history_of(&repo).await,
        [
            "complete since 0",
            r#"5 renamed "docs/a.md" > "docs/x.md" 100%"#,
            r#"5 renamed "docs/b.md" > "docs/y.md" 100%"#,
            r#"0 changed "docs/x.md""#,
            r#"0 changed "docs/y.md""#,
        ]
    );
}

#[tokio::test]
async fn odd_names_and_kinds_of_files_do_no_harm() {
    let repo = Repo::empty();
    let odd = "docs/a\n:100644 100644\tb \"c\" ü.md";
    repo.write(odd, &page("odd"));
    let not_text = repo.path().join(std::ffi::OsStr::from_bytes(b"docs/\xff.md"));
    fs::write(&not_text, page("not text")).unwrap();
    repo.write("docs/page.md", &page("page"));
    std::os::unix::fs::symlink("page.md", repo.path().join("docs/link.md")).unwrap();
    repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{},docs/module", "1".repeat(40))]);
    repo.save_at(START, "Start");
    repo.git(&["mv", odd, "docs/b\tc.md"]);
    fs::rename(not_text, repo.path().join("docs/text.md")).unwrap();
    fs::remove_file(repo.path().join("docs/page.md")).unwrap();
    std::os::unix::fs::symlink("text.md", repo.path().join("docs/page.md")).unwrap();
    repo.save_at(START + 1, "Change them");
    assert_eq!(
        history_of(&repo).await,
        [
            "complete since 0",
            r#"1 renamed "docs/a\n:100644 100644\tb \"c\" ü.md" > "docs/b\tc.md" 100%"#,
            r#"1 removed "docs/page.md""#,
            r#"0 changed "docs/b\tc.md""#,
            r#"1 changed "docs/text.md""#,
        ]
    );
}

/// Creates a commit with this date as the only one.
fn commit_dated(repo: &Repo, date: &str) -> Oid {
    let tree = repo.git(&["rev-parse", "HEAD^{tree}"]);
    let text = format!("tree {tree}\nauthor a <a@b> 1 +0000\ncommitter a <a@b> {date}\n\nx\n");
    let file = repo.beside("commit");
    fs::write(&file, text).unwrap();
    let hash = ["hash-object", "-t", "commit", "-w", "--literally", file.to_str().unwrap()];
    Oid::parse(&repo.git(&hash)).unwrap()
}

#[tokio::test]
async fn absurd_dates_are_moved_to_the_nearest_possible() {
    let repo = Repo::empty();
    repo.write("docs/a.md", "A.\n");
    repo.save("Start");
    for (date, expected) in [
        ("-5 +0000", 0),
        ("someday", 0),
        ("253402300800 +0000", 253_402_300_799),
        ("99999999999999999999999 +0000", 253_402_300_799),
    ] {
        let commit = commit_dated(&repo, date);
        let history = read(&repo.remote(), &commit, HistoryLimits::default()).await.unwrap();
        assert_eq!(history.last_changed, [("docs/a.md".to_owned(), expected)], "{date}");
        assert_eq!((history.since, history.complete), (expected, true), "{date}");
    }
}

/// Ten commits, each of which renames one page and changes another.
fn long_history() -> Repo {
    let repo = Repo::empty();
    repo.write("docs/untouched.md", "Old.\n");
    repo.write("docs/0.md", &page("moving"));
    repo.save_at(START, "Start");
    for step in 1..10 {
        repo.git(&["mv", &format!("docs/{}.md", step - 1), &format!("docs/{step}.md")]);
        repo.write("docs/changing.md", &step.to_string());
        repo.save_at(START + step, "Step");
    }
    repo
}

#[tokio::test]
async fn a_history_is_cut_off_at_each_limit() {
    let repo = long_history();
    let tip = repo.tip("HEAD");
    let limits = HistoryLimits { commits: 2, ..HistoryLimits::default() };
    let cut = read(&repo.remote(), &tip, limits).await.unwrap();
    assert_eq!(
        show(&cut),
        [
            "cut off since 7",
            r#"9 renamed "docs/8.md" > "docs/9.md" 100%"#,
            r#"8 renamed "docs/7.md" > "docs/8.md" 100%"#,
            r#"9 changed "docs/changing.md""#,
        ]
    );
    let limits = HistoryLimits { commits: 10, ..limits };
    assert!(read(&repo.remote(), &tip, limits).await.unwrap().complete);

    let limits = HistoryLimits { names: 500, ..HistoryLimits::default() };
    let cut = read(&repo.remote(), &tip, limits).await.unwrap();
    assert!(!cut.complete && cut.since > START && !cut.renames.is_empty(), "{cut:?}");
}

#[tokio::test]
async fn a_history_that_takes_too_long_is_cut_off() {
    let repo = long_history();
    // git waits for somebody to write this folder.
    let tree = repo.git(&["rev-parse", "HEAD~4:docs"]);
    let object = repo.path().join(".git/objects").join(&tree[..2]).join(&tree[2..]);
    fs::remove_file(&object).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&object).status().unwrap();
    assert!(made.success());
    let limits = HistoryLimits { time: Duration::from_millis(200), ..HistoryLimits::default() };
    let cut = read(&repo.remote(), &repo.tip("HEAD"), limits).await.unwrap();
    // The commits after that one were read, or some of them on a slow machine.
    assert!(!cut.complete && cut.since >= START + 5 && cut.renames.len() <= 4, "{cut:?}");
}

#[tokio::test]
async fn the_oldest_commit_of_a_shallow_clone_is_no_change() {
    let repo = long_history();
    let clone = repo.beside("shallow.git");
    let from = format!("file://{}", repo.path().to_str().unwrap().replace('%', "%25"));
    repo.git(&["clone", "-q", "--bare", "--depth=3", &from, clone.to_str().unwrap()]);
    let history = read(&Remote::file(&clone).unwrap(), &repo.tip("HEAD"), HistoryLimits::default()).await;
    assert_eq!(
        show(&history.unwrap()),
        [
            "cut off since 7",
            r#"9 renamed "docs/8.md" > "docs/9.md" 100%"#,
            r#"8 renamed "docs/7.md" > "docs/8.md" 100%"#,
            r#"9 changed "docs/changing.md""#,
        ]
    );
}

#[tokio::test]
async fn a_clone_without_contents_still_has_a_history() {
    let repo = Repo::empty();
    repo.write("docs/a.md", &page("a"));
    repo.write("docs/old/b.md", &page("b"));
    repo.save_at(START, "Start");
    repo.git(&["mv", "docs/a.md", "docs/a2.md"]);
    fs::create_dir(repo.path().join("docs/new")).unwrap();
    repo.git(&["mv", "docs/old/b.md", "docs/new/b.md"]);
    repo.write("docs/new/b.md", &(page("b") + "More.\n"));
    repo.save_at(START + 1, "Rename");
    repo.git(&["config", "uploadpack.allowFilter", "true"]);
    let clone = repo.beside("partial.git");
    let from = format!("file://{}", repo.path().to_str().unwrap().replace('%', "%25"));
    repo.git(&["clone", "-q", "--bare", "--filter=blob:none", &from, clone.to_str().unwrap()]);
    // Contents must not be fetched, not even from a remote that would send them.
    let objects = git(&clone, &["count-objects", "-v"]);
    let history = read(&Remote::file(&clone).unwrap(), &repo.tip("HEAD"), HistoryLimits::default()).await;
    assert_eq!(
        show(&history.unwrap()),
        [
            "complete since 0",
            r#"1 renamed "docs/a.md" > "docs/a2.md" 100%"#,
            r#"1 renamed "docs/old/b.md" > "docs/new/b.md" by name"#,
            r#"0 changed "docs/a2.md""#,
            r#"1 changed "docs/new/b.md""#,
        ]
    );
    assert_eq!(git(&clone, &["count-objects", "-v"]), objects);
}

#[tokio::test]
async fn the_configuration_of_the_repository_has_no_effect() {
    let repo = long_history();
    let plain = history_of(&repo).await;
    let marker = repo.beside("ran");
    let program = format!("touch '{}'; cat", marker.to_str().unwrap());
    repo.write("docs/.gitattributes", "*.md diff=evil filter=evil\n");
    fs::write(repo.path().join(".git/info/attributes"), "*.md diff=evil filter=evil\n").unwrap();
    for (name, value) in [
        ("diff.renames", "false"),
        ("diff.orderFile", "/nonexistent"),
        ("log.showRoot", "false"),
        ("log.showSignature", "true"),
        ("log.diffMerges", "off"),
        ("gpg.program", &program),
        ("diff.external", &program),
        ("diff.evil.command", &program),
        ("diff.evil.textconv", &program),
        ("core.fsmonitor", &program),
        ("core.pager", &program),
    ] {
        repo.git(&["config", name, value]);
    }
    assert_eq!(history_of(&repo).await, plain);
    assert!(!marker.exists());
}

#[tokio::test]
async fn a_missing_commit_or_folder_is_an_error() {
    let repo = long_history();
    let missing = Oid::parse(&"1".repeat(40)).unwrap();
    let error = read(&repo.remote(), &missing, HistoryLimits::default()).await.unwrap_err();
    assert_eq!(error.to_string(), format!("`git log` failed: fatal: bad object {missing}"));

    let tree = repo.git(&["rev-parse", "HEAD~4:docs"]);
    fs::remove_file(repo.path().join(".git/objects").join(&tree[..2]).join(&tree[2..])).unwrap();
    let error = read(&repo.remote(), &repo.tip("HEAD"), HistoryLimits::default()).await.unwrap_err();
    assert!(matches!(&error, Error::Git(words) if words.contains(&tree)), "{error}");
}
