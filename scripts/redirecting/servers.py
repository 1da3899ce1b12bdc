"""Web servers of a built site, and a client that follows one redirect."""

import contextlib
import http.client
import os
import re
import shutil
import signal
import subprocess
import time

from benches.common import free_port

NGINX = """\
{user}
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{ worker_connections 64; }}
http {{
    types {{ text/html html; text/css css; text/javascript js; }}
    access_log off;
    client_body_temp_path {folder}/bodies;
    proxy_temp_path {folder}/answers;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
        root {root};
        location / {{ try_files $uri $uri/index.html $uri.html =404; }}
{snippet}
    }}
}}
"""
CADDY = """\
{{
    admin off
}}
http://127.0.0.1:{port} {{
    root * {root}
{snippet}
    try_files {{path}} {{path}}/index.html {{path}}.html
    file_server
}}
"""


def nginx(folder, root, snippet):
    port, settings = free_port(), folder / "nginx.conf"
    user = "user root;" if os.geteuid() == 0 else ""
    settings.write_text(NGINX.format(user=user, folder=folder, root=root, port=port, snippet=snippet))
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    return running([program, "-c", settings, "-e", folder / "nginx.log"], port)


def caddy(folder, root, snippet):
    port, settings = free_port(), folder / "Caddyfile"
    settings.write_text(CADDY.format(root=root, port=port, snippet=snippet))
    return running(["caddy", "run", "--adapter", "caddyfile", "--config", settings], port, XDG_CONFIG_HOME=str(folder), XDG_DATA_HOME=str(folder))


@contextlib.contextmanager
def running(command, port, **more):
    process = subprocess.Popen(command, env={**os.environ, **more}, stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            with contextlib.suppress(OSError):
                ask(f"http://127.0.0.1:{port}", "/")
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=30)


def ask(url, path):
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, answer.headers.get("Location", ""), body


def follow(url, old):
    """Where one redirect leads, and the heading of the page there."""
    status, location, _ = ask(url, old)
    if status not in (301, 302, 308):
        return f"{status} instead of a redirect", ""
    path = location.removeprefix(url)
    status, _, body = ask(url, path)
    heading = re.search(r"<h1[^>]*>(.*?)</h1>", body, re.DOTALL)
    return path, heading.group(1) if status == 200 and heading else f"{status}"


RUN = {"nginx": nginx, "caddy": caddy}
