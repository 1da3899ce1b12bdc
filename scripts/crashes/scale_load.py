"""Readers of several projects: they send page views in every way there is, to any server, until each is acknowledged, and
ask for reports meanwhile. Each view has a referrer of its own, by which it is recognized in ClickHouse."""

import json
import random
import subprocess
import threading
import time
from datetime import datetime, timezone
from typing import NamedTuple

from . import world as places
from .clients import BROWSER, Clients
from .scale_world import SITE, Refused
from .world import Gone

PATIENCE = 240
DAY, DAYS = 86_400_000, 3
PAGES = 40
AGENTS = (
    (BROWSER, "human"),
    ("ChatGPT-User/1.0", "assistant"),
    ("GPTBot/1.2", "ai-training"),
    ("Googlebot/2.1", "search-engine"),
    ("curl/8.5.0", "bot"),
)
AGENT_WEIGHTS = (6, 4, 1, 1, 1)
REPORTS = ("views", "views", "visitors", "agents", "series", "referrers", "not-found", "live")
REFUSALS = ("views_unavailable", "unavailable", "busy")
FEW, MANY = 60, 600
# Seconds between two requests of a client.
PAUSE, IMPORT_PAUSE = (0.05, 0.8), (1, 3)
# Of more pairs of a missing page and a referrer on one day, some count as other.
MAX_MISSING = 5000
# Of everything that was acknowledged, this much is sent once more.
AGAIN = 0.15
KILLED_IMPORTS = 0.15
IMPORT_SECONDS = 120


class View(NamedTuple):
    source: str
    number: int
    path: str
    status: int
    agent: str
    group: str
    address: str
    at: int
    """Milliseconds since 1970."""

    @property
    def name(self):
        return f"from.example/{self.source}/{self.number}"

    @property
    def is_read(self):
        return self.status == 200

    @property
    def is_counted(self):
        """Whether it is in the report `views`."""
        return self.is_read and self.group in ("human", "assistant")

    def event(self):
        moment = datetime.fromtimestamp(self.at / 1000, timezone.utc).isoformat(timespec="milliseconds")
        return {"path": self.path, "timestamp": moment, "userAgent": self.agent, "ip": self.address, "status": self.status,
                "method": "GET", "referrer": f"https://{self.name}", "eventId": self.name}

    def line(self):
        moment = datetime.fromtimestamp(self.at / 1000, timezone.utc).strftime("%d/%b/%Y:%H:%M:%S +0000")
        request = f'"GET {self.path} HTTP/1.1" {self.status} 512'
        return f'{self.address} - - [{moment}] {request} "https://{self.name}" "{self.agent}"\n'


