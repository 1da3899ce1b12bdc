"""Starts Docwright, nginx and Caddy, each on ports of 127.0.0.1 and with its files in a temporary directory."""

import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import ssl
import subprocess
import sys

import support
from benches.common import free_port

from .checklist import wait_until

NAME = "localhost"
START_SECONDS, STOP_SECONDS = 30, 30

NGINX = """\
{user}
daemon off;
worker_processes 2;
pid {folder}/nginx.pid;
error_log {folder}/proxy.log;
events {{ worker_connections 256; }}
http {{
    access_log off;
    gzip on;
    client_body_temp_path {folder}/bodies;
    proxy_temp_path {folder}/answers;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""

# Instead of a public authority, Caddy's own signs the certificate, and this machine doesn't trust it.
CADDY = """\
{{
	admin off
	http_port {http}
	https_port {https}
	default_bind 127.0.0.1
	local_certs
	skip_install_trust
}}
import {site}
"""


class Docwright:
    """A server with a project and an API key. It keeps its port when it's started again."""

    def __init__(self, folder):
        self.data, self.log, self.port = folder / "data", folder / "docwright.log", free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        pages = {"index.md": "# Docs\n\nPress the button one time.\n"}
        self.repository = support.repository(folder / "docs", pages)
        self.project, self.key = self.new_project("Handbook"), self.new_key("proxies")
        self.public_url = self.process = None

    def new_project(self, name):
        return support.docwright(self.data, "project", "create", "--name", name, "--repository", self.repository)["id"]

    def new_key(self, name, *flags):
        return support.docwright(self.data, "key", "create", "--name", name, *flags)["key"]

    @contextlib.contextmanager
    def serving(self, **settings):
        settings |= {
            **support.NO_LIMITS,
            "DOCWRIGHT_DATA": str(self.data),
            "DOCWRIGHT_LISTEN": f"127.0.0.1:{self.port}",
            "DOCWRIGHT_PUBLIC_URL": self.public_url,
            "DOCWRIGHT_TRUSTED_PROXIES": "127.0.0.1",
            "DOCWRIGHT_METRICS": "true",
        }
        with open(self.log, "a") as log:
            self.process = subprocess.Popen([support.BINARY, "serve"], env={**os.environ, **settings}, stdout=log, stderr=log)
        try:
            wait_for_port(self.process, self.port, self.log)
            yield
        finally:
            stop(self.process)

    def ask(self, method, path, body=None):
        """Without the proxy."""
        return support.ask(self.url, self.key, method, path, body)

    def log_lines(self):
        """Of all servers on this directory. The last line may be incomplete."""
        lines = map(as_json, self.log.read_text().splitlines())
        return [line for line in lines if isinstance(line, dict)]

    def jobs(self):
        return f"/v2/agent/{self.project}/job"


class Proxy:
    def __init__(self, folder, deploy, upstream_port):
        self.folder, self.deploy, self.upstream_port = folder, deploy, upstream_port
        self.http_port, self.https_port = free_port(), free_port()
        self.url = f"https://{NAME}:{self.https_port}"

    def __enter__(self):
        command, environment = self.prepare()
        with open(self.folder / "proxy.out", "w") as out:
            self.process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=out, stderr=out)
        try:
            wait_for_port(self.process, self.https_port, self.folder / "proxy.out")
            self.wait_for_authority()
        except BaseException:
            stop(self.process)
            raise
        return self

    def __exit__(self, *_):
        stop(self.process)

    def wait_for_authority(self):
        if not wait_until(self.authority.exists, START_SECONDS):
            sys.exit(f"{self.name} made no certificate:\n" + (self.folder / "proxy.out").read_text())

    def connect(self, source="127.0.0.1", timeout=30, max_version=ssl.TLSVersion.TLSv1_3):
        context = ssl.create_default_context(cafile=self.authority)
        context.maximum_version = max_version
        return http.client.HTTPSConnection(NAME, self.https_port, timeout=timeout, source_address=(source, 0), context=context)

    def ask(self, method, path, key=None, headers=None, body=None, source="127.0.0.1"):
        """The response, and its body."""
        headers = {**(headers or {}), **({"Authorization": f"Bearer {key}"} if key else {})}
        with contextlib.closing(self.connect(source)) as connection:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response, response.read()

    def client_settings(self, key):
        """For a command that sends its requests through this proxy."""
        return {**os.environ, "DOCWRIGHT_URL": self.url, "DOCWRIGHT_API_KEY": key, "SSL_CERT_FILE": str(self.authority)}


