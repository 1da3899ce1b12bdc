"""Clients as they should be: they come again until they are answered, with the same key, and remember every answer."""

import random
import threading
import time

from .model import prompt
from .world import Gone

PATIENCE = 120
PAUSE = 0.05
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"


class Unanswered(Exception):
    """Nobody answered for longer than anybody waits."""


class Seen:
    """All that was told about one job, by the answers to its maker and to those who look."""

    def __init__(self, job):
        self.id, self.looks, self.events = job["id"], [job], []
        self.notes, self.archived = [], False
        # Only one thread looks at a time, so that an older answer does not come after a newer one.
        self.lock, self.requests, self.looked = threading.Lock(), 0, 0

    @property
    def status(self):
        return self.looks[-1]["status"]

    @property
    def is_active(self):
        """As far as we know: what was asked for since the last look may not have ended."""
        return self.status == "active" or self.looked < self.requests

    @property
    def is_suspect(self):
        """Whether it waits to run alone, until servers live longer."""
        return bool(self.events) and self.events[-1]["message"].startswith("Waiting for a worker with no other job")


class Clients:
    """`makers` threads that ask for things, and one that looks; all by one seed."""

    def __init__(self, world, seed, makers=3, active=12):
        self.world, self.random, self.most_active = world, random.Random(seed), active
        self.jobs, self.views, self.wrong, self.lock = {}, 0, [], threading.Lock()
        self.made, self.answers, self.retries = 0, 0, 0
        self.resting = threading.Event()
        self.over = threading.Event()
        self.abandoned = threading.Event()
        """Nobody cares any more: what was begun need not be brought to its end."""
        work = [self.make] * makers + [self.view, self.watch]
        self.threads = [threading.Thread(target=self.run, args=(one,), daemon=True) for one in work]

    def start(self):
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.over.set()
        for thread in self.threads:
            thread.join(PATIENCE + 30)
            if thread.is_alive():
                self.wrong.append("a client did not end, so what it was told is not known")

    def run(self, step):
        while not self.over.is_set():
            try:
                step()
            except Unanswered as why:
                self.wrong.append(str(why))
                return

    def ask(self, method, path, body=None, once=None, server=None):
        """Until there is an answer. What was begun is brought to its end, whatever else is over."""
        until, why = time.monotonic() + PATIENCE, "it was abandoned"
        while time.monotonic() < until and not self.abandoned.is_set():
            at = server or random.choice(self.world.servers)
            try:
                answer = at.ask(method, path, body, self.world.key, once)
                self.answers += 1
                return answer
            except Gone as gone:
                self.retries += 1
                why = gone
                time.sleep(PAUSE)
        raise Unanswered(f"{method} {path} was not answered for {PATIENCE} s: {why}")

    def path(self, *rest):
        return "/".join([f"/v2/agent/{self.world.project}/job", *rest])

    def new_note(self):
        with self.lock:
            self.made += 1
            return f"note-{self.made:05}"

    def active(self):
        return [seen for seen in list(self.jobs.values()) if seen.is_active]

    def make(self):
        busy = [seen for seen in self.active() if not seen.is_suspect]
        if self.resting.is_set() or len(busy) >= self.most_active:
            return time.sleep(PAUSE)
        dice, known = self.random.random(), list(self.jobs.values())
        if dice < 0.6 or not known:
            return self.create()
        seen = self.random.choice(known[-30:])
        self.follow_up(seen) if dice < 0.9 else self.archive(seen)

    def create(self, note=None):
        note = note or self.new_note()
        status, job = self.ask("POST", self.path(), {"prompt": prompt(note)}, once=note)
        if status != 201:
            return self.wrong.append(f"a create was answered with {status}: {job}")
        seen = self.jobs.setdefault(job["id"], Seen(job))
        seen.notes.append(note)
        return seen

    def follow_up(self, seen):
        note = self.new_note()
        status, job = self.ask("POST", self.path(seen.id, "message"), {"prompt": prompt(note)}, once=note)
        if status == 200:
            seen.notes.append(note)
            seen.requests += 1
        elif status != 409:
            self.wrong.append(f"a follow-up was answered with {status}: {job}")

    def archive(self, seen):
        status, job = self.ask("POST", self.path(seen.id, "archive"))
        if status == 200 and job["status"] == "archived":
            seen.archived = True
        else:
            self.wrong.append(f"an archive was answered with {status}: {job}")

    def view(self):
        """Page views belong to one server."""
        time.sleep(PAUSE)
        if self.resting.is_set():
            return
        first, count = self.views, 5
        event = {"userAgent": BROWSER, "method": "GET", "status": 200}
        events = [{**event, "path": f"/page-{n % 40}", "eventId": f"view-{n}"} for n in range(first, first + count)]
        path = f"/v1/analytics/{self.world.project}/events"
        status, told = self.ask("POST", path, events, server=self.world.servers[0])
        if status != 202 or told["accepted"] != count or told["rejected"]:
            return self.wrong.append(f"views were answered with {status}: {told}")
        self.views += count

    def watch(self):
        known = list(self.jobs.values())
        for seen in {*self.active(), *self.random.sample(known, min(4, len(known)))}:
            self.look(seen)
        time.sleep(PAUSE)

    def look(self, seen):
        """Keeps how the job looks, if that has changed; what was told once is never taken back."""
        with seen.lock:
            requests = seen.requests
            status, job = self.ask("GET", self.path(seen.id))
            if status != 200:
                return self.wrong.append(f"job {seen.id} was answered with {status}")
            if job != seen.looks[-1]:
                seen.looks.append(job)
            _, events = self.ask("GET", self.path(seen.id, "events"))
            if events[: len(seen.events)] != seen.events:
                self.wrong.append(f"events of job {seen.id} have changed")
            seen.events = max(seen.events, events, key=len)
            seen.looked = requests

    def rest(self, patience):
        """Nobody asks for more, and everything that was asked for ends."""
        self.resting.set()
        until = time.monotonic() + patience
        while self.active() and time.monotonic() < until:
            time.sleep(PAUSE)
        return not self.active()
