"""A world of several servers and workers without state of their own: they share one PostgreSQL and one ClickHouse, and
each of all these can die and come back at the same address."""

import contextlib
import http.client
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import time
from collections import Counter

from clickhouse_engine import ENGINE, ENVIRONMENT
from support import ROOT, python_with

from . import world
from .world import START, Gone, NotReady, Server, World, free_port

SITE, VIEWS_URL = "https://docs.acme.dev", "DOCWRIGHT_VIEWS_URL"
WORKER_STARTED = "Docwright runs jobs"
# What a client may be told besides a success. 409 is for a message to a job that was archived meanwhile.
LATER, CONFLICT = (429, 503), 409
CODE_ELSEWHERE = "views_elsewhere"
# How often a directory is removed again that a git of the dead server still writes to.
REMOVALS = 50


class EngineError(Exception):
    """A statement that ClickHouse refused."""


class Engine:
    """ClickHouse for tests, in a temporary directory."""

    name = "the engine"

    def __init__(self):
        self.folder, self.port = pathlib.Path(tempfile.mkdtemp(prefix="docwright-crash-engine-")), free_port()
        self.python = python_with(ENVIRONMENT, ENGINE) / "python"
        self.process, self.made = None, 0

    def __enter__(self):
        self.start()
        self.ready()
        return self

    def __exit__(self, *_):
        self.kill()
        shutil.rmtree(self.folder)

    def start(self):
        settings = {"CLICKHOUSE_TEST_PORT": str(self.port), "TMPDIR": str(self.folder)}
        script = [self.python, ROOT / "scripts/clickhouse_engine.py", self.folder / "data", self.folder / "port"]
        with open(self.folder / "log", "a") as log:
            self.process = subprocess.Popen(script, env={**os.environ, **settings}, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, start_new_session=True)

    def ready(self):
        until = time.monotonic() + START
        while time.monotonic() < until:
            with contextlib.suppress(OSError, http.client.HTTPException):
                return self.sql("SELECT 1")
            if self.dead():
                break
            time.sleep(0.05)
        raise NotReady("ClickHouse did not start:\n" + (self.folder / "log").read_text()[-2000:])

    def dead(self):
        return self.process.poll() is not None

    def kill(self):
        self.process.kill()
        self.process.wait()

    def let_die(self, after, when):
        """When so many statements from now arrive, or once the last of them is done."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection.request("GET", f"/die?after={after}&when={when}")
            connection.getresponse().read()
        connection.close()

    def sql(self, statement, database=""):
        """The answer of a statement, a row a line."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            connection.request("POST", "/", statement, {"X-ClickHouse-Database": database} if database else {})
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        if answer.status != 200:
            raise EngineError(f"ClickHouse refused {statement[:100]}: {text[:500]}")
        return text

    def database(self):
        self.made += 1
        name = f"crash{self.made}"
        self.sql(f"CREATE DATABASE {name}")
        return name


class Answers:
    """What clients were answered, and what they should not have been."""

    def __init__(self):
        self.counts, self.wrong, self.lock, self.slowest = Counter(), [], threading.Lock(), 0.0

    def note(self, request, status, headers, text, took):
        code = headers.get("X-Error-Code")
        with self.lock:
            self.counts[f"{status} {code}" if code else str(status)] += 1
            self.slowest = max(self.slowest, took)
        expected = 200 <= status < 300 or status in LATER or status == CONFLICT and "/message" in request
        if not expected or code == CODE_ELSEWHERE:
            self.wrong.append(f"{request} was answered with {status} {code}: {text[:300]}")
        elif status in LATER and not headers.get("Retry-After", "").isdigit():
            self.wrong.append(f"{request} was answered with {status} {code} without Retry-After")

    def note_none(self, why):
        with self.lock:
            self.counts[f"none: {type(why).__name__}"] += 1


