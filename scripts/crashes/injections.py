"""What is worse than to be killed: a disk that fails, and a clock that jumps. On SQLite, where both are the server's own."""

import pathlib
import shutil
import time

from .rounds import Round

# Calls of a kind that fail in a row, and after how many that did not, at most.
FAILING, AFTER = 8, 120
DISK = [
    ("fdatasync", "EIO"), ("fdatasync", "ENOSPC"), ("fsync", "EIO"), ("pwrite64", "ENOSPC"), ("pwrite64", "EIO"),
]
# In seconds. 500 days are longer than anything is kept.
AGES = 500 * 24 * 60 * 60
JUMPS = ["+3600", "-3600", "+7200", f"+{AGES}", "+0", f"-{AGES}", "+0"]
# Longer than a server takes from one of its chores to the next.
A_CHORE = 7
A_WHILE, MENDED = 5, 40
TRACED = ["strace", "-f", "-qq", "--seccomp-bpf", "-o", "/dev/null", "-e"]


def disk(seed, keep=False):
    """Each kind of failure; then a kill, before anything could be made good, or time for the server to do so."""
    if not shutil.which("strace"):
        return None
    with Round("sqlite", seed, keep=keep, active=6) as this:
        (server,), stuck = this.world.servers, []
        for call, error in DISK:
            first = this.random.randrange(AFTER)
            inject = f"inject={call}:error={error}:when={first + 1}..{first + FAILING}"
            this.kill(server)
            server.before = [*TRACED, f"trace={call}", "-e", inject]
            server.start()
            time.sleep(A_WHILE)
            if this.random.random() < 0.6:
                stuck += [f"{call} {error}: job {seen.id} does not get on" for seen in not_mended(this)]
        this.kill(server)
        server.before = []
        this.judge()
        this.verdict.add("lost", stuck)
        return this


def not_mended(this):
    """Jobs that are stuck with a server that lives, although all is well again."""
    harmed, until = this.clients.active(), time.monotonic() + MENDED
    while any(seen.status == "active" for seen in harmed) and time.monotonic() < until:
        time.sleep(0.05)
    return [seen for seen in harmed if seen.status == "active"]


def clock(seed, keep=False):
    """Forth and back by hours and by 500 days, under a server that works; and a kill at each."""
    library = next(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
    if not library:
        return None
    this = Round("sqlite", seed, keep=keep, active=6)
    told = this.world.folder / "time"
    told.write_text("+0")
    this.world.environment.update(
        LD_PRELOAD=str(library), FAKETIME_TIMESTAMP_FILE=str(told), FAKETIME_CACHE_DURATION="1",
        FAKETIME_DONT_FAKE_MONOTONIC="1",
    )
    with this:
        (server,) = this.world.servers
        for jump in JUMPS:
            told.write_text(jump)
            time.sleep(A_CHORE)
            this.kill(server)
            server.start()
            time.sleep(A_CHORE)
        this.judge()
        # The events were dated by a clock that was wrong.
        this.timed = False
        return this
