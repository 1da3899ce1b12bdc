"""Docwright with one project, under a clock of its own. It is killed between the steps."""

import contextlib
import json
import os
import pathlib
import subprocess
import time

import support
from benches.common import free_port

from .site import fake_clock

SECONDS = 60


class Installation(contextlib.AbstractContextManager):
    def __init__(self, folder, repository):
        self.data, self.clock, self.log = folder / "data", folder / "server-time", folder / "docwright.log"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        support.docwright(self.data, "org", "create", "--name", "Kettle")
        new = ["project", "create", "--name", "Docs", "--repository", str(repository)]
        self.project = support.docwright(self.data, *new)["id"]
        self.key = support.docwright(self.data, "key", "create", "--name", "loop")["key"]
        self.process = None

    def __exit__(self, *_):
        if self.process:
            self.process.terminate()
            self.process.wait(timeout=30)

    def start(self, shift=None):
        """Starts the server, or starts it again at another time."""
        if self.process:
            self.process.kill()
            self.process.wait()
        if shift:
            self.clock.write_text(shift)
        environment = {
            **os.environ, **support.NO_LIMITS, **fake_clock(self.clock),
            "DOCWRIGHT_DATA": str(self.data), "DOCWRIGHT_LISTEN": f"127.0.0.1:{self.port}",
        }
        with open(self.log, "a") as log:
            self.process = subprocess.Popen([support.BINARY, "serve"], env=environment, stdout=log, stderr=log)
        self.wait(lambda: support.ask(self.url, self.key, "GET", "/readyz") == "ready\n", "the server is ready")

    def kill(self):
        self.start()

    def wait(self, condition, what):
        for _ in range(SECONDS * 10):
            with contextlib.suppress(OSError):
                if found := condition():
                    return found
            time.sleep(0.1)
        raise SystemExit(f"not within {SECONDS} seconds: {what}\n{self.log.read_text()[-4000:]}")

    def import_log(self, log):
        environment = {**os.environ, "DOCWRIGHT_URL": self.url, "DOCWRIGHT_API_KEY": self.key}
        subprocess.run([support.BINARY, "import", self.project, log, "--json"], env=environment, check=True, stdout=subprocess.DEVNULL)

    def get(self, path):
        return support.ask(self.url, self.key, "GET", path)

    def findings(self, expected):
        """All findings of these kinds, once there are so many that know the page they mean."""
        def found():
            listed = self.get(f"/v1/findings/{self.project}?kind=not-found&limit=100")["findings"]
            return listed if len(listed) == sum(expected.values()) else None
        return self.wait(found, f"findings: {expected}")

    def in_state(self, subject, state):
        def found():
            listed = self.get(f"/v1/findings/{self.project}?kind=not-found&limit=100")["findings"]
            (finding,) = [finding for finding in listed if finding["subject"] == subject]
            return finding if finding["state"] == state else None
        finding = self.wait(found, f"{subject} is {state}")
        return self.get(f"/v1/findings/{self.project}/{finding['id']}")

    def fix(self, ids):
        import urllib.request
        body = json.dumps({"findings": ids}).encode()
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json", "Idempotency-Key": "loop"}
        request = urllib.request.Request(f"{self.url}/v1/findings/{self.project}/job", body, headers, method="POST")
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def finished(self, job):
        done = support.settled(self.url, self.key, f"/v2/agent/{self.project}/job/{job}")
        if done["status"] != "completed" or not done["prLink"]:
            raise SystemExit(f"the job made no pull request: {done}")
        return int(done["prLink"].rsplit("/", 1)[1])

    def added_redirects(self, job):
        diff = self.get(f"/v2/agent/{self.project}/job/{job}/diff")
        added = [line[1:].strip() for line in diff.splitlines() if line.startswith("+") and ".md" in line and not line.startswith("+++")]
        return [line.replace("'", "").replace('"', "") for line in added]

    def merge(self, pull):
        environment = {**os.environ, **fake_clock(self.clock), "DOCWRIGHT_DATA": str(self.data)}
        subprocess.run([support.BINARY, "pull", "merge", self.project, str(pull)], env=environment, check=True, stdout=subprocess.DEVNULL)

    def count_jobs(self):
        return len(self.get(f"/v2/agent/{self.project}/jobs?limit=100")["jobs"])

    def counted(self):
        """Views of pages, and requests that were not found."""
        reports = [f"/v1/analytics/{self.project}/{report}?limit=1" for report in ("views", "not-found")]
        return sum(self.get(report)["totals"]["total"] for report in reports)
