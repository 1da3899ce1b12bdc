"""A proxy of this machine that remembers what went through it: called by scripts/hosts."""

import http.client
import http.server
import json
import threading

# Of a message, which is handed on in one piece.
LENGTH = ("transfer-encoding", "content-length", "connection")


def recorder(port, strip="", granted=()):
    """Before the server at this port, whose paths are without `strip`; `seen` has what was asked and answered. What is
    `granted`, by its path, is answered here, with a plain yes, and not noted."""
    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.behind, made.strip, made.granted, made.seen = port, strip, granted, []
    threading.Thread(target=made.serve_forever, daemon=True).start()
    return made


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Small answers in several writes would wait for the client's acknowledgement otherwise.
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def forward(self):
        body = self.body()
        if self.path in self.server.granted:
            self.send_response_only(200)
            self.send_header("Content-Type", "application/x-git-receive-pack-advertisement")
            self.send_header("Content-Length", "0")
            return self.end_headers()
        headers = {name: value for name, value in self.headers.items() if name.lower() not in LENGTH}
        path = self.path.removeprefix(self.server.strip)
        connection = http.client.HTTPConnection("127.0.0.1", self.server.behind, timeout=60)
        connection.request(self.command, path, body, {**headers, "Content-Length": str(len(body))})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        self.note(body, answer, text)
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in LENGTH:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = forward

    def body(self):
        if self.headers["Transfer-Encoding"] != "chunked":
            return self.rfile.read(int(self.headers["Content-Length"] or 0))
        pieces = []
        while size := int(self.rfile.readline(), 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def note(self, body, answer, text):
        is_json = lambda kind: "json" in (kind or "")
        kind = self.headers["Content-Type"]
        self.server.seen.append({
            "method": self.command,
            "path": self.path,
            "type": kind,
            "body": json.loads(body) if body and is_json(kind) else None,
            "status": answer.status,
            "answer": json.loads(text) if text and is_json(answer.getheader("Content-Type")) else None,
        })
