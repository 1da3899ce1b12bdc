"""Requests of one client, one after the other."""

import http.client
import json
import pathlib
import tempfile

from .common import Row, Server, admin, commit, free_port, timed

POLLS, CREATES = 2000, 200


def repository(folder):
    work = pathlib.Path(folder) / "docs"
    work.mkdir()
    for number in range(100):
        (work / f"page-{number}.md").write_text(f"# Page {number}\n\nSome words.\n")
    return commit(work)


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
            polls = timed(POLLS, lambda: server.ask(connection, "GET", f"{path}/{created[0]}", key))
            views = timed(POLLS, lambda: server.ask(connection, "GET", f"/v1/analytics/{project}/views", key))
            yield Row("memory after all that", server.memory(), "MB")
    for name, times in (("create a job", creates), ("poll a job", polls), ("page views, none there", views)):
        yield Row(f"{name}, median", times[len(times) // 2], "ms")
        yield Row(f"{name}, 99th of 100", times[len(times) * 99 // 100], "ms")
