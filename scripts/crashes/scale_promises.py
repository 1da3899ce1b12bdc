"""What must be true after several servers, their workers and both of their databases were killed, as it is seen from
outside: in the reports of every server, in the tables of ClickHouse and in the ledger. Each check answers a sentence for
everything that is wrong."""

import time
from collections import Counter
from datetime import datetime
from types import SimpleNamespace
from urllib.parse import urlencode

from . import promises
from .scale_load import DAY
from .world import Gone

COLUMNS = (*promises.Verdict.COLUMNS, "answers", "receipts", "reports", "rows", "ledger")
# Sentences about single views.
SAMPLE = 5
RANGES = 4
PATIENCE = 30
WAITED = 0.2
# A worker that has lived for so many seconds may run a job alone that it is then blamed for.
OLD = 8


def judge(world, clients, readers):
    """`readers` are those of each project, in the order of `world.projects`."""
    clients.views = readers[0].acknowledged
    verdict = promises.judge(world, clients)
    verdict.wrong.update({column: [] for column in COLUMNS if column not in verdict.wrong})
    workers = SimpleNamespace(servers=world.workers, folder=world.folder, host_repository=world.host_repository)
    verdict.add("orphans", promises.patiently(lambda: left_behind(workers, clients)))
    verdict.add("answers", world.answers.wrong)
    verdict.add("other", panics(world))
    verdict.add("other", still_degraded(world))
    verdict.add("ledger", ledger(world, readers))
    for one in readers:
        verdict.add("receipts", one.wrong)
        verdict.add("rows", rows(world, one))
        verdict.add("receipts", receipts(world, one))
        for server in world.servers:
            verdict.add("reports", (f"{server.log.stem}: {sentence}" for sentence in reports(server, one)))
    verdict.add("rows", rollups(world))
    return verdict


def forgive_blame(verdict, clients, killed):
    """A job that runs alone after two deaths is given up if its worker is killed once more, unless that had just
    started: `killed` are the starts and ends of processes. Answers how many jobs were."""
    jobs = [seen for seen in clients.jobs.values() if promises.gave_up(seen)]
    blamed = [seen for seen in jobs if any(died_alone(seen, *life) for life in killed)]
    given_up = verdict.wrong["given up"]
    given_up[:] = [sentence for sentence in given_up if not any(seen.id in sentence for seen in blamed)]
    return len(blamed)


def died_alone(seen, started, ended):
    end = next(event for event in seen.events if event["type"] == "ended" and event["message"].startswith(promises.GAVE_UP))
    runs = [event for event in seen.events if event["type"] == "started" and event["number"] < end["number"]]
    began, gave_up = (datetime.fromisoformat(event["at"]).timestamp() for event in (runs[-1], end))
    return started + OLD < began < ended < gave_up


def left_behind(workers, clients):
    checks = promises.processes(workers), promises.refs(workers, clients), promises.temporary_files(workers)
    return [sentence for check in checks for sentence in check]


def panics(world):
    for process in world.processes():
        for line in process.log.read_text(errors="replace").splitlines():
            if "panicked" in line:
                yield f"{process.log.name}: {line[:300]}"


def still_degraded(world):
    """Everything is there again, so no server may say otherwise for long."""
    for server in world.servers:
        until, text = time.monotonic() + PATIENCE, ""
        while time.monotonic() < until and text != "ready\n":
            try:
                text = server.exchange("GET", "/readyz")[1].decode()
            except Gone as why:
                text = str(why)
            time.sleep(WAITED)
        if text != "ready\n":
            yield f"/readyz still says {text!r}"


def ledger(world, readers):
    """Nothing waits, and each event id is there once."""
    if waiting := world.waiting():
        yield f"{waiting} views wait for ClickHouse"
    if shipments := int(world.ledger("SELECT COUNT(*) FROM views_shipments")):
        yield f"{shipments} shipments are left"
    ids = "SELECT project, id FROM views_ids_a UNION ALL SELECT project, id FROM views_ids_b"
    claimed, distinct = world.ledger(f"SELECT COUNT(*), COUNT(DISTINCT (project, id)) FROM ({ids}) ids").split("|")
    sent = sum(view.source != "log" for one in readers for view in one.views)
    if int(claimed) != sent or int(distinct) != sent:
        yield f"{sent} events with ids were acknowledged, and {claimed} ids are claimed, {distinct} of them distinct"


def number_of(world, one):
    return next(number for number, name in world.numbers().items() if name == one.project)


