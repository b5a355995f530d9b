"""What lists, filters and detail pages of a long history cost, against the same with a short one.

Both histories are made by `./desk make_history` in databases of their own beside the one that
DATABASE_URL names, unless they are there already. Pages are asked for through the whole stack of
middleware, in this process, by Django's test client. Times are wall-clock (ms) of the server.
"""

import json
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext, override_settings, setup_test_environment

from approvals.models import Approval
from benchmarks.inbox import STORAGES
from benchmarks.plans import big_scans
from mcpdesk.accounts.models import Membership, Role, User
from tasks_monitor.models import HistoryEntry, Server

LIMIT_MS = 100.0
#: The history that a long one is compared with.
SHORT = (10_000, 100_000)


@dataclass(frozen=True, slots=True)
class Figures:
    """One page: its queries, and what half of the requests and 95 of 100 took at most (ms)."""

    page: str
    queries: int
    p50_ms: float
    p95_ms: float
    scans: tuple[str, ...]


def run(operations: int, events: int, asked: int) -> dict[str, list[Figures]]:
    """The pages of a long history, and of a short one; each is asked for `asked` times."""
    setup_test_environment()
    found = {}
    for name, size in (("short", SHORT), ("long", (operations, events))):
        with _history(f"history_{size[0]}", *size):
            found[name] = _measure_all(asked)
    return found


@contextmanager
def _history(name: str, operations: int, events: int) -> Iterator[None]:
    """The database with a history of that size; made where it is not there, and left there."""
    before = connection.settings_dict["NAME"]
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name])
        is_there = cursor.fetchone()
        if not is_there:
            cursor.execute(f'CREATE DATABASE "{name}"')
    _use(name)
    try:
        call_command("migrate", verbosity=0)
        if not is_there:
            call_command("make_history", operations=operations, events=events)
        yield
    finally:
        _use(before)


def _use(name: str) -> None:
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]
    connection.settings_dict["NAME"] = name


@override_settings(ALLOWED_HOSTS=["testserver"], STORAGES=STORAGES)
def _measure_all(asked: int) -> list[Figures]:
    auditor = Membership.objects.filter(role=Role.ADMIN).earliest("pk").user
    client = Client()
    client.force_login(auditor)
    return [_measure(client, page, path, asked) for page, path in pages().items()]


def pages() -> dict[str, str]:
    """What is asked for, by name: every list, each filter alone, some together, and details."""
    common, own, rare = _common(), _own(), _rare()
    lists = {"operations": "/history/", "approvals": "/history/approvals/"}
    found = {"live operations": "/operations/", "all operations": "/operations/?tab=all"}
    found |= {"ended operations": "/operations/?tab=ended", "servers": "/servers/"}
    found |= {"inbox": "/inbox/", "dashboard": "/"}
    for subject, path in lists.items():
        for filters in ["", *common, *own[subject], *rare]:
            found[f"{subject} {filters}".strip()] = f"{path}?{filters}"
    operation = HistoryEntry.objects.order_by("-created_at")[5000].pk
    item = Approval.objects.order_by("-created_at")[3000].pk
    return found | {
        "one operation": f"/operations/{operation}/",
        "one item": f"/inbox/{item}/",
        "exports": "/exports/",
    }


def _common() -> list[str]:
    """Filters of both lists, alone and together."""
    person = User.objects.order_by("pk")[6].pk
    server, small = (Server.objects.get(name=name).pk for name in ("build", "legal"))
    middle = HistoryEntry.objects.order_by("created_at")[HistoryEntry.objects.count() // 2]
    day = f"{middle.created_at:%Y-%m-%d}"
    return [
        *("sort=oldest", "sort=longest", f"server={server}", f"server={small}"),
        *("tool=build_image", "tool=redact_document", f"started_by={person}"),
        *("started_by=service", f"decided_by={person}", f"since={day}&until={day}"),
        *("longer=20h", "shorter=5s", "text=deploy", "text=release+production"),
        *("text=4711", f"text={str(middle.pk)[:8]}"),
        f"server={server}&started_by={person}",
        f"tool=build_image&text=incident&since={day}",
        f"server={small}&sort=longest",
        f"started_by={person}&decided_by={person}&text=refund",
    ]


def _own() -> dict[str, list[str]]:
    """Filters that one list has and the other has not."""
    return {
        "operations": [
            *(f"state={state}" for state in ("completed", "failed", "lost", "working")),
            *("outcome=tool_error", "outcome=ended_otherwise", "outcome=needs_operator"),
            "tool=deploy_project&outcome=tool_error",
        ],
        "approvals": ["kind=answer", "state=open", "decision=deny", "decision=deny&text=sale"],
    }


def _rare() -> list[str]:
    """What next to nothing fits, or nothing: the whole list has to be ruled out."""
    server = Server.objects.get(name="build").pk
    return ["text=nobodysaidthis", "tool=unheard_of", f"server={server}&tool=redact_document"]


def _measure(client: Client, page: str, path: str, asked: int) -> Figures:
    client.get(path)  # templates are compiled, and what is read often is in memory
    with CaptureQueriesContext(connection) as queries:
        assert client.get(path).status_code == 200, path
    statements = [query["sql"] for query in queries.captured_queries]  # the next request clears it
    took = []
    for _ in range(asked):
        began = time.perf_counter()
        client.get(path)
        took.append((time.perf_counter() - began) * 1000)
    p95 = statistics.quantiles(took, n=20)[-1]
    scans = tuple(big_scans(statements))
    return Figures(page, len(statements), statistics.median(took), p95, scans)


def report(found: dict[str, list[Figures]], as_json: bool) -> str:
    """The figures for people, or one JSON object."""
    if as_json:
        return json.dumps({name: [asdict(one) for one in list_] for name, list_ in found.items()})
    lines = [f"{'page':58} {'queries':>7} {'median':>8} {'p95':>8} {'short':>8} {'ratio':>6}"]
    lines += [_line(*pair) for pair in zip(found["long"], found["short"], strict=True)]
    return "\n".join([*lines, *_verdict(found["long"], found["short"])])


def _line(long: Figures, short: Figures) -> str:
    ratio = long.p50_ms / short.p50_ms
    return (
        f"{long.page[:58]:58} {long.queries:7} {long.p50_ms:5.0f} ms {long.p95_ms:5.0f} ms"
        f" {short.p50_ms:5.0f} ms {ratio:6.1f}"
    )


def _verdict(long: list[Figures], short: list[Figures]) -> list[Any]:
    """What is not as it should be; a last line where all is."""
    slow = [f"over {LIMIT_MS:.0f} ms: {one.page}" for one in long if one.p95_ms > LIMIT_MS]
    scans = [f"{one.page}: reads the whole of {scan}" for one in long for scan in one.scans]
    # a list with more than a page is counted too
    pairs = [(a, b) for a, b in zip(long, short, strict=True) if a.queries > b.queries + 1]
    more = [f"{a.page}: {b.queries} then {a.queries} queries" for a, b in pairs]
    return slow + scans + more or ["Every page is under the limit, for as many queries."]
