"""Asks the guard's verdict program what it refuses."""

import json
import os
import subprocess
import sys

from support import ROOT, TARGET


def build_judge():
    """The example `judge` of the crate `agent`."""
    environment = {**os.environ, "CARGO_TARGET_DIR": str(TARGET)}
    command = ["cargo", "build", "--locked", "--package", "agent", "--example", "judge"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    return TARGET / "debug/examples/judge"


def passing(judge, cases):
    """The cases that the guard lets through."""
    if judge is None:
        return list(cases)
    lines = "".join(json.dumps(case.request()) + "\n" for case in cases)
    done = subprocess.run([judge], input=lines, stdout=subprocess.PIPE, text=True, encoding="utf-8", check=True)
    answers = [json.loads(line) for line in done.stdout.split("\n") if line]
    if [answer["name"] for answer in answers] != [case.name for case in cases]:
        sys.exit("the verdict program did not answer every case in order")
    is_refused = [any(refusal["fatal"] for refusal in answer["refusals"]) for answer in answers]
    return [case for case, refused in zip(cases, is_refused) if not refused]
