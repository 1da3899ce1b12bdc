#!/usr/bin/env python3
"""A small HTTP server in front of ClickHouse as a library, for tests: scripts/clickhouse_engine.py DATA PORT_FILE [LOCK_FILE]

PyPI's chdb-core has the engine, but not its HTTP server. This one has the part of the interface that `traffic` uses:
POST /?query=INSERT … FORMAT RowBinary&setting=value with rows as the body, and POST /?setting=value with a statement as
the body. Answers are in `default_format`. A body that is cut short of its Content-Length is refused and not inserted.

For tests, GET /die?after=N ends the process without a word when the Nth request from now arrives, or after its statement
ran with `&when=after`. With a lock file, it ends once no test has a share in the lock. Run it with the Python that `scripts/test` installs; without arguments, it installs that.
"""

import fcntl
import http.server
import os
import pathlib
import re
import sys
import tempfile
import threading
import time
import urllib.parse

ENGINE = "chdb-core==26.9.0"
ENVIRONMENT = "chdb-core-26.9.0"
# Parameters that are not settings of a statement.
PARAMETERS = {"query", "default_format", "wait_end_of_query"}
# It ends this many seconds after the last test, at the earliest.
LINGER = 20
CODE = re.compile(r"Code: (\d+)")


def end():
    os._exit(9)


class Engine:
    """One session. The library runs one statement at a time, because settings belong to the session."""

    def __init__(self, data):
        from chdb import session

        self.session = session.Session(str(data))
        self.lock = threading.Lock()
        self.folder = tempfile.TemporaryDirectory()
        self.die_in, self.die_after = None, False

    def run(self, database, sql, settings, output, rows):
        with self.lock:
            last = self.die_in == 1
            if self.die_in:
                self.die_in -= 1
            if last and not self.die_after:
                end()
            for name, value in settings.items():
                self.session.query(f"SET {name} = '{value}'")
            try:
                if database:
                    self.session.query(f"USE {database}")
                answer = self.session.query(self.with_rows(sql, rows), output).bytes()
            finally:
                for name in settings:
                    self.session.query(f"SET {name} = DEFAULT")
            if last:
                end()
            return answer

    def with_rows(self, sql, rows):
        if rows is None:
            return sql
        file = pathlib.Path(self.folder.name) / "rows"
        file.write_bytes(rows)
        insert, form = re.fullmatch(r"(INSERT INTO .*) FORMAT (\w+)", sql, re.DOTALL).groups()
        return f"{insert} FROM INFILE '{file}' FORMAT {form}"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    engine = None
    password = os.environ.get("CLICKHOUSE_TEST_PASSWORD", "")

    def log_message(self, *_):
        pass

    def do_GET(self):
        asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        if self.path.startswith("/die"):
            self.engine.die_in, self.engine.die_after = int(asked["after"]), asked.get("when") == "after"
        self.answer(200, b"Ok.\n")

    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length)
        if len(body) != length:
            self.close_connection = True
            return
        asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        if self.headers.get("X-ClickHouse-Key", "") != self.password or "password" in asked:
            self.answer(403, b"Code: 516. DB::Exception: Authentication failed. (AUTHENTICATION_FAILED)", "516")
            return
        settings = {name: value for name, value in asked.items() if name not in PARAMETERS}
        rows = body if "query" in asked else None
        sql = asked.get("query") or body.decode()
        try:
            database = self.headers.get("X-ClickHouse-Database")
            answer = self.engine.run(database, sql, settings, asked.get("default_format", "TabSeparated"), rows)
        except Exception as error:
            code = CODE.search(str(error))
            self.answer(500, str(error).encode(), code.group(1) if code else "1")
        else:
            self.answer(200, answer or b"")

    def answer(self, status, body, code=None):
        self.send_response(status)
        if code:
            self.send_header("X-ClickHouse-Exception-Code", code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def end_when_unused(lock_file):
    time.sleep(LINGER)
    with open(lock_file, "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        end()


def main():
    if len(sys.argv) < 3:
        import support

        print(support.python_with(ENVIRONMENT, ENGINE))
        return
    data, port_file = map(pathlib.Path, sys.argv[1:3])
    Handler.engine = Engine(data)
    server = Server(("127.0.0.1", int(os.environ.get("CLICKHOUSE_TEST_PORT", "0"))), Handler)
    # Complete when it appears.
    draft = port_file.with_suffix(".draft")
    draft.write_text(str(server.server_port))
    draft.rename(port_file)
    for lock_file in sys.argv[3:]:
        threading.Thread(target=end_when_unused, args=(lock_file,), daemon=True).start()
    server.serve_forever()


if __name__ == "__main__":
    main()
