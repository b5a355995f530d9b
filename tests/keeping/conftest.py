"""A team with an admin, and no broker."""

import pytest

from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Membership, Role, Team
from mcpdesk.audit.log import Actor
from tests.factories import MembershipFactory, TeamFactory


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcpdesk.audit.announce.post", lambda *_: None)
    monkeypatch.setattr("tasks_monitor.engine.doorbell.ring", lambda *_: None)


@pytest.fixture
def team() -> Team:
    made: Team = TeamFactory()
    return made


@pytest.fixture
def admin(team: Team) -> Member:
    membership: Membership = MembershipFactory(team=team, role=Role.ADMIN, user__name="Nina Köhler")
    return Member(membership.user, team, Role.ADMIN)


@pytest.fixture
def actor(admin: Member) -> Actor:
    return Actor.person(admin)
