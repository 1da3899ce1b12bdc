//! Runs the git program so that it cannot be turned against us.
//!
//! The environment is empty but for what is set here; no system or user configuration is read; hooks,
//! filters, file-system monitors and background maintenance are off; nothing asks a terminal; only
//! the `file` protocol is allowed. Output and time are bounded, and the whole process group ends with
//! the call. git's check that a repository belongs to its user stays on.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use machine::{Cause, Trouble};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, ChildStdin, Command};

use crate::error::REPOSITORY;
use crate::name::printable;
use crate::{Error, Result};

const MAX_OUTPUT: usize = 1 << 20;
const QUICK: Duration = Duration::from_secs(30);
/// For what moves objects: a first fetch of a large repository takes its time.
pub(crate) const PATIENT: Duration = Duration::from_secs(600);

/// Given on every command line, also to the far side of a local fetch or push, which is a process
/// of its own and reads the configuration of the repository it serves.
const SETTINGS: &[&str] = &[
    // What is larger is not held in memory as a whole.
    "core.bigFileThreshold=64m",
    // What stays here is kept quickly; what is sent, by the setting for packs, is small.
    "core.compression=1",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    // Run, by a shell, to list the refs of an alternate. `true` lists none.
    "core.alternateRefsCommand=true",
    "core.sshCommand=false",
    "core.pager=cat",
    "core.quotePath=false",
    "credential.helper=",
    "fetch.recurseSubmodules=false",
    "gc.auto=0",
    "log.showSignature=false",
    "maintenance.auto=false",
    "pack.compression=6",
    "protocol.ext.allow=never",
    "push.gpgSign=false",
    "push.recurseSubmodules=no",
    "receive.autogc=false",
    "receive.denyCurrentBranch=refuse",
    "submodule.recurse=false",
    "transfer.bundleURI=false",
];

/// For every git that writes to a repository that is not a cache. By default git syncs neither loose objects nor refs,
/// and a power cut then leaves empty files in their place.
const DURABLE: &[&str] = &["core.fsync=objects,derived-metadata,reference", "core.fsyncMethod=fsync"];
/// What is pushed is kept as one pack, so that it is known which directory to sync.
const RECEIVE: &[&str] = &["receive.unpackLimit=1"];

const ENVIRONMENT: &[(&str, &str)] = &[
    // A pack of a few bytes can make files of gigabytes.
    ("GIT_ALLOC_LIMIT", "512m"),
    ("GIT_ALLOW_PROTOCOL", "file"),
    ("GIT_ASKPASS", ""),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PROTOCOL_FROM_USER", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_AUTHOR_NAME", "Docwright"),
    ("GIT_AUTHOR_EMAIL", "docwright@localhost"),
    ("GIT_COMMITTER_NAME", "Docwright"),
    ("GIT_COMMITTER_EMAIL", "docwright@localhost"),
    ("HOME", "/nonexistent"),
    ("XDG_CONFIG_HOME", "/nonexistent"),
    ("LC_ALL", "C"),
];

/// One call of the program, in a repository.
pub(crate) struct Git {
    args: Vec<OsString>,
    name: &'static str,
    limit: Duration,
    max_output: usize,
    stdin: Stdio,
}

pub(crate) struct Output {
    /// `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    /// Whether there was more on stdout than was asked for.
    pub(crate) cut: bool,
    /// Without control characters, line by line.
    pub(crate) stderr: String,
    name: &'static str,
}

impl Git {
    pub(crate) fn at(dir: &Path, name: &'static str) -> Self {
        Self::with_settings(dir, name, &[])
    }

    /// One that writes to a repository that is not a cache.
    pub(crate) fn durable(dir: &Path, name: &'static str) -> Self {
        Self::with_settings(dir, name, DURABLE)
    }

    fn with_settings(dir: &Path, name: &'static str, more: &[&str]) -> Self {
        let mut args: Vec<OsString> = vec!["-C".into(), dir.into(), "--no-pager".into()];
        args.extend(SETTINGS.iter().chain(more).flat_map(|setting| ["-c".into(), setting.into()]));
        args.push(name.into());
        Self { args, name, limit: QUICK, max_output: MAX_OUTPUT, stdin: Stdio::null() }
    }

    pub(crate) fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    pub(crate) fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    pub(crate) fn max_output(mut self, bytes: usize) -> Self {
        self.max_output = bytes;
        self
    }

    /// Gives it a file that it does not read, to hold for as long as it lives.
    pub(crate) fn stdin(mut self, stdin: Stdio) -> Self {
        self.stdin = stdin;
        self
    }

