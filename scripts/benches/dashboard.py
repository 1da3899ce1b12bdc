"""The first byte of every page of the dashboard, with 10,000 jobs and a billion views of 10,000 pages behind it.

One person at one kept connection, signed in by a link; the first request of a page is not counted."""

import http.client
import json
import tempfile
import time
import urllib.parse

from . import load
from .common import Row, admin
from .views import DAY, DAYS, PAGES, Docs, work

JOBS, ARCHIVED, VIEWS, LATELY = 10_000, 500, 1_000_000_000, 1_000_000
REQUESTS, CLIENTS, MOST = 15, 64, 50
NAMES = {
    "the projects": "/",
    "jobs": "{root}/jobs",
    "jobs, searched in vain": "{root}/jobs?q=nowhere",
    "a job with a pull request": "{root}/jobs/{job}",
    "pull requests": "{root}/pulls",
    "a pull request": "{root}/pulls/1",
    "readers, 30 days": "{root}/readers",
    "readers, 12 months": "{root}/readers?range=12m",
    "readers, pages": "{root}/readers/pages?range=12m",
    "readers, agents": "{root}/readers/agents?range=12m",
    "readers, not found": "{root}/readers/not-found?range=12m",
    "readers, referrers": "{root}/readers/referrers?range=12m",
    "keys": "{root}/keys",
    "settings": "{root}/settings",
    "people": "/people",
    "audit log": "/audit",
}


def run():
    with tempfile.TemporaryDirectory() as folder:
        docs = Docs(folder)
        with docs.serve() as server:
            job = changed(docs, server)
        today = int(time.time() * 1000) // DAY * DAY
        # Yesterday and today are left to views that are sent, so that there are some with agents and referrers.
        work("fill", f"{docs.data}/views.db", docs.project, PAGES, DAYS, today - DAY, VIEWS)
        docs.flags += ("--workers", "0")
        with docs.serve() as server:
            to = server.port, docs.key, docs.project, server.process.pid
            work("send", LATELY, PAGES, 1, int(time.time() * 1000), *to)
            yield Row("jobs behind the pages", 1 + asked(docs, server, folder), "", JOBS, least=True)
            yield Row("millions of views behind them", docs.ask()["totals"]["total"] / 1e6, "", VIEWS / 1e6, least=True)
            cookie = signed_in(docs, server)
            for name, path in NAMES.items():
                path = path.format(root=f"/p/{docs.project}", job=job)
                times = first_bytes(server, path, cookie)
                yield Row(f"{name}: first byte, median", times[len(times) // 2], "ms", MOST)
                yield Row("  95th of 100", times[len(times) * 95 // 100], "ms")


def changed(docs, server):
    """The id of a job that has a pull request."""
    path, body = f"/v2/agent/{docs.project}/job", {"prompt": 'Replace "A" with "B".'}
    job = told(docs, server, "POST", path, body)
    for _ in range(600):
        ended = told(docs, server, "GET", f"{path}/{job['id']}")
        if ended.get("prLink"):
            return job["id"]
        time.sleep(0.05)
    raise AssertionError(f"the job made no pull request: {ended}")


def asked(docs, server, folder):
    """How many jobs were made; some are archived."""
    made, path, body = 0, f"/v2/agent/{docs.project}", '{"prompt": "Fix broken links."}'
    while made < JOBS:
        made += load.creates(folder, server.port, f"{path}/job", docs.key, body, CLIENTS, 2).requests
    for _ in range(ARCHIVED // 100):
        for job in told(docs, server, "GET", f"{path}/jobs?limit=100&status=active")["jobs"]:
            told(docs, server, "POST", f"{path}/job/{job['id']}/archive")
    return made


def told(docs, server, method, path, body=None):
    status, answer = server.ask(docs.connection, method, path, docs.key, body)
    assert status < 300, answer
    return json.loads(answer)


def signed_in(docs, server):
    """A cookie, by a link as `docwright login` makes it."""
    link = admin(docs.data, "login")["loginUrl"]
    token = urllib.parse.parse_qs(urllib.parse.urlsplit(link).query)["token"][0]
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    connection.request("POST", "/login", urllib.parse.urlencode({"token": token}), form)
    return connection.getresponse().headers["Set-Cookie"].split(";")[0]


def first_bytes(server, path, cookie):
    """Milliseconds until a page begins to come, sorted."""
    connection, times = http.client.HTTPConnection("127.0.0.1", server.port), []
    for _ in range(1 + REQUESTS):
        started = time.perf_counter()
        connection.request("GET", path, headers={"Cookie": cookie})
        answer = connection.getresponse()
        times.append((time.perf_counter() - started) * 1000)
        page = answer.read()
        assert answer.status == 200, page
    return sorted(times[1:])
