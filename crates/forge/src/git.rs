//! Runs the git program in a sandboxed configuration, because repository content is hostile.
//!
//! The environment contains only the variables set here. No system or user configuration is read. Hooks,
//! filters, file-system monitors, background maintenance and terminal prompts are off. Only the `file`
//! protocol is allowed. Output and time are bounded, and a timeout kills the whole process group. git's check
//! that a repository belongs to the user who runs it stays on.

mod process_group;
mod settings;
mod stream;
#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use machine::{Cause, Trouble};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, ChildStdin, Command};

use self::process_group::ProcessGroup;
use self::settings::{ENVIRONMENT, FSYNC_SETTINGS, INCOMPLETE_SETTINGS, RECEIVE_SETTINGS, SETTINGS};
use crate::error::REPOSITORY;
use crate::name::printable;
use crate::{Error, Result};

const MAX_OUTPUT_BYTES: usize = 1 << 20;
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
/// For transfers: the first fetch of a large repository is slow.
pub(crate) const TRANSFER_TIMEOUT: Duration = Duration::from_secs(600);

/// One call of the git program in a repository.
pub(crate) struct Git {
    args: Vec<OsString>,
    name: &'static str,
    timeout: Duration,
    max_output: usize,
    stdin: Stdio,
}

pub(crate) struct Output {
    /// `None` when a signal killed git.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    /// Whether stdout exceeded the output limit.
    pub(crate) truncated: bool,
    /// Without control characters other than line ends.
    pub(crate) stderr: String,
    name: &'static str,
}

impl Git {
    pub(crate) fn at(dir: &Path, name: &'static str) -> Self {
        Self::with_settings(dir, name, &[])
    }

    /// For writes to a repository that is not a cache.
    pub(crate) fn with_fsync(dir: &Path, name: &'static str) -> Self {
        Self::with_settings(dir, name, FSYNC_SETTINGS)
    }

    /// For a cache that lacks files.
    pub(crate) fn at_incomplete(dir: &Path, name: &'static str) -> Self {
        Self::with_settings(dir, name, INCOMPLETE_SETTINGS)
    }

    fn with_settings(dir: &Path, name: &'static str, more: &[&str]) -> Self {
        let mut args: Vec<OsString> = vec!["-C".into(), dir.into(), "--no-pager".into()];
        args.extend(SETTINGS.iter().chain(more).flat_map(|setting| ["-c".into(), setting.into()]));
        args.push(name.into());
        Self { args, name, timeout: DEFAULT_TIMEOUT, max_output: MAX_OUTPUT_BYTES, stdin: Stdio::null() }
    }

    pub(crate) fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    pub(crate) fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    pub(crate) fn max_output(mut self, bytes: usize) -> Self {
        self.max_output = bytes;
        self
    }

    /// Passes a file that git does not read. git keeps the file open, and so keeps its `flock`, until it
    /// exits.
    pub(crate) fn stdin(mut self, stdin: Stdio) -> Self {
        self.stdin = stdin;
        self
    }

