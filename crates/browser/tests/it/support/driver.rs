//! Chromedriver on a port of its own, with a profile of its own; both go with it.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tempfile::TempDir;

const PROGRAM: &str = "chromedriver";
const STARTS: usize = 20;

/// Whether there is a browser to test with, and axe to look at pages with. In CI there is: a missing one fails there.
pub(crate) fn installed() -> bool {
    let missing: Vec<_> =
        [(runs(PROGRAM), PROGRAM), (runs("chromium"), "chromium"), (axe().exists(), "axe-core")]
            .into_iter()
            .filter_map(|(there, name)| (!there).then_some(name))
            .collect();
    if !missing.is_empty() {
        let sentence = format!("{} is missing: scripts/test installs it", missing.join(", "));
        assert!(std::env::var_os("CI").is_none(), "{sentence}");
        eprintln!("skipped: {sentence}");
    }
    missing.is_empty()
}

/// The script that finds what keeps people from using a page; `scripts/test` puts it there.
pub(crate) fn axe() -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(|| home.join(".cache"), PathBuf::from);
    cache.join("docwright/axe-core-4.14.0/node_modules/axe-core/axe.min.js")
}

fn runs(program: &str) -> bool {
    let tried = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    tried.is_ok_and(|status| status.success())
}

pub(crate) struct Driver {
    pub(crate) url: String,
    process: Child,
    /// Read no further, but open: chromedriver ends when it cannot write.
    _words: BufReader<ChildStdout>,
    profile: TempDir,
}

impl Driver {
    /// Chromedriver takes a port that is free on `::1`, then the same one on 127.0.0.1, and ends when a server of
    /// another test has that: one more start, then, and one more port.
    pub(crate) fn start() -> Self {
        (0..STARTS).find_map(|_| Self::once()).expect("chromedriver starts, and says on which port")
    }

    fn once() -> Option<Self> {
        let mut command = Command::new(PROGRAM);
        command.arg("--port=0").process_group(0).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut words = BufReader::new(process.stdout.take().unwrap());
        let Some(port) = port(&mut words) else {
            process.wait().unwrap(); // it said all it had to say: it is ending
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        Some(Self { url: format!("http://127.0.0.1:{port}"), process, _words: words, profile })
    }

    /// What to ask chromedriver for.
    pub(crate) fn options(&self, javascript: bool) -> Value {
        let profile = self.profile.path().display();
        json!({
            "args": [
                "--headless=new",
                "--no-sandbox", // as root there is none to be had
                "--disable-dev-shm-usage",
                "--disable-gpu",
                "--hide-scrollbars",
                "--force-prefers-reduced-motion",
                format!("--user-data-dir={profile}"),
            ],
            "prefs": { "profile.managed_default_content_settings.javascript": if javascript { 1 } else { 2 } },
            "perfLoggingPrefs": { "enableNetwork": true, "enablePage": false },
        })
    }
}

impl Drop for Driver {
    /// The browser is of its group, and goes with it.
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.process), Signal::KILL);
        let _ = self.process.wait();
    }
}

/// It says which one it took.
fn port(words: &mut BufReader<ChildStdout>) -> Option<u16> {
    let mut said = words.lines().map_while(Result::ok);
    said.find_map(|line| {
        let (_, port) = line.split_once("successfully on port ")?;
        port.trim_end_matches('.').parse().ok()
    })
}

/// Where pictures of pages go, beside whatever else a build makes.
pub(crate) fn screenshots() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    target.join("screenshots")
}
