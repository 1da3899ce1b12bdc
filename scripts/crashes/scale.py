"""Rounds with several servers: `docwright serve` and `docwright worker` on one PostgreSQL and one ClickHouse, all of them
killed at random. At times a server comes back with an empty data directory."""

import json
import random
import shutil
import time
from http.client import HTTPException

from . import scale_promises
from .cluster import Cluster
from .scale_load import JobClients, Readers
from .scale_world import Engine, EngineError, Refused, ScaleWorld
from .world import Gone, NotReady

HEAD = ["backend", "round", "seed", "kills", "emptied", "jobs", "blamed", "views", "shipped", "files", "reports", "retries",
        *scale_promises.COLUMNS, "drain s"]
# What is killed in ten kills, in an order of the seed's.
TEN = ("server",) * 3 + ("emptied",) + ("worker",) * 2 + ("engine",) * 2 + ("postgres",) * 2
# How long each is away, at most.
AWAY = {"server": 2, "emptied": 2, "worker": 3, "engine": 4, "postgres": 2}
# Kills come in quick succession, or once views were shipped to ClickHouse again, but after this time anyway.
QUICK, SHIPPED, PATIENCE = 0.3, 0.7, 15
# How long the engine may take to arrive at the statement at which it dies.
DEATH = 5
# Seconds until jobs have ended and nothing waits for ClickHouse any more.
JOBS_END, DRAINED = 200, 120
# How long the engine is away at first, and until every server must have noticed.
AWAY_SECONDS, NOTICED = 2.5, 15
TICK = 0.02


