//! Starts chromedriver with its own port and browser profile, and ends it with the test.

use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tempfile::TempDir;

const PROGRAM: &str = "chromedriver";
const MAX_STARTS: usize = 20;

/// The script that checks accessibility. `scripts/test` installs it.
pub(crate) fn axe() -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(|| home.join(".cache"), PathBuf::from);
    cache.join("docwright/axe-core-4.14.0/node_modules/axe-core/axe.min.js")
}

pub(crate) struct Driver {
    pub(crate) url: String,
    process: Child,
    /// Kept open without being read, because chromedriver ends if it can't write.
    _stdout: BufReader<ChildStdout>,
    profile: TempDir,
}

impl Driver {
    /// Chromedriver takes a free port on `::1`, then the same port on 127.0.0.1. If the server of another test has that
    /// port, chromedriver ends, and is started again.
    pub(crate) fn start() -> Self {
        (0..MAX_STARTS).find_map(|_| Self::try_start()).expect("chromedriver starts, and prints its port")
    }

    fn try_start() -> Option<Self> {
        let mut command = Command::new(PROGRAM);
        command.arg("--port=0").process_group(0).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let Some(port) = read_port(&mut stdout) else {
            process.wait().unwrap(); // its output ended, so it is ending
            return None;
        };
        let profile = tempfile::tempdir().unwrap();
        Some(Self { url: format!("http://127.0.0.1:{port}"), process, _stdout: stdout, profile })
    }

    /// The options of the browser.
    pub(crate) fn options(&self, javascript: bool) -> Value {
        let profile = self.profile.path().display();
        json!({
            "args": [
                "--headless=new",
                "--no-sandbox", // root can't use the sandbox
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
    /// The browser is in the process group of chromedriver, so it ends, too.
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.process), Signal::KILL);
        let _ = self.process.wait();
    }
}

/// Chromedriver prints its port when it's ready.
fn read_port(stdout: &mut BufReader<ChildStdout>) -> Option<u16> {
    let mut lines = stdout.lines().map_while(Result::ok);
    lines.find_map(|line| {
        let (_, port) = line.split_once("successfully on port ")?;
        port.trim_end_matches('.').parse().ok()
    })
}

/// The folder of screenshots, in the target directory.
pub(crate) fn screenshots() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    target.join("screenshots")
}
