"""A team whose log has something in it, and hands to seal, verify and attack it with."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from mcpdesk.accounts.models import Team, User
from mcpdesk.audit.log import DESK, Actor, record
from mcpdesk.audit.models import Channel, Event
from mcpdesk.audit.sealing import seal_due
from tests.factories import NOW, TeamFactory, UserFactory


@pytest.fixture
def team() -> Team:
    return TeamFactory()


@pytest.fixture
def nina() -> User:
    return UserFactory(name="Nina Köhler")


Happen = Callable[..., list[Event]]


@pytest.fixture
def happen(team: Team, nina: User) -> Happen:
    """So many events of a team: of the desk, and of Nina about somebody else."""
    colleague = UserFactory(name="Óscar Díaz")

    def make(count: int = 1, *, of: Team = team, at: datetime = NOW) -> list[Event]:
        with transaction.atomic():
            return [
                _one(of, nina, colleague, number, at + timedelta(seconds=number))
                for number in range(count)
            ]

    return make


def _one(team: Team, nina: User, colleague: User, number: int, now: datetime) -> Event:
    if number % 3 == 0:
        actor = Actor(nina, str(nina), Channel.WEB)
        return record(
            "member.added", team_id=team.pk, actor=actor, now=now, role="v", person=colleague
        )
    common: dict[str, Any] = {"team_id": team.pk, "actor": DESK, "now": now}
    return record("task.changed", status="working", polls=number, server_id=4, **common)


def seal(now: datetime = NOW) -> int:
    return seal_due(now)


def attack(sql: str, *values: Any) -> None:
    """As somebody who owns the tables does it: past every trigger."""
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        cursor.execute(sql, values)
        cursor.execute("SET session_replication_role = DEFAULT")
