//! Tests of the git runner: versions, error sentences, timeouts and output limits.

use super::*;

#[test]
fn git_2_38_is_the_oldest_supported_version() {
    #[track_caller]
    fn check(version: &str, expected: bool) {
        assert_eq!(is_supported_version(version), expected, "{version}");
    }
    check("git version 2.47.3\n", true);
    check("git version 2.38\n", true);
    check("git version 3.0.0-rc1\n", true);
    check("git version 2.39.5 (Apple Git-154)\n", true);
    check("git version 2.37.9\n", false);
    check("git version 1.99.1\n", false);
    check("", false);
}

#[test]
fn the_first_executable_git_in_path_is_used() {
    let dir = tempfile::tempdir().unwrap();
    let folder = |name: &str, mode| {
        let folder = dir.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("git"), "").unwrap();
        std::fs::set_permissions(folder.join("git"), std::fs::Permissions::from_mode(mode)).unwrap();
        folder
    };
    let (data, first, second) = (folder("a", 0o644), folder("b", 0o755), folder("c", 0o755));
    let path = std::env::join_paths([Path::new("."), dir.path(), &data, &first, &second]).unwrap();
    assert_eq!(find_git(&path), first.join("git"));
    assert_eq!(find_git(dir.path().as_os_str()), Path::new("git"));
}

#[test]
fn control_characters_are_stripped() {
    assert_eq!(strip_control_characters(b"remote: \x1b[31mred\x07\r\nfatal: x"), "remote: [31mred\nfatal: x");
}

#[test]
fn failures_are_sentences() {
    #[track_caller]
    fn check(stderr: &str, expected: &str) {
        let stderr = stderr.to_owned();
        let output = Output { code: Some(128), stdout: Vec::new(), truncated: false, stderr, name: "push" };
        assert_eq!(output.failure().to_string(), expected);
    }
    check("fatal: bad object\n", "`git push` failed: fatal: bad object");
    check(
        "error: x\nfatal: write error: No space left on device\n",
        "a disk of this machine is full; free up space",
    );
    check(
        "remote: fatal: write error: No space left on device        \nerror: failed to push some refs\n",
        "the disk of the repository is full; free up space",
    );
    check("", "`git push` failed: no error message");
}

#[tokio::test]
async fn a_timeout_kills_the_whole_process_group() {
    let dir = tempfile::tempdir().unwrap();
    crate::bare::init(dir.path()).unwrap();
    // The alias simulates a git that hangs in a child process.
    let hang = Git {
        args: [
            "-C",
            dir.path().to_str().unwrap(),
            "-c",
            "alias.hang=!echo $$ > child; exec cat fifo",
            "hang",
        ]
        .iter()
        .map(OsString::from)
        .collect(),
        name: "hang",
        timeout: Duration::from_secs(2),
        max_output: MAX_OUTPUT_BYTES,
        stdin: Stdio::null(),
    };
    let made = std::process::Command::new("mkfifo").arg(dir.path().join("fifo")).status();
    assert!(made.unwrap().success());
    let refused = hang.run().await.err().unwrap().to_string();
    assert_eq!(refused, "`git hang` was stopped after 2 seconds");
    // The signal was sent, but the kernel delivers it asynchronously. A child that survives would wait at the
    // fifo forever.
    let child = std::fs::read_to_string(dir.path().join("child")).unwrap();
    let sent = std::time::Instant::now();
    while is_running(child.trim()) {
        assert!(sent.elapsed() < Duration::from_secs(20), "a child of git outlived it");
        std::thread::yield_now();
    }
}

/// A zombie process counts as dead.
fn is_running(id: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn output_is_bounded() {
    let dir = tempfile::tempdir().unwrap();
    crate::bare::init(dir.path()).unwrap();
    let output = Git::at(dir.path(), "help").args(["-a"]).max_output(100).run().await.unwrap();
    assert!(output.truncated);
    assert_eq!(output.stdout.len(), 100);
}
