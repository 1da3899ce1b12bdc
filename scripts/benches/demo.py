"""The whole demo, from its start to the pull request."""

import subprocess
import time

from .common import BINARY, Row, free_port


def run():
    started = time.perf_counter()
    listen = f"127.0.0.1:{free_port()}"
    arguments = [BINARY, "demo", "--once", "--json", "--listen", listen]
    subprocess.run(arguments, check=True, capture_output=True)
    yield Row("docwright demo --once", time.perf_counter() - started, "s")
