"""What it costs to keep every promise: creates of many clients beside one connection that commits each of them, polls
at a steady rate, what 10,000 waiting jobs do to a start, and what 1,000 jobs that wait for their model take.

On SQLite, and on a PostgreSQL of our own where that is installed; both wait for the disk."""

import asyncio
import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

from crashes.cluster import Cluster, programs

from . import load, measure, one_connection
from .common import Row, Server, admin, free_port, need
from .hosts import sync
from .requests import repository

CLIENTS, SECONDS, A_SECOND = 256, 8, 2000
WAITING, ACTIVE = 10_000, 1_000
SLOW_SYNC = 2
PROMPT = {"prompt": one_connection.PROMPT}


def run():
    with tempfile.TemporaryDirectory() as folder:
        yield Row("fsync of this disk, median", sync(folder), "ms")
        docs = repository(folder)
        yield from measured("SQLite", Bench(folder, docs, "sqlite"), one_on_sqlite, 5, 5)
        yield from slow_disk(folder, docs)
        if programs():
            with Cluster() as own, on_postgres(folder, own.database()) as database:
                bench = Bench(folder, docs, "postgres")
                yield from measured("PostgreSQL", bench, lambda bench: one_on_postgres(bench, database), None, 20)
        yield from slow_model(folder, docs)


@contextlib.contextmanager
def on_postgres(folder, database):
    key = pathlib.Path(folder) / "master.key"
    key.write_text(os.urandom(32).hex())
    key.chmod(0o600)
    told = {"DOCWRIGHT_DATABASE_URL": database.url, "DOCWRIGHT_MASTER_KEY_FILE": str(key)}
    os.environ.update(told)
    yield database
    for name in told:
        del os.environ[name]


