"""Checks a job and its event stream through a proxy."""

import contextlib
import json
import signal
import subprocess
import time

import support

from .checklist import wait_until

FOLLOW_UPS = 5
MAX_DELAY = 1.0  # Seconds from a follow-up until its event arrives. The server itself needs some milliseconds.
# The server sends a comment on a silent stream every 15 seconds.
KEEP_ALIVE_SECONDS, PATIENCE = 15, 10


class Stream:
    """An open event stream. Each line that arrives has its time."""

    def __init__(self, proxy, docwright, job, timeout):
        self.connection = proxy.connect(timeout=timeout)
        headers = {"Authorization": f"Bearer {docwright.key}", "Accept": "text/event-stream"}
        self.connection.request("GET", f"{docwright.jobs()}/{job}/events", headers=headers)
        self.response = self.connection.getresponse()

    def close(self):
        # Each of them holds the socket open.
        self.response.close()
        self.connection.close()

    def next_line(self):
        """The next line that isn't empty, without its end. `None` at the end of the stream."""
        while line := self.response.readline():
            if line.strip():
                return line.decode().strip()
        return None

    def next_event(self):
        while line := self.next_line():
            if line.startswith("data:"):
                return json.loads(line.removeprefix("data:"))
        return None


@contextlib.contextmanager
def open_stream(proxy, docwright, timeout):
    """A new job, which stays active, and its event stream."""
    job = docwright.ask("POST", docwright.jobs(), {"prompt": "Fix broken links."})["id"]
    with contextlib.closing(Stream(proxy, docwright, job, timeout)) as stream:
        yield f"{docwright.jobs()}/{job}", stream


def check_events(checklist, proxy, docwright):
    try:
        with open_stream(proxy, docwright, PATIENCE) as (job, stream):
            first = stream.next_event()["type"]
            delays = [follow_up(docwright, job, stream) for _ in range(FOLLOW_UPS)]
            seen = (first, docwright.ask("GET", job)["status"], max(delays) < MAX_DELAY)
            docwright.ask("POST", f"{job}/archive", {})
            while stream.next_event():
                pass
    except (OSError, EOFError) as error:
        checklist.true("events arrive as they happen, and the stream ends with its job", False, f"within {PATIENCE} s: {error!r}")
        return
    checklist.equal("events arrive as they happen, while the job is active, and the stream ends with it", seen, ("created", "active", True))
    checklist.figure(f"{FOLLOW_UPS} events, the slowest after {max(delays) * 1000:.0f} ms")


def follow_up(docwright, job, stream):
    """Sends a follow-up, and waits for its event: the seconds."""
    sent = time.monotonic()
    docwright.ask("POST", f"{job}/message", {"prompt": "Fix broken anchors, too."})
    while event := stream.next_event():
        if event["type"] == "message":
            return time.monotonic() - sent
    raise EOFError("the stream ended")


def check_idle_stream(checklist, proxy, docwright, silence):
    """`silence`: for so many seconds, even the server sends nothing, because it's stopped."""
    try:
        with open_stream(proxy, docwright, silence + KEEP_ALIVE_SECONDS + PATIENCE) as (job, stream):
            while (line := stream.next_line()) and not line.startswith(":"):
                pass
            checklist.equal("a silent stream gets its keep-alive comment", line, ":")
            if silence:
                stay_silent(docwright, silence)
                follow_up(docwright, job, stream)
                checklist.true(f"a stream stays open for {silence} s without a byte", True, "")
    except (OSError, EOFError) as error:
        checklist.true("a silent stream stays open", False, repr(error))
    is_cut = wait_until(lambda: any(map(is_cut_stream, docwright.log_lines())), PATIENCE)
    checklist.true("the server's stream ends when the client leaves", is_cut, f"it's open after {PATIENCE} s")


def is_cut_stream(line):
    """Whether this line of the log is about an event stream that its client left."""
    return bool(line.get("cut")) and line["route"].endswith("/events")


def stay_silent(docwright, seconds):
    docwright.process.send_signal(signal.SIGSTOP)
    time.sleep(seconds)
    docwright.process.send_signal(signal.SIGCONT)


def check_job(checklist, proxy, docwright):
    prompt = 'Replace "one time" with "two times".'
    command = [support.BINARY, "job", "create", docwright.project, prompt, "--watch", "--json"]
    done = subprocess.run(command, env=proxy.client_settings(docwright.key), capture_output=True, text=True, timeout=60)
    job = json.loads(done.stdout) if done.returncode == 0 else {}
    is_right = job.get("status") == "completed" and (job["prLink"] or "").startswith(f"{proxy.url}/p/")
    checklist.true("`docwright job create --watch` opens a pull request", is_right, f"{done.stdout} {done.stderr}")
