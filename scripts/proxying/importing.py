"""Imports a log through a proxy and directly, and compares the counts and the time."""

import json
import subprocess
import time

import support

LINE = (
    '192.0.2.{client} - - [{day:02}/Oct/2026:{hour:02}:{minute:02}:{second:02} +0000] "GET /guide/page-{page} HTTP/2.0" 200 {size} '
    '"https://www.example.com/search?q=page-{page}" '
    '"Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"\n'
)
PAGES = 500
MAX_SECONDS = 900


def check(checklist, proxy, docwright, megabytes):
    log = docwright.data.parent / "access.log"
    lines = write_log(log, megabytes * 10**6)
    settings = proxy.client_settings(docwright.key)
    report, seconds = run_import(docwright.project, log, settings)
    checklist.equal(f"{megabytes} MB: every line is added", counts(report), {"added": lines, "before": 0, "duplicates": 0, "malformed": 0})
    checklist.equal("every line is a view, and counts once", total_views(docwright, docwright.project), lines)
    again, _ = run_import(docwright.project, log, settings)
    checklist.equal("a second import adds nothing", counts(again), {"added": 0, "before": lines, "duplicates": 0, "malformed": 0})
    other = docwright.new_project("Directly")
    _, directly = run_import(other, log, {**settings, "DOCWRIGHT_URL": docwright.url})
    checklist.equal("the import without the proxy counts the same", total_views(docwright, other), lines)
    checklist.figure(f"{lines:,} lines, {log.stat().st_size / 1e6:.0f} MB: {seconds:.1f} s through {proxy.name}, {directly:.1f} s directly")


def write_log(path, size):
    """The number of lines."""
    written, number = 0, 0
    with open(path, "w") as file:
        while written < size:
            day, second = divmod(number * 3, 86400)
            fields = {"day": day % 28 + 1, "hour": second // 3600, "minute": second // 60 % 60, "second": second % 60}
            written += file.write(LINE.format(client=number % 250, page=number % PAGES, size=1000 + number % 9000, **fields))
            number += 1
    return number


def run_import(project, log, settings):
    """What the command printed about the file, and its seconds."""
    started = time.monotonic()
    command = [support.BINARY, "import", project, log, "--json"]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, timeout=MAX_SECONDS)
    seconds = time.monotonic() - started
    return (json.loads(done.stdout)["files"][0] if done.stdout else {"trouble": done.stderr}), seconds


def counts(report):
    """Of an import that failed, the reason."""
    if report.get("trouble"):
        return report["trouble"]
    return {name: report[name] for name in ("added", "before", "duplicates", "malformed")}


def total_views(docwright, project):
    return docwright.ask("GET", f"/v1/analytics/{project}/views?dateFrom=2026-10-01&dateTo=2026-11-01&limit=1")["totals"]["total"]