class ScaleServer(Server):
    """One of several `docwright serve`. Every answer to a client is kept in mind."""

    name = "server"

    def arguments(self):
        return ["serve", "--listen", f"127.0.0.1:{self.port}", "--workers", "1"]

    def settings(self):
        return {**self.world.environment, "DOCWRIGHT_DATA": str(self.data), "TMPDIR": str(self.temporary)}

    def start(self):
        environment = self.settings()
        self.started_at = self.log.stat().st_size if self.log.exists() else 0
        with open(self.log, "a") as log:
            self.process = subprocess.Popen([world.BINARY, *self.world.config, *self.arguments()], env=environment,
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        self.sessions.append(self.process.pid)
        self.started = time.time()

    def empty(self):
        """Removes everything that the dead server had. A git of it may live on for a moment."""
        for _ in range(REMOVALS):
            shutil.rmtree(self.data, ignore_errors=True)
            if not self.data.exists():
                return
            time.sleep(0.02)
        raise SystemExit(f"{self.data} cannot be removed")

    def exchange(self, method, path, body=None, headers=(), timeout=30):
        """Status and body; `Gone` when there is no answer, or one that says to come again."""
        connection, began = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout), time.monotonic()
        try:
            connection.request(method, path, body, dict(headers))
            answer = connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as why:
            self.world.answers.note_none(why)
            raise Gone(str(why)) from None
        finally:
            connection.close()
        self.world.answers.note(f"{method} {path}", answer.status, answer.headers, text, time.monotonic() - began)
        if answer.status in LATER or answer.status >= 500:
            raise Refused(answer.status, answer.headers.get("X-Error-Code"), text)
        return answer.status, json.loads(text) if "json" in answer.headers.get("Content-Type", "") else text

    def ask(self, method, path, body=None, key=None, once=None, timeout=30):
        headers = {"Content-Type": "application/json"}
        headers.update({"Authorization": f"Bearer {key}"} if key else {})
        headers.update({"Idempotency-Key": once} if once else {})
        return self.exchange(method, path, body and json.dumps(body), headers, timeout)


class Refused(Gone):
    """An answer that says to come again."""

    def __init__(self, status, code, text):
        super().__init__(f"{status} {code} {text[:200]}")
        self.status, self.code = status, code


class ScaleWorker(ScaleServer):
    """One `docwright worker`, which answers no requests."""

    name = "worker"

    def arguments(self):
        return ["worker", "--workers", "4"]

    def settings(self):
        """It takes no views."""
        return {name: value for name, value in super().settings().items() if name != VIEWS_URL}

    def ready(self):
        until = time.monotonic() + START
        while time.monotonic() < until and not self.dead():
            with open(self.log) as log:
                log.seek(self.started_at)
                if WORKER_STARTED in log.read():
                    return
            time.sleep(0.05)
        raise NotReady("the worker did not start:\n" + self.log.read_text()[-2000:])


class ScaleWorld(World):
    """Two projects: the first one also has jobs."""

    def __init__(self, cluster, engine, servers=3, workers=2, keep=False):
        self.cluster, self.engine, self.answers = cluster, engine, Answers()
        self.views = engine.database()
        super().__init__(0, cluster.database(), keep=keep)
        self.servers = [ScaleServer(self, number) for number in range(servers)]
        self.workers = [ScaleWorker(self, servers + number) for number in range(workers)]
        second = self.admin("project", "create", "--name", "E", *self.repository_flags())["id"]
        self.projects = [self.project, second]

    def settings(self):
        url = f"http://127.0.0.1:{self.engine.port}/{self.views}"
        return {**super().settings(), VIEWS_URL: url}

    def repository_flags(self):
        return [*super().repository_flags(), "--site", SITE]

    def admin(self, *arguments):
        environment = {**self.environment, "DOCWRIGHT_DATA": str(self.data_directory("admin"))}
        command = [world.BINARY, *self.config, *arguments, "--json"]
        return json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout)

    def processes(self):
        return [*self.servers, *self.workers]

    def start(self):
        for process in self.processes():
            process.start()
        for process in self.processes():
            process.ready()

    def ledger(self, statement):
        return self.cluster.sql(self.database.name, statement).strip()

    def columns(self, statement):
        return self.engine.sql(statement, self.views)

    def numbers(self):
        """The projects by their numbers in ClickHouse."""
        rows = (line.split("|") for line in self.ledger("SELECT id, name FROM views_projects").splitlines())
        return {int(number): name for number, name in rows}

    def waiting(self):
        """Views that ClickHouse does not have yet."""
        return int(self.ledger("SELECT COALESCE(SUM(events), 0) FROM views_outbox"))

    def end(self):
        for process in self.workers:
            if process.process and not process.dead():
                process.stop()
        super().end()
