"""From the lease of a job to its open pull request, on a repository host that is reached over HTTP, beside scripts of
git commands that do the same: read two pages, edit both, push, open the pull request.

The host is `fakehost` with GitHub's API and git's own server. The model answers at once. What ours takes is told by the
job's own events, from `started` to `ended`, each written by the server as it happens, in milliseconds; the pull
request is open before the latter. Warm ones come in pairs: after somebody else pushed to main, and after nobody did.

Then the same jobs on the embedded host, over the same repositories: there, all that is measured is ours.
"""

import contextlib
import http.client
import json
import os
import pathlib
import random
import statistics
import subprocess
import tempfile
import time
from datetime import datetime
from typing import NamedTuple

from . import by_git
from .agent import NUMBERED, TASK, Failed, hold_to_the_task
from .common import TARGET, Row, Server, admin, cargo, free_port, timed
from .model import Model, Script

SIZES = (100, 5_000, 50_000)
FIRST, TURNS, WARM, SYNCS = 3, 3, 9, 50
WORDS = "The acme service keeps every order until it is paid, and tells whoever asked for it."
LETTERS = ["".join(word) for word in zip("bcdfghklmnprst" * 40, "aeiou" * 112, "lnrstm" * 94, "aeio" * 140)]
OTHER = "docs/part-0000/page-00.md"
SWEEP = "Fix broken links."
KINDS = (by_git.Clone, by_git.Blobless, by_git.Mirror)


def repository(folder, files):
    """Fifty files a folder, sized as those of real ones: the documentation in Django 6.1.3 has pages of 9.5 kB and one
    picture of 37 kB among 21 files, that in Sphinx 9.2.0 pages of 8.8 kB and one of 65 kB among 5."""
    by_git.git("/", "init", "-q", "--bare", "-b", "main", folder)
    by_git.import_commit(folder, tree(files), "Begin")
    # As a host keeps it: one pack, with a bitmap.
    by_git.git(folder, "repack", "-adqb")
    return folder


def tree(files):
    """Every tenth file is a picture of 50 kB; the others are pages of 9 kB on average."""
    for path in TASK.files:
        yield path, f"# Acme\n\n```sh\n{TASK.old}\n```\n\n{WORDS}\n".encode()
    some = random.Random(files)
    sentences = [" ".join(some.choices(LETTERS, k=14)).capitalize() + ".\n" for _ in range(2_000)]
    for number in range(files - len(TASK.files)):
        folder, name = f"docs/part-{number // 50:04}", f"page-{number % 50:02}"
        if number % 10 == 9:
            yield f"{folder}/{name}.png", some.randbytes(50_000)
        else:
            text = "".join(some.choices(sentences, k=some.randrange(40, 220)))
            yield f"{folder}/{name}.md", f"---\ntitle: Page {number}\n---\n\n# Page {number}\n\n{text}".encode()


