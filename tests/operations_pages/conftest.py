import pytest

from mcpdesk.accounts.models import Membership, Role
from tasks_monitor.models import Server
from tests.factories import MembershipFactory, ServerFactory


@pytest.fixture
def operator() -> Membership:
    return MembershipFactory(role=Role.OPERATOR, user__name="Oskar")


@pytest.fixture
def server(operator: Membership) -> Server:
    return ServerFactory(team=operator.team, name="build-server")
