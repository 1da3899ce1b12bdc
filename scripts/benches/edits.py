"""Thousands of edits with slips, from the documents that cargo has unpacked: how many land, and how."""

import re
import subprocess

from .common import Row, cargo

TOLD = re.compile(r"landed right: (\d+) of (\d+) .*; wrong: (\d+); wrong words refused: (\d+)")


def run():
    test = ["test", "--release", "--locked", "-p", "agent", "--test", "it", "edit_corpus"]
    done = cargo(*test, "--", "--ignored", "--nocapture", stdout=subprocess.PIPE, text=True, check=False)
    told = TOLD.search(done.stdout)
    if not told:
        yield Row("edits with slips", "not measured: " + (done.stdout.strip().splitlines() or ["it did not run"])[-1])
        return
    right, tried, wrong, missed = map(int, told.groups())
    yield Row("edits with slips: tried", tried)
    yield Row("edits with slips: landed right", 100 * right / tried, "%", 98, least=True)
    yield Row("edits with slips: landed wrong", wrong, target=0)
    yield Row("edits with slips: refused", tried - right - wrong)
    yield Row("edits of words that are not there: refused", missed)
