"""A clean Debian system that boots with systemd, in a container without a network."""

import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile
import time

from support import CACHE

MIRROR = "http://deb.debian.org/debian"
PACKAGES = "git,ca-certificates,adduser,systemd,systemd-sysv,libgcc-s1"

# Runs in the network of the clean system.
ASK = """
import json, sys, urllib.error, urllib.request
answers = []
for path, key in json.load(sys.stdin):
    request = urllib.request.Request("http://127.0.0.1:4747" + path, headers={"Authorization": "Bearer " + key})
    try:
        answer = urllib.request.urlopen(request, timeout=60)
    except urllib.error.HTTPError as error:
        answer = error
    answers.append((answer.status, answer.headers["Content-Type"], answer.read().decode()))
json.dump(answers, sys.stdout)
"""


def root(suite, packages=PACKAGES):
    """The packed system, made on first use."""
    packed = CACHE / f"root-{suite}.tar"
    if not packed.exists():
        print(f"installing a clean Debian {suite}", flush=True)
        packed.parent.mkdir(parents=True, exist_ok=True)
        fresh = packed.with_suffix(".new.tar")
        subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", f"--include={packages}", suite, fresh, MIRROR], check=True)
        fresh.rename(packed)
    return packed


@contextlib.contextmanager
def unpacked(packed):
    with tempfile.TemporaryDirectory(prefix="docwright-root-") as folder:
        subprocess.run(["tar", "--extract", "--file", packed, "--directory", folder, "--exclude=./dev/*"], check=True)
        yield pathlib.Path(folder)


class CannotBoot(Exception):
    """This machine cannot boot a clean system, such as a container without rights."""


class Machine:
    """A booted system. Commands run in it as root."""

    def __init__(self, folder, leader):
        self.folder = folder
        self.enter_network = ["nsenter", f"--target={leader}", "--net"]
        self.enter = ["nsenter", f"--target={leader}", "--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd"]

    def run(self, *command, check=True):
        done = subprocess.run([*self.enter, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if check and done.returncode:
            sys.exit(f"`{' '.join(command)}` failed in the clean system:\n{done.stdout}")
        return done.stdout.strip()

    def docwright(self, *arguments):
        """Runs a command on the server's data, as its user."""
        as_user = ["setpriv", "--reuid=docwright", "--regid=docwright", "--clear-groups", "env", "HOME=/var/lib/docwright"]
        command = [*self.enter, *as_user, "docwright", *arguments]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(f"`docwright {' '.join(arguments)}` failed in the clean system:\n{done.stderr}")
        return done.stdout.strip()

    def ask(self, questions):
        """Statuses, types and bodies of answers to paths with keys."""
        asked = subprocess.run([*self.enter_network, sys.executable, "-c", ASK], input=json.dumps(questions), stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(asked.stdout)

    def wait_until(self, what, is_true):
        for _ in range(300):
            if is_true():
                return
            time.sleep(0.1)
        sys.exit(f"{what}, even after 30 seconds:\n{self.run('journalctl', '--no-pager', '--lines=40', check=False)}")

    def wait_until_ready(self, *flags):
        def is_ready():
            return self.run("docwright", "health", *flags, check=False) == "ready"

        self.wait_until("the server is not ready", is_ready)


@contextlib.contextmanager
def booted(folder):
    command = ["systemd-nspawn", "--quiet", f"--directory={folder}", "--boot", "--private-network", "--register=no", "--keep-unit"]
    console = folder / "console.log"
    with console.open("w") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        leader = find_leader(process, console)
        machine = Machine(folder, leader)
        machine.wait_until("systemd is not up", lambda: machine.run("systemctl", "is-system-running", check=False) in ("running", "degraded"))
        yield machine
    finally:
        process.terminate()
        process.wait(timeout=60)


def find_leader(process, console):
    """The process that is number 1 inside."""
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
    for _ in range(100):
        if process.poll() is not None:
            raise CannotBoot(console.read_text().strip())
        if found := children.read_text().split():
            return found[0]
        time.sleep(0.1)
    raise CannotBoot("it did not start within 10 seconds")
