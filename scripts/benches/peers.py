"""Other agents, as their makers ship them, each kept to a home of its own and to the model of this machine.

Each is started as lightly as it can be: the program itself instead of its launcher, without snapshots, maps of the
repository or commits. Whatever asks for the network gets a proxy that is not there.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import venv

from . import common
from .model import Script

CUT_OFF = "http://127.0.0.1:9"


class Peer:
    """`reads`: whether it finds and reads files by tools, as we do."""

    name = version = package = ""
    reads = True

    def __init__(self, home):
        self.home = pathlib.Path(home)
        self.place = common.CACHE / "peers" / f"{self.name}-{self.version}"

    def environment(self):
        proxies = {name: CUT_OFF for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")}
        local = {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8", **proxies, **local}

    def install(self):
        """The program, installed on first use."""
        if not self.place.exists():
            print(f"installing {self.package} {self.version}", file=sys.stderr, flush=True)
            fresh = self.place.with_name(f"{self.place.name}.new")
            shutil.rmtree(fresh, ignore_errors=True)
            self.install_to(fresh)
            fresh.rename(self.place)
        return self.program()

    def install_to(self, folder):
        common.need("npm", "npm", "nodejs")
        wanted = f"{self.package}@{self.version}"
        quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
        subprocess.run(["npm", "install", "--prefix", folder, *quiet, wanted], check=True, stdout=sys.stderr)


class Codex(Peer):
    name, package, version = "codex", "@openai/codex", "0.166.0"
    # Of the models that it knows, the one that it sends the least for.
    model = "gpt-5.5"

    def program(self):
        return next(self.place.glob("node_modules/@openai/codex-linux-*/vendor/*/bin/codex"))

    def environment(self):
        return {**super().environment(), "CODEX_HOME": str(self.home / "codex"), "BENCH_KEY": "none"}

    def command(self, program, url, prompt, _files):
        (self.home / "codex").mkdir(exist_ok=True)
        provider = {"name": "bench", "base_url": url, "wire_api": "responses", "env_key": "BENCH_KEY"}
        settings = {"model_provider": "bench", "check_for_update_on_startup": False, "analytics.enabled": False}
        settings |= {f"model_providers.bench.{name}": value for name, value in provider.items()}
        flags = [flag for name, value in settings.items() for flag in ("-c", f"{name}={json.dumps(value)}")]
        alone = ["--dangerously-bypass-approvals-and-sandbox", "--ephemeral"]
        return [program, "exec", *alone, "-m", self.model, *flags, prompt]

    def script(self, task, _folder):
        def shell(command):
            return "exec_command", {"cmd": command}

        def patch(path, old, new):
            return "apply_patch", f"*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n*** End Patch\n"

        look = [shell(f"rg --files {task.folder}"), shell(f"rg -n '{task.old}'")]
        read = [shell(f"sed -n '1,200p' {path}") for path in task.files]
        return Script(look + read + [patch(path, task.old, task.new) for path in task.files])


class OpenCode(Peer):
    name, package, version = "opencode", "opencode-ai", "1.18.33"

    def program(self):
        return min(self.place.glob("node_modules/opencode-linux-*/bin/opencode"), key=lambda path: len(str(path)))

    def install(self):
        common.need("rg", "ripgrep")  # it would fetch one
        return super().install()

    def environment(self):
        off = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE", "EMBEDDED_WEB_UI")
        switches = {f"OPENCODE_DISABLE_{name}": "1" for name in off}
        return {**super().environment(), **switches, "OPENCODE_CONFIG": str(self.home / "opencode.json")}

    def command(self, program, url, prompt, _files):
        options = {"baseURL": url, "apiKey": "none"}
        models = {"scripted": {"name": "scripted"}}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "bench", "options": options, "models": models}
        quiet = {"autoupdate": False, "share": "disabled", "snapshot": False, "permission": "allow"}
        settings = {**quiet, "model": "bench/scripted", "provider": {"bench": provider}}
        (self.home / "opencode.json").write_text(json.dumps(settings))
        return [program, "run", "--title", "Bench", prompt]

    def script(self, task, folder):
        look = [("glob", {"pattern": f"{task.folder}/*"}), ("grep", {"pattern": task.old})]
        read = [("read", {"filePath": f"{folder}/{path}"}) for path in task.files]
        change = {"oldString": task.old, "newString": task.new}
        return Script(look + read + [("edit", {"filePath": f"{folder}/{path}", **change}) for path in task.files])


class Aider(Peer):
    """Is told which files to change, and asks once."""

    name, package, version = "aider", "aider-chat", "0.86.2"
    reads = False

    def program(self):
        return self.place / "bin/python"

    def install_to(self, folder):
        venv.create(folder, with_pip=True)
        wanted = f"{self.package}=={self.version}"
        pip = [folder / "bin/python", "-m", "pip", "install", "--quiet", wanted]
        subprocess.run(pip, check=True, stdout=sys.stderr)

    def environment(self):
        return {**super().environment(), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}

    def command(self, program, url, prompt, files):
        self.know_the_model()
        model = ["--model", "openai/scripted", "--edit-format", "diff", "--openai-api-base", url]
        model += ["--openai-api-key", "none", "--no-show-model-warnings", "--map-tokens", "0"]
        quiet = ["--no-git", "--yes-always", "--no-check-update", "--analytics-disable", "--no-pretty"]
        quiet += ["--no-suggest-shell-commands", "--no-detect-urls", "--no-show-release-notes"]
        notes = [f"--{kind}-history-file={self.home}/{kind}" for kind in ("chat", "input")]
        return [program, "-m", "aider", *model, *quiet, *notes, "--message", prompt, *files]

    def know_the_model(self):
        """It would fetch a list of all models that there are."""
        known = {"max_input_tokens": 100_000, "max_output_tokens": 10_000, "litellm_provider": "openai", "mode": "chat"}
        (self.home / ".aider/caches").mkdir(parents=True, exist_ok=True)
        cache = self.home / ".aider/caches/model_prices_and_context_window.json"
        cache.write_text(json.dumps({"openai/scripted": known, "scripted": known}))

    def script(self, task, _folder):
        block = "{}\n```\n<<<<<<< SEARCH\n{}\n=======\n{}\n>>>>>>> REPLACE\n```\n"
        return Script([], aside="\n".join(block.format(path, task.old, task.new) for path in task.files))


ALL = (Codex, OpenCode, Aider)