@contextlib.contextmanager
def host(repositories, *more):
    """A host with these repositories, by its address."""
    cargo("build", "--release", "--locked", "-p", "fakehost")
    flags = [flag for name, path in repositories.items() for flag in ("--repository", f"{name}={path}")]
    start = [TARGET / "release/fakehost", "--kind", "github", "--token", by_git.TOKEN, "--rate-limit", "1000000"]
    process = subprocess.Popen([*start, *flags, *more], stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(30)


def asked(url):
    """How many requests the host has had, how many milliseconds it took to answer them, and how many bytes it sent."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"))
    connection.request("GET", "/_fake/state")
    state = json.loads(connection.getresponse().read())
    connection.close()
    return state["count"], state["busy_ms"], state["sent_bytes"]


def script():
    read = [("read", {"path": path}) for path in TASK.files]
    edit = [("edit", {"path": path, "old": TASK.old, "new": TASK.new + NUMBERED}) for path in TASK.files]
    return Script(read + edit + [("finish", {"title": "Use pnpm", "summary": "Both pages use pnpm."})])


class Took(NamedTuple):
    """Milliseconds of a job, and of its parts; the commit is in the edit. What the host took for its answers is in the
    fetch, the push and the opening."""

    whole: float
    fetch: float
    edit: float
    push: float
    open: float
    host: float = 0

    @property
    def ours(self):
        return self.whole - self.host


class Jobs:
    """Jobs of one project, each followed as it happens: a client that asks again and again would be measured, too."""

    def __init__(self, server, project, key):
        self.server, self.key, self.path = server, key, f"/v2/agent/{project}/job"

    def run(self):
        job, events = self.events_of(TASK.prompt)
        if not any(event["type"] == "opening" for event in events):
            raise Failed(events[-1]["message"])
        return took(events), job["source"]["ref"]

    def events_of(self, prompt):
        """A job and its events, once it has ended."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port)
        status, job = self.server.ask(connection, "POST", self.path, self.key, {"prompt": prompt})
        assert status == 201, job
        job = json.loads(job)
        headers = {"Authorization": f"Bearer {self.key}", "Accept": "text/event-stream"}
        connection.request("GET", f"{self.path}/{job['id']}/events", headers=headers)
        lines = connection.getresponse().read().decode().splitlines()
        return job, [json.loads(line.removeprefix("data:")) for line in lines if line.startswith("data:")]


def times(events):
    return {event["type"]: datetime.fromisoformat(event["at"]).timestamp() * 1000 for event in events}


def took(events):
    at = times(events)
    points = [at[name] for name in ("started", "fetched", "pushing", "opening", "ended")]
    return Took(points[-1] - points[0], *(after - before for before, after in zip(points, points[1:])))


class Docs:
    """One repository, and all who work on it in turn, so that whatever else the machine does meets them all."""

    def __init__(self, folder, url, name, jobs):
        folder = pathlib.Path(folder) / f"at-{name.replace('/', '-')}"
        folder.mkdir()
        self.host, self.jobs, self.number = url, jobs, 0
        self.requests, self.moved, self.still = 0, [], []
        self.sent = 0
        place = folder, f"{url}/{name}", TASK
        self.somebody = by_git.Mirror(*place, "somebody")
        self.clone, self.blobless, self.mirror = (kind(*place) for kind in KINDS)

    def ours(self, jobs):
        requests, busy, sent = asked(self.host)
        took, branch = jobs.run()
        requests_now, busy_now, sent_now = asked(self.host)
        self.requests, self.sent = requests_now - requests, sent_now - sent
        self.check(branch)
        return took._replace(host=busy_now - busy)

    def script(self, script):
        self.number += 1
        branch = f"script-{self.number}"
        requests, _, sent = asked(self.host)
        started = time.perf_counter()
        script.run(branch)
        wall = (time.perf_counter() - started) * 1000
        requests_now, _, sent_now = asked(self.host)
        script.requests, script.sent = requests_now - requests, sent_now - sent
        script.clean()
        self.check(branch)
        return wall

    def check(self, branch):
        """The two pages were changed, from where main is."""
        self.somebody.fetch(branch)
        place = self.somebody.dir
        changed = by_git.text(place, "diff", "--name-only", "main", branch).split()
        hold_to_the_task(str(place), changed, lambda path: by_git.git(place, "show", f"{branch}:{path}").decode())

    def first(self):
        """First jobs of projects of their own, and clones."""
        rounds = [(self.ours(jobs), self.script(self.clone), self.script(self.blobless)) for jobs in self.jobs]
        ours, clone, blobless = zip(*rounds)
        self.first_requests, self.first_sent = self.requests, self.sent
        return median(ours), statistics.median(clone), statistics.median(blobless)

    def first_rows(self, size):
        whose = [("first job", self.first_requests, self.first_sent)]
        whose += [(script.name, script.requests, script.sent) for script in (self.clone, self.blobless)]
        for name, requests, sent in whose:
            yield Row(f"{size}: {name}, requests to the host", requests)
            yield Row(f"{size}: {name}, bytes from the host", sent / 1e6, "MB")

    def round(self):
        """A job, and a run of a mirror: after a push of somebody else, and after none."""
        self.somebody.move_main(OTHER)
        for rounds in (self.moved, self.still):
            rounds.append((self.ours(self.jobs[0]), self.script(self.mirror)))


class Here:
    """One repository on the embedded host."""

    def __init__(self, folder, source, jobs):
        folder = pathlib.Path(folder) / f"here-{pathlib.Path(source).stem}"
        folder.mkdir()
        self.somebody, self.jobs = by_git.Mirror(folder, source.removesuffix(".git"), TASK, "somebody"), jobs
        self.jobs.run()
        self.moved = []

    def round(self):
        self.somebody.move_main(OTHER)
        self.moved.append(self.jobs.run()[0])


def in_turns(places):
    """Rounds of all, a few at a time: a machine that is slower a minute later is so for each of them."""
    for _ in range(TURNS):
        for place in places:
            for _ in range(WARM // TURNS):
                place.round()


def median(tooks):
    return Took(*(statistics.median(column) for column in zip(*tooks)))


def medians(rounds):
    ours, theirs = zip(*rounds)
    return median(ours), statistics.median(theirs)


def sync(folder):
    """Milliseconds until a page of a file is on this disk."""
    with open(f"{folder}/sync", "wb", buffering=0) as file:

        def write():
            file.write(bytes(4096))
            os.fsync(file.fileno())

        return statistics.median(timed(SYNCS, write))


@contextlib.contextmanager
def serving(folder):
    """A server, by what makes the jobs of a new project in a repository."""
    with Model(script()) as model:
        config, token, data = f"{folder}/docwright.toml", f"{folder}/token", f"{folder}/data"
        table = {"provider": "compatible", "model": "scripted", "base_url": model.url, "allow_private": True}
        lines = [f"{name} = {json.dumps(value)}" for name, value in table.items()]
        pathlib.Path(config).write_text("\n".join(["hosts_allow_private = true", "[models.bench]", *lines]))
        pathlib.Path(token).write_text(by_git.TOKEN)
        new = ["project", "create", "--name", "B", "--config", config, "--repository"]
        away = ["--host", "github", "--token-file", token]
        key = admin(data, "key", "create", "--name", "B")["key"]
        with Server(data, free_port(), "--config", config) as server:

            def project(repository, model="bench"):
                place = away if repository.startswith("http") else []
                return Jobs(server, admin(data, *new, repository, "--model", model, *place)["id"], key)

            yield project


def run():
    with tempfile.TemporaryDirectory() as folder:
        yield Row("fsync of this disk, median", sync(folder), "ms")
        sources = {f"acme/docs-{files}": repository(f"{folder}/{files}.git", files) for files in SIZES}
        with host(sources) as url, host(sources, "--no-filter") as plain, serving(folder) as project:
            try:
                jobs = {name: [project(f"{url}/{name}") for _ in range(FIRST)] for name in sources}
                yield from measured(folder, url, jobs)
                yield from whole_fetches(project, url, plain, sources)
                embedded = {name: project(path) for name, path in sources.items()}
                yield from measured_here(folder, sources, embedded)
            except Failed as why:
                yield Row("a job on a host", f"failed: {why}")


def whole_fetches(project, url, plain, sources):
    """First jobs that fetch every file, because the host can't omit files; and a job that reads every page, which fetches
    them in batches or at once."""
    for files, name in zip(SIZES, sources):
        for what, model, prompt in (("first job", "bench", TASK.prompt), ("a job that reads every page", "offline", SWEEP)):
            for whose, host_url in (("files on demand", url), ("all files at once", plain)):
                requests, _, sent = asked(host_url)
                _, events = project(f"{host_url}/{name}", model).events_of(prompt)
                requests_now, _, sent_now = asked(host_url)
                at = times(events)
                yield Row(f"{files:,} files: {what}, {whose}", at["ended"] - at["started"], "ms")
                yield Row("  requests to the host", requests_now - requests)
                yield Row("  bytes from the host", (sent_now - sent) / 1e6, "MB")


def measured(folder, url, jobs):
    docs = {files: Docs(folder, url, name, jobs[name]) for files, name in zip(SIZES, jobs)}
    firsts = {files: docs[files].first() for files in SIZES}
    in_turns(docs.values())
    warm, alone = {}, {}
    for files in SIZES:
        (first, clone, blobless), size = firsts[files], f"{files:,} files"
        (moved, mirror), (still, mirror_still) = medians(docs[files].moved), medians(docs[files].still)
        warm[files], alone[files] = (moved.whole, clone, mirror), moved.ours
        yield Row(f"{size}: clone script", clone, "ms")
        yield Row(f"{size}: blobless script", blobless, "ms")
        yield from docs[files].first_rows(size)
        yield from rows(f"{size}: first job", first)
        yield from rows(f"{size}: warm job, main moved", moved)
        yield Row(f"{size}: mirror script, main moved", mirror, "ms")
        yield from rows(f"{size}: warm job, main as it was", still)
        yield Row(f"{size}: mirror script, main as it was", mirror_still, "ms")
        yield Row(f"{size}: requests of a warm job to the host, main as it was", docs[files].requests)
        yield Row(f"{size}: first job, to the clone script's", first.whole / clone, "x", 0.1 if files == SIZES[-1] else 1)
    yield from targets(warm, alone)


def measured_here(folder, sources, jobs):
    places = {files: Here(folder, sources[name], jobs[name]) for files, name in zip(SIZES, sources)}
    in_turns(places.values())
    warm = {files: median(place.moved) for files, place in places.items()}
    for files in SIZES:
        yield from rows(f"{files:,} files: warm job, embedded host", warm[files])
    ratio = warm[SIZES[2]].whole / warm[SIZES[0]].whole
    yield Row(f"warm job, embedded host, {SIZES[2]:,} files to {SIZES[0]:,}", ratio, "x", 1.5)


def rows(what, took):
    yield Row(what, took.whole, "ms")
    for part in Took._fields[1:5]:
        yield Row(f"  of it: {part}", getattr(took, part), "ms")
    if took.host:
        yield Row("  of all: the host's own time", took.host, "ms")


def targets(warm, alone):
    few, some, many = (warm[files] for files in SIZES)
    ours, clone, mirror = some
    yield Row(f"warm job, {SIZES[2]:,} files to {SIZES[0]:,}", many[0] / few[0], "x", 1.5)
    yield Row("  the same without the host's own time", alone[SIZES[2]] / alone[SIZES[0]], "x", 1.5)
    yield Row(f"{SIZES[1]:,} files: clone script to a warm job", clone / ours, "x", 20, least=True)
    yield Row(f"{SIZES[1]:,} files: warm job to the mirror script", ours / mirror, "x", 1.5)
