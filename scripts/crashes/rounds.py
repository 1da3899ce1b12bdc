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


class Round:
    """One world and its clients, and when it was killed."""

    def __init__(self, backend, seed, servers=1, database=None, keep=False, active=12):
        self.backend, self.seed, self.random = backend, seed, random.Random(seed)
        self.world = World(servers, database, keep=keep)
        self.clients = Clients(self.world, seed, active=active)
        self.kills, self.refusals, self.verdict = [], 0, None

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
        self.verdict = promises.judge(self.world, self.clients, self.refusals)
        return self.verdict

    def recoveries(self):
        """Seconds from a kill to the next end of a job; of kills in a row, from the last one."""
        ends = [event["at"] for seen in self.clients.jobs.values() for event in promises.ends(seen)]
        moments = [(at, True) for at in self.kills]
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


def spread(seconds):
    """Median and maximum."""
    return (statistics.median(seconds), max(seconds)) if seconds else (0.0, 0.0)
