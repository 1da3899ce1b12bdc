"""One scripted edit, by us and by other agents, on the same repository: list, search, read two pages, edit both,
finish. The model answers at once, so what is measured is the agent alone.

Ours is a job over HTTP: it also fetches, checks, judges, commits, pushes and opens a pull request, on a server that
runs already. The others start, edit the files of a checkout, and end.
"""

import http.client
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from typing import NamedTuple

from . import measure, peers
from .common import Row, Server, admin, commit, free_port
from .model import Model, Script

WARM, JOBS, RUNS, IDLE = 3, 20, 3, 3
POLL = 0.025


class Task(NamedTuple):
    folder = "docs/guides"
    old, new = "npm install acme", "pnpm add acme"
    files = ("docs/guides/install.md", "docs/guides/upgrade.md")
    prompt = "We moved to pnpm. On the two pages of docs/guides that install acme with npm, use pnpm instead."


TASK = Task()
# Ends each edit of a job of ours, so that no two jobs make the same change.
NUMBERED = " # job {n}"


class Failed(Exception):
    """It did not do the work, so what it took is no figure."""


class Cost(NamedTuple):
    wall: float
    cpu: float
    memory: float
    requests: float
    sent: float

    def rows(self, name):
        yield Row(f"{name}: wall", self.wall, "s")
        yield Row(f"{name}: CPU", self.cpu * 1000, "ms")
        yield Row(f"{name}: memory", self.memory, "MB")
        yield Row(f"{name}: requests to the model", self.requests)
        yield Row(f"{name}: sent to the model", self.sent / 1000, "kB")


def repository(folder):
    """Two hundred pages of a few kilobytes."""
    words = "The acme service keeps every order until it is paid, and tells whoever asked for it."
    for number in range(200):
        section = ("guides", "reference", "concepts", "operations")[number % 4]
        page = pathlib.Path(folder) / f"docs/{section}/page-{number:03}.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        parts = [f"## Part {part}\n\n{words}\n\n{words} It is number {number}.\n" for part in range(12)]
        page.write_text(f"---\ntitle: Page {number}\n---\n\n" + "\n".join(parts))
    for path in TASK.files:
        text = f"# Acme\n\nYou need Node 20.\n\n```sh\n{TASK.old}\n```\n\n" + f"{words}\n\n" * 20
        (pathlib.Path(folder) / path).write_text(text)
    return commit(folder)


def git(folder, *arguments):
    return subprocess.run(["git", "-C", folder, *arguments], check=True, capture_output=True, text=True).stdout


def hold_to_the_task(repository, changed, read):
    """The two edits were made, and nothing else but the number of the job."""
    if sorted(changed) != sorted(TASK.files):
        raise Failed(f"changed {', '.join(changed) or 'nothing'}")
    for path in TASK.files:
        if re.sub(NUMBERED.replace("{n}", r"\d+"), "", read(path)) != git(repository, "show", f"main:{path}").replace(TASK.old, TASK.new):
            raise Failed(f"changed {path} in another way")


class Jobs:
    """Jobs on a server of ours, one after the other."""

    def __init__(self, server, repository, project, key):
        self.server, self.repository, self.key = server, repository, key
        self.path = f"/v2/agent/{project}/job"
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port)

    def ask(self, method, path, body=None):
        return json.loads(self.server.ask(self.connection, method, path, self.key, body)[1])

    def run(self):
        """Runs one to its pull request; answers how long it took."""
        started = time.perf_counter()
        job = self.ask("POST", self.path, {"prompt": TASK.prompt})
        while job["status"] == "active":
            time.sleep(POLL)
            job = self.ask("GET", f"{self.path}/{job['id']}")
        wall = time.perf_counter() - started
        if not job["prLink"]:
            raise Failed(self.ask("GET", f"{self.path}/{job['id']}/events")[-1]["message"])
        branch = job["source"]["ref"]
        changed = git(self.repository, "diff", "--name-only", "main", branch).split()
        hold_to_the_task(self.repository, changed, lambda path: git(self.repository, "show", f"{branch}:{path}"))
        return wall


def script():
    look = [("list", {"path": TASK.folder}), ("search", {"text": TASK.old})]
    read = [("read", {"path": path}) for path in TASK.files]
    edit = [("edit", {"path": path, "old": TASK.old, "new": TASK.new + NUMBERED}) for path in TASK.files]
    return Script(look + read + edit + [("finish", {"title": "Use pnpm", "summary": "Both pages use pnpm."})])


