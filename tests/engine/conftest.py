"""A desk in one thread: the real engine on a real database, against a real or a scripted server.

Time is the test's: the clock stands still until it is moved.
"""

from collections.abc import Iterator

import pytest
from django.utils import timezone

from mcpdesk.accounts.models import Role
from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import Channel
from tasks_monitor.engine.network import Network
from tests.engine.desk import Clock, Desk, ScriptedDesk
from tests.engine.peer import Peer
from tests.factories import NOW, MembershipFactory, ServerFactory
from tests.simulator.process import SimulatorProcess


@pytest.fixture(scope="session")
def engine_network() -> Iterator[Network]:
    engine_network = Network()
    yield engine_network
    engine_network.close()


@pytest.fixture
def desk(db: None, simulator: SimulatorProcess, engine_network: Network) -> Desk:
    """A desk whose server is the simulator. It starts at the real time, which the simulator has."""
    now = timezone.now()
    server = ServerFactory(url=simulator.url, allow_private=True, call_timeout_s=2, created_at=now)
    return Desk(server, an_admin(server.team), Clock(now), engine_network, simulator)


@pytest.fixture
def scripted(db: None) -> ScriptedDesk:
    """A desk whose server says what the test lets it say."""
    server = ServerFactory()
    peer = Peer()
    return ScriptedDesk(server, an_admin(server.team), Clock(NOW), peer, peer)


def an_admin(team: object) -> Actor:
    """Somebody of this team who may do whatever the engine does for people."""
    user = MembershipFactory(team=team, role=Role.ADMIN).user
    return Actor(user, user.name, Channel.WEB)
