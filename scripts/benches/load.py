"""Many clients at once, by wrk, which tells how long each of them waited."""

import pathlib
import subprocess
from typing import NamedTuple

from .common import need

HEAD = """
wrk.headers["Authorization"] = "Bearer {key}"
wrk.headers["Content-Type"] = "application/json"
function done(summary, latency, requests)
    local errors = summary.errors
    local bad = errors.connect + errors.read + errors.write + errors.status + errors.timeout
    io.write(string.format("\\nTOLD %d %d %f %f %d\\n", summary.requests, summary.duration,
        latency:percentile(50), latency:percentile(99), bad))
end
"""
CREATE = """
wrk.method = "POST"
wrk.body = [[{body}]]
"""
# Each client comes again after a pause of its own, so that so many requests come a second, and not all at once.
POLL = """
local paths = {{ {paths} }}
function request() return wrk.format("GET", paths[math.random(#paths)]) end
function delay() return math.random(0, {twice_the_pause}) end
"""


class Load(NamedTuple):
    requests: int
    a_second: float
    """Milliseconds."""
    median: float
    slow: float
    """Answers that were none, or said no."""
    bad: int


def wrk(folder, port, path, key, script, clients, seconds):
    need("wrk", "wrk")
    file = pathlib.Path(folder) / "load.lua"
    file.write_text(HEAD.format(key=key) + script)
    threads = ["--threads", str(min(2, clients)), "--connections", str(clients), "--duration", f"{seconds}s", "--timeout", "30s"]
    url = f"http://127.0.0.1:{port}{path}"
    done = subprocess.run(["wrk", *threads, "--script", file, url], stdout=subprocess.PIPE, text=True, check=True)
    told = next(line for line in done.stdout.splitlines() if line.startswith("TOLD "))
    requests, microseconds, median, slow, bad = map(float, told.split()[1:])
    return Load(int(requests), requests / microseconds * 1e6, median / 1000, slow / 1000, int(bad))


def creates(folder, port, path, key, body, clients, seconds):
    return wrk(folder, port, path, key, CREATE.format(body=body), clients, seconds)


def polls(folder, port, paths, key, a_second, clients, seconds):
    quoted = ", ".join(f'"{path}"' for path in paths)
    script = POLL.format(paths=quoted, twice_the_pause=round(2000 * clients / a_second))
    return wrk(folder, port, paths[0], key, script, clients, seconds)
