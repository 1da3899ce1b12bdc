"""A PostgreSQL of our own: in a temporary directory, on a socket and nowhere else, not as root. It keeps what it has
acknowledged, as one that is in use does."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from .processes import children

SETTINGS = """listen_addresses = ''
fsync = on
synchronous_commit = on
unix_socket_directories = '{data}'
max_connections = 200
shared_buffers = 64MB
"""


def programs():
    """The newest that Debian installed; `None` where there is none."""
    found = pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb")
    newest = max(found, key=lambda path: int(path.parts[4]), default=None)
    return newest and newest.parent


class Cluster:
    """Below `parent`, such as a disk that loses its power, or in the temporary directory."""

    def __init__(self, parent=None):
        self.programs, self.made = programs(), 0
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="docwright-crash-pg-", dir=parent))
        self.folder.chmod(0o755)
        self.data = self.folder / "data"
        self.data.mkdir(mode=0o700)
        # Its programs refuse to be run by root.
        self.user = ["setpriv", "--reuid=nobody", "--clear-groups", "--"] if os.getuid() == 0 else []
        if self.user:
            shutil.chown(self.data, "nobody")
        self.run("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-D", self.data)
        (self.data / "postgresql.auto.conf").write_text(SETTINGS.format(data=self.data))
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder)

    def run(self, program, *arguments):
        command = [*self.user, self.programs / program, *arguments]
        done = subprocess.run(command, cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise SystemExit(f"{program}: {done.stdout}")

    def start(self):
        self.run("pg_ctl", "start", "-w", "-s", "-l", "/dev/null", "-D", self.data)
        self.leader = int((self.data / "postmaster.pid").read_text().split()[0])

    def stop(self):
        self.run("pg_ctl", "stop", "-s", "-m", "immediate", "-D", self.data)

    def kill(self):
        """Every process at once, as when the power goes."""
        for process in [self.leader, *children(self.leader)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def start_after_cut(self):
        """Without what names a process of before: after a power cut no such process is there, or it is another one."""
        for name in ("postmaster.pid", ".s.PGSQL.5432.lock"):
            (self.data / name).unlink(missing_ok=True)
        self.start()

    def restart(self, seconds):
        """As a crash: nothing is brought to an end. It is away for a while."""
        self.stop()
        time.sleep(seconds)
        self.start()

    def sql(self, database, statement):
        command = [self.programs / "psql", "-XqAt", "-U", "postgres", "-h", self.data, "-d", database, "-c", statement]
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True, text=True).stdout

    def database(self):
        self.made += 1
        name = f"crash{self.made}"
        self.sql("postgres", f"CREATE DATABASE {name} TEMPLATE template0")
        return Database(self, name)


class Database:
    def __init__(self, cluster, name):
        self.cluster, self.name = cluster, name
        self.url = f"postgres://postgres@localhost/{name}?host={cluster.data}"

    def cut(self):
        """Every connection to it."""
        cut = f"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '{self.name}'"
        self.cluster.sql("postgres", cut)

    def drop(self):
        self.cluster.sql("postgres", f"DROP DATABASE {self.name} WITH (FORCE)")
