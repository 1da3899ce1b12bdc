"""What the bench of page views does with numpy: makes events, sends them, asks DuckDB and ClickHouse the same
questions, and fills a file with a billion. Runs in an environment of its own; talks JSON on stdout."""

import http.client
import json
import pathlib
import resource
import sqlite3
import sys
import threading
import time

import numpy

DAY = 86_400_000
BATCH = 10_000
ROUND = 500_000
SENDERS = 4
BROWSERS = [
    f"Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{version}.0.0.0 Safari/537.36"
    for version in range(100, 140)
]
ASSISTANTS = ["ChatGPT-User/1.0", "Claude-User/1.0", "Perplexity-User/1.0", "Cursor/0.48.7"]


def path(page):
    return f"/docs/section-{page % 40}/page-{page}"


class Events:
    """The same events for the same arguments, in the order of their time."""

    def __init__(self, count, pages, days, end, first=0):
        self.first = first
        random = numpy.random.default_rng(7)
        self.at = numpy.sort(random.integers(end - days * DAY, end, count))
        self.page = (pages * random.random(count) ** 2.5).astype("int32")
        self.human = random.random(count) < 0.6
        self.agent = random.integers(0, len(BROWSERS), count, dtype="int16")
        self.address = random.integers(0, 1 << 17, count, dtype="int32")
        self.named = random.random(count) < 0.5

    def bodies(self, first, last):
        """Of some of them, a batch each, as they are sent."""
        times = numpy.datetime_as_string(self.at[first:last].astype("datetime64[ms]")).tolist()
        rows = zip(
            range(self.first + first, self.first + last), times, self.page[first:last].tolist(), self.human[first:last].tolist(),
            self.agent[first:last].tolist(), self.address[first:last].tolist(), self.named[first:last].tolist(),
        )
        lines = [
            f'{{"path":"{path(page)}","timestamp":"{at}Z","ip":"10.{who >> 16}.{who >> 8 & 255}.{who & 255}","userAgent":"'
            f'{BROWSERS[agent] if human else ASSISTANTS[agent % 4]}"'
            + (f',"eventId":"{number:032x}"}}' if named else "}")
            for number, at, page, human, agent, who, named in rows
        ]
        return ["\n".join(lines[start : start + BATCH]).encode() for start in range(0, len(lines), BATCH)]


def cpu(pid):
    """Seconds of processor time of a process."""
    return sum(int(field) for field in pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]) / 100


def post(port, key, project, bodies):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    headers = {"Content-Type": "application/x-ndjson", "Authorization": f"Bearer {key}"}
    while bodies:
        body = bodies.pop()
        while True:
            connection.request("POST", f"/v1/analytics/{project}/events", body, headers)
            answer = connection.getresponse()
            text = answer.read()
            if answer.status == 202:
                break
            assert answer.status == 503, text
            time.sleep(0.05)
        assert not json.loads(text)["rejected"], text


def send(count, pages, days, end, port, key, project, pid, first=0):
    """Sends all events; only the sending is timed, but all of the server's work. Their ids count from `first`."""
    events, took, began = Events(count, pages, days, end, first), 0.0, cpu(pid)
    for first in range(0, count, ROUND):
        bodies = events.bodies(first, min(first + ROUND, count))[::-1]
        threads = [threading.Thread(target=post, args=(port, key, project, bodies)) for _ in range(SENDERS)]
        started = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        took += time.perf_counter() - started
    return {"seconds": took, "cpu": cpu(pid) - began}


def duckdb_tables(events, names):
    import duckdb
    import pyarrow

    database = duckdb.connect()
    database.register("arrived", pyarrow.table({"ms": events.at, "page": events.page, "human": events.human}))
    database.register("named", pyarrow.table({"page": numpy.arange(len(names), dtype="int32"), "path": names}))
    database.execute("CREATE TABLE raw AS SELECT ms, path, human FROM arrived JOIN named USING (page) ORDER BY ms")
    database.execute(
        f"CREATE TABLE daily AS SELECT ms // {DAY} AS day, path, count(*) FILTER (human) AS human, "
        "count(*) FILTER (NOT human) AS ai FROM raw GROUP BY ALL ORDER BY day, path"
    )
    return lambda sql: database.execute(sql).fetchall()


