"""A team whose history is read, and what it has done."""

from collections.abc import Callable
from typing import Any

import pytest

from mcpdesk.accounts.access import Member, member_in
from mcpdesk.accounts.models import Membership, Role, Team
from tasks_monitor.models import Server
from tests.factories import MembershipFactory, ServerFactory

Join = Callable[..., Member]


@pytest.fixture
def server() -> Server:
    made: Server = ServerFactory()
    return made


@pytest.fixture
def join(server: Server) -> Join:
    """Somebody with a role in the server's team."""

    def make(role: Role = Role.AUDITOR, team: Team | None = None) -> Member:
        made: Membership = MembershipFactory(team=team or server.team, role=role)
        member = member_in(made.user, made.team_id)
        assert member is not None
        return member

    return make


@pytest.fixture
def auditor(join: Join) -> Member:
    return join(Role.AUDITOR)


def ids(rows: Any) -> list[Any]:
    return [row.pk for row in rows]
