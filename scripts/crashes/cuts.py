"""Rounds with the embedded host: power cuts and kills, one world for as long as nothing is wrong with it."""

import contextlib
import random
import time

from . import durable
from .clients import Unanswered
from .cluster import Cluster
from .embedded import EmbeddedWorld
from .inotify import LockWatch
from .load import Load
from .power import Disks
from .world import NotReady

HEAD = ["     round", "seed", "cuts", "worlds", "jobs", "merged", "viewed", "lines", "new keys", "copies", *durable.COLUMNS, "start s", "worst"]
# Seconds until a cut, at most. Some come as soon as a lock is made, or right after something was acknowledged.
EARLY, LATE = 0.5, 3
# A job with two deaths waits up to a minute for a server with no other job. On PostgreSQL the lease of a server that is
# gone must run out first.
REST_SECONDS = {"sqlite": 120, "postgres": 180}
# How often a server is cut off or killed again while it starts.
WHILE_STARTING = 0.15
KILLS_BETWEEN_JUDGMENTS = 5


class Round:
    """What was acknowledged and what is wrong, over all worlds of a round."""

    def __init__(self, name, seed, backend="sqlite"):
        self.name, self.seed, self.random, self.backend = name, seed, random.Random(seed), backend
        self.cuts = self.worlds = 0
        self.acknowledged, self.starts = [0] * 6, []
        self.wrong = {column: [] for column in durable.COLUMNS}

    def problems(self):
        return sum(map(len, self.wrong.values()))

    def row(self):
        starts = sorted(self.starts) or [0]
        wrong = [len(all_of_it) for all_of_it in self.wrong.values()]
        times = [f"{starts[len(starts) // 2]:.1f}", f"{starts[-1]:.1f}"]
        return [self.name, self.seed, self.cuts, self.worlds, *self.acknowledged, *wrong, *times]

    def count(self, loads):
        for load in loads:
            figures = [len(load.jobs), len(load.merges), load.views, load.lines, len(load.keys), load.made_backups]
            self.acknowledged = [sum(pair) for pair in zip(self.acknowledged, figures)]


def power(seed, cuts, kind, layout, keep=False, backend="sqlite"):
    """What is broken once stays broken, so that a world with something wrong is followed by a new one."""
    this = Round(f"{kind} {layout}", seed, backend)
    while this.cuts < cuts:
        with Disks(kind, layout) as disks, database_on(disks, backend) as database, \
                one_world(this, disks, keep, database) as (world, loads):
            well = True
            while well and this.cuts < cuts:
                wait_for_moment(this, world, loads)
                cut(this, world)
                well = is_well(this, world, loads, whole=this.cuts >= cuts)
    return this


def kills(seed, count, keep=False):
    """Without power cuts: the server alone, or every process that it and the commands have started."""
    this = Round("kills", seed)
    while this.cuts < count:
        with one_world(this, None, keep) as (world, loads):
            well = True
            while well and this.cuts < count:
                for _ in range(min(KILLS_BETWEEN_JUDGMENTS, count - this.cuts)):
                    wait_for_moment(this, world, loads)
                    kill(this, world)
                well = is_well(this, world, loads, whole=this.cuts >= count)
    return this


@contextlib.contextmanager
def database_on(disks, backend):
    """A database whose files lose their power with the data directory; `None` for SQLite."""
    if backend == "sqlite":
        yield None
        return
    disks.data.root.chmod(0o755)
    disks.data.folder.chmod(0o755)
    with Cluster(disks.data.root) as cluster:
        yield cluster.database()


@contextlib.contextmanager
def one_world(this, disks, keep, database=None):
    world, loads = EmbeddedWorld(disks, keep, database), []
    this.worlds += 1
    try:
        world.start()
        loads += [Load(world, project, this.seed + number) for number, project in enumerate(world.projects)]
        for load in loads:
            load.start()
        yield world, loads
        this.count(loads)
    finally:
        for load in loads:
            load.abandon()
        world.end_commands()
        for load in loads:
            load.stop()
        world.end()


def wait_for_moment(this, world, loads):
    dice = this.random.random()
    for load in loads:
        load.acknowledged.clear()
        load.only_git.set() if this.random.random() < 0.5 else load.only_git.clear()
    if dice < 0.3:
        with LockWatch(world.lock_folders()) as locks:
            locks.wait(LATE)
    elif dice < 0.6:
        this.random.choice(loads).acknowledged.wait(LATE)
    else:
        time.sleep(this.random.uniform(0, EARLY if dice < 0.8 else LATE))


def cut(this, world):
    world.cut()
    this.cuts += 1
    while this.random.random() < WHILE_STARTING:
        world.server.start()
        time.sleep(this.random.uniform(0, EARLY))
        world.cut()
        this.cuts += 1
    world.server.start()


def kill(this, world):
    world.kill(children=this.random.random() < 0.5)
    this.cuts += 1
    while this.random.random() < WHILE_STARTING:
        world.server.start()
        time.sleep(this.random.uniform(0, EARLY))
        world.kill(children=this.random.random() < 0.5)
        this.cuts += 1
    world.server.start()
    world.is_up.set()


def is_well(this, world, loads, whole=False):
    """Judges, and lets the load go on if nothing is wrong."""
    before = this.problems()
    try:
        began = time.monotonic()
        world.server.ready()
        this.starts.append(time.monotonic() - began)
        world.is_up.set()
    except NotReady as why:
        this.wrong["stuck"].append(str(why))
        return False
    # All of them at once: a job that has to run alone waits for as long as another project keeps its worker busy.
    for load in loads:
        load.ask_no_more()
    rested = [load for load in loads if load.rest(REST_SECONDS[this.backend])]
    try:
        durable.judge(world, loads, whole, this.wrong)
        this.wrong["stuck"].extend(durable.stuck(world, loads, rested))
    except Unanswered as why:
        this.wrong["stuck"].append(str(why))
    for load in loads:
        load.resume()
    return this.problems() == before
