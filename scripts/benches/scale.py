"""Page views of several servers: taking them in on PostgreSQL and ClickHouse and asking about them, beside the store in
the data directory, which gets the same events and the same questions and must give the same answers.

ClickHouse is the engine as a library, behind the server of the tests. Its processor time includes that server's."""

import contextlib
import os
import pathlib
import random
import statistics
import tempfile
import time
from typing import NamedTuple

from crashes.cluster import Cluster, programs
from crashes.scale_world import Engine

from . import measure
from .common import Row
from .durable import on_postgres
from .views import DAY, FULL, QUICK, Docs, work

PAGES, DAYS, MONTH = 2_000, 90, 30
# Milliseconds of ClickHouse's processor time for a report on 30 days.
TARGET = 100
FEW, MANY = 20, 40
# Seconds until everything is in ClickHouse, and without a merge after that.
DRAINED, QUIET, MERGED = 900, 3, 300
TABLES = ("views", "views_daily", "views_hourly", "views_names")
IDS = ("views_ids_a", "views_ids_b")


class Cost(NamedTuple):
    """Milliseconds a question."""

    wall: float
    server: float
    engine: float


class Engines:
    """PostgreSQL and ClickHouse, and what they have taken."""

    def __init__(self, cluster, database, engine):
        self.cluster, self.database, self.engine, self.views = cluster, database, engine, engine.database()

    def sql(self, statement):
        return self.cluster.sql(self.database.name, statement).strip()

    def columns(self, statement):
        return self.engine.sql(statement, self.views).strip()

    def postgres_cpu(self):
        """Of every process, also of those that have ended."""
        seconds = measure.cpu(self.cluster.leader)[1]
        for place in measure.tree(self.cluster.leader):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                seconds += measure.cpu(place.name)[0]
        return seconds

    def engine_cpu(self):
        return measure.cpu(self.engine.process.pid)[0]

    def drain(self):
        """Waits until ClickHouse has everything."""
        until = time.monotonic() + DRAINED
        while int(self.sql("SELECT COUNT(*) FROM views_outbox")):
            assert time.monotonic() < until, "views wait for ClickHouse"
            time.sleep(0.2)

    def merge(self):
        """Waits until ClickHouse has merged what it wants to merge."""
        began = quiet = time.monotonic()
        while time.monotonic() - quiet < QUIET and time.monotonic() - began < MERGED:
            time.sleep(0.2)
            quiet = time.monotonic() if int(self.columns("SELECT count() FROM system.merges")) else quiet

    def bytes_of(self, *tables):
        names = ", ".join(f"'{table}'" for table in tables)
        parts = f"system.parts WHERE active AND database = '{self.views}' AND table IN ({names})"
        return int(self.columns(f"SELECT sum(bytes_on_disk) FROM {parts}"))


