"""From nothing to the first answer, and what a server that does nothing takes."""

import statistics
import tempfile
import time

from .common import Row, Server, free_port

STARTS = 20


def run():
    first = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(STARTS):
            with Server(f"{folder}/data", free_port()) as server:
                first.append(server.first_answer * 1000)
        with Server(f"{folder}/data", free_port()) as server:
            time.sleep(3)
            idle = server.memory()
    yield Row("first answer after the start, median", statistics.median(first), "ms", 200)
    yield Row("first answer after the start, worst", max(first), "ms", 200)
    yield Row("memory when idle", idle, "MB", 40)