class Bench:
    """A project with its key, whose servers come and go."""

    def __init__(self, folder, docs, name):
        self.folder, self.data = folder, f"{folder}/data-{name}"
        self.project = admin(self.data, "project", "create", "--name", "B", "--repository", docs)["id"]
        self.key, self.path = self.new_key()["key"], f"/v2/agent/{self.project}/job"

    def new_key(self):
        return admin(self.data, "key", "create", "--name", "B")

    def server(self, workers):
        return Server(self.data, free_port(), "--workers", str(workers))

    def create(self, server, clients=CLIENTS, seconds=SECONDS):
        return load.creates(self.folder, server.port, self.path, self.key, json.dumps(PROMPT), clients, seconds)

    def ask(self, server, method, path, key=None, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        status, answer = server.ask(connection, method, path, key or self.key, body)
        connection.close()
        return status, json.loads(answer)


def measured(name, bench, one_connection, times_one, recovery):
    with bench.server(workers=0) as server:
        alone, cost = one_connection(bench)
        single = bench.create(server, clients=1, seconds=3).a_second
        before = measure.cpu(server.process.pid)[0]
        made = bench.create(server)
        spent = measure.cpu(server.process.pid)[0] - before
        yield Row(f"{name}: creates a second, one client, a commit each", single)
        yield Row(f"{name}: creates a second, one connection, no server", alone)
        yield Row(f"{name}: creates a second, {CLIENTS} clients", made.a_second)
        yield Row(f"{name}: {CLIENTS} clients to one client", made.a_second / single, "x", times_one, least=True)
        yield Row(f"{name}: {CLIENTS} clients to one connection", made.a_second / alone, "x", times_one, least=True)
        yield Row(f"{name}: create at {CLIENTS} clients, median", made.median, "ms")
        yield Row(f"{name}: create at {CLIENTS} clients, 99th", made.slow, "ms")
        yield Row(f"{name}: processor time of a create", spent * 1000 / made.requests, "ms")
        if cost is not None:
            yield Row(f"{name}:   by the one connection, in Python", cost, "ms")
        yield Row(f"{name}: creates that were refused", made.bad, "", 0)
        yield from polled(name, bench, server)
        count = made.requests
        while count < WAITING:
            count += bench.create(server, seconds=2).requests
        server.process.kill()
        server.process.wait()
    yield from recovered(name, bench, count, recovery)


def one_on_sqlite(bench, before=()):
    """Answers how many a second, and the processor time of one in milliseconds."""
    copy = tempfile.mkdtemp(dir=bench.folder)
    script = pathlib.Path(__file__).with_name("one_connection.py")
    asked = [f"{bench.data}/docwright.db", f"{copy}/copy.db", bench.project, bench.key]
    told = subprocess.run([*before, sys.executable, script, *asked], stdout=subprocess.PIPE, text=True, check=True)
    told = json.loads(told.stdout)
    return told["a_second"], told["cost"]


def slow_disk(folder, docs):
    """Both again, when each sync takes longer by as much as on a disk that has nothing to keep its cache in when the
    power fails: with the one of a virtual machine, which has not, a commit costs hardly more than its statements."""
    need("strace", "strace")
    injected = f"inject=fsync,fdatasync:delay_exit={SLOW_SYNC * 1000}"
    slow = ["strace", "-D", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e", injected]
    bench = Bench(folder, docs, "slow-disk")
    with Server(bench.data, free_port(), "--workers", "0", before=slow) as server:
        alone, _ = one_on_sqlite(bench, slow)
        made = bench.create(server)
    what = f"SQLite, syncs {SLOW_SYNC} ms slower: "
    yield Row(f"{what}creates a second, one connection", alone)
    yield Row(f"{what}{CLIENTS} clients", made.a_second)
    yield Row(f"{what}to one connection", made.a_second / alone, "x", 5, least=True)


def one_on_postgres(bench, database):
    """The same by pgbench, in the server's own tables, as jobs that have ended."""
    script, key = pathlib.Path(bench.folder) / "create.sql", hashlib.sha256(bench.key.encode()).hexdigest()
    script.write_text(f"""\\set n random(1, 1000000000000)
SELECT * FROM keys WHERE hash = '\\x{key}';
SELECT * FROM projects WHERE id = '{bench.project}' AND id NOT IN (SELECT id FROM deletions);
BEGIN;
INSERT INTO rates VALUES ('peer', 1, 1) ON CONFLICT (bucket) DO UPDATE SET used = rates.used + 1 RETURNING used;
INSERT INTO jobs (id, project, status, prompt, branch, model, created_at, queued_at, adopts, draft, events)
  VALUES ('job-' || :n, '{bench.project}', 'archived', '{PROMPT["prompt"]}', 'b', 'offline', 1, 1, false, false, 1);
INSERT INTO job_events VALUES ('job-' || :n, 1, 1, 'created', '{{}}');
COMMIT;
""")
    command = [database.cluster.programs / "pgbench", "-n", "-c", "1", "-T", "3", "-M", "prepared", "-f", script,
               "-U", "postgres", "-h", database.cluster.data, database.name]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return float(told.split("tps = ")[1].split()[0]), None


def polled(name, bench, server):
    """At a steady rate; meanwhile a key is revoked."""
    _, listed = bench.ask(server, "GET", f"/v2/agent/{bench.project}/jobs?limit=100")
    paths = [f"{bench.path}/{job['id']}" for job in listed["jobs"]]
    idle = load.polls(bench.folder, server.port, ["/healthz"], bench.key, A_SECOND, 64, 3)
    yield Row(f"{name}: /healthz at {idle.a_second:.0f} a second, 99th", idle.slow, "ms")
    refused = []
    revoking = threading.Thread(target=lambda: refused.append(revoked(bench, server, paths[0])))
    revoking.start()
    polls = load.polls(bench.folder, server.port, paths, bench.key, A_SECOND, 64, SECONDS)
    revoking.join()
    yield Row(f"{name}: polls a second", polls.a_second, "", 0.9 * A_SECOND, least=True)
    yield Row(f"{name}: poll at that rate, median", polls.median, "ms")
    yield Row(f"{name}: poll at that rate, 99th", polls.slow, "ms", 10)
    yield Row(f"{name}: polls with a revoked key that were answered", refused[0], "", 0)


def revoked(bench, server, path):
    """How many of the next requests were answered all the same."""
    answered = 0
    for _ in range(5):
        new = bench.new_key()
        assert bench.ask(server, "GET", path, new["key"])[0] == 200
        admin(bench.data, "key", "revoke", new["id"])
        answered += bench.ask(server, "GET", path, new["key"])[0] != 401
    return answered


def recovered(name, bench, count, most):
    """From the start of the process to the end of the first job."""
    started = time.perf_counter()
    with bench.server(workers=4) as server:
        path = f"/v2/agent/{bench.project}/jobs?limit=1&status=completed"
        while not bench.ask(server, "GET", path)[1]["jobs"] and time.perf_counter() < started + 60:
            time.sleep(0.01)
        yield Row(f"{name}: {count:,} jobs wait: start to the first end", time.perf_counter() - started, "s", most)


class Silent:
    """A model that takes questions and answers none."""

    def __init__(self):
        self.asked, self.loop = 0, asyncio.new_event_loop()
        ready = threading.Event()
        threading.Thread(target=self.serve, args=(ready,), daemon=True).start()
        ready.wait()

    def serve(self, ready):
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(asyncio.start_server(self.hear, "127.0.0.1", 0, backlog=2048))
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        ready.set()
        self.loop.run_forever()

    async def hear(self, reader, _writer):
        await reader.readuntil(b"\r\n\r\n")
        self.asked += 1
        with contextlib.suppress(ConnectionError):
            await reader.read()


def slow_model(folder, docs):
    model, bench = Silent(), Bench(folder, docs, "slow")
    config = pathlib.Path(folder) / "slow.toml"
    table = {"provider": "compatible", "model": "m", "base_url": model.url, "allow_private": True, "silence_seconds": 900,
             "concurrent_calls": 2 * ACTIVE}
    config.write_text("[models.slow]\n" + "\n".join(f"{name} = {json.dumps(value)}" for name, value in table.items()))
    flags = ["--config", str(config), "--jobs-in-flight", str(ACTIVE), "--project-jobs", str(ACTIVE)]
    with Server(bench.data, free_port(), *flags) as server:
        idle = measure.memory(server.process.pid)
        body = {"prompt": "Say more.", "model": "slow"}
        with measure.Peak(server.process.pid) as peak:
            for _ in range(ACTIVE):
                status, answer = bench.ask(server, "POST", bench.path, body=body)
                assert status == 201, answer
            until = time.monotonic() + 180
            while model.asked < ACTIVE and time.monotonic() < until:
                time.sleep(0.1)
        yield Row("jobs that wait for their model", model.asked, "", ACTIVE, least=True)
        yield Row("memory of the process tree with them", measure.memory(server.process.pid), "MB", 300)
        yield Row("  of it: idle", idle, "MB")
        yield Row("  at the worst moment on the way", peak.memory, "MB")
