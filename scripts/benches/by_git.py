"""The same edit by scripts of git commands, as somebody would write them who has no server: a clone each time, or a
kept mirror and no checkout at all, which is as little as git can do.

Both send the token with the first request, know the branch and ask nobody whether there is a pull request already.
"""

import base64
import http.client
import json
import os
import pathlib
import shutil
import subprocess
import time
import urllib.parse

TOKEN = "bench-token"
HEADER = "Authorization: Basic " + base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()
WHO = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
       for what, value in (("NAME", "bench"), ("EMAIL", "bench@example.com"))}
ENVIRONMENT = {**os.environ, **WHO, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}


def git(folder, *arguments, given=None, **environment):
    command = ["git", "-C", str(folder), "-c", f"http.extraHeader={HEADER}", *arguments]
    environment = {**ENVIRONMENT, **environment}
    return subprocess.run(command, input=given, env=environment, check=True, capture_output=True).stdout


def text(folder, *arguments, **options):
    return git(folder, *arguments, **options).decode().strip()


def import_commit(folder, files, message, on=""):
    """A commit on main with these files, each a path and its content; no other is looked at."""
    command = ["git", "-C", str(folder), "fast-import", "--quiet"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, env=ENVIRONMENT) as importing:
        given = importing.stdin
        given.write(b"commit refs/heads/main\ncommitter bench <bench@example.com> %d +0000\n" % time.time())
        given.write(f"data {len(message)}\n{message}\n{on}".encode())
        for path, content in files:
            given.write(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(content), content))
    assert importing.returncode == 0


def open_pull(url, branch):
    """One request, and its answer read."""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc)
    body = json.dumps({"title": "Use pnpm", "body": "Both pages use pnpm.", "head": branch, "base": "main"})
    headers = {"Authorization": f"Bearer {TOKEN}", "User-Agent": "bench", "Content-Type": "application/json"}
    connection.request("POST", f"/api/v3/repos{parts.path}/pulls", body, headers)
    answer = connection.getresponse()
    said = answer.read()
    assert answer.status == 201, said
    connection.close()


class Clone:
    """Clones without history, edits the files, commits, pushes, opens the pull request."""

    name = "clone script"

    def __init__(self, folder, url, task):
        self.checkout, self.url, self.task = pathlib.Path(folder) / "clone", url, task

    def run(self, branch):
        git("/", "clone", "-q", "--depth", "1", f"{self.url}.git", str(self.checkout))
        self.publish(branch)

    def publish(self, branch):
        for path in self.task.files:
            file = self.checkout / path
            file.write_text(file.read_text().replace(self.task.old, self.task.new))
        git(self.checkout, "commit", "-qam", "Use pnpm")
        git(self.checkout, "push", "-q", "origin", f"HEAD:refs/heads/{branch}")
        open_pull(self.url, branch)

    def clean(self):
        shutil.rmtree(self.checkout, ignore_errors=True)


class Blobless(Clone):
    """Clones without history and without files, checks out only the folders of the files that it edits."""

    name = "blobless script"

    def run(self, branch):
        clone = ("clone", "-q", "--depth", "1", "--filter=blob:none", "--sparse", f"{self.url}.git")
        git("/", *clone, str(self.checkout))
        folders = {str(pathlib.PurePosixPath(path).parent) for path in self.task.files}
        git(self.checkout, "sparse-checkout", "set", *folders)
        self.publish(branch)


class Mirror:
    """A kept bare repository: fetches what is new, makes the commit in an index of its own, pushes, opens the
    pull request."""

    name = "mirror script"

    def __init__(self, folder, url, task, name="mirror"):
        self.url, self.task, self.number = url, task, 0
        self.dir, self.place = pathlib.Path(folder) / f"{name}.git", pathlib.Path(folder) / name
        self.place.mkdir()
        git("/", "clone", "-q", "--bare", "--single-branch", f"{url}.git", str(self.dir))

    def run(self, branch):
        self.fetch("main")
        made = self.commit({path: self.changed for path in self.task.files}, "Use pnpm")
        git(self.dir, "push", "-q", "origin", f"{made}:refs/heads/{branch}")
        open_pull(self.url, branch)

    def fetch(self, branch):
        git(self.dir, "fetch", "-q", "--no-tags", "origin", f"+refs/heads/{branch}:refs/heads/{branch}")

    def changed(self, page):
        return page.replace(self.task.old.encode(), self.task.new.encode())

    def commit(self, changes, message):
        """A commit on main with each of these files changed by its function."""
        index = {"GIT_INDEX_FILE": str(self.place / "index")}
        git(self.dir, "read-tree", "main", **index)
        for path, page in self.read(changes).items():
            (self.place / path.replace("/", "-")).write_bytes(changes[path](page))
        files = "".join(f"{self.place}/{path.replace('/', '-')}\n" for path in changes)
        ids = text(self.dir, "hash-object", "-w", "--stdin-paths", given=files.encode()).split()
        named = [flag for path, name in zip(changes, ids) for flag in ("--cacheinfo", f"100644,{name},{path}")]
        git(self.dir, "update-index", *named, **index)
        tree = text(self.dir, "write-tree", **index)
        return text(self.dir, "commit-tree", tree, "-p", "main", "-m", message)

    def read(self, paths):
        answer = git(self.dir, "cat-file", "--batch", given="".join(f"main:{path}\n" for path in paths).encode())
        pages = {}
        for path in paths:
            head, answer = answer.split(b"\n", 1)
            size = int(head.split()[2])
            pages[path], answer = answer[:size], answer[size + 1:]
        return pages

    def clean(self):
        pass

    def move_main(self, path):
        """Somebody else's commit on main, that changes a page. Without an index of all files: what its writing leaves
        behind in the machine would be measured in the job that comes next."""
        self.number += 1
        page = self.read([path])[path] + f"Another line, {self.number}.\n".encode()
        import_commit(self.dir, [(path, page)], "Go on", "from refs/heads/main^0\n")
        git(self.dir, "push", "-q", "origin", "refs/heads/main:refs/heads/main")
