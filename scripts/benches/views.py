"""Page views: taking them in, and asking about them beside DuckDB and ClickHouse, which hold the same events.

The same random ranges go to all of them, none twice, and the answers must be equal. Ours is the whole request over
HTTP, counted as the server's processor time; theirs is the processor time of the query within their process."""

import http.client
import json
import pathlib
import random
import statistics
import subprocess
import tempfile
import time
import urllib.parse

from . import measure
from .common import CACHE, Row, Server, admin, commit, free_port, need

PACKAGES = ("duckdb==2.0.0", "chdb==4.4.0", "numpy", "pyarrow", "zstandard")
PAGES, DAYS, DAY, HOUR = 10_000, 365, 86_400_000, 3_600_000
FULL, QUICK = 20_000_000, 1_000_000
CONNECTIONS, BEACON_SECONDS = 1024, 8
CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36"
SITE = "https://docs.acme.dev"


def python():
    """The interpreter of an environment that has the peers, made on first use."""
    home = CACHE / "views-peers"
    if not (home / "installed").exists():
        subprocess.run(["python3", "-m", "venv", home], check=True)
        subprocess.run([home / "bin/pip", "install", "--quiet", *PACKAGES], check=True)
        (home / "installed").touch()
    return home / "bin/python"


def begin(act, *arguments):
    script = pathlib.Path(__file__).with_name("views_work.py")
    working = subprocess.Popen([python(), script, act], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    working.stdin.write(json.dumps(arguments))
    working.stdin.close()
    return working


def work(act, *arguments):
    with begin(act, *arguments) as working:
        told = working.stdout.read()
    assert working.returncode == 0, f"{act} failed"
    return json.loads(told)


def written(ms):
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ms // 1000))
    return f"{seconds}.{ms % 1000:03}Z"


class Docs:
    """A server with one project, and what it is asked."""

    def __init__(self, folder, *flags):
        self.data = f"{folder}/data"
        pages = pathlib.Path(folder) / "docs"
        pages.mkdir()
        (pages / "a.md").write_text("# A\n")
        site = ["--site", SITE]
        self.project = admin(self.data, "project", "create", "--name", "B", "--repository", commit(pages), *site)["id"]
        self.key = admin(self.data, "key", "create", "--name", "B")["key"]
        self.flags = ("--reads-per-hour", "100000000", "--beacons-per-minute", "100000000", *flags)

    def serve(self):
        self.server = Server(self.data, free_port(), *self.flags)
        self.connection = http.client.HTTPConnection("127.0.0.1", self.server.port)
        return self.server

    def ask(self, start=None, end=None, project=None, what="views"):
        asked = {"dateFrom": start and written(start), "dateTo": end and written(end)}
        query = urllib.parse.urlencode({name: value for name, value in asked.items() if value})
        path = f"/v1/analytics/{project or self.project}/{what}?{query}"
        status, body = self.server.ask(self.connection, "GET", path, self.key)
        assert status == 200, body
        return json.loads(body)

    def cost(self, spans, project=None):
        """Milliseconds of the server's processor time a question, after one that is not counted; the answers."""
        self.connection.close()  # it may have been idle for too long; the next request opens it again
        self.ask(*spans[0], project)
        before = measure.cpu(self.server.process.pid)[0]
        answers = [self.ask(*span, project) for span in spans]
        return (measure.cpu(self.server.process.pid)[0] - before) * 1000 / len(spans), answers

    def size(self):
        return sum(file.stat().st_size for file in pathlib.Path(self.data).glob("views.db*"))


def spans(count, end, unit, seed):
    chance = random.Random(seed)
    begin = end - DAYS * DAY
    ends = (sorted(chance.sample(range(begin // unit, end // unit), 2)) for _ in range(count))
    return [(first * unit, last * unit) for first, last in ends]


def same(ours, theirs):
    totals, top = theirs
    pages = [(page["path"], page["human"], page["ai"]) for page in ours["views"]]
    return [("all", ours["totals"]["human"], ours["totals"]["ai"])] == [tuple(row) for row in totals] and pages == [
        tuple(row) for row in top
    ]


def intake(docs, count, end):
    sent = work("send", count, PAGES, DAYS, end, docs.server.port, docs.key, docs.project, docs.server.process.pid)
    yield Row("views taken in, batches of 10,000", count / sent["seconds"], "/s", 150_000, least=True)
    yield Row("processor time of a million", sent["cpu"] * 1e6 / count, "s", 5)
    assert docs.ask()["totals"]["total"] == count, "views were lost, or counted twice"


def beside(docs, count, end, asked):
    few = max(asked // 4, 5)
    whole, cut, busy = spans(asked, end, DAY, 1), spans(few, end, 1, 2), spans(few, end, DAY, 5)
    asks = [("daily", *span) for span in whole + busy] + [("raw", *span) for span in cut]
    theirs = work("peers", count, PAGES, DAYS, end, asks)
    for table, ranges in (("daily", whole), ("raw", cut)):
        ours, answers = docs.cost(ranges)
        kind = "whole days" if table == "daily" else "ends within an hour"
        yield Row(f"question, {kind}, processor", ours, "ms")
        for name in ("DuckDB", "ClickHouse"):
            told = theirs[f"{name} {table}"]
            equal = all(same(*pair) for pair in zip(answers, told["answers"]))
            assert equal, f"{name} and we count differently"
            yield Row(f"  the same by {name}, {table} table", told["ms"], "ms")
        best = min(theirs[f"{name} {table}"]["ms"] for name in ("DuckDB", "ClickHouse"))
        yield Row(f"  the better of them to ours, {kind}", best / ours, "x", 10, least=True)
    told = theirs["DuckDB daily"]["answers"][len(whole) :]
    yield Row("question while views come in, by the clock", meanwhile(docs, count, end, busy, told), "ms")


def meanwhile(docs, count, end, ranges, told):
    """The median of questions about the year before, while views of the day after it are taken in."""
    server = docs.server
    to = server.port, docs.key, docs.project, server.process.pid, count
    sending = begin("send", count // 10, PAGES, 1, end + DAY, *to)
    took = []
    for span, expected in zip(ranges, told):
        started = time.perf_counter()
        answer = docs.ask(*span)
        took.append((time.perf_counter() - started) * 1000)
        assert same(answer, expected), "an answer changed while views came in"
    with sending:
        assert json.loads(sending.stdout.read())["seconds"] > 0
    assert docs.ask(end)["totals"]["total"] == count // 10
    return statistics.median(took)


def kept(docs, count, end):
    """What lies on disk and in memory, and the first question after a start."""
    docs.ask(what="visitors")  # which has everything sorted
    database = f"{docs.data}/views.db"
    raw = "SELECT COALESCE(SUM(LENGTH(block)), 0) / %d.0 FROM block"
    figures = {"raw views on disk": raw, "their cells, by hour and by day": "SELECT ((SELECT SUM(LENGTH(cells)) FROM hour) + (SELECT SUM(LENGTH(cells)) FROM day)) / %d.0",
               "ids of seven days": "SELECT (SELECT SUM(LENGTH(ids)) FROM seen_page) / %d.0"}  # fmt: skip
    import sqlite3

    for what, sql in figures.items():
        (size,) = sqlite3.connect(f"file:{database}?mode=ro", uri=True).execute(sql % count).fetchone()
        yield Row(f"{what}, a view", size, "B", 25 if what.startswith("raw") else None)
    yield Row("the whole file, a view", docs.size() / count, "B")
    docs.server.__exit__()
    with docs.serve() as server:
        idle = server.memory()
        started = time.perf_counter()
        docs.ask(*spans(1, end, DAY, 3)[0])
        yield Row("first question after a start", (time.perf_counter() - started) * 1000, "ms", 1000)
        yield Row("memory of a year of 10,000 pages", server.memory() - idle, "MB", 64)


def billion(docs, end, asked, small):
    for pages, target in ((PAGES, None), (100_000, 10)):
        project = admin(docs.data, "project", "create", "--name", f"P{pages}", "--repository", f"{docs.data}/../docs")["id"]
        views = work("fill", f"{docs.data}/views.db", project, pages, DAYS, end, 1_000_000_000)["views"]
        with docs.serve() as server:
            idle = server.memory()
            assert docs.ask(project=project)["totals"]["total"] == views
            cost, _ = docs.cost(spans(asked, end, DAY, 4), project)
            yield Row(f"a billion views, {pages:,} pages: a question", cost, "ms", target)
            if pages == PAGES:
                small_cost, _ = docs.cost(spans(asked, end, DAY, 4))
                yield Row(f"  to the same of {small:,} views", cost / small_cost, "x", 1.2)
            yield Row(f"  memory, {pages:,} pages", server.memory() - idle, "MB")


def beacons(docs):
    """Single views at many connections, beside a route that reads the same body and does nothing."""
    need("wrk", "wrk")
    target = CACHE / "bare"
    manifest = pathlib.Path(__file__).with_name("bare") / "Cargo.toml"
    subprocess.run(["cargo", "build", "--quiet", "--release", "--manifest-path", manifest, "--target-dir", target], check=True)
    script = pathlib.Path(docs.data).with_name("beacon.lua")
    script.write_text(
        'wrk.method = "POST"\nwrk.body = \'{"url":"https://docs.acme.dev/guide/install","referrer":"https://www.example.com/"}\'\n'
        f'wrk.headers = {{ ["Content-Type"] = "text/plain", ["Origin"] = "{SITE}", ["User-Agent"] = "{CHROME}" }}\n'
    )

    def rate(port):
        url = f"http://127.0.0.1:{port}/v1/collect/{docs.project}"
        load = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{BEACON_SECONDS}s", "-s", script, url]
        told = subprocess.run(load, stdout=subprocess.PIPE, text=True, check=True).stdout
        assert "Non-2xx" not in told, told
        return float(told.split("Requests/sec:")[1].split()[0])

    port = free_port()
    bare = subprocess.Popen([target / "release/bare", str(port)])
    try:
        time.sleep(0.5)
        bound = rate(port)
    finally:
        bare.terminate()
        bare.wait()
    with docs.serve() as server:
        ours = rate(server.port)
    yield Row("single views at 1,024 connections", ours, "/s")
    yield Row("  of what a bare route can do", ours * 100 / bound, "%", 30, least=True)


def run(quick=False):
    count, asked = (QUICK, 100) if quick else (FULL, 300)
    end = int(time.time() * 1000) // DAY * DAY
    with tempfile.TemporaryDirectory() as folder:
        docs = Docs(folder)
        docs.serve()
        try:
            yield from intake(docs, count, end)
            yield from beside(docs, count, end, asked)
            yield from kept(docs, count + count // 10, end)
        finally:
            docs.server.process.kill()
            docs.server.process.wait()
        yield from billion(docs, end, asked, count)
        yield from beacons(docs)
