"""Processes of a session, as /proc lists them: a server, and every git that it started."""

import contextlib
import os
import pathlib
import signal


def members(*leaders):
    """Numbers and names of the processes of these sessions that are alive."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            name, fields = (folder / "stat").read_text().rsplit(")", 1)
        except (FileNotFoundError, ProcessLookupError):
            continue
        state, _, _, session, *_ = fields.split()
        if int(session) in leaders and state not in "ZX":
            yield int(folder.name), name.partition("(")[2]


def kill_session(leader):
    """Looks again until nobody is left: a process can start another one between the look and the kill."""
    while alive := list(members(leader)):
        for process, _ in alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
