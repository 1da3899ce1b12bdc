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


def children(leader):
    """Each git that the server starts leads a process group."""
    for file in pathlib.Path(f"/proc/{leader}/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            yield from map(int, file.read_text().split())


def freeze(*processes):
    """Stops them, and waits until no thread of theirs is in its own code: at rest, or in the kernel, from which it does
    not come back."""
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGSTOP)
    while any(state not in "TDZXt" for process in processes for state in thread_states(process)):
        pass


def thread_states(process):
    for file in pathlib.Path(f"/proc/{process}/task").glob("*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            yield file.read_text().rsplit(")", 1)[1].split()[0]


def kill_sessions(*leaders):
    """The children first, by their groups, since they hold a lock for less than a look at all processes takes. Then
    looks until nobody is left: a process can start another one between the look and the kill."""
    for group in [group for leader in leaders for group in children(leader)]:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
    alive = leaders
    while alive:
        for process in alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        alive = [process for process, _ in members(*leaders)]
