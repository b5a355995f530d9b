"""What lists, filters and detail pages of a long history cost, against the same with a short one.

Both histories are made by `./desk make_history` in databases of their own beside the one that
DATABASE_URL names, unless they are there already. Pages are asked for through the whole stack of
middleware, in this process, by Django's test client, after what the web process does when it
starts (mcpdesk.web.warm). Times are wall-clock (ms) of the server, unless they say CPU.
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
from django.test.utils import CaptureQueriesContext, override_settings
from django.utils import timezone

from approvals.models import Approval, ApprovalState, Kind
from benchmarks.inbox import STORAGES
from benchmarks.plans import big_scans
from mcpdesk.accounts.models import Membership, Role, User
from mcpdesk.audit import sealing
from mcpdesk.web import days
from mcpdesk.web.warm import get_ready
from tasks_monitor.models import HistoryEntry, Server
from tasks_monitor.spans import Range

LIMIT_MS = 100.0
#: The history that a long one is compared with.
SHORT = (10_000, 100_000)


@dataclass(frozen=True, slots=True)
class Figures:
    """One page: its queries, what half of the requests and 95 of 100 took at most (ms), and the CPU
    time of this process for each (ms), which other load on the machine leaves alone.
    """

    page: str
    queries: int
    p50_ms: float
    p95_ms: float
    cpu_ms: float
    scans: tuple[str, ...]


def run(operations: int, events: int, asked: int) -> dict[str, list[Figures]]:
    """The pages of a long history, and of a short one; each is asked for `asked` times."""
    get_ready()
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
        while sealing.seal_due(timezone.now()):
            pass  # as the clock does, some hundreds of seals at a time
        days.keep(timezone.now())  # as the clock has it done
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
    found |= {f"dashboard {one}": f"/?range={one}" for one in Range} | _items()
    found |= {f"audit {filters}".strip(): f"/audit/?{filters}" for filters in ["", *_of_events()]}
    for subject, path in lists.items():
        for filters in ["", *common, *own[subject], *rare]:
            found[f"{subject} {filters}".strip()] = f"{path}?{filters}"
    operation = HistoryEntry.objects.order_by("-created_at")[5000].pk
    return found | {
        "one operation": f"/operations/{operation}/",
        "seals": "/audit/seals/",
        "exports": "/exports/",
    }


def _items() -> dict[str, str]:
    """The inbox, and an item of each kind: as it waits, and long after."""
    found = {"inbox": "/inbox/"}
    for kind in Kind:
        newest = Approval.objects.filter(kind=kind).order_by("-created_at")
        waits = newest.filter(state=ApprovalState.OPEN)[0]
        found[f"inbox {kind} that waits"] = f"/inbox/{waits.pk}/"
        closed = newest.exclude(state=ApprovalState.OPEN)[500]
        found[f"inbox {kind} of before"] = f"/inbox/{closed.pk}/"
    return found


def _of_events() -> list[str]:
    """Filters of the log, alone and together, also such as nothing fits."""
    person = User.objects.order_by("pk")[6].pk
    server = Server.objects.get(name="build").pk
    middle = HistoryEntry.objects.order_by("created_at")[HistoryEntry.objects.count() // 2]
    day = f"{middle.created_at:%Y-%m-%d}"
    return [
        *(f"who={person}", "who=nobody", "kind=operation.moved", "kind=alert.opened"),
        *(f"server={server}", f"about={middle.pk}", "channel=api", "channel=clock"),
        *(f"since={day}&until={day}", f"until={day}", f"kind=approval.voted&since={day}"),
        *(f"who={person}&kind=approval.voted", f"who={person}&channel=api"),
        f"server={server}&who={person}",
        *("tool=build_image", "tool=unheard_of", "state=completed", "state=stuck", "state=lost"),
        *("text=deploy", "text=4711", "text=nobodysaidthis", "text=refund&state=denied"),
        *("state=stuck&kind=approval.voted", "tool=redact_document&who=nobody"),
    ]


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
    spent = time.process_time()
    for _ in range(asked):
        began = time.perf_counter()
        client.get(path)
        took.append((time.perf_counter() - began) * 1000)
    cpu_ms = (time.process_time() - spent) * 1000 / asked
    p95 = statistics.quantiles(took, n=20, method="inclusive")[-1]
    scans = tuple(big_scans(statements))
    return Figures(page, len(statements), statistics.median(took), p95, cpu_ms, scans)


def report(found: dict[str, list[Figures]], as_json: bool) -> str:
    """The figures for people, or one JSON object."""
    if as_json:
        return json.dumps({name: [asdict(one) for one in list_] for name, list_ in found.items()})
    names = f"{'median':>8} {'p95':>8} {'CPU':>8} {'short':>8} {'ratio':>6}"
    lines = [f"{'page':58} {'queries':>7} {names}"]
    lines += [_line(*pair) for pair in zip(found["long"], found["short"], strict=True)]
    return "\n".join([*lines, *_verdict(found["long"], found["short"])])


def _line(long: Figures, short: Figures) -> str:
    times = (long.p50_ms, long.p95_ms, long.cpu_ms, short.p50_ms)
    shown = " ".join(f"{ms:5.0f} ms" for ms in times)
    return f"{long.page[:58]:58} {long.queries:7} {shown} {long.p50_ms / short.p50_ms:6.1f}"


def _verdict(long: list[Figures], short: list[Figures]) -> list[Any]:
    """What is not as it should be; a last line where all is."""
    slow = [f"over {LIMIT_MS:.0f} ms: {one.page}" for one in long if one.p95_ms > LIMIT_MS]
    scans = [f"{one.page}: reads the whole of {scan}" for one in long for scan in one.scans]
    more = [f"{one.page}: {one.queries} queries" for one in long if one.queries > _most(one, short)]
    return slow + scans + more or ["Every page is under the limit, for as many queries."]


def _most(page: Figures, short: list[Figures]) -> int:
    """The queries of whatever page of that sort takes the most of them in the short history: a list
    with rows takes one more than one without, one with several pages is counted too, and the inbox
    opens whatever is first, a call or a question.
    """
    sort = page.page.partition(" ")[0]
    return max(one.queries for one in short if one.page.partition(" ")[0] == sort)
