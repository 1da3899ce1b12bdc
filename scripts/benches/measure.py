"""What a process and everything that it starts take: processor time and memory, as /proc tells them."""

import os
import pathlib
import subprocess
import threading
import time
from typing import NamedTuple

EVERY = 0.01
TICK = os.sysconf("SC_CLK_TCK")


class Usage(NamedTuple):
    wall: float
    """Seconds of processor time, of all children that were waited for too."""
    cpu: float
    """Megabytes at the worst moment that was seen."""
    memory: float
    code: int


def cpu(pid):
    """Seconds of the process itself, and of its children that have ended."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    user, system, child_user, child_system = (int(field) / TICK for field in fields[11:15])
    return user + system, child_user + child_system


def tree(pid, parent_line=b""):
    """The process and those under it. One that was forked and runs no program yet has its parent's memory, and
    its command line."""
    place = pathlib.Path(f"/proc/{pid}")
    line = (place / "cmdline").read_bytes()
    if line != parent_line:
        yield place
    for thread in (place / "task").iterdir():
        for child in (thread / "children").read_text().split():
            try:
                yield from tree(child, line)
            except (FileNotFoundError, ProcessLookupError):
                pass  # it has ended


def memory(pid):
    """Megabytes of the whole tree; what several of it share counts once."""
    total = 0
    for place in tree(pid):
        try:
            total += int((place / "smaps_rollup").read_text().split("\nPss:")[1].split()[0])
        except (FileNotFoundError, ProcessLookupError, IndexError):
            pass
    return total / 1024


class Peak:
    """Looks at the memory of a tree again and again, and keeps the worst."""

    def __init__(self, pid):
        self.pid, self.memory, self.over = pid, 0.0, threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def watch(self):
        while not self.over.wait(EVERY):
            try:
                self.memory = max(self.memory, memory(self.pid))
            except (FileNotFoundError, ProcessLookupError):
                pass


def run(arguments, environment, folder, log, limit=300):
    """Runs a program to its end, or ends it and all that it started after `limit` seconds."""
    started = time.perf_counter()
    streams = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
    process = subprocess.Popen(arguments, env=environment, cwd=folder, start_new_session=True, **streams)
    late = threading.Timer(limit, os.killpg, (process.pid, 9))
    late.start()
    with Peak(process.pid) as peak:
        # Not `process.wait`, which does not tell what it took.
        _, status, took = os.wait4(process.pid, 0)
    late.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - started
    return Usage(wall, took.ru_utime + took.ru_stime, peak.memory, process.returncode)
