"""Checks deploy/compose.yaml without containers: creates the secrets as its comment says, and starts the server with its
settings on a PostgreSQL of our own."""

import json
import os
import re
import subprocess
import urllib.parse

import support
from benches.common import free_port
from crashes import cluster
from releasing import image

from .checklist import wait_until
from .servers import START_SECONDS, stop

PARSE = "import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)"
SECRET_NAME = re.compile(r"PASSWORD|SECRET|TOKEN|KEY|DATABASE_URL")
PASSWORD_IN_URL = re.compile(r"://[^/\s:]*:[^$@\s][^@\s]*@")


def has_postgresql():
    return cluster.programs() is not None


def check(checklist, file, folder):
    text = file.read_text()
    python = support.python_with("yaml-6.0.3", "pyyaml==6.0.3") / "python"
    # As Compose does, with a value for each variable.
    filled = re.sub(r"\$\{DOMAIN[^}]*\}", "docwright.example.com", text)
    services = json.loads(subprocess.run([python, "-c", PARSE], input=filled, stdout=subprocess.PIPE, text=True, check=True).stdout)["services"]
    checklist.equal("no password is in the file", (PASSWORD_IN_URL.findall(text), plain_secrets(services)), ([], []))
    check_image(checklist, services["docwright"])
    create_secrets(checklist, text, services, folder)
    settings = services["docwright"]["environment"]
    checklist.equal("every variable is a setting of Docwright", unknown_settings(settings, folder), [])
    check_start(checklist, settings, folder)


def plain_secrets(services):
    """Variables with a secret whose value isn't the path of a secret that the service gets."""
    return [
        name
        for service in services.values()
        for name, value in service.get("environment", {}).items()
        if SECRET_NAME.search(name) and not (name.endswith("_FILE") and value.removeprefix("/run/secrets/") in service["secrets"])
    ]


def check_image(checklist, service):
    os.environ.setdefault("SOURCE_DATE_EPOCH", "0")
    version = subprocess.check_output([support.BINARY, "--version"], text=True).split()[1]
    config = image.configuration(version, [], [])["config"]
    checklist.equal("the image is this version", service["image"], f"docwright:{version}")
    checklist.equal("the health check is the image's", service["healthcheck"]["test"], config["Healthcheck"]["Test"])
    checklist.equal("the volume is the image's", [volume.split(":")[1] for volume in service["volumes"]], list(config["Volumes"]))


def create_secrets(checklist, text, services, folder):
    """Runs the commands in the comment."""
    commands = re.findall(r"^#      (.+)$", text, re.MULTILINE)
    owners = re.findall(r"chown (\d+) ", "\n".join(commands))
    users = [services["database"]["user"].split(":")[0], str(image.USER)]
    checklist.equal("the secrets belong to the users in the containers", owners, users)
    if os.getuid() != 0:
        commands = [re.sub(r"chown \d+ [^&]+&& ", "", command) for command in commands]
    subprocess.run(["sh", "-euc", "\n".join(commands)], cwd=folder, check=True)
    url = urllib.parse.urlsplit((folder / "secrets/database_url").read_text().strip())
    password = (folder / "secrets/database_password").read_text().strip()
    database = services["database"]["environment"]
    expected = (database["POSTGRES_USER"], password, "database", f"/{database['POSTGRES_DB']}")
    checklist.equal("the URL is the database's", (url.username, url.password, url.hostname, url.path), expected)


def unknown_settings(settings, folder):
    """The program refuses a settings file with an unknown name, but ignores an unknown variable."""
    unknown = []
    for variable in settings:
        name = variable.removeprefix("DOCWRIGHT_").lower()
        names = {name, name.removesuffix("_file")}
        if not any(is_known(name, folder) for name in names):
            unknown.append(variable)
    return unknown


def is_known(name, folder):
    file = folder / "one.toml"
    file.write_text(f'{name} = ""\n')
    done = subprocess.run([support.BINARY, "health", "--config", file], capture_output=True, text=True)
    return "unknown setting" not in done.stderr


def check_start(checklist, settings, folder):
    """With the secrets that the comment creates, except for the database's URL."""
    settings = {name: value.replace("/run/secrets", str(folder / "secrets")) for name, value in settings.items()}
    with cluster.Cluster() as postgresql:
        (folder / "secrets/database_url").chmod(0o600)
        (folder / "secrets/database_url").write_text(postgresql.database().url + "\n")
        own = {"DOCWRIGHT_DATA": str(folder / "data"), "DOCWRIGHT_LISTEN": f"127.0.0.1:{free_port()}"}
        environment = {**os.environ, **settings, **own}
        with open(folder / "docwright.log", "w") as log:
            server = subprocess.Popen([support.BINARY, "serve"], env=environment, stdout=log, stderr=log)
        try:
            is_ready = wait_until(lambda: health(environment) == "ready" or server.poll() is not None, START_SECONDS)
            is_ready = is_ready and server.poll() is None
            log = (folder / "docwright.log").read_text()
            checklist.true("a server with these settings is ready", is_ready, log[-1000:])
            checklist.true("it logs no warning", not re.search(r'"level":"(WARN|ERROR)"', log), log[-1000:])
        finally:
            stop(server)


def health(environment):
    return subprocess.run([support.BINARY, "health"], env=environment, capture_output=True, text=True).stdout.strip()
