"""Applies thousands of edits with slips, from the documents that cargo has unpacked. Counts exact results byte by byte."""

import re
import subprocess

from .common import Row, cargo

SUMMARY = re.compile(
    r"exact: (\d+) of (\d+) .*; other white space: (\d+); wrong: (\d+); refused: (\d+); wrong words refused: (\d+)"
)


def run():
    test = ["test", "--release", "--locked", "-p", "agent", "--test", "it", "edit_corpus"]
    done = cargo(*test, "--", "--ignored", "--nocapture", stdout=subprocess.PIPE, text=True, check=False)
    summary = SUMMARY.search(done.stdout)
    if not summary:
        yield Row("edits with slips", "not measured: " + (done.stdout.strip().splitlines() or ["it did not run"])[-1])
        return
    exact, tried, white_space, wrong, refused, missed = map(int, summary.groups())
    yield Row("edits with slips: tried", tried)
    yield Row("edits with slips: exact", 100 * exact / tried, "%", 97, least=True)
    yield Row("edits with slips: other white space", white_space)
    yield Row("edits with slips: wrong", wrong, target=0)
    yield Row("edits with slips: refused", 100 * refused / tried, "%", 2)
    yield Row("edits of words that are not there: refused", missed)