class Nginx(Proxy):
    name = "nginx"

    def version(self):
        return subprocess.run(["nginx", "-v"], stderr=subprocess.PIPE, text=True, check=True).stderr.split(":")[1].strip()

    def prepare(self):
        self.authority = self.folder / "authority.pem"
        make_certificate(self.folder)
        (self.folder / "site.conf").write_text(self.site())
        # Without this line, the workers of a root process are a user who can't read the temporary directory.
        user = "user root;" if os.getuid() == 0 else ""
        config = self.folder / "nginx.conf"
        config.write_text(NGINX.format(folder=self.folder, user=user))
        return ["nginx", "-p", self.folder, "-e", self.folder / "proxy.log", "-c", config], {}

    def site(self):
        """The file as it is, except for its ports, its name, and the paths of the certificate."""
        text = (self.deploy / "nginx.conf").read_text()
        replacements = {
            r"listen 80;": f"listen 127.0.0.1:{self.http_port};",
            r"listen \[::\]:80;": f"listen 127.0.0.1:{free_port()};",
            r"listen 443 ": f"listen 127.0.0.1:{self.https_port} ",
            r"listen \[::\]:443 ": f"listen 127.0.0.1:{free_port()} ",
            r"server_name docwright\.example\.com;": f"server_name {NAME};",
            r"ssl_certificate /etc/letsencrypt/\S+;": f"ssl_certificate {self.folder}/site.pem;",
            r"ssl_certificate_key /etc/letsencrypt/\S+;": f"ssl_certificate_key {self.folder}/site.key;",
            r"proxy_pass http://127\.0\.0\.1:4747;": f"proxy_pass http://127.0.0.1:{self.upstream_port};",
        }
        for pattern, replacement in replacements.items():
            text, count = re.subn(pattern, replacement, text)
            if not count:
                sys.exit(f"deploy/nginx.conf has no line like {pattern}")
        return text


class Caddy(Proxy):
    name = "caddy"

    def version(self):
        return "caddy/" + subprocess.check_output(["caddy", "version"], text=True).split()[0]

    def prepare(self):
        """The file as it is. Caddy takes the name and Docwright's address from variables."""
        home = self.folder / "caddy"
        self.authority = home / "caddy/pki/authorities/local/root.crt"
        config = self.folder / "Caddyfile"
        config.write_text(CADDY.format(http=self.http_port, https=self.https_port, site=self.deploy / "Caddyfile"))
        environment = {"XDG_DATA_HOME": home, "XDG_CONFIG_HOME": home, "DOMAIN": NAME, "UPSTREAM": f"127.0.0.1:{self.upstream_port}"}
        command = ["caddy", "run", "--adapter", "caddyfile", "--config", config]
        return command, {name: str(value) for name, value in environment.items()}


def make_certificate(folder):
    """An authority, and a certificate for the site that it signed."""
    common = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    authority = ["-subj", "/CN=Docwright test authority", "-keyout", "authority.key", "-out", "authority.pem"]
    site = ["-subj", f"/CN={NAME}", "-keyout", "site.key", "-out", "site.pem", "-CA", "authority.pem", "-CAkey", "authority.key"]
    extensions = ["-addext", f"subjectAltName=DNS:{NAME}", "-addext", "basicConstraints=critical,CA:FALSE"]
    for arguments in (authority, site + extensions):
        subprocess.run(common + arguments, cwd=folder, check=True, stderr=subprocess.DEVNULL)


def wait_for_port(process, port, log):
    def is_open():
        with socket.socket() as probe:
            return process.poll() is not None or probe.connect_ex(("127.0.0.1", port)) == 0

    if not wait_until(is_open, START_SECONDS) or process.poll() is not None:
        sys.exit(f"{process.args[0]} did not start:\n{pathlib.Path(log).read_text()}")


def stop(process):
    process.send_signal(signal.SIGCONT)
    process.send_signal(signal.SIGTERM)
    process.wait(STOP_SECONDS)


def as_json(body):
    """`None` for anything else, such as a proxy's own page."""
    try:
        return json.loads(body)
    except ValueError:
        return None