    /// Runs it and fails when it does.
    pub(crate) async fn text(self) -> Result<String> {
        let output = self.run().await?;
        if output.code == Some(0) && !output.cut {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(output.failure())
    }

    /// Runs it; what its exit code means is the caller's to say.
    pub(crate) async fn run(mut self) -> Result<Output> {
        let stdin = std::mem::replace(&mut self.stdin, Stdio::null());
        let child = self.command().stdin(stdin).spawn().map_err(not_started)?;
        self.attend(child, async { Ok(()) }).await
    }

    /// Runs it with what `write` puts into its stdin. When that fails, so does this.
    pub(crate) async fn fed<W>(self, write: impl FnOnce(ChildStdin) -> W) -> Result<Output>
    where
        W: Future<Output = Result<()>>,
    {
        let mut child = self.command().stdin(Stdio::piped()).spawn().map_err(not_started)?;
        let write = child.stdin.take().map(write);
        let write = async {
            match write {
                Some(write) => write.await,
                None => Ok(()),
            }
        };
        self.attend(child, write).await
    }

    async fn attend(self, mut child: Child, write: impl Future<Output = Result<()>>) -> Result<Output> {
        let group = Group(child.id());
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let work = async {
            let ((stdout, cut), stderr, fed) =
                tokio::join!(capped(stdout, self.max_output), drained(stderr), write);
            (child.wait().await, stdout, cut, stderr, fed)
        };
        let done = tokio::time::timeout(self.limit, work).await;
        let (status, stdout, cut, stderr, fed) = done.map_err(|_| self.too_slow())?;
        let status = status?;
        group.ended();
        fed?;
        Ok(Output { code: status.code(), stdout, cut, stderr: clean(&stderr), name: self.name })
    }

    fn command(&self) -> Command {
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
        let mut command = Command::new(program(&path));
        command
            .args(&self.args)
            .env_clear()
            .env("PATH", path)
            .envs(ENVIRONMENT.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        command
    }

    fn too_slow(&self) -> Error {
        let seconds = self.limit.as_secs();
        Error::Slow(format!("`git {}` was stopped after {seconds} seconds", self.name))
    }
}

impl Output {
    /// Trouble of the machine that git met, or the git at the far side of a local transfer.
    pub(crate) fn trouble(&self) -> Option<Trouble> {
        let (cause, line) = Cause::in_text(&self.stderr)?;
        let trouble = Trouble::new(cause, format_args!("`git {}`: {line}", self.name));
        Some(if line.starts_with("remote:") { trouble.at(REPOSITORY) } else { trouble })
    }

    /// The failure as a sentence: git's own last words, unless it is one we can say better.
    pub(crate) fn failure(&self) -> Error {
        if let Some(trouble) = self.trouble() {
            return Error::Machine(trouble);
        }
        if self.stderr.contains("dubious ownership") {
            return Error::Repository(
                "the repository belongs to another user: run docwright as its owner, or give it a \
                 clone of its own"
                    .to_owned(),
            );
        }
        let said = |line: &&str| line.starts_with("fatal:") || line.starts_with("error:");
        let line = self.stderr.lines().find(said).or_else(|| self.stderr.lines().last());
        let words = printable(line.unwrap_or("it said nothing"));
        Error::Git(format!("`git {}` failed: {words}", self.name))
    }
}

/// Whether the git program says that an object of its own repository cannot be read. What the far side of a push says
/// of its objects begins with `remote:`.
pub(crate) fn says_unreadable(words: &str) -> bool {
    const UNREADABLE: &[&str] =
        &["is corrupt", "unable to read", "bad object", "unable to unpack", "is empty"];
    !words.contains("remote:") && UNREADABLE.iter().any(|unreadable| words.contains(unreadable))
}

/// The first git in `path`. Looked up here, because the standard library starts a program that it has
/// to look up in a changed environment from a copy of this whole process, which costs more than
/// most calls of git.
fn program(path: &OsStr) -> PathBuf {
    let runs = |file: &PathBuf| {
        file.is_absolute()
            && file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(path).map(|folder| folder.join("git")).find(runs).unwrap_or_else(|| "git".into())
}

/// The far side of a local transfer: `service` is `upload-pack` or `receive-pack`. git hands this
/// to a shell, so it is made of constants alone.
pub(crate) fn service(service: &'static str) -> String {
    let settings = SETTINGS.iter().chain(DURABLE).chain(RECEIVE).map(|setting| format!(" -c {setting}"));
    format!("git --no-replace-objects{} {service}", settings.collect::<String>())
}

/// Answers what git says its version is; fails with a sentence unless one that is new enough can
/// be run.
pub async fn check_program() -> Result<String> {
    let said = Git::at(Path::new("/"), "version").text().await?;
    let new_enough = new_enough(&said);
    let said = printable(said.trim());
    if new_enough {
        return Ok(said);
    }
    Err(Error::Git(format!("git 2.38 or newer is needed, and this one is `{said}`")))
}

fn new_enough(said: &str) -> bool {
    let mut numbers = said
        .trim_start_matches(|c: char| !c.is_ascii_digit())
        .split('.')
        .map(|part| part.trim().parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    version >= (2, 38)
}

fn not_started(cause: std::io::Error) -> Error {
    if cause.kind() == std::io::ErrorKind::NotFound {
        return Error::Git("git 2.38 or newer must be installed and in PATH".to_owned());
    }
    Trouble::find(&cause).map_or_else(|| Error::NoRoom(cause), Error::Machine)
}

/// A call's process group. git works through children, which outlive it when it is killed alone.
struct Group(Option<u32>);

impl Group {
    fn ended(mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let Some(id) = self.0 else { return };
        // The leader is not reaped yet, so the number is still this group's.
        let killed = std::process::Command::new("sh")
            .args(["-c", &format!("kill -9 -{id}")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if let Err(cause) = killed {
            tracing::warn!("could not end the git process group {id}: {cause}");
        }
    }
}

/// Reads up to `max` bytes and whether there were more, then hangs up, which ends the writer.
async fn capped(stream: Option<impl AsyncRead + Unpin>, max: usize) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        // A pipe that breaks is a process that ended: its exit code tells.
        let _ = stream.take(max as u64 + 1).read_to_end(&mut bytes).await;
    }
    let cut = bytes.len() > max;
    bytes.truncate(max);
    (bytes, cut)
}

/// Keeps the first part and reads the rest away, so that a talkative program is not stopped.
async fn drained(stream: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut stream) = stream {
        let _ = (&mut stream).take(MAX_OUTPUT as u64).read_to_end(&mut bytes).await;
        let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
    }
    bytes
}

/// A remote can put anything into the text that git passes on, terminal sequences included.
fn clean(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    text.chars().filter(|c| *c == '\n' || !c.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        #[track_caller]
        fn check(said: &str, expected: bool) {
            assert_eq!(new_enough(said), expected, "{said}");
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
    fn the_program_is_the_first_in_the_path_that_runs() {
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
        assert_eq!(program(&path), first.join("git"));
        assert_eq!(program(dir.path().as_os_str()), Path::new("git"));
    }

    #[test]
    fn control_characters_are_stripped() {
        assert_eq!(clean(b"remote: \x1b[31mred\x07\r\nfatal: x"), "remote: [31mred\nfatal: x");
    }

    #[test]
    fn failures() {
        #[track_caller]
        fn check(stderr: &str, expected: &str) {
            let stderr = stderr.to_owned();
            let output = Output { code: Some(128), stdout: Vec::new(), cut: false, stderr, name: "push" };
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
        check("", "`git push` failed: it said nothing");
    }

    #[tokio::test]
    async fn a_call_ends_at_its_limit_with_its_whole_group() {
        let dir = tempfile::tempdir().unwrap();
        crate::bare::make(dir.path()).unwrap();
        // An alias stands for any git that hangs in a child of its own.
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
            limit: Duration::from_secs(2),
            max_output: MAX_OUTPUT,
            stdin: Stdio::null(),
        };
        let made = std::process::Command::new("mkfifo").arg(dir.path().join("fifo")).status();
        assert!(made.unwrap().success());
        let refused = hang.run().await.err().unwrap().to_string();
        assert_eq!(refused, "`git hang` was stopped after 2 seconds");
        // The signal is sent by now, and the kernel takes a moment to carry it out; a child that
        // nobody killed would wait at the fifo for ever.
        let child = std::fs::read_to_string(dir.path().join("child")).unwrap();
        let sent = std::time::Instant::now();
        while lives(child.trim()) {
            assert!(sent.elapsed() < Duration::from_secs(20), "a child of git outlived it");
            std::thread::yield_now();
        }
    }

    /// What nobody has collected yet is dead all the same.
    fn lives(id: &str) -> bool {
        std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
    }

    #[tokio::test]
    async fn output_is_bounded() {
        let dir = tempfile::tempdir().unwrap();
        crate::bare::make(dir.path()).unwrap();
        let output = Git::at(dir.path(), "help").args(["-a"]).max_output(100).run().await.unwrap();
        assert!(output.cut);
        assert_eq!(output.stdout.len(), 100);
    }
}
