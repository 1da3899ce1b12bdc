"""The load of a project of the embedded host: jobs, follow-ups, archives, merges, page views, imports, API keys and backups.

Everything that was acknowledged is kept here, outside of what loses its power."""

import json
import re
import threading
import time
from datetime import datetime, timezone

from .clients import BROWSER, PAUSE, Clients, Unanswered
from .world import Gone

IMPORT_INTERVAL, KEY_INTERVAL, MERGE_INTERVAL, BACKUP_INTERVAL = 0.6, 0.8, 0.1, 1.5
MAX_LINES = 40
# How long a merge or an import is tried again while the server runs.
PATIENCE = 20
ALREADY = "is already merged"
PROBLEM = re.compile(r'<p class="problem" role="alert">(.*?)</p>', re.DOTALL)


class Load(Clients):
    """`acknowledged` is set at every acknowledgment that a cut is to follow at once."""

    def __init__(self, world, project, seed, makers=2, active=6):
        super().__init__(project, seed, makers, active)
        self.machine, self.acknowledged = world, threading.Event()
        self.merges, self.keys, self.lines, self.failed_merges = {}, [], 0, []
        self.changed, self.files, self.busy = set(), 0, 0
        self.only_git = threading.Event()
        """Views, imports and keys rest: each of them syncs the disk, which can hide that git's files were not synced."""
        self.backups, self.made_backups = [], 0
        work = [self.merge, self.bring_in, self.make_key, self.back_up]
        self.threads += [threading.Thread(target=self.run, args=(one,), daemon=True) for one in work]

    def run(self, step):
        """`watch` looks at what there is, also while the others rest."""
        if step == self.watch:
            return super().run(step)
        may_rest = step in (self.view, self.bring_in, self.make_key, self.back_up)
        while not self.over.is_set():
            if may_rest and self.only_git.is_set() or not self.begin():
                time.sleep(PAUSE)
                continue
            try:
                step()
            except Unanswered as why:
                self.wrong.append(str(why))
                return
            finally:
                self.end()

    def begin(self):
        with self.lock:
            self.busy += not self.resting.is_set()
            return not self.resting.is_set()

    def end(self):
        with self.lock:
            self.busy -= 1

    def ask_no_more(self):
        with self.lock:
            self.resting.set()

    def rest(self, patience):
        """Nobody asks for more, and all that was asked for ends. Answers whether it did."""
        self.ask_no_more()
        until = time.monotonic() + patience
        while (self.busy or self.active()) and time.monotonic() < until:
            time.sleep(0.01)
        return not self.busy and not self.active()

    def abandon(self):
        self.over.set()
        self.abandoned.set()

    def resume(self):
        self.changed.clear()
        self.resting.clear()

    def make(self):
        if len(self.active()) >= self.most_active:
            return time.sleep(PAUSE)
        dice = self.random.random()
        if dice < 0.7:
            return self.touch(self.create())
        seen = self.take(lambda seen: True)
        if seen:
            self.follow_up(seen) if dice < 0.95 else self.archive(seen)
            seen.taken = False

    def new_note(self):
        return super().new_note().replace("note-", f"note-{self.world.docs_path}")

    def look(self, seen):
        before = seen.status
        super().look(seen)
        if seen.status == "completed" != before:
            self.acknowledged.set()

    def touch(self, seen):
        if seen:
            self.changed.add(seen.id)
            return seen

    def take(self, fits):
        """A recent job that nobody else of us is at work on. One that is to be merged is not touched again."""
        with self.lock:
            free = [seen for seen in list(self.jobs.values())[-30:] if not getattr(seen, "taken", False) and fits(seen)]
            seen = self.random.choice(free) if free else None
            if seen:
                seen.taken = True
        return self.touch(seen)

    def merge(self):
        time.sleep(MERGE_INTERVAL)
        seen = self.take(lambda seen: seen.status == "completed" and not seen.is_active)
        if not seen:
            return
        number = int(seen.looks[-1]["prLink"].rpartition("/")[2])
        complaint = self.until_done(lambda: self.merge_once(number))
        if complaint is None:
            self.merges[number] = seen
            self.acknowledged.set()
        elif not self.over.is_set():
            self.failed_merges.append(f"#{number} of {self.world.name} cannot be merged: {complaint}")

    def merge_once(self, number):
        """`None`, or why it is not merged."""
        if self.random.random() < 0.5:
            status, page = self.machine.merge_by_form(self.world, number)
            if status == 303:
                return None
            if status >= 400:
                return f"{status} {' '.join(PROBLEM.findall(page)) or page[:500]}"
        code, _, complaint = self.machine.command("pull", "merge", self.world.project, str(number))
        return None if code == 0 or ALREADY in complaint else complaint

    def until_done(self, step):
        """Tries again, as long as the machine is off and for `PATIENCE` seconds after that."""
        until, complaint = time.monotonic() + PATIENCE, "it was not tried"
        while not self.over.is_set() and time.monotonic() < until:
            try:
                complaint = step()
                if complaint is None:
                    return None
            except Gone as why:
                complaint = str(why)
            if not self.machine.is_up.is_set():
                until = time.monotonic() + PATIENCE
            time.sleep(PAUSE)
        return complaint

    def bring_in(self):
        """`docwright import` of a log of its own; the same command again goes on where it was."""
        time.sleep(IMPORT_INTERVAL)
        self.files += 1
        log, count = self.machine.folder / f"{self.world.name}-{self.files}.log", self.random.randint(1, MAX_LINES)
        moment = datetime.now(timezone.utc).strftime("%d/%b/%Y:%H:%M:%S +0000")
        lines = (f'192.0.2.7 - - [{moment}] "GET /import-{self.files}-{n} HTTP/1.1" 200 512 "-" "{BROWSER}"\n'
                 for n in range(count))
        log.write_text("".join(lines))
        complaint = self.until_done(lambda: self.bring_in_once(log))
        if complaint is None:
            self.lines += count
            self.acknowledged.set()
        elif not self.over.is_set():
            self.wrong.append(f"{log.name} cannot be imported: {complaint}")

    def bring_in_once(self, log):
        if self.over.is_set():
            return "it was abandoned"
        code, printed, complaint = self.machine.command("import", self.world.project, str(log), on_data=False)
        return None if code == 0 else complaint or printed

    def make_key(self):
        time.sleep(KEY_INTERVAL)
        try:
            name = f"key-{len(self.keys)}"
            code, printed, _ = self.machine.command("key", "create", "--name", name, "--project", self.world.project)
        except Gone:
            return
        # A command that the cut ended acknowledged nothing, and is not asked again: the next key is another one.
        if code == 0:
            key = json.loads(printed)["key"]
            self.keys.append(key)
            self.acknowledged.set()
            self.use_key(key)

    def back_up(self):
        """To the file system whose power is cut. What was acknowledged before it began must be in it."""
        time.sleep(BACKUP_INTERVAL)
        self.files += 1
        target = self.machine.backups() / f"{self.world.name}-{self.files}{self.random.choice(['', '.tar.zst'])}"
        jobs = set(self.jobs)
        try:
            code, printed, complaint = self.machine.command("backup", str(target))
        except Gone:
            return
        if code == 0:
            self.backups.append((target, jobs))
            self.made_backups += 1
            self.acknowledged.set()
        elif code == 1 and self.machine.is_up.is_set():
            self.wrong.append(f"{target.name} was not made: {complaint or printed}")

    def use_key(self, key):
        """Whether the server takes it."""
        until = time.monotonic() + PATIENCE
        while not self.over.is_set() and time.monotonic() < until:
            try:
                status, _ = self.machine.server.ask("GET", f"/v2/agent/{self.world.project}/jobs?limit=1", key=key)
                return status == 200
            except Gone:
                time.sleep(PAUSE)
        return False
