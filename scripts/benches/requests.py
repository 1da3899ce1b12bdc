"""Requests of one client, one after the other."""

import http.client
import json
import pathlib
import tempfile
import time

from . import measure
from .common import Row, Server, admin, commit, free_port, timed

POLLS, CREATES = 2000, 200


def repository(folder):
    work = pathlib.Path(folder) / "docs"
    work.mkdir()
    for number in range(100):
        (work / f"page-{number}.md").write_text(f"# Page {number}\n\nSome words.\n")
    return commit(work)


def settle(server, connection, active, key):
    """Waits until no job is left: a job's work would be counted as the requests' work."""
    while json.loads(server.ask(connection, "GET", active, key)[1])["jobs"]:
        time.sleep(0.1)


def run():
    with tempfile.TemporaryDirectory() as folder:
        data = f"{folder}/data"
        project = admin(data, "project", "create", "--name", "B", "--repository", repository(folder))["id"]
        key = admin(data, "key", "create", "--name", "B")["key"]
        with Server(data, free_port()) as server:
            connection = http.client.HTTPConnection("127.0.0.1", server.port)
            path = f"/v2/agent/{project}/job"
            prompt = {"prompt": 'Replace "nothing here" with "something".'}
            created = []

            def create():
                status, body = server.ask(connection, "POST", path, key, prompt)
                assert status == 201, body
                created.append(json.loads(body)["id"])

            creates = timed(CREATES, create)
            def cpu(path):
                """Milliseconds of the server for one of many requests on one connection."""
                before = measure.cpu(server.process.pid)[0]
                times = timed(POLLS, lambda: server.ask(connection, "GET", path, key))
                return (measure.cpu(server.process.pid)[0] - before) * 1000 / POLLS, times

            settle(server, connection, f"{path}s?status=active", key)
            yield Row("/healthz, CPU", cpu("/healthz")[0], "ms")
            cost, polls = cpu(f"{path}/{created[0]}")
            yield Row("poll a job, CPU", cost, "ms", 0.4)
            views = timed(POLLS, lambda: server.ask(connection, "GET", f"/v1/analytics/{project}/views", key))
            yield Row("memory after all that", server.memory(), "MB")
    for name, times in (("create a job", creates), ("poll a job", polls), ("page views, none there", views)):
        yield Row(f"{name}, median", times[len(times) // 2], "ms")
        yield Row(f"{name}, 99th of 100", times[len(times) * 99 // 100], "ms")
