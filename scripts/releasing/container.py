"""A program in a root that it cannot write to, with a volume at /data, and as a user without rights."""

import contextlib
import subprocess
import sys
import time

from benches.common import free_port


class Container:
    def __init__(self, root, volume, program, environment, user=0, group=0):
        self.program = program
        environment = {**environment, "DOCWRIGHT_LISTEN": f"0.0.0.0:{free_port()}"}
        self.command = [
            "bwrap", "--ro-bind", root, "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--bind", volume, "/data",
            "--unshare-user", "--uid", str(user), "--gid", str(group), "--unshare-pid", "--unshare-ipc", "--unshare-uts",
            "--cap-drop", "ALL", "--die-with-parent", "--chdir", "/data", "--clearenv",
            *(part for name, value in environment.items() for part in ("--setenv", name, value)), "--",
        ]

    def run(self, *arguments, check=True):
        done = subprocess.run([*self.command, self.program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if check and done.returncode:
            sys.exit(f"`docwright {' '.join(arguments)}` failed in the container:\n{done.stdout}")
        return done.stdout.strip()

    def shell(self, script):
        return subprocess.check_output([*self.command, "sh", "-ec", script], text=True)

    def demo(self):
        """Seconds until the demo has opened its pull request and ended."""
        started = time.monotonic()
        shown = self.run("demo", "--once")
        if "/pulls/1" not in shown:
            sys.exit(f"the demo opened no pull request:\n{shown}")
        return time.monotonic() - started

    @contextlib.contextmanager
    def serving(self):
        server = subprocess.Popen([*self.command, self.program, "serve"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for _ in range(100):
                if self.run("health", check=False) == "ready":
                    break
                time.sleep(0.1)
            else:
                sys.exit("the server in the container is not ready, even after 10 seconds")
            yield
        finally:
            # The signal reaches the server through the first process of the container only by its death.
            server.terminate()
            server.wait(timeout=30)
