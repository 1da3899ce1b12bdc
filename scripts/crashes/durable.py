"""What must be true after the power was cut or a server of the embedded host was killed, as it is seen from outside.

Each check yields a sentence for everything that is wrong."""

import contextlib
import json
import pathlib
import shutil
import sqlite3
import subprocess
import time

from .load import PATIENCE
from .model import path as note_path
from .promises import GAVE_UP, all_listed, ends, event_gaps, regressions
from .processes import members

COLUMNS = ("lost", "given up", "branches", "merges", "damaged", "locks", "stuck", "views", "imports", "keys",
           "backups", "regressions", "event gaps", "orphans", "other")
MAX_PULLS = 65535
# Names of what was never finished. git takes no notice of it.
UNFINISHED = ("tmp_", ".tmp")
SAMPLED_KEYS = 5
SAMPLED_BACKUPS = 2
# How long a file that somebody writes just now may be there, although nobody asks for anything.
GRACE = 10


def judge(world, loads, whole, wrong):
    """Adds what is wrong to the columns of `wrong`. `whole`: every job, not only those since the last judgment."""
    for load in loads:
        jobs = [seen for seen in load.jobs.values() if whole or seen.id in load.changed]
        for seen in jobs:
            load.look(seen)
        repository = Repository(load.world)
        checks = {
            "lost": lost(load, jobs), "given up": given_up(jobs), "branches": branches(world, load, repository, jobs),
            "merges": merges(load, repository), "damaged": repository.damage(), "locks": repository.locks(),
            "views": views(load), "imports": imports(load), "keys": keys(load, whole),
            "backups": backups(world, load), "other": other(load, jobs),
            "regressions": (one for seen in jobs for one in regressions(seen)),
            "event gaps": (one for seen in jobs for one in event_gaps(seen)),
        }
        for column, sentences in checks.items():
            wrong[column].extend(f"{load.world.name}: {one_line(sentence)}" for sentence in sentences)
    wrong["orphans"].extend(orphans(world))


def one_line(text):
    return " / ".join(text.splitlines())


class Repository:
    """A user's repository, read by git and file by file."""

    def __init__(self, project):
        self.project, self.git_dir = project, project.git_dir

    def git(self, *arguments):
        return subprocess.run(["git", "-C", self.git_dir, *arguments], capture_output=True, text=True, errors="replace")

    def names(self, commit):
        """Every file of a commit; nothing if it cannot be read."""
        return set(self.git("ls-tree", "-r", "--name-only", commit).stdout.split())

    def heads(self):
        return set(self.git("for-each-ref", "--format=%(refname:short)", "refs/heads").stdout.split())

    def files(self, *below):
        return [file for file in self.git_dir.joinpath(*below).rglob("*") if file.is_file()]

    def damage(self):
        listed = self.git("for-each-ref")
        if listed.returncode or listed.stderr:
            yield f"refs cannot be listed: {listed.stderr.strip()}"
        for file in self.files("refs"):
            if file.suffix != ".lock" and not file.read_text().strip("\0\n "):
                yield f"{file.relative_to(self.git_dir)} is an empty ref"
        for file in self.files("objects"):
            if file.stat().st_size == 0 and not any(part.startswith(UNFINISHED) for part in file.parts):
                yield f"{file.relative_to(self.git_dir)} is an empty object"
        checked = self.git("fsck", "--full", "--strict", "--no-dangling", "--no-progress")
        if checked.returncode:
            lines = (checked.stderr + checked.stdout).strip().splitlines()
            yield f"git fsck: {lines[0] if lines else checked.returncode} ({len(lines)} lines)"

    def locks(self):
        """A lock that stays although nobody asks for anything keeps its ref from being written."""
        until = time.monotonic() + GRACE
        while (left := [file for file in self.files() if file.suffix == ".lock"]) and time.monotonic() < until:
            time.sleep(0.1)
        return [f"{file.relative_to(self.git_dir)} was left" for file in left]


def lost(load, jobs):
    """Everything that was acknowledged is there and has ended, and nothing else is there."""
    for seen in jobs:
        if seen.status == "active":
            yield f"job {seen.id} did not end: {steps(seen)}"
        if seen.archived and seen.status != "archived":
            yield f"job {seen.id} was archived and is {seen.status}"
        if seen.status == "completed" and not seen.looks[-1]["prLink"]:
            yield f"job {seen.id} is completed without its pull request"
    listed = set(all_listed(load))
    for strange in listed ^ set(load.jobs):
        yield f"job {strange} is {'listed, and nobody created it' if strange in listed else 'not listed'}"


def steps(seen):
    """What happened to a job, and when."""
    return ", ".join(f"{event['at'][11:19]} {event['message'][:60]}" for event in seen.events[-8:])


def given_up(jobs):
    """No job here harms its server, so none may be blamed for its end."""
    for seen in jobs:
        if any(event["message"].startswith(GAVE_UP) for event in ends(seen)):
            yield f"job {seen.id} was given up"


def branches(world, load, repository, jobs):
    """A completed job has its branch with every note, and its pull request is listed."""
    heads, pulls = repository.heads(), listed_pulls(world, load)
    for seen in load.jobs.values():
        branch = seen.looks[-1]["source"]["ref"]
        if seen.status == "completed" and branch not in heads:
            yield f"{branch} is gone, and its job is completed"
        elif seen.status == "completed" and pulls is not None and seen.looks[-1]["prLink"] not in pulls:
            yield f"{seen.looks[-1]['prLink']} of job {seen.id} is not listed"
    for seen in jobs:
        branch = seen.looks[-1]["source"]["ref"]
        # What a run that failed was asked for is missing; that it failed is said elsewhere.
        failed = any(end["reason"] == "failed" for end in ends(seen))
        if seen.status == "completed" and branch in heads and not failed:
            missing = pages_of(seen) - repository.names(branch)
            if missing:
                yield f"{branch} is without {sorted(missing)}"