def ours(folder, repository):
    """What a job takes of a server that has had some already; git's part of the processor time too."""
    with Model(script()) as model:
        config = f"{folder}/docwright.toml"
        table = {"provider": "compatible", "model": "scripted", "base_url": model.url, "allow_private": True}
        lines = [f"{name} = {json.dumps(value)}" for name, value in table.items()]
        pathlib.Path(config).write_text("\n".join(["[models.bench]", *lines]))
        data, config = f"{folder}/data", ("--config", config)
        new = ["project", "create", "--name", "B", "--repository", repository, "--model", "bench"]
        project = admin(data, *new, *config)["id"]
        key = admin(data, "key", "create", "--name", "B")["key"]
        with Server(data, free_port(), *config) as server:
            return job_cost(model, server.process.pid, Jobs(server, repository, project, key))


def job_cost(model, pid, jobs):
    for _ in range(WARM):
        jobs.run()
    before = sum(measure.cpu(pid))
    time.sleep(IDLE)
    idle_cpu, idle = (sum(measure.cpu(pid)) - before) / IDLE, measure.memory(pid)
    own, gits, requests, sent = *measure.cpu(pid), model.requests, model.bytes
    with measure.Peak(pid) as peak:
        walls = [jobs.run() for _ in range(JOBS)]
    own_now, gits_now = measure.cpu(pid)
    own, gits = (own_now - own) / JOBS - idle_cpu * statistics.mean(walls), (gits_now - gits) / JOBS
    counts = (model.requests - requests) / JOBS, (model.bytes - sent) / JOBS
    return Cost(statistics.median(walls), own + gits, peak.memory - idle, *counts), own, gits


def theirs(peer, folder, repository):
    """The median of several runs, after one that sets its home up."""
    program = peer.install()
    costs = [one_run(peer, program, folder, repository) for _ in range(1 + RUNS)][1:]
    return Cost(*(statistics.median(column) for column in zip(*costs)))


def one_run(peer, program, folder, repository):
    checkout, log = f"{folder}/{peer.name}-checkout", pathlib.Path(f"{folder}/{peer.name}.log")
    shutil.rmtree(checkout, ignore_errors=True)
    shutil.copytree(repository, checkout)
    with Model(peer.script(TASK, checkout)) as model, log.open("w") as lines:
        command = peer.command(program, model.url, TASK.prompt, TASK.files)
        usage = measure.run(command, peer.environment(), checkout, lines)
    if usage.code:
        last = log.read_text(errors="replace").strip().splitlines()[-1:]
        raise Failed(f"ended with {usage.code}: {''.join(last)[:100]}")
    changed = [line[3:] for line in git(checkout, "status", "--porcelain").splitlines()]
    hold_to_the_task(repository, changed, lambda path: (pathlib.Path(checkout) / path).read_text())
    return Cost(usage.wall, usage.cpu, usage.memory, model.requests, model.bytes)


def run():
    with tempfile.TemporaryDirectory() as folder:
        source = repository(f"{folder}/source")
        try:
            cost, own, gits = ours(folder, shutil.copytree(source, f"{folder}/docs"))
        except Failed as why:
            yield Row("docwright: a scripted edit", f"failed: {why}")
            return
        yield from cost.rows("docwright")
        yield Row("docwright: CPU of it in the server", own * 1000, "ms")
        yield Row("docwright: CPU of it in git", gits * 1000, "ms")
        others = {}
        for kind in peers.ALL:
            home = pathlib.Path(f"{folder}/{kind.name}")
            home.mkdir()
            peer = kind(home)
            try:
                others[peer] = theirs(peer, folder, source)
                yield from others[peer].rows(f"{peer.name} {peer.version}")
            except subprocess.CalledProcessError as why:
                yield Row(f"{peer.name} {peer.version}: a scripted edit", f"not measured: `{why.cmd[0]}` failed")
            except (Failed, OSError, StopIteration) as why:
                yield Row(f"{peer.name} {peer.version}: a scripted edit", f"not measured: {why}")
        yield from targets(cost, others)


def targets(cost, others):
    yield Row("CPU of a job", cost.cpu * 1000, "ms", 50)
    yield Row("memory of a job, above idle", cost.memory, "MB", 10)
    for what, figure in (("CPU", lambda cost: cost.cpu), ("memory", lambda cost: cost.memory)):
        if others:
            lightest = min(others, key=lambda peer: figure(others[peer]))
            ratio = figure(others[lightest]) / max(figure(cost), 1e-3)
            yield Row(f"{what}: {lightest.name} takes so many times ours", ratio, "x", 10, least=True)
    readers = [peer for peer in others if peer.reads]
    if readers:
        leanest = min(readers, key=lambda peer: others[peer].sent)
        yield Row(f"sent: ours, as a part of {leanest.name}'s", cost.sent / others[leanest].sent, "", 0.5)
