"""What every part of scripts/bench uses: rows of figures, a server to measure, and what must be installed."""

import http.client
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))) / "docwright"
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", CACHE / "target"))
BINARY = TARGET / "release/docwright"


class Row(NamedTuple):
    """A figure, and the target that it is held to: a ceiling, or a floor if `least`. A `str` in the figure's
    place says why there is none."""

    what: str
    figure: float | str
    unit: str = ""
    target: float | None = None
    least: bool = False

    def held(self):
        if self.target is None:
            return None
        if isinstance(self.figure, str):
            return False
        return self.figure >= self.target if self.least else self.figure <= self.target

    def line(self):
        if isinstance(self.figure, str):
            return f"{self.what:<48} {self.figure}"
        bound = f"at {'least' if self.least else 'most'} {self.target:g}" if self.target is not None else ""
        verdict = {None: "", True: "held", False: "MISSED"}[self.held()]
        return f"{self.what:<48} {self.figure:>10.2f} {self.unit:<4} {bound:<15} {verdict}".rstrip()

    def record(self):
        return {**self._asdict(), "held": self.held()}


def build():
    cargo("build", "--release", "--locked")


def cargo(*arguments, **options):
    environment = {**os.environ, "CARGO_TARGET_DIR": str(TARGET)}
    return subprocess.run(["cargo", *arguments], cwd=ROOT, env=environment, **{"check": True, **options})


def need(program, *packages):
    """Installs Debian's packages if the program is missing."""
    if shutil.which(program):
        return
    print(f"installing {', '.join(packages)}, for {program}", file=sys.stderr, flush=True)
    root = [] if os.getuid() == 0 else ["sudo"]
    quiet = ["-y", "-qq", "--no-install-recommends"]
    for arguments in (["update", "-qq"], ["install", *quiet, *packages]):
        environment = ["env", "DEBIAN_FRONTEND=noninteractive"]
        subprocess.run([*root, *environment, "apt-get", *arguments], check=True, stdout=sys.stderr)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """`docwright serve` in a directory of its own; knows how long its first answer took."""

    def __init__(self, data, port, *flags, before=()):
        self.port = port
        started = time.perf_counter()
        arguments = [*before, BINARY, "serve", "--data", data, "--listen", f"127.0.0.1:{port}", *flags]
        # The limits are for clients that mean it less well.
        limits = {"DOCWRIGHT_JOBS_PER_HOUR": "1000000", "DOCWRIGHT_READS_PER_HOUR": "1000000"}
        environment = {**os.environ, **limits}
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(arguments, env=environment, stderr=quiet, stdout=quiet)
        while True:
            try:
                self.ask(http.client.HTTPConnection("127.0.0.1", port), "GET", "/healthz")
                break
            except ConnectionError:
                if self.process.poll() is not None or time.perf_counter() - started > 30:
                    sys.exit("the server did not start")
                time.sleep(0.0005)
        self.first_answer = time.perf_counter() - started

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)

    @staticmethod
    def ask(connection, method, path, key=None, body=None):
        headers = {"Content-Type": "application/json"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        connection.request(method, path, body and json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def memory(self):
        """Resident megabytes."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024


def admin(data, *arguments):
    done = subprocess.run([BINARY, *arguments, "--data", data, "--json"], check=True, capture_output=True)
    return json.loads(done.stdout)


def commit(folder):
    """Makes a repository of a folder of files."""
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@example.com", "-C", str(folder)]
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "Begin"]):
        subprocess.run(git + arguments, check=True)
    return str(folder)


def timed(count, act):
    """Milliseconds of each of `count` acts, sorted."""
    times = []
    for _ in range(count):
        started = time.perf_counter()
        act()
        times.append((time.perf_counter() - started) * 1000)
    return sorted(times)