def spans(count, end, unit, seed):
    """Ranges of 30 days, none twice."""
    chance = random.Random(seed)
    begins = chance.sample(range((end - DAYS * DAY) // unit, (end - MONTH * DAY) // unit + 1), count)
    return [(first * unit, first * unit + MONTH * DAY) for first in begins]


def questions(count, end):
    """By what they are about. All of the time is asked for again and again."""
    return {"30 days, whole": spans(count, end, DAY, 1), "30 days, to the millisecond": spans(count, end, 1, 2),
            "all time": [(None, None)] * count}


def asked(docs, ranges, engine_cpu=lambda: 0):
    """What a question costs, after one that is not counted, and the answers."""
    docs.connection.close()  # it may have been idle for too long; the next request opens it again
    docs.ask(*ranges[0])
    pid, walls, answers = docs.server.process.pid, [], []
    server, engine = measure.cpu(pid)[0], engine_cpu()
    for span in ranges:
        started = time.perf_counter()
        answers.append(docs.ask(*span))
        walls.append((time.perf_counter() - started) * 1000)
    spent = (measure.cpu(pid)[0] - server, engine_cpu() - engine)
    return Cost(statistics.median(walls), *(seconds * 1000 / len(ranges) for seconds in spent)), answers


def send(docs, count, end):
    """Answers the seconds of sending, without those of making the events."""
    to = docs.server.port, docs.key, docs.project, docs.server.process.pid
    return work("send", count, PAGES, DAYS, end, *to)["seconds"]


def embedded(folder, count, end, ranges, told):
    """Puts its answers into `told`."""
    docs = Docs(folder)
    with docs.serve() as server:
        seconds = send(docs, count, end)
        cpu = measure.cpu(server.process.pid)[0]
        assert docs.ask()["totals"]["total"] == count, "views were lost, or counted twice"
        yield Row("data directory: views taken in", count / seconds, "/s")
        yield Row("data directory: processor time of a million", cpu * 1e6 / count, "s")
        docs.ask(what="visitors")  # which has everything sorted
        yield Row("data directory: the whole file, a view", docs.size() / count, "B")
        for name, spans_of in ranges.items():
            cost, told[name] = asked(docs, spans_of)
            yield Row(f"data directory: {name}, by the clock, median", cost.wall, "ms")
            yield Row(f"data directory: {name}, processor", cost.server, "ms")


def on_engines(folder, engines, count, end, ranges, told):
    docs = Docs(folder)
    with docs.serve() as server:
        yield from intake(docs, server, engines, count, end)
        yield from stored(engines, count)
        for name, spans_of in ranges.items():
            cost, answers = asked(docs, spans_of, engines.engine_cpu)
            assert answers == told[name], f"{name}: the engines and the data directory count differently"
            yield Row(f"engines: {name}, by the clock, median", cost.wall, "ms")
            yield Row(f"engines: {name}, server", cost.server, "ms")
            yield Row(f"engines: {name}, ClickHouse", cost.engine, "ms", TARGET if name.startswith("30") else None)


def intake(docs, server, engines, count, end):
    before = measure.cpu(server.process.pid)[0], engines.postgres_cpu(), engines.engine_cpu()
    seconds, started = send(docs, count, end), time.perf_counter()
    engines.drain()
    drained = time.perf_counter() - started
    after = measure.cpu(server.process.pid)[0], engines.postgres_cpu(), engines.engine_cpu()
    engines.merge()
    merged = engines.engine_cpu() - after[2]
    yield Row("engines: views taken in", count / seconds, "/s")
    yield Row("engines: until ClickHouse had the last view", drained, "s")
    for name, first, last in zip(("server", "PostgreSQL", "ClickHouse"), before, after):
        yield Row(f"engines: {name}, processor time of a million", (last - first) * 1e6 / count, "s")
    yield Row("engines:   merges of ClickHouse after that", merged * 1e6 / count, "s")
    assert docs.ask()["totals"]["total"] == count, "views were lost, or counted twice"
    assert int(engines.columns("SELECT count() FROM views")) == count


def stored(engines, count):
    total = lambda each: int(engines.sql("SELECT " + " + ".join(each.format(table) for table in IDS)))  # noqa: E731
    ids, size = total("(SELECT COUNT(*) FROM {})"), total("pg_total_relation_size('{}')")
    whole = int(engines.sql("SELECT pg_database_size(current_database())"))
    yield Row("engines: ClickHouse, raw, a view", engines.bytes_of("views") / count, "B")
    yield Row("engines: ClickHouse, with rollups, a view", engines.bytes_of(*TABLES) / count, "B")
    yield Row("engines: PostgreSQL, an id of seven days", size / ids, "B")
    yield Row("engines: PostgreSQL, all of it, a view", whole / count, "B")


@contextlib.contextmanager
def views_on(engines):
    os.environ["DOCWRIGHT_VIEWS_URL"] = f"http://127.0.0.1:{engines.engine.port}/{engines.views}"
    yield engines
    del os.environ["DOCWRIGHT_VIEWS_URL"]


def run(quick=False):
    if not programs():
        return [Row("page views of several servers", "PostgreSQL is not installed")]
    return measured(*(QUICK, FEW) if quick else (FULL, MANY))


def measured(count, asks):
    end = int(time.time() * 1000) // DAY * DAY
    ranges, told = questions(asks, end), {}
    with tempfile.TemporaryDirectory() as folder:
        folders = [pathlib.Path(folder) / name for name in ("embedded", "engines")]
        for one in folders:
            one.mkdir()
        yield from embedded(folders[0], count, end, ranges, told)
        with Engine() as engine, Cluster() as cluster, on_postgres(folder, cluster.database()) as database, \
                views_on(Engines(cluster, database, engine)) as engines:
            yield from on_engines(folders[1], engines, count, end, ranges, told)
