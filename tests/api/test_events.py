"""The log from a cursor on."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import transaction

from mcpdesk.accounts.models import Role, Team
from mcpdesk.api.routes import events
from mcpdesk.audit.log import DESK, record
from mcpdesk.audit.models import Event
from tests.api.calling import person, service
from tests.audit.writing import still_being_written
from tests.factories import TeamFactory

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 29, 14, 0, tzinfo=UTC)


@pytest.fixture
def team() -> Team:
    return TeamFactory()


def _happened(team: Team, at: datetime = NOW) -> int:
    with transaction.atomic():
        return record("server.reachable", team_id=team.pk, actor=DESK, now=at, server="s").pk


def test_events_come_in_order_and_once(team: Team) -> None:
    made = [_happened(team) for _ in range(5)]
    _happened(TeamFactory())
    caller = person(team, Role.AUDITOR)
    first = caller.get("/events", limit=3).json()
    rest = caller.get("/events", after=first["after"]).json()
    assert _ids(first) + _ids(rest) == made
    assert first["items"][0]["sentence"] == "s can be reached again"
    assert caller.get("/events", after=rest["after"]).json() == {
        "items": [],
        "after": rest["after"],
    }


def _ids(body: Any) -> list[int]:
    """Those of what happened, without the reading itself."""
    return [one["id"] for one in body["items"] if one["kind"] == "server.reachable"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("settles", [True, False])
def test_a_cursor_passes_nothing_that_is_still_being_written(
    team: Team, settles: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the control: without waiting for writers the late event is left out for ever."""
    if not settles:
        monkeypatch.setattr(events, "settled_up_to", lambda: 2**62)
    caller = person(team, Role.AUDITOR)
    caller.get("/events")
    with still_being_written(team.pk) as late:
        early = _happened(team)
        meanwhile = caller.get("/events").json()
    rest = caller.get("/events", after=meanwhile["after"]).json()
    assert late < early
    assert (late in _ids(meanwhile) + _ids(rest)) is settles


def test_whoever_reads_the_log_stands_in_it_once_a_while(team: Team) -> None:
    readers = [person(team, Role.AUDITOR), service(team)]
    for reader in readers * 2:
        reader.get("/events")
    noted = Event.objects.filter(team=team, kind="audit.read").values_list("actor_name", "channel")
    assert list(noted) == [(str(readers[0].token.user), "api"), ("deploy-bot", "api")]


@pytest.mark.parametrize("role", [Role.VIEWER, Role.APPROVER, Role.OPERATOR])
def test_whoever_may_not_read_the_history_reads_none_here(team: Team, role: Role) -> None:
    assert person(team, role).get("/events").status_code == 403


@pytest.mark.parametrize("query", [{"after": -1}, {"after": 2**63}, {"limit": 0}, {"limit": 1001}])
def test_a_cursor_that_is_none_is_refused(team: Team, query: dict[str, int]) -> None:
    assert person(team, Role.ADMIN).get("/events", **query).status_code == 422
