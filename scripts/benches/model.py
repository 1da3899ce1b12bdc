"""A model that costs no time: plays a script to whoever asks, by chat completions or by responses, and counts.

Where a conversation is in the script is told by how many results of tools are in it, so that a question that is
asked again gets the same answer. A question that offers no tools (a title, or an agent that needs none) gets the
script's `aside`.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

USAGE = {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050}


class Script:
    """`calls`: what is called for, one tool a turn, as (name, arguments); a `str` is a tool's plain input.
    `words`: what is said when all is done. `{n}` in the values of the arguments is the number of the conversation, so
    that jobs make different changes: equal ones would share one pull request."""

    def __init__(self, calls, words="Done.", aside="Two pages"):
        self.calls, self.words, self.aside, self.number = calls, words, aside, 0

    def turn(self, tools, results):
        """What is said, or the call that is made."""
        if not tools:
            return self.aside, None
        self.number += results == 0
        if results < len(self.calls):
            name, arguments = self.calls[results]
            if isinstance(arguments, dict):
                arguments = {key: value.replace("{n}", str(self.number)) if isinstance(value, str) else value
                             for key, value in arguments.items()}
            return None, (name, arguments)
        return self.words, None


class Model:
    """The server of a script, on a port of its own; `tools` are those that it was offered last."""

    def __init__(self, script):
        self.script, self.tools, self.lock = script, [], threading.Lock()
        self.requests = self.bytes = 0
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), lambda *call: Handler(self, *call))
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def heard(self, body):
        with self.lock:
            self.requests += 1
            self.bytes += len(body)
        return json.loads(body)

    def offered(self, tools):
        self.tools = tools or self.tools
        return tools


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer in one piece: two writes wait for each other

    def __init__(self, model, *call):
        self.model = model
        super().__init__(*call)

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer("application/json", json.dumps({"object": "list", "data": [], "models": []}))

    def do_POST(self):
        asked = self.model.heard(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith("/responses"):
            self.answer("text/event-stream", responses(self.model, asked))
        elif asked.get("stream"):
            self.answer("text/event-stream", chunks(self.model, asked))
        else:
            self.answer("application/json", json.dumps(whole(self.model, asked)))

    def answer(self, kind, text):
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def message(model, asked):
    """The message of a chat completion, and why it ends."""
    results = sum(said["role"] == "tool" for said in asked["messages"])
    words, call = model.script.turn(model.offered(asked.get("tools")), results)
    if not call:
        return {"role": "assistant", "content": words}, "stop"
    name, arguments = call
    function = {"name": name, "arguments": json.dumps(arguments)}
    called = [{"index": 0, "id": f"call_{results}", "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": called}, "tool_calls"


def completion(kind, asked, choice, usage=None):
    about = {"id": "chatcmpl-1", "object": kind, "created": 1, "model": asked["model"]}
    return {**about, "choices": choice, "usage": usage}


def whole(model, asked):
    said, reason = message(model, asked)
    choice = [{"index": 0, "message": said, "finish_reason": reason}]
    return completion("chat.completion", asked, choice, USAGE)


def chunks(model, asked):
    said, reason = message(model, asked)
    choices = [
        [{"index": 0, "delta": said, "finish_reason": None}],
        [{"index": 0, "delta": {}, "finish_reason": reason}],
    ]
    events = [completion("chat.completion.chunk", asked, choice) for choice in choices]
    events.append(completion("chat.completion.chunk", asked, [], USAGE))
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"


def responses(model, asked):
    given = asked["input"] if isinstance(asked["input"], list) else []
    results = sum(item.get("type", "").endswith("_call_output") for item in given)
    words, call = model.script.turn(model.offered(asked.get("tools")), results)
    usage = {"input_tokens": 1000, "output_tokens": 50, "total_tokens": 1050}
    response = {"id": f"resp_{results}", "object": "response", "model": asked["model"], "usage": usage}
    events = [
        {"type": "response.created", "response": {"id": response["id"]}},
        {"type": "response.output_item.done", "output_index": 0, "item": item(words, call, results)},
        {"type": "response.completed", "response": {**response, "status": "completed", "output": []}},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


def item(words, call, number):
    if not call:
        text = {"type": "output_text", "text": words, "annotations": []}
        return {"type": "message", "id": "msg_1", "role": "assistant", "content": [text]}
    name, arguments = call
    about = {"id": f"item_{number}", "call_id": f"call_{number}", "name": name}
    if isinstance(arguments, str):
        return {**about, "type": "custom_tool_call", "input": arguments}
    return {**about, "type": "function_call", "arguments": json.dumps(arguments)}
