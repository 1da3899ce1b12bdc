"""One job that kills its server whenever it asks its model, among others that wait for theirs and do no harm."""

import os
import signal
import time

from . import promises
from .model import POISON
from .rounds import PATIENCE, Round

# Jobs that a server works on at once; seconds that a model takes, and after which the poison works, so that all of
# them are in the same step by then; and the deaths that are promised to be the last.
SLOTS, SLOW, DEADLY, DEATHS = 4, 1.5, 0.5, 3


def among_others(backend, seed, **options):
    with Round(backend, seed, active=0, **options) as this:
        world, clients = this.world, this.clients
        world.model.pause = lambda: SLOW
        world.model.when_poisoned = lambda port: kill_whoever_asks(this, port)
        neighbors = [clients.create() for _ in range(SLOTS * len(world.servers) - 1)]
        poison = clients.create(POISON)
        until = time.monotonic() + PATIENCE[backend]
        while clients.active() and time.monotonic() < until:
            for server in world.servers:
                if server.dead():
                    server.start()
                    server.ready()
            time.sleep(0.02)
        this.judge()
        this.verdict.add("other", blame(this, poison, neighbors))
        return this


def blame(this, poison, neighbors):
    if not promises.gave_up(poison) or len(this.kills) != DEATHS:
        yield f"the poisonous job killed {len(this.kills)} servers, and ended with {promises.ends(poison)}"
    for seen in neighbors:
        if seen.status != "completed":
            yield f"job {seen.id} ran beside it and is {seen.status}: {seen.events[-1]}"


def kill_whoever_asks(this, port):
    process = next((server.process for server in this.world.servers if has_port(server.process, port)), None)
    time.sleep(DEADLY)
    if process and process.poll() is None:
        this.kills.append(time.time())
        os.kill(process.pid, signal.SIGKILL)


def has_port(process, port):
    """Whether a connection from this port of 127.0.0.1 is the process's."""
    with open("/proc/net/tcp") as table:
        rows = [line.split() for line in table]
    inodes = {f"socket:[{row[9]}]" for row in rows if row[1] == f"0100007F:{port:04X}"}
    return any(target in inodes for target in open_files(f"/proc/{process.pid}/fd"))


def open_files(folder):
    try:
        names = os.listdir(folder)
    except OSError:
        return  # the process is dead
    for name in names:
        try:
            yield os.readlink(f"{folder}/{name}")
        except OSError:
            pass  # the process closed this one since the folder was read; the others still count