def rows(world, one):
    """Each view is in ClickHouse once, as it was sent."""
    columns = "referrer, path, status, agent, toUnixTimestamp64Milli(at)"
    lines = world.columns(f"SELECT {columns} FROM views WHERE project = {number_of(world, one)}").splitlines()
    stored = [tuple(line.split("\t")) for line in lines]
    counts = Counter(row[0] for row in stored)
    sent = {view.name: view for view in one.views}
    double = [f"{name} is there {count} times" for name, count in counts.items() if count > 1]
    lost = [f"{name} is lost" for name in sent if name not in counts]
    strange = [f"{name} was never acknowledged" for name in counts if name not in sent]
    changed = [f"{row} was sent as {sent[row[0]]}" for row in stored if row[0] in sent and not is_same(row, sent[row[0]])]
    for sentences in (double, lost, strange, changed):
        if sentences:
            yield f"{one.project}: {len(sentences)} of {len(sent)}: {'; '.join(sorted(sentences)[:SAMPLE])}"


def is_same(row, view):
    _, path, status, agent, at = row
    is_in_time = view.source == "beacon" or int(at) == view.at
    # The script of a page does not know a status.
    is_status = view.source == "beacon" or int(status) == view.status
    return path == view.path and agent == view.agent and is_status and is_in_time


def rollups(world):
    """The rows are as many as the rollups say."""
    reads = int(world.columns("SELECT count() FROM views WHERE kind = 0"))
    for table in ("views_daily", "views_hourly"):
        if (counted := int(world.columns(f"SELECT sum(n) FROM {table}"))) != reads:
            yield f"{table} counts {counted} reads, and there are {reads}"


def receipts(world, one):
    """accepted = stored + duplicates. What an attempt stored that got no answer is a duplicate of the next one."""
    condition = f"project = {number_of(world, one)} AND startsWith(referrer, 'from.example/api/')"
    stored = int(world.columns(f"SELECT count() FROM views WHERE {condition}"))
    if one.accepted != stored - one.unanswered + one.duplicates:
        yield (f"{one.project}: {one.accepted} accepted, {one.duplicates} duplicates, and {stored} stored, "
               f"{one.unanswered} of them without an answer")


def ask(server, one, report, **asked):
    """A report, from this server."""
    headers = {"Authorization": f"Bearer {server.world.key}"}
    path, until = f"/v1/analytics/{one.project}/{report}?{urlencode(asked)}", time.monotonic() + PATIENCE
    while True:
        try:
            status, told = server.exchange("GET", path, None, headers, timeout=60)
            return told if status == 200 else {}
        except Gone as why:
            if time.monotonic() > until:
                raise SystemExit(f"{path} was not answered: {why}") from None
            time.sleep(WAITED)


def reports(server, one):
    counted = [view for view in one.views if view.is_counted]
    yield from pages(server, one, counted)
    yield from ranges(server, one, counted)
    groups = Counter(view.group for view in one.views if view.is_read)
    told = {group["class"]: group["views"] for group in ask(server, one, "agents", limit=250)["classes"] if group["views"]}
    yield from differences("agents", told, groups)
    missing = Counter(view.path for view in one.views if not view.is_read and view.group in ("human", "assistant"))
    told = {path["path"]: path["total"] for path in ask(server, one, "not-found", limit=250)["notFound"]}
    yield from differences("not-found", told, missing)
    yield from visitors(server, one, counted)


def pages(server, one, counted):
    told, expected = ask(server, one, "views", limit=250), {}
    for view in counted:
        humans, assistants = expected.get(view.path, (0, 0))
        is_human = view.group == "human"
        expected[view.path] = (humans + is_human, assistants + (not is_human))
    if told["totals"]["total"] != len(counted):
        yield f"{one.project}: {len(counted)} views were acknowledged, and {told['totals']['total']} are counted"
    yield from differences("views", {page["path"]: (page["human"], page["ai"]) for page in told["views"]}, expected)


def differences(report, told, expected):
    if told != expected:
        wrong = [name for name in {*told, *expected} if told.get(name) != expected.get(name)]
        some = [f"{name}: {told.get(name)}, not {expected.get(name)}" for name in sorted(wrong)[:SAMPLE]]
        yield f"{report}: {len(wrong)} wrong: {'; '.join(some)}"


def ranges(server, one, counted):
    """To the millisecond. A beacon has the time of its server, which nobody knows from outside."""
    timed = [view for view in counted if view.source == "api"]
    if not timed:
        return
    for _ in range(RANGES):
        first, last = sorted(one.random.choice(timed).at + one.random.randrange(-1, 2) for _ in range(2))
        expected = sum(first <= view.at < last for view in timed)
        asked = {"dateFrom": written(first), "dateTo": written(last), "path": "/api/"}
        if first < last and (told := ask(server, one, "views", **asked)["totals"]["total"]) != expected:
            yield f"{one.project}: {told} views from {written(first)} to {written(last)}, not {expected}"


def written(at):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at // 1000)) + f".{at % 1000:03}Z"


def visitors(server, one, counted):
    """Distinct readers of each day, if all views arrived on one day: every server must have had the same salt."""
    if one.first_day != int(time.time() * 1000) // DAY:
        return
    readers = {(view.at // DAY, view.address, view.agent) for view in counted}
    told = ask(server, one, "visitors")["totals"]["total"]
    if told != len(readers):
        yield f"{one.project}: {told} visitors, not {len(readers)}"
