"""What must be true after a round, as it is seen from outside: over HTTP, at the repository host, on the disk and in the
list of processes. Each check answers a sentence for everything that is wrong."""

import pathlib
import subprocess
import time

from .model import POISON
from .model import path as note_path
from .world import NAME

GAVE_UP = "The job was given up: "
# How a job tells that its host said no, where `rounds` has it do so. The host is on this machine, so its own words are in
# the server's log alone.
REFUSALS = (" refused to open the pull request: its answer is not shown", " refused it (409): its answer is not shown")
# The pin that each kind of cache keeps for itself: the commit that was scanned last, and the one whose history was read.
SCAN_PIN, HISTORY_PIN = "refs/docwright/pins/scan", "refs/docwright/pins/history"
# How long what is left behind may stay: a git whose reader was killed, a pull request of an archived job.
GRACE = 20


class Verdict:
    """What is wrong, by the column of the table that it belongs to."""

    COLUMNS = ("given up", "lost", "second pulls", "left open", "regressions", "event gaps", "orphans", "views", "other")

    def __init__(self):
        self.wrong = {column: [] for column in self.COLUMNS}

    def add(self, column, sentences):
        self.wrong[column].extend(sentences)


def judge(world, clients, refusals=0):
    verdict = Verdict()
    jobs = list(clients.jobs.values())
    for seen in jobs:
        clients.look(seen)
    verdict.add("given up", innocent_and_given_up(jobs))
    verdict.add("other", clients.wrong)
    verdict.add("other", failures(jobs, refusals))
    verdict.add("lost", lost(clients, jobs))
    verdict.add("lost", lost_notes(world, jobs))
    verdict.add("second pulls", pulls(world, clients))
    verdict.add("left open", patiently(lambda: left_open(world, clients)))
    verdict.add("regressions", [one for seen in jobs for one in regressions(seen)])
    verdict.add("event gaps", [one for seen in jobs for one in event_gaps(seen)])
    verdict.add("orphans", patiently(lambda: [*processes(world), *refs(world, clients), *temporary_files(world)]))
    verdict.add("views", views(world, clients))
    return verdict


def patiently(check):
    until = time.monotonic() + GRACE
    while (wrong := list(check())) and time.monotonic() < until:
        time.sleep(0.5)
    return wrong


def ends(seen):
    return [event for event in seen.events if event["type"] == "ended"]


def gave_up(seen):
    """Whether the job was blamed for the death of its servers."""
    return any(event["message"].startswith(GAVE_UP) for event in ends(seen))


def innocent_and_given_up(jobs):
    """Servers are killed from outside, however often; no job but a poisonous one is to blame for that."""
    for seen in jobs:
        if gave_up(seen) and POISON not in seen.notes:
            yield f"job {seen.id} was given up: {[event['message'] for event in seen.events]}"


def failures(jobs, refusals):
    """A job fails because it kills its servers, or because its host said no, as often as it did at most; nothing else
    happens here."""
    failed = [end["message"] for seen in jobs for end in ends(seen) if end["reason"] == "failed"]
    failed = [message for message in failed if not message.startswith(GAVE_UP)]
    refused = [message for message in failed if any(refusal in message for refusal in REFUSALS)]
    return failed if len(refused) > refusals else [message for message in failed if message not in refused]


def lost(clients, jobs):
    """Everything that was acknowledged is there and has ended, and nothing else is."""
    for seen in jobs:
        if seen.status == "active":
            yield f"job {seen.id} did not end: {seen.events[-1]}"
        if seen.archived and seen.status != "archived":
            yield f"job {seen.id} was archived and is {seen.status}"
        if seen.status == "completed" and not seen.looks[-1]["prLink"]:
            yield f"job {seen.id} is completed without its pull request"
    listed = set(all_listed(clients))
    for strange in listed ^ {seen.id for seen in jobs}:
        yield f"job {strange} is {'nobody asked for it' if strange in listed else 'not listed'}"


def all_listed(clients):
    offset = 0
    while True:
        _, page = clients.ask("GET", f"/v2/agent/{clients.world.project}/jobs?limit=100&offset={offset}")
        yield from (job["id"] for job in page["jobs"])
        if not page["hasMore"]:
            return
        offset += 100


def lost_notes(world, jobs):
    """Every follow-up is in the events once, and the branch of a completed job has every note."""
    repository = world.host_repository()
    for seen in jobs:
        told = [event["prompt"] for event in seen.events if event["type"] == "message"]
        if sorted(told) != sorted(f"Write the {note}." for note in seen.notes[1:]):
            yield f"job {seen.id} has the follow-ups {told}, and was asked for {seen.notes[1:]}"
        if seen.status != "completed" or any(end["reason"] == "failed" for end in ends(seen)):
            continue
        there = git(repository, "ls-tree", "-r", "--name-only", seen.looks[-1]["source"]["ref"]).split()
        for note in seen.notes:
            if note_path(note) not in there:
                yield f"job {seen.id} has no {note}"


