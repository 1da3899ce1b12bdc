"""Rounds: a world of its own each, killed again and again, then judged."""

import random
import statistics
import time
from datetime import datetime

from . import promises
from .clients import Clients
from .world import World

# Seconds until everything has ended after the last kill; on PostgreSQL a lease must run out first.
PATIENCE = {"sqlite": 90, "postgres": 150}
MOST_KILLS = 300
NO = {"status": {"status": 422, "body": '{"message":"Validation Failed"}'}}
CONFLICT = {"status": {"status": 409, "body": '{"message":"Conflict"}'}}
FAULTS = [
    {"effect": {"delay": 300}, "times": 5},
    {"method": "POST", "path": "/pulls", "effect": "drop-after"},
    {"method": "POST", "path": "/pulls", "effect": "drop-before"},
    {"method": "POST", "path": "/pulls", "effect": {"status": {"status": 502}}},
    {"method": "POST", "path": "/pulls", "effect": NO},
    {"method": "POST", "path": "/pulls", "effect": CONFLICT},
    {"method": "GET", "path": "/pulls", "effect": {"lag": 3}},
    {"method": "POST", "path": "git-receive-pack", "effect": "drop-after"},
    {"method": "POST", "path": "git-receive-pack", "effect": {"delay": 500}},
    {"method": "POST", "path": "git-upload-pack", "effect": "drop-before"},
]


class Round:
    """One world and its clients, and when it was killed."""

    def __init__(self, backend, seed, servers=1, database=None, keep=False, active=12):
        self.backend, self.seed, self.random = backend, seed, random.Random(seed)
        self.world = World(servers, database, keep=keep)
        self.clients = Clients(self.world, seed, active=active)
        self.kills, self.refusals, self.verdict, self.timed = [], 0, None, True

    def __enter__(self):
        self.world.start()
        self.clients.start()
        return self

    def __exit__(self, *failed):
        self.clients.over.set()
        if failed[0] is None:
            self.clients.stop()
        self.world.end()

    def kill(self, server):
        server.kill()
        self.kills.append(time.time())

    def judge(self):
        self.world.ask_host("DELETE", "/_fake/faults")
        for server in self.world.servers:
            if server.dead():
                server.start()
            server.ready()
        self.clients.rest(PATIENCE[self.backend])
        self.clients.stop()
        if self.world.database:
            # A job may have ended at another server than the one that has its leavings; that one looks when it starts.
            for server in self.world.servers:
                server.stop()
                server.start()
                server.ready()
        self.verdict = promises.judge(self.world, self.clients, self.refusals)
        return self.verdict

    def recoveries(self):
        """Seconds from a kill to the next end of a job; of kills in a row, from the last one."""
        ends = [event["at"] for seen in self.clients.jobs.values() for event in promises.ends(seen)]
        moments = [(at, True) for at in self.kills if self.timed]
        moments += [(datetime.fromisoformat(at).timestamp(), False) for at in ends]
        last, found = None, []
        for at, is_kill in sorted(moments):
            if is_kill:
                last = at
            elif last is not None:
                found.append(at - last)
                last = None
        return found


def at_random(backend, seed, kills, trouble=None, **options):
    """Kills at any moment, also while it starts, and at times lets it get on."""
    with Round(backend, seed, **options) as this:
        for number in range(kills):
            busy = this.random.random() < 0.5
            time.sleep(this.random.uniform(0.0, 0.5) if busy else this.random.uniform(0.5, 2.5))
            if trouble:
                trouble(this, number)
            server = this.random.choice(this.world.servers)
            this.kill(server)
            server.start()
        this.judge()
        return this


def host_trouble(this, number):
    """A host that is slow, loses answers, or says no, for a request or two."""
    if this.random.random() < 0.7:
        return
    fault = dict(this.random.choice(FAULTS))
    this.refusals += fault["effect"] in (NO, CONFLICT)
    this.world.ask_host("POST", "/_fake/faults", {"times": 1, **fault})


def database_trouble(this, number):
    """PostgreSQL dies and comes back, or every connection is cut."""
    host_trouble(this, number)
    if number % 25 == 12:
        this.world.database.cluster.restart(this.random.uniform(0, 2))
    elif number % 5 == 2:
        this.world.database.cut()


def outages(seed, seconds, **options):
    """PostgreSQL is away for each of these times. No server is killed, so nobody but they themselves can mend it."""
    with Round("postgres", seed, **options) as this:
        for away in seconds:
            time.sleep(3)
            this.world.database.cluster.restart(away)
            this.kills.append(time.time())
            this.world.database.cut()
        this.judge()
        return this


def in_turn(seed, jobs, every, minutes, **options):
    """A few workers on one database, one of them killed at each stroke, while so many jobs come."""
    with Round("postgres", seed, active=24, **options) as this:
        until, number = time.monotonic() + minutes * 60, 0
        while time.monotonic() < until or len(this.clients.jobs) < jobs and number < MOST_KILLS:
            time.sleep(every)
            if len(this.clients.jobs) >= jobs:
                this.clients.resting.set()
            server = this.world.servers[number % len(this.world.servers)]
            this.kill(server)
            server.start()
            number += 1
        this.judge()
        if len(this.clients.jobs) < jobs:
            this.verdict.add("other", [f"only {len(this.clients.jobs)} jobs were made"])
        return this


def spread(seconds):
    """Median and maximum."""
    return (statistics.median(seconds), max(seconds)) if seconds else (0.0, 0.0)
