"""What the inbox costs with many open items: queries and server time of its pages.

The pages are asked for through the whole stack of middleware, in this process, by the test client;
the database is the configured one. Times are wall-clock unless they say CPU.
"""

import json
import statistics
import time
import uuid
from dataclasses import asdict, dataclass
from datetime import timedelta

from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext, override_settings
from django.utils import timezone

from approvals.models import Approval, Audience, Kind, Shape
from mcpdesk.accounts.models import Membership, Role, Team, User
from tasks_monitor.models import (
    Answerers,
    InputRequest,
    InputRequestSource,
    Operation,
    Payload,
    Server,
)
from tasks_monitor.states import State

ASKED = 30  # how often each page is asked for
# static files need not have been collected for this
STORAGES = {
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
_ASK = {"audience": "approvers", "quorum": 1, "four_eyes": True}
_FORM = {
    "mode": "form",
    "message": "Replace version 42 of api on production?",
    "requestedSchema": {"type": "object", "properties": {}},
}


@dataclass(frozen=True, slots=True)
class Figures:
    """What one page cost: queries, what half of the requests and 95 of 100 took at most (ms), and
    the CPU time of this process for each (ms), which other load on the machine leaves alone.
    """

    page: str
    items: int
    queries: int
    p50_ms: float
    p95_ms: float
    cpu_ms: float


@override_settings(ALLOWED_HOSTS=["testserver"], STORAGES=STORAGES)
def run(items: int) -> list[Figures]:
    """Fill a team with open items and ask for its pages as one of its approvers."""
    team = Team.objects.create(name="Benchmark", slug=f"bench-{uuid.uuid4().hex[:12]}")
    approver, operator = (_person(team, role) for role in (Role.APPROVER, Role.OPERATOR))
    fill(team, operator, items)
    client = Client()
    client.force_login(approver)
    pages = {
        "the list and its first item": "/inbox/",
        "the badge": "/shell/inbox-badge/",
        "a narrowed list": "/inbox/?text=deploy&shape=run",
        "the team's list": "/inbox/?tab=team",
    }
    return [_measure(client, name, path, items) for name, path in pages.items()]


@transaction.atomic
def fill(team: Team, started_by: User, items: int) -> None:
    """So many open items, put to the team's approvers: every other one a gate, else a question."""
    now = timezone.now()
    server, _ = Server.objects.get_or_create(
        team=team,
        name="build",
        defaults={"url": "https://build.example/mcp", "created_at": now},
    )
    operations = Operation.objects.bulk_create(
        Operation(
            team=team,
            server=server,
            tool_name=f"deploy_{number % 7}",
            state=State.INPUT_REQUIRED if number % 2 else State.AWAITING_APPROVAL,
            started_by=started_by,
            reason=f"release {number}",
            questions_to=Answerers.APPROVERS,
            created_at=now,
            updated_at=now,
        )
        for number in range(items)
    )
    arguments = {"project": "api", "regions": ["eu", "us"], "force": False}
    Payload.objects.bulk_create(Payload(operation=one, arguments=arguments) for one in operations)
    asked = {one.pk: _question(one) for one in operations if one.state == State.INPUT_REQUIRED}
    InputRequest.objects.bulk_create(asked.values())
    Approval.objects.bulk_create(
        _item(one, asked.get(one.pk), number) for number, one in enumerate(operations)
    )


def report(figures: list[Figures], as_json: bool) -> str:
    """The figures for people, or one JSON array."""
    if as_json:
        return json.dumps([asdict(one) for one in figures])
    return "\n".join(
        f"{one.page}: {one.queries} queries, {one.p50_ms:.0f} ms (95 %: {one.p95_ms:.0f} ms; "
        f"CPU {one.cpu_ms:.0f} ms) with {one.items} open items"
        for one in figures
    )


def _person(team: Team, role: Role) -> User:
    user = User.objects.create_user(email=f"{uuid.uuid4().hex}@bench.example")
    Membership.objects.create(team=team, user=user, role=role)
    return user


def _question(operation: Operation) -> InputRequest:
    return InputRequest(
        operation=operation,
        source=InputRequestSource.MRTR,
        round=1,
        key="confirm",
        key_hash="0" * 64,
        method="elicitation/create",
        params=_FORM,
        fingerprint="0" * 64,
        opened_at=operation.created_at,
        taken_version=1,
    )


def _item(operation: Operation, asked: InputRequest | None, number: int) -> Approval:
    created_at = operation.created_at + timedelta(milliseconds=number)
    return Approval(
        team=operation.team,
        operation=operation,
        server_id=operation.server_id,
        tool_name=operation.tool_name,
        started_by_id=operation.started_by_id,
        input_request=asked,
        kind=Kind.ANSWER if asked else Kind.GATE,
        shape=Shape.CONFIRM if asked else Shape.RUN,
        audience=Audience.APPROVERS,
        created_at=created_at,
        deadline_at=created_at + timedelta(hours=1),
        four_eyes=not asked,
        policy=None if asked else {"rule": "r", "number": 1, "failed": False, "ask": _ASK},
    )


def _measure(client: Client, name: str, path: str, items: int) -> Figures:
    client.get(path)  # templates are compiled, and the session is read once
    with CaptureQueriesContext(connection) as queries:
        assert client.get(path).status_code == 200, path
    asked = len(queries)  # later requests clear the log
    took: list[float] = []
    spent = time.process_time()
    for _ in range(ASKED):
        began = time.perf_counter()
        client.get(path)
        took.append((time.perf_counter() - began) * 1000)
    cpu_ms = (time.process_time() - spent) * 1000 / ASKED
    p95 = statistics.quantiles(took, n=20)[-1]
    return Figures(name, items, asked, statistics.median(took), p95, cpu_ms)
