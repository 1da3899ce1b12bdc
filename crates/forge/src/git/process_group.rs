//! Kills a git call together with its child processes.

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};

/// Kills git's process group on drop. Killing only git would leave its child processes running.
pub(super) struct ProcessGroup(Option<Pid>);

impl ProcessGroup {
    /// `leader` is the process id of git, which leads its own group.
    pub(super) fn new(leader: Option<u32>) -> Self {
        let id = leader.and_then(|id| i32::try_from(id).ok());
        Self(id.and_then(Pid::from_raw))
    }

    /// Call it when git has exited: its process id may be reused.
    pub(super) fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        let Some(group) = self.0 else { return };
        // Nobody has reaped the leader yet, so the id still belongs to this group.
        match kill_process_group(group, Signal::KILL) {
            Ok(()) | Err(Errno::SRCH) => {}
            Err(cause) => tracing::warn!("could not kill the git process group {group}: {cause}"),
        }
    }
}