def listed_pulls(world, load):
    code, printed, complaint = world.command("pull", "list", load.world.project, "--limit", str(MAX_PULLS))
    if code:
        load.wrong.append(f"pull requests cannot be listed: {complaint or f'exit code {code}'}")
        return None
    return {pull["url"] for pull in json.loads(printed)}


def pages_of(seen):
    return {note_path(note) for note in seen.notes}


def merges(load, repository):
    """Every merge that was acknowledged is in `main`, with what it brought."""
    log = repository.git("log", "--format=%s", "main")
    if log.returncode:
        yield f"main cannot be read: {log.stderr.strip()}"
    there, names = set(log.stdout.splitlines()), repository.names("main")
    for number, seen in load.merges.items():
        if not any(subject.startswith(f"Merge pull request #{number}:") for subject in there):
            yield f"#{number} was merged and is not in main"
        elif missing := pages_of(seen) - names:
            yield f"#{number} was merged, and main is without {sorted(missing)}"


def counted(load, prefix):
    _, answer = load.ask("GET", f"/v1/analytics/{load.world.project}/views?path={prefix}")
    return answer["totals"]["total"]


def differs(load, prefix, accepted):
    """What was accepted and what is counted, if that is not the same. What is on its way, because a merge is stuck and the
    load did not come to rest, gets a little time."""
    until = time.monotonic() + GRACE
    while (found := counted(load, prefix)) != (wanted := accepted()) and time.monotonic() < until:
        time.sleep(0.1)
    return (wanted, found) if found != wanted else None


def views(load):
    if pair := differs(load, "/page-", lambda: load.views):
        yield f"{pair[0]} views were accepted, and {pair[1]} are counted"


def imports(load):
    if pair := differs(load, "/import-", lambda: load.lines):
        yield f"{pair[0]} lines were imported, and {pair[1]} are counted"


def keys(load, whole):
    old, new = load.keys[:-SAMPLED_KEYS], load.keys[-SAMPLED_KEYS:]
    for key in new + (old if whole else load.random.sample(old, min(SAMPLED_KEYS, len(old)))):
        if not load.use_key(key):
            yield f"the key {key[:10]}… does not work"


def backups(world, load):
    """Every backup that was acknowledged can be restored, and has the jobs that were there before it."""
    made, load.backups = load.backups, []
    for target, jobs in made[-SAMPLED_BACKUPS:]:
        restored = world.folder / "restored"
        code, _, complaint = world.command("restore", str(target), "--data", str(restored))
        if code:
            yield f"{target.name} cannot be restored: {complaint}"
        elif not world.database and (missing := jobs - jobs_in(restored / "docwright.db")):
            yield f"{target.name} is without {len(missing)} of {len(jobs)} jobs"
        shutil.rmtree(restored, ignore_errors=True)
    # Also what was never finished: it is not to fill the disk.
    for one in world.backups().glob(f"{load.world.name}-*"):
        shutil.rmtree(one) if one.is_dir() else one.unlink()


def jobs_in(database):
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as opened:
        return {row[0] for row in opened.execute("SELECT id FROM jobs")}


def other(load, jobs):
    yield from load.wrong
    load.wrong.clear()
    for seen in jobs:
        for end in ends(seen):
            if end["reason"] == "failed" and not end["message"].startswith(GAVE_UP):
                yield f"job {seen.id} failed: {end['message']}"


def orphans(world):
    """Processes that outlived their server, and temporary files of ours."""
    until = time.monotonic() + GRACE
    while (left := [*outlived(world), *temporary_files(world)]) and time.monotonic() < until:
        time.sleep(0.1)
    return left


def outlived(world):
    for number, name in members(*world.server.sessions[:-1]):
        yield f"process {number} ({name}) outlived its server"


def temporary_files(world):
    yield from (f"temporary file {one}" for one in world.server.temporary.iterdir())
    for one in pathlib.Path(world.server.data).rglob("*"):
        if one.name.startswith(("tmp_", ".tmp", ".docwright-")) or (one.suffix == ".lock" and one.parent.name != "repos"):
            yield f"temporary file {one.relative_to(world.server.data)}"


def stuck(world, loads, rested):
    """In every project a new job completes and can be merged."""
    for load in loads:
        for sentence in load.failed_merges:
            yield sentence
        load.failed_merges.clear()
        if load not in rested:
            yield f"{load.world.name}: what was asked for did not end: {[seen.id for seen in load.active()]}"
        yield from probe(load)


def probe(load):
    name, seen = load.world.name, load.touch(load.create())
    if not seen:
        return
    seen.taken = True
    until = time.monotonic() + PATIENCE
    while seen.status == "active" and time.monotonic() < until:
        time.sleep(0.02)
    if seen.status != "completed":
        load.look(seen)
        yield f"{name}: a new job does not complete: {seen.events[-1:]}"
        return
    number = int(seen.looks[-1]["prLink"].rpartition("/")[2])
    complaint = load.until_done(lambda: load.merge_once(number))
    if complaint is not None:
        yield f"{name}: a new pull request cannot be merged: {complaint}"
    else:
        load.merges[number] = seen
