"""A world with the embedded host: repositories of this machine, on the same file system as the data directory or not."""

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import threading
import urllib.parse

from support import repository

from .processes import freeze, kill_sessions
from .world import BINARY, PAGES, BaseWorld, Gone

# git takes a setting of `receive` as a reason to push by the git program; without one the server writes by itself.
# Both ways are under test: each repository takes one of them.
PROJECTS = {
    "plain": {"pages": PAGES, "docs_path": "", "settings": {}},
    "docs": {
        "pages": {f"docs/{path}": text for path, text in PAGES.items()} | {"main.py": "print('hello')\n"},
        "docs_path": "docs",
        "settings": {"receive.denyNonFastForwards": "true"},
    },
}
DURABLE = ["-c", "core.fsync=all", "-c", "core.fsyncMethod=fsync"]
# A list of hundreds of pull requests asks git about each, and the machine may be busy.
COMMAND_SECONDS = 180


class Project:
    """One project of the world, in the shape in which `Clients` need it."""

    def __init__(self, world, name, git_dir, docs_path):
        self.name, self.git_dir, self.docs_path = name, git_dir, docs_path
        flags = ["--docs-path", docs_path] if docs_path else []
        made = world.admin("project", "create", "--name", name, "--repository", str(git_dir), "--model", "scripted", *flags)
        self.project, self.key, self.servers = made["id"], world.key, world.servers


class EmbeddedWorld(BaseWorld):
    """`disks`: where the data directory and the repositories are, if their power is to be cut."""

    def __init__(self, disks=None, keep=False, database=None):
        self.disks = disks
        self.gate, self.is_up = threading.RLock(), threading.Event()
        # Commands on the data directory, and others, such as an import, that a cut leaves alone.
        self.running, self.elsewhere = set(), set()
        super().__init__(keep=keep, database=database)
        self.key = self.admin("key", "create", "--name", "K", "--expires", "never")["key"]
        self.projects = [self.make_project(name, **options) for name, options in PROJECTS.items()]
        self.cookie = None
        if disks:
            disks.sync()

    def data_directory(self, number):
        return self.disks.data.root / "data" if self.disks else super().data_directory(number)

    def backups(self):
        """The folder that backups go to."""
        folder = (self.disks.data.root if self.disks else self.folder) / "backups"
        folder.mkdir(exist_ok=True)
        return folder

    def make_project(self, name, pages, docs_path, settings):
        work = repository(self.folder / f"{name}-work", pages)
        git_dir = (self.disks.repositories.root if self.disks else self.folder) / f"{name}.git"
        subprocess.run(["git", *DURABLE, "clone", "--quiet", "--bare", "--no-hardlinks", work, git_dir], check=True)
        for setting, value in settings.items():
            subprocess.run(["git", "-C", git_dir, "config", setting, value], check=True)
        return Project(self, name, git_dir, docs_path)

    @property
    def server(self):
        return self.servers[0]

    def start(self):
        self.server.start()
        self.server.ready()
        self.is_up.set()
        if not self.cookie:
            self.cookie = self.sign_in()

    def command(self, *arguments, on_data=True):
        """Runs `docwright` as a client: its exit code, what it printed, and what it complained about.

        A command on the data directory starts only while the machine has power, and dies with it.
        """
        environment = {**self.environment, "DOCWRIGHT_URL": f"http://127.0.0.1:{self.server.port}",
                       "DOCWRIGHT_API_KEY": self.key, "DOCWRIGHT_DATA": str(self.server.data),
                       "TMPDIR": str(self.folder)}
        command = [BINARY, *self.config, *arguments, "--json"]
        with self.gate if on_data else contextlib.nullcontext():
            if on_data and not self.is_up.is_set():
                raise Gone("the machine is off")
            process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True, start_new_session=True)
            started = self.running if on_data else self.elsewhere
            started.add(process)
        try:
            printed, complaint = process.communicate(timeout=COMMAND_SECONDS)
        except subprocess.TimeoutExpired:
            kill_sessions(process.pid)
            printed, complaint = process.communicate()
        finally:
            started.discard(process)
        return process.returncode, printed, complaint.strip()

    def cut(self):
        """The power goes; with it every process that was at work on the disks. They are stopped first: on a file system
        that is shut down, an fsync under way can answer that all is well, and nothing may be acknowledged on its word."""
        self.is_up.clear()
        freeze(self.server.process.pid, *(process.pid for process in list(self.running)))
        self.disks.cut()
        with self.gate:
            self.kill_all()
        if self.database:
            self.database.cluster.kill()
        self.disks.remount()
        if self.database:
            self.database.cluster.start_after_cut()

    def kill(self, children):
        """The server alone, or every process that it and the commands started."""
        self.is_up.clear()
        if children:
            # Before the gate, which a command that starts just now can hold for longer than a lock is held.
            kill_sessions(self.server.process.pid)
        with self.gate:
            self.kill_all() if children else self.server.kill()

    def kill_all(self):
        kill_sessions(self.server.process.pid, *(process.pid for process in list(self.running)))
        self.server.process.wait()

    def lock_folders(self):
        """Where git locks what it writes."""
        folders = [project.git_dir / below for project in self.projects for below in ("", "refs/heads", "refs/heads/docwright")]
        return [folder for folder in folders if folder.is_dir()]

    def sign_in(self):
        code, printed, complaint = self.command("login")
        if code:
            raise SystemExit(f"docwright login: {complaint}")
        token = urllib.parse.parse_qs(urllib.parse.urlparse(json.loads(printed)["loginUrl"]).query)["token"][0]
        _, headers, _ = self.browse("POST", "/login", {"token": token})
        return headers["Set-Cookie"].partition(";")[0]

    def browse(self, method, path, fields=None):
        """A page of the dashboard: status, headers and text."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": self.cookie or ""}
        try:
            connection.request(method, path, fields and urllib.parse.urlencode(fields), headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        except (OSError, http.client.HTTPException) as why:
            raise Gone(str(why)) from None
        finally:
            connection.close()

    def merge_by_form(self, project, number):
        """As a person does it: looks at the page, then sends its form."""
        path = f"/p/{project.project}/pulls/{number}"
        status, _, page = self.browse("GET", path)
        fields = dict(re.findall(r'<input type="hidden" name="(csrf|seen)" value="([^"]*)"', page))
        if status != 200 or "seen" not in fields:
            return status, page
        status, _, page = self.browse("POST", f"{path}/merge", fields)
        return status, page

    def end_commands(self):
        with self.gate:
            self.is_up.clear()
            kill_sessions(*(process.pid for process in [*self.running, *self.elsewhere]))