    /// Runs git and returns its stdout. Fails unless the exit code is 0.
    pub(crate) async fn run_for_stdout(self) -> Result<String> {
        let output = self.run().await?;
        if output.code == Some(0) && !output.truncated {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(output.failure())
    }

    /// Runs git. The caller interprets the exit code.
    pub(crate) async fn run(mut self) -> Result<Output> {
        let stdin = std::mem::replace(&mut self.stdin, Stdio::null());
        let child = self.command().stdin(stdin).spawn().map_err(spawn_error)?;
        self.wait_for_child(child, async { Ok(()) }).await
    }

    /// Runs git with the stdin that `write` produces. Fails when `write` fails.
    pub(crate) async fn run_with_stdin<W>(self, write: impl FnOnce(ChildStdin) -> W) -> Result<Output>
    where
        W: Future<Output = Result<()>>,
    {
        let mut child = self.command().stdin(Stdio::piped()).spawn().map_err(spawn_error)?;
        let write = child.stdin.take().map(write);
        let write = async {
            match write {
                Some(write) => write.await,
                None => Ok(()),
            }
        };
        self.wait_for_child(child, write).await
    }

    async fn wait_for_child(
        self,
        mut child: Child,
        write: impl Future<Output = Result<()>>,
    ) -> Result<Output> {
        let group = ProcessGroup::new(child.id());
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let work = async {
            let ((stdout, truncated), stderr, run_with_stdin) =
                tokio::join!(read_up_to(stdout, self.max_output), read_start_and_drain(stderr), write);
            (child.wait().await, stdout, truncated, stderr, run_with_stdin)
        };
        let done = tokio::time::timeout(self.timeout, work).await;
        let (status, stdout, truncated, stderr, run_with_stdin) = done.map_err(|_| self.timeout_error())?;
        let status = status?;
        group.disarm();
        run_with_stdin?;
        Ok(Output {
            code: status.code(),
            stdout,
            truncated,
            stderr: strip_control_characters(&stderr),
            name: self.name,
        })
    }

    fn command(&self) -> Command {
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
        let mut command = Command::new(find_git(&path));
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

    fn timeout_error(&self) -> Error {
        let seconds = self.timeout.as_secs();
        Error::Timeout(format!("`git {}` was stopped after {seconds} seconds", self.name))
    }
}

impl Output {
    /// The machine trouble, such as a full disk, that git or the other end of a local transfer reported.
    pub(crate) fn trouble(&self) -> Option<Trouble> {
        let (cause, line) = Cause::in_text(&self.stderr)?;
        let trouble = Trouble::new(cause, format_args!("`git {}`: {line}", self.name));
        Some(if line.starts_with("remote:") { trouble.at(REPOSITORY) } else { trouble })
    }

    /// The failure as a sentence: git's error line, unless a clearer sentence is known.
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
        let is_error = |line: &&str| line.starts_with("fatal:") || line.starts_with("error:");
        let line = self.stderr.lines().find(is_error).or_else(|| self.stderr.lines().last());
        let message = printable(line.unwrap_or("no error message"));
        Error::Git(format!("`git {}` failed: {message}", self.name))
    }
}

/// Whether git reports that it cannot read an object of its own repository. Reports by the other end of a
/// push start with `remote:` and do not count.
pub(crate) fn is_unreadable_object_error(message: &str) -> bool {
    const UNREADABLE: &[&str] =
        &["is corrupt", "unable to read", "bad object", "unable to unpack", "is empty"];
    !message.contains("remote:") && UNREADABLE.iter().any(|unreadable| message.contains(unreadable))
}

/// The first executable `git` in `path`. With an absolute path, the standard library can use `posix_spawn`.
/// Otherwise it forks this whole process, which costs more than most git commands.
fn find_git(path: &OsStr) -> PathBuf {
    let runs = |file: &PathBuf| {
        file.is_absolute()
            && file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(path).map(|folder| folder.join("git")).find(runs).unwrap_or_else(|| "git".into())
}

/// The command for the other end of a local transfer; `service` is `upload-pack` or `receive-pack`. git
/// passes the command to a shell, so it contains only constants.
pub(crate) fn service_command(service: &'static str) -> String {
    let settings =
        SETTINGS.iter().chain(FSYNC_SETTINGS).chain(RECEIVE_SETTINGS).map(|setting| format!(" -c {setting}"));
    format!("git --no-replace-objects{} {service}", settings.collect::<String>())
}

/// Returns git's version line. Fails unless git is installed and recent enough.
pub async fn check_program() -> Result<String> {
    let stdout = Git::at(Path::new("/"), "version").run_for_stdout().await?;
    let version = printable(stdout.trim());
    if is_supported_version(&version) {
        return Ok(version);
    }
    Err(Error::Git(format!("`{version}` is too old: install git 2.38 or newer")))
}

fn is_supported_version(version: &str) -> bool {
    let mut numbers = version
        .trim_start_matches(|c: char| !c.is_ascii_digit())
        .split('.')
        .map(|part| part.trim().parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (2, 38)
}

fn spawn_error(cause: std::io::Error) -> Error {
    if cause.kind() == std::io::ErrorKind::NotFound {
        return Error::Git("git is not installed: install git 2.38 or newer and add it to PATH".to_owned());
    }
    Trouble::find(&cause).map_or_else(|| Error::GitNotStarted(cause), Error::Machine)
}

/// Reads up to `max` bytes and returns whether there were more. Closing the pipe then ends the writer.
async fn read_up_to(stream: Option<impl AsyncRead + Unpin>, max: usize) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        // A broken pipe means that the process exited. Its exit code says why.
        let _ = stream.take(max as u64 + 1).read_to_end(&mut bytes).await;
    }
    let truncated = bytes.len() > max;
    bytes.truncate(max);
    (bytes, truncated)
}

/// Keeps the first part and discards the rest, so that a full pipe does not block the program.
async fn read_start_and_drain(stream: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(mut stream) = stream {
        let _ = (&mut stream).take(MAX_OUTPUT_BYTES as u64).read_to_end(&mut bytes).await;
        let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
    }
    bytes
}

/// Git relays text of the remote, which may contain terminal escape sequences.
fn strip_control_characters(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    text.chars().filter(|c| *c == '\n' || !c.is_control()).collect()
}