def clickhouse_tables(events, names):
    import chdb.session
    import pyarrow

    session = chdb.session.Session()
    arrived = pyarrow.table({"ms": events.at, "page": events.page, "human": events.human.astype("uint8")})  # noqa: F841
    named = pyarrow.table({"page": numpy.arange(len(names), dtype="int32"), "path": names})  # noqa: F841
    session.query("CREATE DATABASE b")
    session.query("CREATE TABLE b.named ENGINE = Memory AS SELECT * FROM Python(named)")
    session.query(
        "CREATE TABLE b.raw (ms Int64, path LowCardinality(String), human UInt8) ENGINE = MergeTree ORDER BY ms"
    )
    session.query("INSERT INTO b.raw SELECT ms, path, human FROM Python(arrived) AS a JOIN b.named AS n USING (page)")
    session.query(
        "CREATE TABLE b.daily (day Int64, path LowCardinality(String), human UInt64, ai UInt64) ENGINE = MergeTree ORDER BY (day, path)"
    )
    session.query(
        f"INSERT INTO b.daily SELECT intDiv(ms, {DAY}) AS day, path, countIf(human = 1), countIf(human = 0) FROM b.raw GROUP BY day, path"
    )
    session.query("OPTIMIZE TABLE b.raw FINAL")
    session.query("OPTIMIZE TABLE b.daily FINAL")

    def ask(sql):
        sql = sql.replace("FROM raw", "FROM b.raw").replace("FROM daily", "FROM b.daily")
        sql = sql.replace("count(*) FILTER (human)", "countIf(human = 1)")
        sql = sql.replace("count(*) FILTER (NOT human)", "countIf(human = 0)")
        text = str(session.query(sql, "JSONCompactEachRow"))
        return [tuple(int(x) if i else x for i, x in enumerate(json.loads(line))) for line in text.splitlines()]

    return ask


def questions(table, start, end):
    if table == "daily":
        human, ai = "sum(human)", "sum(ai)"
        where = f"FROM daily WHERE day >= {start // DAY} AND day < {end // DAY}"
    else:
        human, ai = "count(*) FILTER (human)", "count(*) FILTER (NOT human)"
        where = f"FROM raw WHERE ms >= {start} AND ms < {end}"
    return (
        f"SELECT 'all', {human}, {ai} {where}",
        f"SELECT path, {human} AS h, {ai} AS a {where} GROUP BY path ORDER BY h + a DESC, path LIMIT 50",
    )


def peers(count, pages, days, end, asks):
    """Answers and milliseconds of processor time, by peer and table: asks are [table, start, end]."""
    events, names, told = Events(count, pages, days, end), [path(page) for page in range(pages)], {}
    for name, tables in (("DuckDB", duckdb_tables), ("ClickHouse", clickhouse_tables)):
        ask = tables(events, names)
        for table in ("daily", "raw"):
            mine = [(start, end) for kind, start, end in asks if kind == table]
            for question in questions(table, *mine[0]):
                ask(question)  # the first of a kind is not counted
            before = resource.getrusage(resource.RUSAGE_SELF)
            answers = [[ask(question) for question in questions(table, *span)] for span in mine]
            after = resource.getrusage(resource.RUSAGE_SELF)
            took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            told[f"{name} {table}"] = {"ms": took * 1000 / len(mine), "answers": answers}
    return told


def varints(numbers):
    """Numbers below 2^28 as the server writes them: seven bits a byte, the lowest first."""
    numbers = numpy.asarray(numbers, dtype="uint64")
    bytes_ = numpy.stack([(numbers >> shift) & 127 for shift in (0, 7, 14, 21)], axis=1).astype("uint8")
    length = 1 + (numbers >= 1 << 7) + (numbers >= 1 << 14) + (numbers >= 1 << 21)
    column = numpy.arange(4)
    bytes_ |= numpy.where(column < length[:, None] - 1, 128, 0).astype("uint8")
    return bytes_[column < length[:, None]].tobytes()


def fill(file, project, pages, days, end, views):
    """Days of a project, as if they had been folded: `views` in all."""
    import zstandard

    database = sqlite3.connect(file)
    database.execute("INSERT OR IGNORE INTO project (name) VALUES (?)", (project,))
    (number,) = database.execute("SELECT id FROM project WHERE name = ?", (project,)).fetchone()
    rows = ((number, page + 1, path(page)) for page in range(pages))
    database.executemany("INSERT INTO page (project, number, path, day) VALUES (?, ?, ?, 0)", rows)
    weight = 1 / (numpy.arange(pages) + 10) ** 0.8
    random = numpy.random.default_rng(7)
    pack, total = zstandard.ZstdCompressor(level=1), 0
    for day in range(end // DAY - days, end // DAY):
        reads = random.poisson(weight * (views / days / weight.sum()))
        human = random.binomial(reads, 0.6)
        some = reads > 0
        total += int(reads.sum())
        counts = numpy.stack([human, reads - human], axis=1)[some]
        numbers = numpy.flatnonzero(some) + 1
        masks = ((counts > 0) * [1, 2]).sum(axis=1).astype("uint8").tobytes()
        columns = [varints(numpy.diff(numbers, prepend=0)), masks, varints(counts[counts > 0])]
        plain = b"".join(varints([len(column)]) + column for column in columns)
        cells = varints([len(plain)]) + pack.compress(plain)
        database.execute("INSERT INTO day (project, day, folds, cells) VALUES (?, ?, 1, ?)", (number, day, cells))
    database.commit()
    return {"views": total}


if __name__ == "__main__":
    act, arguments = sys.argv[1], json.load(sys.stdin)
    print(json.dumps({"send": send, "peers": peers, "fill": fill}[act](*arguments)))
