"""What is killed, and what it lives among: servers, a model, a repository host, and where it all is."""

import contextlib
import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from support import NO_LIMITS, TARGET, build, repository

from .model import Model

TOKEN = "tok-0123456789abcdef"
NAME = "acme/docs"
BINARY = TARGET / "debug/docwright-failpoints"
HOST = TARGET / "debug/fakehost"
PAGES = {"index.md": "# Kettle\n\nPress one, then two, then three.\n", "guide.md": "# Guide\n\nWords.\n"}
START = 60
PORTS = range(15000, 32000)


def build_all():
    """With failpoints, under a name of its own: the program without them is built to the same place."""
    build("docwright", "fakehost", features="docwright/failpoints")
    BINARY.unlink(missing_ok=True)
    BINARY.hardlink_to(TARGET / "debug/docwright")


def free_port():
    """Below the ports that the kernel gives to connections: one of those could be taken while its server is dead."""
    for port in random.sample(PORTS, len(PORTS)):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise SystemExit(f"every port from {PORTS[0]} to {PORTS[-1]} is taken")


class Gone(Exception):
    """No answer, or one that says to come again."""


class NotReady(SystemExit):
    """A server that does not start ends the program, unless a round says otherwise."""


class Server:
    """One `docwright serve`, which can die and come back at the same address."""

    def __init__(self, world, number):
        self.world, self.port, self.process = world, free_port(), None
        self.data, self.temporary = world.data_directory(number), world.folder / f"tmp-{number}"
        self.log = world.folder / f"server-{number}.log"
        self.temporary.mkdir()
        self.sessions = []
        self.before = []
        """What the next start is run by, such as strace."""

    def start(self):
        environment = {**self.world.environment, "DOCWRIGHT_DATA": str(self.data), "TMPDIR": str(self.temporary)}
        listen = ["--listen", f"127.0.0.1:{self.port}", "--workers", "4"]
        with open(self.log, "a") as log:
            self.process = subprocess.Popen(
                [*self.before, BINARY, *self.world.config, "serve", *listen],
                env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )
        self.sessions.append(self.process.pid)

    def ready(self):
        until = time.monotonic() + START
        while time.monotonic() < until:
            with contextlib.suppress(Gone):
                if self.ask("GET", "/readyz")[0] == 200:
                    return
            if self.process.poll() is not None:
                raise NotReady("the server did not start:\n" + self.log.read_text()[-2000:])
            time.sleep(0.01)
        raise NotReady("the server was not ready in time:\n" + self.log.read_text()[-2000:])

    def dead(self):
        return self.process.poll() is not None

    def kill(self):
        """Of what was started by strace, strace is killed alone, and its child with it: it is one session."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL) if self.before else self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(20)
            return
        self.kill()

    def ask(self, method, path, body=None, key=None, once=None, timeout=30):
        """Status and body; `Gone` when there is no answer, or one that is to be asked for again."""
        headers = {"Content-Type": "application/json"}
        headers.update({"Authorization": f"Bearer {key}"} if key else {})
        headers.update({"Idempotency-Key": once} if once else {})
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            connection.request(method, path, body and json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read()
            if answer.status >= 500:
                raise Gone(f"{answer.status} {text[:200]}")
            is_json = "json" in answer.headers.get("Content-Type", "")
            return answer.status, json.loads(text) if is_json else text
        except (OSError, http.client.HTTPException, ValueError) as why:
            raise Gone(str(why)) from None
        finally:
            connection.close()


class BaseWorld:
    """A folder, a model and servers, for one round. Subclasses add repositories and projects."""

    def __init__(self, servers=1, database=None, slowest=0.03, keep=False):
        self.folder, self.keep = pathlib.Path(tempfile.mkdtemp(prefix="docwright-crash-")), keep
        self.folder.chmod(0o755)
        self.model = Model(slowest)
        self.database = database
        self.environment = self.settings()
        self.config = ["--config", str(self.write_config())]
        self.servers = [Server(self, number) for number in range(servers)]
        self.failpoint = self.folder / "failpoint"
        self.environment["DOCWRIGHT_FAILPOINT_FILE"] = str(self.failpoint)

    def data_directory(self, number):
        return self.folder / f"data-{number}"

    def settings(self):
        settings = {**os.environ, **NO_LIMITS, "DOCWRIGHT_LOG": "info,access=off", "RUST_BACKTRACE": "0"}
        if self.database:
            key = self.folder / "master.key"
            key.write_text(os.urandom(32).hex())
            key.chmod(0o600)
            settings.update(DOCWRIGHT_DATABASE_URL=self.database.url, DOCWRIGHT_MASTER_KEY_FILE=str(key))
        return settings

    def write_config(self):
        table = {"provider": "compatible", "model": "scripted", "base_url": self.model.url, "allow_private": True}
        lines = [f"{name} = {json.dumps(value)}" for name, value in table.items()]
        config = self.folder / "docwright.toml"
        config.write_text("\n".join(["hosts_allow_private = true", "[models.scripted]", *lines]))
        return config

    def admin(self, *arguments):
        environment = {**self.environment, "DOCWRIGHT_DATA": str(self.servers[0].data)}
        command = [BINARY, *self.config, *arguments, "--json"]
        return json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout)

    def start(self):
        """One after the other: the first has the page views."""
        for server in self.servers:
            server.start()
            server.ready()

    def end(self):
        for server in self.servers:
            if server.process and not server.dead():
                server.stop()
        self.model.stop()
        if self.keep:
            return print(f"kept: {self.folder}")
        shutil.rmtree(self.folder)


class World(BaseWorld):
    """One with a project at a repository host, which `fakehost` plays. `durable`: the host syncs what it writes."""

    def __init__(self, *options, durable=False, **more):
        super().__init__(*options, **more)
        self.host_url, self.host = self.start_host(durable)
        self.project = self.admin("project", "create", "--name", "D", *self.repository_flags())["id"]
        self.key = self.admin("key", "create", "--name", "K", "--expires", "never")["key"]

    def start_host(self, durable):
        docs = repository(self.folder / "docs", PAGES)
        (self.folder / "host").mkdir()
        flags = ["--kind", "github", "--token", TOKEN, "--repository", f"{NAME}={docs}", "--rate-limit", "100000000", "--user", "noor"]
        environment = {**os.environ, "TMPDIR": str(self.folder / "host")}
        command = [HOST, *flags, *(["--durable"] if durable else [])]
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        return process.stdout.readline().strip(), process

    def repository_flags(self):
        token = self.folder / "token"
        token.write_text(TOKEN)
        place = ["--host", "github", "--repository", f"{self.host_url}/{NAME}", "--token-file", str(token)]
        return [*place, "--model", "scripted", "--label", "docs", "--reviewer", "noor"]

    def ask_host(self, method, path, body=None):
        connection = http.client.HTTPConnection(self.host_url.removeprefix("http://"), timeout=30)
        connection.request(method, path, body and json.dumps(body), {"Content-Type": "application/json"})
        text = connection.getresponse().read()
        connection.close()
        return json.loads(text) if text else None

    def host_repository(self):
        return next((self.folder / "host").rglob("*.git"))

    def end(self):
        self.host.terminate()
        self.host.wait(30)
        self.host.stdout.close()
        super().end()
