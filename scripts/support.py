"""What the scripts share: a debug build, a server of their own and its API, tools installed beside the build."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))) / "docwright"
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", CACHE / "target"))
BINARY = TARGET / "debug/docwright"
NO_LIMITS = {
    "DOCWRIGHT_JOBS_PER_HOUR": "1000000",
    "DOCWRIGHT_READS_PER_HOUR": "1000000",
    "DOCWRIGHT_BEACONS_PER_MINUTE": "1000000",
}


def build(*packages, features=""):
    """These packages, or the program itself."""
    environment = {**os.environ, "CARGO_TARGET_DIR": str(TARGET)}
    named = [flag for package in packages for flag in ("--package", package)]
    subprocess.run(["cargo", "build", "--locked", "--features", features, *named], cwd=ROOT, env=environment, check=True)


def python_with(name, *packages):
    """The bin folder of an environment that has these packages, made on first use."""
    home = CACHE / name
    done = home / "installed"
    if not done.exists():
        print(f"installing {', '.join(packages)}", flush=True)
        venv.create(home, with_pip=True, clear=True)
        subprocess.run([home / "bin/pip", "install", "--quiet", *packages], check=True)
        done.touch()
    return home / "bin"


def node_with(name, *packages):
    """The node_modules folder that has these packages, made on first use."""
    home = CACHE / name
    done = home / "installed"
    if not done.exists():
        if not shutil.which("npm"):
            sys.exit("npm is missing: install the packages nodejs and npm")
        print(f"installing {', '.join(packages)}", flush=True)
        home.mkdir(parents=True, exist_ok=True)
        quiet = ["--silent", "--no-audit", "--no-fund", "--no-save", "--prefix", home]
        subprocess.run(["npm", "install", *quiet, *packages], check=True)
        done.touch()
    return home / "node_modules"


def docwright(data, *arguments):
    environment = {**os.environ, "DOCWRIGHT_DATA": str(data)}
    done = subprocess.run([BINARY, *arguments, "--json"], env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def repository(folder, pages):
    """A repository with these pages and one commit."""
    who = ["-c", "user.name=Docs", "-c", "user.email=docs@example.com"]
    for path, text in pages.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    for step in (["init", "--quiet", "--initial-branch=main"], ["add", "--all"], ["commit", "--quiet", "--message=Begin"]):
        subprocess.run(["git", *who, "-C", folder, *step], check=True)
    return str(folder)


@contextlib.contextmanager
def serving(data, log, *flags, **settings):
    """A server on a port of its own choice, by its address."""
    settings = {**NO_LIMITS, "DOCWRIGHT_DATA": str(data), "DOCWRIGHT_LISTEN": "127.0.0.1:0", **settings}
    with open(log, "w") as file:
        server = subprocess.Popen([BINARY, *flags, "serve"], env={**os.environ, **settings}, stdout=file, stderr=file)
    try:
        yield address(server, pathlib.Path(log))
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(timeout=30)


def address(server, log):
    for _ in range(300):
        found = re.search(r"http://127\.0\.0\.1:\d+", log.read_text())
        if found:
            return found.group(0)
        if server.poll() is not None:
            break
        time.sleep(0.1)
    sys.exit("the server did not start:\n" + log.read_text())


def ask(url, key, method, path, body=None):
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(url + path, body and json.dumps(body).encode(), headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        text = answer.read()
        return json.loads(text) if "json" in answer.headers["Content-Type"] else text.decode()


def settled(url, key, path):
    for _ in range(600):
        job = ask(url, key, "GET", path)
        if job["status"] != "active":
            return job
        time.sleep(0.05)
    sys.exit(f"{path} did not end")
