//! Runs `docwright` as a child process, with its own home directory.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::JoinHandle;

use serde_json::Value;
use tempfile::TempDir;

pub(crate) use fakehost::git;

/// A command of the program with a minimal environment.
pub(crate) fn docwright(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_docwright"));
    command.env_clear().current_dir(home).env("HOME", home).env("PATH", std::env::var_os("PATH").unwrap());
    command
}

pub(crate) fn run(home: &Path, args: &[&str]) -> Output {
    docwright(home).args(args).output().unwrap()
}

/// The JSON that a command prints; it must succeed.
#[track_caller]
pub(crate) fn json(home: &Path, args: &[&str]) -> Value {
    let output = run(home, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The exit code and the message of a command that should fail.
pub(crate) fn refusal(home: &Path, args: &[&str]) -> (i32, String) {
    let output = run(home, args);
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

/// A running server, which is killed on drop.
pub(crate) struct Serving {
    pub(crate) child: Child,
    pub(crate) url: String,
    log: Option<JoinHandle<String>>,
}

impl Serving {
    pub(crate) fn start(home: &Path) -> Self {
        Self::start_at(home, "127.0.0.1:0")
    }

    pub(crate) fn start_at(home: &Path, listen: &str) -> Self {
        Self::start_with(home, listen, |_| {})
    }

    /// Returns once the server says that it serves.
    pub(crate) fn start_with(home: &Path, listen: &str, configure: impl FnOnce(&mut Command)) -> Self {
        let mut command = docwright(home);
        command.args(["serve", "--listen", listen]).stderr(Stdio::piped()).stdout(Stdio::null());
        configure(&mut command);
        let mut child = command.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut log = String::new();
        let url = loop {
            let begin = log.len();
            assert!(stderr.read_line(&mut log).unwrap() > 0, "the server did not start: {log}");
            if let Some((_, rest)) = log[begin..].split_once("Docwright serves ") {
                break rest.split(' ').next().unwrap().to_owned();
            }
        };
        // Reads the log, because a full pipe would stop the server.
        let log = std::thread::spawn(move || {
            stderr.read_to_string(&mut log).unwrap();
            log
        });
        Self { child, url, log: Some(log) }
    }

    /// Stops the server, and returns its log.
    pub(crate) fn stop(mut self) -> String {
        self.signal("-TERM");
        assert!(self.child.wait().unwrap().success());
        self.log.take().unwrap().join().unwrap()
    }

    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A project and a key on a running server, and `docwright` with both.
pub(crate) struct Client<'a> {
    home: &'a Path,
    url: String,
    key: String,
    pub(crate) project: String,
}

impl<'a> Client<'a> {
    pub(crate) fn of(home: &'a Path, serving: &Serving) -> Self {
        Self::with(home, serving, &[("a.md".into(), "one two\n".into())])
    }

    pub(crate) fn with(home: &'a Path, serving: &Serving, files: &[(String, String)]) -> Self {
        let repository = repository(home, files);
        let project =
            json(home, &["project", "create", "--name", "D", "--repository", &repository, "--json"]);
        let key = json(home, &["key", "create", "--name", "K", "--json"]);
        Self {
            home,
            url: serving.url.clone(),
            key: key["key"].as_str().unwrap().to_owned(),
            project: project["id"].as_str().unwrap().to_owned(),
        }
    }

    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// The same project and key at another server.
    pub(crate) fn at<'b>(&self, home: &'b Path, serving: &Serving) -> Client<'b> {
        Client { home, url: serving.url.clone(), key: self.key.clone(), project: self.project.clone() }
    }

    pub(crate) fn docwright(&self) -> Command {
        let mut command = docwright(self.home);
        command.env("DOCWRIGHT_URL", &self.url).env("DOCWRIGHT_API_KEY", &self.key);
        command
    }

    /// `docwright job`, with the project after the first word.
    pub(crate) fn job(&self, args: &[&str]) -> Output {
        self.docwright().args(["job", args[0], &self.project]).args(&args[1..]).output().unwrap()
    }

    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let output = self.job(args);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{args:?}: {output:?}"))
    }
}

pub(crate) fn home() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// A bare repository with these files on `main`.
pub(crate) fn repository(home: &Path, files: &[(String, String)]) -> String {
    let bare = home.join("docs.git");
    fakehost::bare_repository(&bare, files);
    bare.to_str().unwrap().to_owned()
}

/// Commits a file to the branch `main` of the repository that [`repository`] created.
pub(crate) fn commit_file(home: &Path, path: &str, text: &str) {
    let (repository, folder) = (home.join("docs.git"), TempDir::new().unwrap());
    std::fs::write(folder.path().join(path), text).unwrap();
    git(&repository, &["read-tree", "main"]);
    git(&repository, &["--git-dir=.", &format!("--work-tree={}", folder.path().display()), "add", path]);
    let tree = git(&repository, &["write-tree"]);
    let commit = git(&repository, &["commit-tree", "-p", "main", "-m", "By hand", &tree]);
    git(&repository, &["update-ref", "refs/heads/main", &commit]);
}
