"""Findings: what a scanner costs, the processor time of a round that refreshes them, and the pages with many of them.

A scanner asks for made-up paths among views of real pages, and a few real paths are missing. Rounds are made due in the
database while the server is stopped, so that the bench doesn't wait for the next one."""

import http.client
import json
import pathlib
import random
import sqlite3
import tempfile
import time

from . import measure
from .common import Row
from .dashboard import first_bytes, signed_in
from .views import DAY, DAYS, PAGES, Docs, work, written

VIEWS, SCANNED, MADE_UP, BATCH = 20_000_000, 1_000_000, 200_000, 10_000
MISSING, REQUESTS_EACH = 40, 50
FINDINGS, MOST = 10_000, 50
# Seconds without work after which a round is over.
STILL = 3
SCANNERS = ["Mozilla/5.0 (compatible; Nuclei - Open-source project)", "Go-http-client/1.1", "Mozilla/5.0 zgrab/0.x"]
READERS = ["Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "ChatGPT-User/1.0"]
NAMES = {
    "findings": "/p/{project}/findings",
    "findings, one kind": "/p/{project}/findings?kind=not-found",
    "findings, the last page of one kind": "/p/{project}/findings?kind=not-found&offset={last}",
    "a finding": "/p/{project}/findings/{finding}",
    "weekly": "/p/{project}/weekly",
}


def run():
    with tempfile.TemporaryDirectory() as folder:
        docs, now = Docs(folder), int(time.time() * 1000)
        docs.flags += ("--workers", "0")
        with docs.serve() as server:
            work("send", VIEWS, PAGES, DAYS, now, server.port, docs.key, docs.project, server.process.pid)
        yield from rounds(docs, "20 M views")
        with docs.serve() as server:
            before, started = peak(server), time.perf_counter()
            for body in requests(now):
                send(docs, body)
            yield Row("a scanner's 1 M requests taken in", SCANNED / (time.perf_counter() - started), "/s")
            yield Row("  peak memory, before and after", before, "MB")
            yield Row("  ", peak(server), "MB")
        yield from rounds(docs, "20 M views and a scanner")
        with docs.serve() as server:
            found = listed(docs)
            readers = {f"/guides/lost-{number}" for number in range(MISSING)}
            yield Row("findings about paths that readers miss", sum(one["subject"] in readers for one in found), "", MISSING, least=True)
            yield Row("findings about a scanner's paths", sum(one["subject"] not in readers for one in found), "", 0)
        fill(docs)
        yield from pages(docs)


def requests(now):
    """Bodies of a scanner's requests, and of readers who don't find their page; on the last 14 days."""
    chance = random.Random(7)
    lines = [(f"/{chance.choice(('wp', 'api', 'old', '.env', 'admin'))}/{number % MADE_UP:x}", chance.choice(SCANNERS))
             for number in range(SCANNED)]
    lines += [(f"/guides/lost-{number % MISSING}", READERS[number % 2]) for number in range(MISSING * REQUESTS_EACH)]
    chance.shuffle(lines)
    for start in range(0, len(lines), BATCH):
        yield "\n".join(
            json.dumps({"path": path, "userAgent": agent, "status": 404, "timestamp": written(now - chance.randrange(14 * DAY)),
                        "ip": f"10.{chance.randrange(9)}.{chance.randrange(256)}.1"})
            for path, agent in lines[start : start + BATCH])


def send(docs, body):
    connection = http.client.HTTPConnection("127.0.0.1", docs.server.port)
    headers = {"Content-Type": "application/x-ndjson", "Authorization": f"Bearer {docs.key}"}
    connection.request("POST", f"/v1/analytics/{docs.project}/events", body, headers)
    answer = connection.getresponse()
    text = answer.read()
    assert answer.status == 202, text


def rounds(docs, what):
    """The cost of the first round after a start, and of the next one, above that of a server that does nothing."""
    make_due(docs, "due_at = 9000000000000")
    with docs.serve() as server:
        idle = measure.cpu(server.process.pid)[0]
    for which in ("first round", "next round"):
        make_due(docs, "due_at = 0")
        with docs.serve() as server:
            yield Row(f"{what}: {which} of findings", round_of(docs, server) * 1000, "ms")
            cost = measure.cpu(server.process.pid)[0] - idle
            yield Row("  processor time per million views", cost * 1000 * 1e6 / VIEWS, "ms")
            yield Row("  peak memory", peak(server), "MB")


def database(docs):
    return sqlite3.connect(f"{docs.data}/docwright.db", timeout=30)


def make_due(docs, change):
    with database(docs) as db:
        db.execute(f"UPDATE project_chores SET {change} WHERE chore = 'findings'")
    db.close()


def round_of(docs, server):
    """Waits for a round, and answers its seconds. It writes when it is due again as it begins and as it ends, so it is
    over once neither that changes nor the server works."""
    due, began, changed, worked, spent = due_at(docs), None, None, time.perf_counter(), 0
    while not changed or time.perf_counter() - max(changed, worked) < STILL:
        time.sleep(0.01)
        now, now_due, now_spent = time.perf_counter(), due_at(docs), measure.cpu(server.process.pid)[0]
        if now_due != due:
            due, began, changed = now_due, began or now, now
        if now_spent > spent + 0.05:
            worked, spent = now, now_spent
    return changed - began


def due_at(docs):
    db = database(docs)
    (due,) = db.execute("SELECT coalesce(max(due_at), 0) FROM project_chores WHERE chore = 'findings'").fetchone()
    db.close()
    return due


def listed(docs):
    found, has_more = [], True
    while has_more:
        path = f"/v1/findings/{docs.project}?kind=not-found&limit=100&offset={len(found)}"
        status, body = docs.server.ask(docs.connection, "GET", path, docs.key)
        assert status == 200, body
        answer = json.loads(body)
        found, has_more = found + answer["findings"], answer["hasMore"]
    return found


def fill(docs):
    """Copies a finding until there are enough."""
    with database(docs) as db:
        columns = [row[1] for row in db.execute("PRAGMA table_info(findings)")]
        row = dict(zip(columns, db.execute("SELECT * FROM findings WHERE kind = 'not-found'").fetchone()))
        (there,) = db.execute("SELECT count(*) FROM findings").fetchone()
        for number in range(FINDINGS - there):
            path = f"/copied/{number}"
            kind = ("not-found", "moved", "dead-link", "stale")[number % 10 % 4]
            copy = row | {"id": f"{number:032x}", "kind": kind, "key": path, "subject": path, "score": number % 997}
            places = ", ".join("?" * len(columns))
            db.execute(f"INSERT INTO findings VALUES ({places})", [copy[name] for name in columns])
    db.close()
    make_due(docs, "due_at = 9000000000000")


def pages(docs):
    with docs.serve() as server:
        cookie, finding = signed_in(docs, server), listed(docs)[0]["id"]
        db = database(docs)
        count, last = db.execute("SELECT count(*), sum(kind = 'not-found') FROM findings").fetchone()
        db.close()
        yield Row("findings behind the pages", count, "", FINDINGS, least=True)
        for name, path in NAMES.items():
            times = first_bytes(server, path.format(project=docs.project, finding=finding, last=last // 50 * 50), cookie)
            yield Row(f"{name}: first byte, median", times[len(times) // 2], "ms", MOST)
            yield Row("  95th of 100", times[len(times) * 95 // 100], "ms")


def peak(server):
    """Megabytes at the worst moment."""
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024
