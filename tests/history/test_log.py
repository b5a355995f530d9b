"""The log narrowed by the operations that its events are about."""

import json
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from mcpdesk import blind
from mcpdesk.accounts.access import Member, service_in
from mcpdesk.accounts.models import Role
from mcpdesk.audit.log import DESK, record
from mcpdesk.audit.models import Event
from tasks_monitor import event_filters
from tasks_monitor.event_filters import LogFilters, events
from tasks_monitor.models import HistoryEntry, Server
from tasks_monitor.states import State
from tests.factories import NOW, OperationFactory, ServerFactory
from tests.history.conftest import Join

pytestmark = pytest.mark.django_db


def _happened(
    server: Server,
    tool: str = "deploy_project",
    state: State = State.WORKING,
    reason: str = "",
    said: str = "",
) -> int:
    """One event of an operation that is found by such words: the event's id."""
    operation = OperationFactory(server=server, tool_name=tool, state=state)
    words = blind.open_numbers(server.team_id, tool, reason)
    words += blind.sealed_numbers(server.team_id, said)
    HistoryEntry.objects.filter(pk=operation.pk).update(words=words)
    return _event(server.team_id, operation.pk)


def _event(team_id: int, operation: UUID | None = None) -> int:
    with transaction.atomic():
        return record("call.held", team_id=team_id, actor=DESK, now=NOW, operation_id=operation).pk


def _found(member: Member, **given: str) -> list[int]:
    found = events(member, LogFilters.read(given))
    return list(found.order_by("pk").values_list("pk", flat=True))


def test_it_is_narrowed_by_tool_by_state_by_words_and_by_all_of_them(
    server: Server, auditor: Member
) -> None:
    first = _happened(server, reason="Ticket 4711")
    second = _happened(server, "roll_back", reason="Ticket 4711", state=State.LOST)
    third = _happened(server, "roll_back", reason="a sale")
    _event(server.team_id)
    assert _found(auditor, tool="roll_back") == [second, third]
    assert _found(auditor, state="lost") == [second]
    assert _found(auditor, text="ticket 4711") == [first, second]
    assert _found(auditor, text="roll sale") == [third]
    assert _found(auditor, tool="roll_back", text="4711", state="lost") == [second]
    assert _found(auditor, tool="roll_back", kind="call.sent") == []
    assert _found(auditor, tool="roll") == []


def test_of_many_operations_it_finds_the_same(
    server: Server, auditor: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = [_happened(server, "roll_back") for _ in range(3)]
    _happened(server)
    for named in (2, 3):
        monkeypatch.setattr(event_filters, "NAMED", named)
        assert _found(auditor, tool="roll_back") == wanted


def test_another_teams_operations_are_not_looked_at(server: Server, auditor: Member) -> None:
    _happened(ServerFactory(), reason="Ticket 4711")
    assert _found(auditor, tool="deploy_project") == []
    assert _found(auditor, text="4711") == []


def test_who_may_not_read_the_log_finds_nothing_in_it(server: Server, join: Join) -> None:
    _happened(server)
    assert _found(join(Role.OPERATOR), tool="deploy_project") == []


def test_what_is_sealed_finds_only_what_may_be_read(server: Server, auditor: Member) -> None:
    """A service reads the log for an export, and no payload but of what it started."""
    only = _happened(server, reason="a sale", said="the datenbank")
    assert _found(auditor, text="datenbank") == [only]
    service = service_in(server.team, "ci")
    assert _found(service, text="sale") == [only]
    assert _found(service, text="datenbank") == []


@pytest.mark.parametrize(("name", "value"), [("state", "x"), ("text", "!?"), ("tool", "a\x00b")])
def test_what_means_nothing_does_not_narrow_and_is_said(name: str, value: str) -> None:
    assert LogFilters.read({name: value}) == LogFilters()
    assert LogFilters.left_out({name: value}) == [(name, value)]


def test_the_page_shows_what_was_chosen_and_no_more_queries_for_more_rows(
    server: Server, auditor: Member, client: Client
) -> None:
    client.force_login(auditor.user)
    path = "/audit/?tool=roll_back&state=working&text=sale"
    _happened(server, "roll_back", reason="a sale")
    client.get(path)
    with CaptureQueriesContext(connection) as few:
        page = client.get(path)
    assert [row.kind for row in page.context["page"].rows] == ["call.held"]
    for chosen in ('value="roll_back"', '<option value="working" selected>', 'value="sale"'):
        assert chosen in page.text
    for _ in range(9):
        _happened(server, "roll_back", reason="a sale")
    with CaptureQueriesContext(connection) as many:
        assert len(client.get(path).context["page"].rows) == 10
    assert len(many) == len(few)


def test_the_export_is_narrowed_as_the_page_is(
    server: Server, auditor: Member, client: Client
) -> None:
    client.force_login(auditor.user)
    wanted = _happened(server, "roll_back", reason="a sale")
    _happened(server)
    page = client.get("/audit/?tool=roll_back&text=sale").text
    address = "/exports/new/events/?tool=roll_back&amp;text=sale"
    assert address in page
    begun = client.post(address.replace("&amp;", "&"), {"format": "ndjson"})
    file = client.post(f"{begun['Location']}file/")
    assert [json.loads(line)["id"] for line in b"".join(file).splitlines()] == [wanted]
    noted = Event.objects.get(kind="export.begun")
    assert noted.data["filters"] == "text, tool"