class Round:
    """One world, its clients, and what was killed when."""

    backend, name = "engines", "scale"

    def __init__(self, cluster, engine, seed, keep=False):
        self.seed, self.random, self.keep = seed, random.Random(seed), keep
        self.world = ScaleWorld(cluster, engine, keep=keep)
        self.clients = JobClients(self.world, seed, makers=2, active=4)
        self.readers = [Readers(self.world, project, seed + number) for number, project in enumerate(self.world.projects)]
        self.postgres = Postgres(cluster)
        self.back_at, self.wrong, self.killed = {}, [], []
        self.kills = self.emptied = self.shipped = 0
        self.drained, self.blamed = 0.0, 0

    def __enter__(self):
        self.world.start()
        for clients in (self.clients, *self.readers):
            clients.start()
        return self

    def __exit__(self, *_):
        for clients in (self.clients, *self.readers):
            clients.over.set()
        self.clients.abandoned.set()
        self.world.end()

    def candidates(self, kind):
        world = self.world
        every = {"worker": world.workers, "engine": [world.engine], "postgres": [self.postgres]}
        return [one for one in every.get(kind, world.servers) if one not in self.back_at]

    def kill(self, kind):
        """One that is alive, if there is one of this kind; it may be starting."""
        alive = self.candidates(kind)
        if not alive:
            return
        victim = self.random.choice(alive)
        if kind == "engine" and self.random.random() < 0.5:
            self.let_die(victim)
        self.note_kill(victim)
        victim.kill()
        if kind == "emptied":
            victim.empty()
            self.emptied += 1
        self.back_at[victim] = time.monotonic() + self.random.uniform(0, AWAY[kind])

    def let_die(self, engine):
        """At one of its next statements, before it or once it is done and nobody knows."""
        engine.let_die(self.random.randint(1, 6), self.random.choice(("before", "after")))
        until = time.monotonic() + DEATH
        while not engine.dead() and time.monotonic() < until:
            self.revive()
            time.sleep(TICK)

    def note_kill(self, victim):
        self.kills += 1
        if victim in self.world.processes():
            self.killed.append((victim.started, time.time()))

    def breathe(self):
        """Until something more is in ClickHouse, if it ever is."""
        before, until = self.rows(), time.monotonic() + PATIENCE
        while time.monotonic() < until and not (before is not None and (self.rows() or 0) > before):
            self.run_for(0.1)
            before = self.rows() if before is None else before

    def rows(self):
        """`None` while the engine does not answer."""
        try:
            return int(self.world.columns("SELECT count() FROM views"))
        except (OSError, HTTPException, EngineError):
            return None

    def revive(self, everything=False):
        for victim, moment in list(self.back_at.items()):
            if everything or time.monotonic() >= moment:
                victim.start()
                del self.back_at[victim]

    def look(self):
        """Nobody else ends a server, a worker or the engine."""
        for process in [*self.world.processes(), self.world.engine]:
            if process not in self.back_at and process.dead():
                self.wrong.append(f"{process.name} ended by itself, with {process.process.returncode}")
                process.start()

    def run_for(self, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.revive()
            self.look()
            time.sleep(TICK)

    def settle(self):
        """Everything is there again, everything that was begun is acknowledged, and nothing waits."""
        self.revive(everything=True)
        self.world.engine.ready()
        self.shipped = self.rows() or 0
        for process in self.world.processes():
            process.ready()
        for readers in self.readers:
            readers.over.set()
        for readers in self.readers:
            readers.stop()
        began = time.monotonic()
        while self.world.waiting() and time.monotonic() < began + DRAINED:
            time.sleep(TICK)
        self.drained = time.monotonic() - began
        self.clients.rest(JOBS_END)
        self.clients.stop()
        # A job may have ended elsewhere than where its leavings are; those who have them look when they start.
        for process in self.world.processes():
            process.stop()
            process.start()
        for process in self.world.processes():
            process.ready()

    def judge(self):
        try:
            self.settle()
            self.verdict = scale_promises.judge(self.world, self.clients, self.readers)
            self.blamed = scale_promises.forgive_blame(self.verdict, self.clients, self.killed)
            self.verdict.add("other", self.wrong)
        except NotReady as why:
            self.verdict = NothingKnown([*self.wrong, str(why)])
        if any(self.verdict.wrong.values()):
            self.world.keep = True
            self.save_ledger()

    def save_ledger(self):
        """What the cluster takes with it."""
        for table in ("views_outbox", "views_shipments", "views_projects", "views_imports"):
            columns = "n, project, received, events, bytes, shipment" if table == "views_outbox" else "*"
            (self.world.folder / f"{table}.txt").write_text(self.world.ledger(f"SELECT {columns} FROM {table}"))
        (self.world.folder / "answers.json").write_text(json.dumps(self.world.answers.counts, indent=2))
        shutil.copy(self.world.engine.folder / "log", self.world.folder / "engine.log")

    def answers(self):
        answers = self.world.answers
        counts = ", ".join(f"{count} × {what}" for what, count in answers.counts.most_common() if count)
        return f"{counts}; the slowest after {answers.slowest:.1f} s"

    def row(self):
        views = sum(len(readers.views) for readers in self.readers)
        files, reports = (sum(getattr(readers, name) for readers in self.readers) for name in ("files", "reports"))
        retries = self.clients.retries + sum(readers.retries for readers in self.readers)
        wrong = [len(self.verdict.wrong.get(column, ())) for column in scale_promises.COLUMNS]
        return [self.backend, self.name, self.seed, self.kills, self.emptied, len(self.clients.jobs), self.blamed, views,
                self.shipped, files, reports, retries, *wrong, f"{self.drained:.1f}"]


class NothingKnown:
    """The verdict on a world that does not come back."""

    def __init__(self, sentences):
        self.wrong = {"other": sentences}


class Postgres:
    """The cluster, in the shape in which the others die."""

    def __init__(self, cluster):
        self.cluster, self.was_cut = cluster, False

    def kill(self):
        """Each way every other time: all processes at once, or as its own immediate shutdown does it."""
        self.was_cut = not self.was_cut
        self.cluster.kill() if self.was_cut else self.cluster.stop()

    def start(self):
        self.cluster.start_after_cut() if self.was_cut else self.cluster.start()


def at_random(seed, kills, keep=False):
    """Begins with the engine away, which must stop reports alone."""
    with Engine() as engine, Cluster() as cluster, Round(cluster, engine, seed, keep) as this:
        this.run_for(1)
        this.wrong += engine_away(this)
        while this.kills < kills:
            for kind in this.random.sample(TEN, len(TEN)):
                if this.kills < kills:
                    if this.random.random() < SHIPPED:
                        this.breathe()
                    this.run_for(this.random.uniform(0, QUICK))
                    this.kill(kind)
        this.judge()
        return this


def engine_away(this):
    """Without ClickHouse, every server takes views, says that it cannot answer for them, and is ready."""
    world, wrong = this.world, []
    world.engine.kill()
    this.note_kill(world.engine)
    this.back_at[world.engine] = time.monotonic() + 3600
    began, degraded = time.monotonic(), set()
    while time.monotonic() < began + (AWAY_SECONDS if len(degraded) == len(world.servers) else NOTICED):
        for number, server in enumerate(world.servers):
            wrong += [f"{sentence} (server {number})" for sentence in ask_without_engine(this.readers[1], server)]
            if b"degraded" in server.exchange("GET", "/readyz")[1]:
                degraded.add(number)
        this.run_for(0.2)
    if len(degraded) < len(world.servers):
        wrong.append(f"while the engine was away, /readyz was degraded at {sorted(degraded)} alone")
    this.back_at[world.engine] = 0
    this.revive()
    world.engine.ready()
    return sorted(set(wrong))[:5]


def ask_without_engine(readers, server):
    headers = {"Authorization": f"Bearer {readers.world.key}", "Content-Type": "application/json"}
    root, views = f"/v1/analytics/{readers.project}", readers.make("api", 3)
    try:
        _, told = server.exchange("POST", f"{root}/events", json.dumps([view.event() for view in views]), headers)
        readers.note_receipt(views, told)
    except Gone as why:
        yield f"while the engine was away, views were answered with {why}"
        readers.post_batch(views, is_known=False)
    readers.acknowledge(views)
    try:
        _, told = server.exchange("GET", f"{root}/views", None, headers)
        yield f"while the engine was away, a report was answered with {told}"
    except Refused as refused:
        if (refused.status, refused.code) != (503, "views_unavailable"):
            yield f"while the engine was away, a report was answered with {refused}"
    except Gone as why:
        yield f"while the engine was away, a report was not answered: {why}"
