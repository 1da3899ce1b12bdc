"""Measures how long jobs take while the model of another project stalls.

The model `stall` never answers, and `quick` answers at once: one edit, then finish. First 20 offline and 20 quick jobs
run on an idle server. Then 64 jobs of one project wait for `stall`, and the same 40 jobs of another project run beside
them. With SQLite, and with PostgreSQL and two worker processes.
"""

import contextlib
import http.client
import json
import pathlib
import statistics
import subprocess
import tempfile
import threading
import time

from crashes.cluster import Cluster, programs

from .common import BINARY, Row, Server, admin, commit, free_port
from .durable import on_postgres
from .model import Model, Script

STALLED, JOBS = 64, 20
POLL, LIMIT = 0.02, 180
OLD, NEW = "npm install acme", "pnpm add acme"
OFFLINE_PROMPT = f'Replace "{OLD}" with "{NEW}" including code.'


class StallingModel(Model):
    """Answers every model but `stall`."""

    def __init__(self):
        edit = ("edit", {"path": "install.md", "old": OLD, "new": NEW})
        super().__init__(Script([edit, ("finish", {"title": "Use pnpm", "summary": "The page uses pnpm."})]))
        self.over = threading.Event()

    def __exit__(self, *exception):
        self.over.set()
        super().__exit__(*exception)

    def heard(self, body):
        asked = super().heard(body)
        if asked["model"] == "stall":
            self.over.wait()
        return asked


class Installation:
    """A server with two projects, and the settings of both models."""

    def __init__(self, folder, model):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        config = self.folder / "docwright.toml"
        config.write_text("\n".join(table(name, model) for name in ("stall", "quick")))
        self.flags = ["--config", str(config)]
        docs = self.folder / "docs"
        docs.mkdir()
        (docs / "install.md").write_text(f"# Install\n\n```sh\n{OLD}\n```\n")
        commit(docs)
        self.data = f"{folder}/data"
        admin(self.data, "org", "create", "--name", "Bench")
        self.projects = [self.project(str(docs), name) for name in ("Stalled", "Other")]
        self.key = admin(self.data, "key", "create", "--name", "Bench")["key"]

    def project(self, repository, name):
        new = ["project", "create", "--name", name, "--repository", repository, "--model", "quick"]
        return admin(self.data, *new, *self.flags)["id"]

    def serve(self, *flags):
        return Server(self.data, free_port(), *self.flags, *flags)

    @contextlib.contextmanager
    def workers(self, count):
        command = [BINARY, "worker", *self.flags]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        started = [subprocess.Popen([*command, "--data", f"{self.folder}/worker{n}"], **quiet) for n in range(count)]
        try:
            yield
        finally:
            for worker in started:
                worker.terminate()
            for worker in started:
                worker.wait(60)


def table(name, model):
    fields = {"provider": "compatible", "model": name, "base_url": model.url, "allow_private": True,
              "concurrent_calls": 16, "silence_seconds": 3600, "call_seconds": 3600}
    return "\n".join([f"[models.{name}]", *(f"{field} = {json.dumps(value)}" for field, value in fields.items())])


class Client:
    def __init__(self, server, key):
        self.server, self.key = server, key
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port)

    def ask(self, method, path, body=None):
        return json.loads(self.server.ask(self.connection, method, path, self.key, body)[1])

    def create(self, project, model):
        prompt = OFFLINE_PROMPT if model == "offline" else "Use pnpm."
        return self.ask("POST", f"/v2/agent/{project}/job", {"prompt": prompt, "model": model})["id"]

    def seconds_to_end(self, project, model):
        """Creates all jobs at once. Returns the seconds from create to completed of each."""
        created = {self.create(project, model): time.perf_counter() for _ in range(JOBS)}
        took, deadline = {}, time.perf_counter() + LIMIT
        while len(took) < JOBS and time.perf_counter() < deadline:
            for job in created.keys() - took.keys():
                if self.ask("GET", f"/v2/agent/{project}/job/{job}")["status"] == "completed":
                    took[job] = time.perf_counter() - created[job]
            time.sleep(POLL)
        return sorted(took.values())

    def wait_for_running(self, count):
        """Returns whether so many jobs wait for `stall` in time."""
        deadline = time.perf_counter() + LIMIT
        while time.perf_counter() < deadline:
            _, body = self.server.ask(self.connection, "GET", "/metrics")
            running = next(line for line in body.decode().splitlines() if line.startswith("docwright_jobs_running "))
            if int(running.split()[1]) >= count:
                return True
            time.sleep(POLL)
        return False


def rows(label, took):
    if len(took) < JOBS:
        yield Row(label, f"only {len(took)} of {JOBS} ended within {LIMIT} s")
        return
    yield Row(f"{label}, median", statistics.median(took), "s")
    yield Row(f"{label}, worst", took[-1], "s")


def measured(store, installation, workers):
    stalled, other = installation.projects
    count = ["--workers", "0"] if workers else []
    with installation.serve("--metrics", *count) as server, installation.workers(workers):
        client = Client(server, installation.key)
        client.seconds_to_end(other, "offline")  # fills the caches
        for state in ("idle", f"{STALLED} stalled"):
            if state != "idle":
                for _ in range(STALLED):
                    client.create(stalled, "stall")
                if not client.wait_for_running(STALLED):
                    yield Row(f"{store}, {state}", f"the jobs didn't start within {LIMIT} s")
                    return
            for model in ("offline", "quick"):
                yield from rows(f"{store}, {state}: {JOBS} {model} jobs", client.seconds_to_end(other, model))
        started = time.perf_counter()
        server.process.terminate()
        server.process.wait(60)
        if not workers:
            yield Row(f"{store}: stop with {STALLED} jobs in flight", time.perf_counter() - started, "s")


def run():
    with tempfile.TemporaryDirectory() as folder, StallingModel() as model:
        yield from measured("SQLite", Installation(f"{folder}/sqlite", model), 0)
        if not programs():
            yield Row("PostgreSQL, two workers", "PostgreSQL is not installed")
            return
        with Cluster() as cluster, on_postgres(folder, cluster.database()):
            yield from measured("PostgreSQL", Installation(f"{folder}/postgres", model), 2)
