"""Asks a server the questions of a fixture, and compares its answers with the recorded ones.

An answer may have more keys than it had. Jobs that were active may have gone on. `crates/server/tests/it/fixture.rs`
compares more, at the time of the recording.
"""

import csv
import io
import json

# The readers of the last minutes.
NOW = "/live"


def compare(machine, fixture):
    """How many answers were compared, and a sentence for each difference."""
    active = [fixture["jobs"][name] for name in fixture["active"]]
    asked = [answer for answer in fixture["answers"] if not any(part in answer["path"] for part in [*active, NOW])]
    wrong = []
    for answer, (status, kind, body) in zip(asked, machine.ask([(one["path"], fixture["keys"][one["key"]]) for one in asked])):
        if answer["status"] != status:
            wrong.append(f"{answer['path']}: the status was {answer['status']}, and is {status}")
        elif answer["body"] is not None:
            is_csv = kind.startswith("text/csv")
            before = rows(answer["body"]) if is_csv else answer["body"]
            body = body.replace("http://127.0.0.1:4747", fixture["publicUrl"])
            wrong += differences(answer["path"], before, read(kind, body), set(active))
    return len(asked), wrong


def read(kind, body):
    if kind.startswith("application/json"):
        return json.loads(body)
    if kind.startswith("application/x-ndjson"):
        return [json.loads(line) for line in body.splitlines()]
    return rows(body) if kind.startswith("text/csv") else body


def rows(text):
    return list(csv.reader(io.StringIO(text)))


def differences(at, before, now, active):
    if isinstance(before, dict) and isinstance(now, dict):
        if before.get("id") in active:
            return []
        missing = [f"{at} .{key} is missing" for key in before if key not in now]
        return missing + [one for key in before if key in now for one in differences(f"{at} .{key}", before[key], now[key], active)]
    if isinstance(before, list) and isinstance(now, list):
        if len(before) != len(now):
            return [f"{at} had {len(before)} items, and has {len(now)}"]
        return [one for n, pair in enumerate(zip(before, now)) for one in differences(f"{at} [{n}]", *pair, active)]
    return [] if before == now else [f"{at} was {before}, and is {now}"]
