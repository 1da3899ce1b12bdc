"""A docs site: a git repository, built by MkDocs, served by nginx under a clock of its own."""

import contextlib
import http.client
import os
import pathlib
import re
import signal
import subprocess
import time

import support
from benches.common import free_port

BUILDER = ["mkdocs==1.6.1", "mkdocs-redirects==1.2.3"]
PERSON = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
AGENT = "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; ChatGPT-User/1.0; +https://openai.com/bot"
SETTINGS = "site_name: Kettle\nplugins:\n  - search\n  - redirects:\n      redirect_maps: {}\n"
NGINX = """\
{user}
daemon off;
env FAKETIME_TIMESTAMP_FILE;
env FAKETIME_NO_CACHE;
env FAKETIME_DONT_FAKE_MONOTONIC;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
    types {{ text/html html; }}
    log_format own '$remote_addr - - [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"';
    access_log {folder}/access.log own;
    client_body_temp_path {folder}/bodies;
    proxy_temp_path {folder}/answers;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        root {folder}/site;
        index index.html;
        error_page 404 /404.html;
    }}
}}
"""


def fake_clock(file):
    """The variables that let a program read its time from this file."""
    library = next(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    return {
        "LD_PRELOAD": str(library),
        "FAKETIME_TIMESTAMP_FILE": str(file),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


class Site(contextlib.AbstractContextManager):
    def __init__(self, folder, renamed):
        self.folder, self.port = folder / "web", free_port()
        self.folder.mkdir()
        self.log, self.clock = self.folder / "access.log", self.folder / "time"
        pages = {"index.md": "# Kettle\n\nBoil water.\n", "guide/index.md": "# Guide\n\nStart here.\n"}
        pages |= {plan["file"]: page(plan["to"]) for plan in renamed.values()}
        self.work = folder / "work"
        support.repository(self.work, {"mkdocs.yml": SETTINGS, **{f"docs/{path}": text for path, text in pages.items()}})
        for plan in renamed.values():
            self.git("mv", f"docs/{plan['file']}", f"docs/{plan['to']}")
        self.git("commit", "--quiet", "--message=Move pages into the guide")
        self.repository = folder / "docs.git"
        subprocess.run(["git", "clone", "--quiet", "--bare", self.work, self.repository], check=True)
        self.git("remote", "add", "origin", self.repository)
        self.process = None

    def git(self, *arguments):
        who = ["-c", "user.name=Docs", "-c", "user.email=docs@example.com"]
        subprocess.run(["git", *who, "-C", self.work, *arguments], check=True)

    def change(self, file, old, new):
        """A person's commit on main."""
        self.git("pull", "--quiet", "origin", "main")
        text = (self.work / file).read_text()
        assert old in text, text
        (self.work / file).write_text(text.replace(old, new))
        self.git("commit", "--quiet", "--all", "--message=Change a redirect")
        self.git("push", "--quiet", "origin", "HEAD:main")

    def build(self):
        mkdocs = support.python_with("mkdocs-" + BUILDER[1].replace("==", "-"), *BUILDER) / "mkdocs"
        environment = {**os.environ, "DISABLE_MKDOCS_2_WARNING": "true"}
        command = [mkdocs, "build", "--quiet", "--site-dir", self.folder / "site"]
        subprocess.run(command, cwd=self.work, env=environment, check=True)

    def __enter__(self):
        self.build()
        self.set_day(40)
        user = "user root;" if os.geteuid() == 0 else ""
        settings = self.folder / "nginx.conf"
        settings.write_text(NGINX.format(user=user, folder=self.folder, port=self.port))
        environment = {**os.environ, **fake_clock(self.clock), "TZ": "UTC"}
        nginx = next((path for path in ("/usr/sbin/nginx", "/usr/bin/nginx") if os.path.exists(path)), "nginx")
        self.process = subprocess.Popen([nginx, "-c", settings, "-e", self.folder / "error.log"], env=environment)
        for _ in range(100):
            with contextlib.suppress(OSError):
                self.connection().request("HEAD", "/404.html")
                break
            time.sleep(0.1)
        os.truncate(self.log, 0)
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=30)

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def set_day(self, days_ago):
        """Noon of a day before today, in UTC."""
        day = time.strftime("%Y-%m-%d", time.gmtime(time.time() - days_ago * 86_400))
        self.clock.write_text(f"{day} 12:00:00")

    def ask(self, path, people, agents):
        for agent in [PERSON] * people + [AGENT] * agents:
            connection = self.connection()
            connection.request("GET", path, headers={"User-Agent": agent})
            connection.getresponse().read()
            connection.close()

    def count_missing(self, path, first, last):
        """The log's own lines, by awk."""
        program = r"""
            $7 == path && $9 == 404 {
                split(substr($4, 2), t, /[\/:]/)
                day = sprintf("%s-%02d-%s", t[3], index("JanFebMarAprMayJunJulAugSepOctNovDec", t[2]) / 3 + 1, t[1])
                if (day >= first && day <= last) count[/ChatGPT-User/ ? "ai" : "human"]++
            }
            END { print count["human"] + 0, count["ai"] + 0 }"""
        values = ["-v", f"path={path}", "-v", f"first={first}", "-v", f"last={last}"]
        done = subprocess.run(["awk", *values, program, self.log], capture_output=True, text=True, check=True)
        human, ai = map(int, done.stdout.split())
        return {"human": human, "ai": ai}

    def lines(self):
        return len(re.findall('"GET ', self.log.read_text()))


def page(path):
    name = pathlib.PurePath(path).stem
    return f"# {name.title()}\n\nEverything about {name}.\n\n" + "".join(f"Step {n} of {name}.\n" for n in range(9))
