"""A scripted model for jobs that are cut off: it writes a note for each that it is asked for, then it is done.

What is left to do is read from the conversation itself, so it does not matter who asks, or how often.
"""

import json
import random
import re
import threading
import time
from http.server import ThreadingHTTPServer

from benches import model

# As `prompt` asks for it; the names of pages that are there are no requests.
NOTE = re.compile(r"Write the (note-[0-9a-z]+)")
# What the job is asked for that kills whichever server asks about it.
POISON = "note-poison"


def path(note):
    """A note whose name begins with `docs` is for a project whose pages are in that folder."""
    folder = "docs/" if note.startswith("note-docs") else ""
    return f"{folder}notes/{note}.md"


def prompt(note):
    return f"Write the {note}."


class Conversation:
    """One question, in the shape in which `benches.model` asks its script for a turn."""

    def __init__(self, asked):
        self.script, self.messages = self, asked["messages"]

    def offered(self, tools):
        return tools

    def turn(self, _tools, _results):
        said = "\n".join(json.dumps(one["content"]) for one in self.messages if one["role"] == "user")
        left = [note for note in dict.fromkeys(NOTE.findall(said)) if path(note) not in self.written()]
        if left:
            return None, ("write", {"path": path(left[0]), "text": f"# {left[0]}\n\nSome words.\n"})
        return None, ("finish", {"title": "Notes", "summary": "All notes are written."})

    def written(self):
        calls = [call["function"] for one in self.messages for call in one.get("tool_calls") or []]
        return {json.loads(call["arguments"])["path"] for call in calls if call["name"] == "write"}


class Handler(model.Handler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if POISON in json.dumps(asked["messages"]):
            self.model.when_poisoned(self.client_address[1])
        time.sleep(self.model.pause())
        try:
            self.answer("text/event-stream", model.chunks(Conversation(asked), asked))
        except OSError:
            pass  # whoever asked was killed


class Model:
    """The model's server, on a port of its own; an answer takes up to `slowest` seconds."""

    def __init__(self, slowest):
        self.slowest = slowest
        self.when_poisoned = lambda port: None
        self.server = Quiet(("127.0.0.1", 0), lambda *call: Handler(self, *call))
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def pause(self):
        return random.uniform(0, self.slowest)

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Quiet(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, *_):
        pass  # a connection whose other end was killed
