//! Runs git with an output that is too long to keep in memory.

use std::ops::ControlFlow;

use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStdout;

use super::process_group::ProcessGroup;
use super::{Git, Output, read_start_and_drain, spawn_error, strip_control_characters};
use crate::{Error, Result};

const CHUNK_BYTES: usize = 64 << 10;

impl Git {
    /// Passes stdout to `consume` in chunks. Returns `None` when `consume` breaks and when the time is over:
    /// then git is killed. In the returned output, stdout is empty.
    pub(crate) async fn run_streamed(
        self,
        consume: impl FnMut(&[u8]) -> Result<ControlFlow<()>>,
    ) -> Result<Option<Output>> {
        let mut child = self.command().stdin(std::process::Stdio::null()).spawn().map_err(spawn_error)?;
        let group = ProcessGroup::new(child.id());
        let stderr = tokio::spawn(read_start_and_drain(child.stderr.take()));
        let stdout = child.stdout.take();
        let work = async {
            match read_chunks(stdout, consume).await? {
                ControlFlow::Break(()) => Ok::<_, Error>(None),
                ControlFlow::Continue(()) => Ok(Some((child.wait().await?, stderr.await))),
            }
        };
        let Ok(done) = tokio::time::timeout(self.timeout, work).await else { return Ok(None) };
        let Some((status, stderr)) = done? else { return Ok(None) };
        group.disarm();
        Ok(Some(Output {
            code: status.code(),
            stdout: Vec::new(),
            truncated: false,
            stderr: strip_control_characters(&stderr.unwrap_or_default()),
            name: self.name,
        }))
    }
}

async fn read_chunks(
    stdout: Option<ChildStdout>,
    mut consume: impl FnMut(&[u8]) -> Result<ControlFlow<()>>,
) -> Result<ControlFlow<()>> {
    let Some(mut stdout) = stdout else { return Ok(ControlFlow::Continue(())) };
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        // A broken pipe means that the process exited. Its exit code says why.
        let count = stdout.read(&mut chunk).await.unwrap_or(0);
        if count == 0 {
            return Ok(ControlFlow::Continue(()));
        }
        if consume(&chunk[..count])?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
}
