"""Failpoints: every place before and after a step that leaves a mark, each of them reached and died at."""

import collections
import re
import sys
import threading
import time

from support import ROOT

from .rounds import Round

CALL = re.compile(r'\bwith_failpoints\(\s*"([a-z-]+)"')
# Seconds until a place must have been reached, whoever else holds jobs until a lease runs out; until a killed job has
# got on before the next one is killed; and between jobs that are let go of, as somebody must be at work on one.
REACHED, MENDED, LET_GO = 60, 5, 0.3
# What a job does not come by, unless it is told to.
ERRORS = {"put-off": {"path": "/pulls", "effect": {"status": {"status": 502}}, "times": 12}}
# Nobody comes by for certain: a pull request that was opened while its job was archived.
RARE = ("close",)


def names():
    """As they stand in the sources, so that none can be forgotten."""
    texts = (file.read_text() for file in sorted(ROOT.glob("crates/*/src/**/*.rs")))
    found = [name for text in texts for name in CALL.findall(text)]
    twice = [name for name, count in collections.Counter(found).items() if count > 1]
    if twice:
        sys.exit(f"these failpoints are in two places: {', '.join(twice)}")
    return found


def places(backend):
    """Those of a server: `scripts/move` dies at those of a move."""
    known = [name for name in names() if not name.startswith("move-") and (backend == "sqlite" or name != "sqlite")]
    return [f"{name}.{when}" for name in known for when in ("before", "after")]


def each(backend, seed, **options):
    """Every place once, in an order of the seed's. Answers the round, and the places that nobody came by."""
    with Round(backend, seed, active=4, **options) as this:
        order, missed = places(backend), []
        this.random.shuffle(order)
        for place in order:
            if not die_at(this, place) and not place.startswith(RARE):
                missed.append(place)
        this.judge()
        this.verdict.add("other", (f"nobody came by the failpoint {place}" for place in missed))
        return this


def die_at(this, place):
    world = this.world
    if fault := ERRORS.get(place.partition(".")[0]):
        world.ask_host("POST", "/_fake/faults", fault)
    arm(world, place)
    until = time.monotonic() + (2 if place.startswith(RARE) else REACHED)
    let_go = 0
    while not dead_servers(world) and time.monotonic() < until:
        if place.startswith("release") and time.monotonic() > let_go:
            let_go = time.monotonic() + LET_GO
            for seen in this.clients.active():
                threading.Thread(target=this.clients.archive, args=(seen,), daemon=True).start()
        time.sleep(0.005)
    reached = disarm(world)
    world.ask_host("DELETE", "/_fake/faults")
    dead = dead_servers(world)
    if dead and not reached:
        this.clients.wrong.append(f"a server died, and not at {place}")
    for server in dead:
        start_again(this, server)
    return reached


def dead_servers(world):
    return [server for server in world.servers if server.dead()]


def start_again(this, server):
    this.kills.append(time.time())
    harmed = this.clients.active()
    server.start()
    server.ready()
    # On PostgreSQL their leases must run out first, and others get on meanwhile.
    until = time.monotonic() + (MENDED if this.backend == "sqlite" else 0)
    while any(seen.is_active for seen in harmed) and time.monotonic() < until:
        time.sleep(0.01)


def arm(world, place):
    """In one step: a name that is half written is no place."""
    new = world.failpoint.with_suffix(".new")
    new.write_text(place)
    new.rename(world.failpoint)


def disarm(world):
    """Whether somebody came by, who is dead then. A server that is about to die has taken the file away, and must not be
    taken for one that came by the next place."""
    world.failpoint.unlink(missing_ok=True)
    hit = world.failpoint.with_suffix(".hit")
    if not hit.exists():
        return False
    hit.unlink()
    until = time.monotonic() + REACHED
    while not dead_servers(world) and time.monotonic() < until:
        time.sleep(0.005)
    return True
