"""What a create reads and writes, in a copy of the server's own database, committed one by one for three seconds:
one_connection.py DATABASE COPY PROJECT KEY

Tells how many a second, and the processor time of one in milliseconds. A program of its own, so that its disk can be
made as slow as the server's."""

import contextlib
import hashlib
import json
import sqlite3
import sys
import time

PROMPT = 'Replace "nothing here" with "something".'


def main(database, copy, project, key):
    db = sqlite3.connect(copy, isolation_level=None)
    with contextlib.closing(sqlite3.connect(database)) as original:
        original.backup(db)
    for setting in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        db.execute(f"PRAGMA {setting}")
    key, made = hashlib.sha256(key.encode()).digest(), 0
    spent, started = time.process_time(), time.perf_counter()
    while time.perf_counter() < started + 3:
        made += 1
        create(db, project, key, made)
    took, spent = time.perf_counter() - started, time.process_time() - spent
    db.close()
    print(json.dumps({"a_second": made / took, "cost": spent * 1000 / made}))


def create(db, project, key, n):
    db.execute("SELECT * FROM keys WHERE hash = ?", (key,)).fetchone()
    db.execute("SELECT * FROM projects WHERE id = ? AND id NOT IN (SELECT id FROM deletions)", (project,)).fetchone()
    db.execute("BEGIN IMMEDIATE")
    used = db.execute("SELECT used FROM rates WHERE bucket = ? AND window = 1", (project,)).fetchone() or (0,)
    db.execute("INSERT OR REPLACE INTO rates VALUES (?, 1, ?)", (project, used[0] + 1))
    row = (f"job-{n}", project, PROMPT, f"docwright/job-{n}", n, n)
    db.execute("INSERT INTO jobs (id, project, status, prompt, branch, model, created_at, queued_at, adopts, draft,"
               " events) VALUES (?, ?, 'active', ?, ?, 'offline', ?, ?, 0, 0, 1)", row)
    db.execute("INSERT INTO job_events VALUES (?, 1, ?, 'created', '{}')", (row[0], n))
    db.execute("COMMIT")


if __name__ == "__main__":
    main(*sys.argv[1:])