class Readers:
    """Everything that was begun of one project is acknowledged in the end, or something is wrong."""

    def __init__(self, world, project, seed):
        self.world, self.project, self.random = world, project, random.Random(seed)
        self.views, self.wrong, self.batches = [], [], []
        self.made = self.missing = self.begun = self.acknowledged = 0
        self.files = self.retries = self.reports = self.accepted = self.duplicates = self.unanswered = 0
        self.lock, self.over = threading.Lock(), threading.Event()
        self.first_day = int(time.time() * 1000) // DAY
        work = [self.send_batch, self.send_batch, self.send_beacon, self.import_log, self.read_report]
        self.threads = [threading.Thread(target=self.run, args=(step,), daemon=True) for step in work]

    def start(self):
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.over.set()
        for thread in self.threads:
            thread.join(PATIENCE + IMPORT_SECONDS)
            if thread.is_alive():
                self.wrong.append("a reader did not end, so what was acknowledged is not known")

    def run(self, step):
        try:
            while not self.over.is_set():
                step()
                time.sleep(self.random.uniform(*PAUSE))
        except Exception as why:  # otherwise the thread would end without a word
            self.wrong.append(f"{step.__name__}: {type(why).__name__}: {why}")

    def make(self, source, count):
        """New views, which are begun."""
        now = int(time.time() * 1000)
        with self.lock:
            numbers = range(self.made, self.made + count)
            self.made += count
        made = []
        for number in numbers:
            agent, group = self.random.choices(AGENTS, AGENT_WEIGHTS)[0]
            path = f"/{source}/page-{int(PAGES * self.random.random() ** 2)}"
            status = 404 if self.missing < MAX_MISSING and self.random.random() < 0.1 else 200
            self.missing += status == 404
            address = f"10.0.{self.random.randrange(4)}.{self.random.randrange(50)}"
            at = now - self.random.randrange(DAYS * DAY)
            at -= at % 1000 if source == "log" else 0  # whose lines have whole seconds
            made.append(View(source, number, path, status, agent, group, address, at))
        self.begin(made)
        return made

    def begin(self, views):
        with self.lock:
            self.begun += sum(view.is_counted for view in views)

    def acknowledge(self, views):
        with self.lock:
            self.views += views
            self.acknowledged += sum(view.is_counted for view in views)

    def send(self, path, body, headers):
        """Until there is an answer: status, body, and why earlier attempts failed, which may have been stored."""
        until, failures = time.monotonic() + PATIENCE, []
        while time.monotonic() < until:
            try:
                status, told = random.choice(self.world.servers).exchange("POST", path, body, headers)
                return status, told, failures
            except Gone as gone:
                failures.append(gone)
                self.retries += 1
                time.sleep(self.random.uniform(0.05, 0.4))
        raise TimeoutError(f"POST {path} was not acknowledged for {PATIENCE} s: {failures[-1:]}")

    def send_batch(self):
        if self.batches and self.random.random() < AGAIN:
            return self.post_batch(self.random.choice(self.batches), is_known=True)
        views = self.make("api", self.random.randint(1, MANY if self.random.random() < 0.05 else FEW))
        self.post_batch(views, is_known=False)
        self.acknowledge(views)
        self.batches = [*self.batches[-50:], views]

    def post_batch(self, views, is_known):
        events = [view.event() for view in views]
        is_json = self.random.random() < 0.5
        body = json.dumps(events) if is_json else "\n".join(map(json.dumps, events))
        kind = "application/json" if is_json else "application/x-ndjson"
        headers = {"Content-Type": kind, "Authorization": f"Bearer {self.world.key}"}
        status, told, failures = self.send(f"/v1/analytics/{self.project}/events", body, headers)
        if status != 202 or told["accepted"] != len(views) or told["rejected"]:
            return self.wrong.append(f"{len(views)} views were answered with {status}: {str(told)[:300]}")
        duplicates = self.note_receipt(views, told)
        with self.lock:
            self.unanswered += duplicates if not is_known else 0
            # A commit whose answer is lost with the database may be one.
            self.world.answers.counts["503, and kept"] += duplicates > 0 and not is_known and all(
                isinstance(failure, Refused) for failure in failures)
        # A batch is stored as a whole, or not at all.
        possible = {len(views)} if is_known else {0, len(views)} if failures else {0}
        if duplicates not in possible:
            self.wrong.append(f"{views[0].name} and {len(views) - 1} more: {duplicates} duplicates, not one of {possible}")

    def note_receipt(self, views, told):
        with self.lock:
            self.accepted, self.duplicates = self.accepted + len(views), self.duplicates + told["duplicates"]
        return told["duplicates"]

    def send_beacon(self):
        now = int(time.time() * 1000)
        with self.lock:
            number, self.made = self.made, self.made + 1
        path = f"/beacon/page-{int(PAGES * self.random.random() ** 2)}"
        view = View("beacon", number, path, 200, BROWSER, "human", "127.0.0.1", now)
        self.begin([view])
        body = json.dumps({"url": f"{SITE}{view.path}", "referrer": f"https://{view.name}", "eventId": view.name})
        headers = {"Content-Type": "text/plain", "Origin": SITE, "User-Agent": view.agent}
        for _ in range(2 if self.random.random() < AGAIN else 1):
            status, told, _ = self.send(f"/v1/collect/{self.project}", body, headers)
            if status != 204:
                self.wrong.append(f"a beacon was answered with {status}: {told[:300]}")
        self.acknowledge([view])

    def import_log(self):
        """The same command again goes on where it was, at any server, also after it was killed."""
        views = self.make("log", self.random.randint(1, MANY))
        self.files += 1
        log = self.world.folder / f"{self.project}-{self.files}.log"
        log.write_text("".join(view.line() for view in views))
        until, complaint = time.monotonic() + PATIENCE, ""
        while time.monotonic() < until:
            complaint = self.import_once(log)
            if complaint is None:
                self.acknowledge(views)
                return self.over.wait(self.random.uniform(*IMPORT_PAUSE))
            self.retries += 1
            time.sleep(0.1)
        raise TimeoutError(f"{log.name} was not imported within {PATIENCE} s: {complaint}")

    def import_once(self, log):
        at = random.choice(self.world.servers)
        environment = {**self.world.environment, "DOCWRIGHT_URL": f"http://127.0.0.1:{at.port}",
                       "DOCWRIGHT_API_KEY": self.world.key, "TMPDIR": str(self.world.folder)}
        command = [places.BINARY, "import", self.project, str(log), "--json"]
        with subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, start_new_session=True) as process:
            is_killed = self.random.random() < KILLED_IMPORTS
            limit = self.random.uniform(0, 0.5) if is_killed else IMPORT_SECONDS
            try:
                printed, _ = process.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                process.kill()
                printed, _ = process.communicate()
        return None if process.returncode == 0 else f"exit code {process.returncode}: {printed[-300:]}"

    def read_report(self):
        """A count has everything that was acknowledged before the question, and nothing that was not begun."""
        report, at_least = self.random.choice(REPORTS), self.acknowledged
        server, headers = random.choice(self.world.servers), {"Authorization": f"Bearer {self.world.key}"}
        try:
            status, told = server.exchange("GET", f"/v1/analytics/{self.project}/{report}", None, headers, timeout=60)
        except Gone as gone:
            self.retries += 1
            if isinstance(gone, Refused) and gone.status == 503 and gone.code not in REFUSALS:
                self.wrong.append(f"the report {report} was answered with {gone}")
            return
        self.reports += 1
        if status == 200 and report == "views":
            total, at_most = told["totals"]["total"], self.begun
            if not at_least <= total <= at_most:
                self.wrong.append(f"{total} views are counted; {at_least} were acknowledged and {at_most} were begun")


class JobClients(Clients):
    """Those who ask for jobs; `Readers` send the views."""

    def view(self):
        time.sleep(1)