def git(repository, *arguments):
    """What cannot be read has no lines, and must not pass for a repository in which nothing is wrong."""
    done = subprocess.run(["git", "-C", repository, *arguments], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else f"unreadable:{repository}"


def by_head(world):
    found = {}
    for pull in world.ask_host("GET", "/_fake/state")["pulls"][NAME]:
        found.setdefault(pull["head"], []).append(pull)
    return found.items()


def pulls(world, clients):
    """One a job at most, and the one that the job names."""
    for head, pulls in by_head(world):
        seen = clients.jobs.get(head.removeprefix("docwright/"))
        if len(pulls) > 1 or not seen:
            yield f"{head} has {len(pulls)} pull requests{'' if seen else ' and no job'}"
        elif (link := seen.looks[-1]["prLink"]) and not link.endswith(f"/{pulls[0]['number']}"):
            yield f"job {seen.id} names {link}, and #{pulls[0]['number']} is its pull request"


def left_open(world, clients):
    """A job that was archived while its pull request was opened closes it, and names it; one that is given up finds it."""
    for head, (pull, *_) in by_head(world):
        seen = clients.jobs.get(head.removeprefix("docwright/"))
        if seen and pull["state"] == "open":
            clients.look(seen)
            if not seen.looks[-1]["prLink"]:
                yield f"#{pull['number']} is open, and job {seen.id}, which is {seen.status}, does not name it"


def regressions(seen):
    """What was told of a job is never taken back; and its events tell of no other moves than the documented ones."""
    for before, after in zip(seen.looks, seen.looks[1:]):
        if before["status"] == "archived" != after["status"]:
            yield f"job {seen.id} was archived and then {after['status']}, {after}"
        if before["prLink"] and after["prLink"] != before["prLink"]:
            yield f"job {seen.id} had {before['prLink']} and then {after['prLink']}"
        if any(before[name] != after[name] for name in ("id", "createdAt", "source", "model")):
            yield f"job {seen.id} was {before} and then {after}"
    status = "active"
    for event in seen.events:
        kind = event["type"]
        if status == "archived" and kind in ("started", "message", "ended", "archived"):
            yield f"job {seen.id} was archived, and then came {event}"
        if status == "ended" and kind in ("started", "ended"):
            yield f"job {seen.id} had ended, and then came {event}"
        status = {"ended": "ended", "archived": "archived", "message": "active"}.get(kind, status)
    if seen.events and {"active": "active", "archived": "archived"}.get(seen.status, "ended") != status:
        yield f"job {seen.id} is {seen.status}, and its events say {status}"


def event_gaps(seen):
    numbers = [event["number"] for event in seen.events]
    if numbers != list(range(1, len(numbers) + 1)):
        yield f"events of job {seen.id} are numbered {numbers}"


def processes(world):
    """Whoever was started by a server that is dead."""
    dead = {pid for server in world.servers for pid in server.sessions if pid != server.process.pid}
    for place in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            name, fields = (place / "stat").read_text().rsplit(")", 1)
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields.split()[3]) in dead:
            yield f"process {name}) outlived its server"


def refs(world, clients):
    """Branches of no job; pins of commits that need none any more, and whatever else is neither."""
    known = {f"docwright/{job}" for job in clients.jobs}
    for name in git(world.host_repository(), "for-each-ref", "--format=%(refname:short)", "refs/heads").split():
        if name != "main" and name not in known:
            yield f"branch {name} at the host"
    for server in world.servers:
        for cache in server.data.glob("repos/*.git"):
            kept = HISTORY_PIN if cache.name.endswith(".history.git") else SCAN_PIN
            for name in git(cache, "for-each-ref", "--format=%(refname)").split():
                if name != kept:
                    yield from stray(clients, name)


def stray(clients, name):
    kind, _, pin = name.rpartition("/")
    job = pin.removesuffix("-base").removesuffix("-start")
    seen = clients.jobs.get(job)
    if kind != "refs/docwright/pins" or not seen:
        yield f"ref {name} in the cache"
    # What a run that ended otherwise had committed is kept, to compare with.
    elif pin == job and seen.status == "completed" and all(end["reason"] == "completed" for end in ends(seen)):
        yield f"ref {name} in the cache, of a job that is completed"


def temporary_files(world):
    """What is being written has a name that says so; when nobody writes, there is none."""
    for server in world.servers:
        yield from (f"temporary file {one.relative_to(world.folder)}" for one in server.temporary.iterdir())
        for one in server.data.rglob("*"):
            if one.name.startswith(("tmp_", ".tmp", ".docwright-")) or (one.suffix == ".lock" and one.parent.name != "repos"):
                yield f"temporary file {one.relative_to(world.folder)}"


def views(world, clients):
    path = f"/v1/analytics/{world.project}/views"
    _, told = clients.ask("GET", path, server=world.servers[0])
    if told["totals"]["total"] != clients.views:
        yield f"{clients.views} views were accepted, and {told['totals']['total']} are counted"
