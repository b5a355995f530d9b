"""The engine against servers that other people wrote: kept, asked, answered, finished."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.utils import timezone

from mcpdesk.accounts.models import Role
from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import Channel
from tasks_monitor.engine.answer import answer
from tasks_monitor.engine.cancel import request_cancel
from tasks_monitor.engine.drain import drain
from tasks_monitor.engine.network import Network
from tasks_monitor.engine.servers import test_server as look_at_server
from tasks_monitor.engine.start import start
from tasks_monitor.models import Era, InputRequest, InputRequestState, Operation, Server
from tasks_monitor.states import State
from tests.factories import MembershipFactory, ServerFactory
from tests.peers.processes import Peer

pytestmark = [pytest.mark.peers, pytest.mark.django_db]

ENOUGH_S = 20.0


@dataclass(slots=True)
class Team:
    """An operator with one server, and the engine that works for them, in real time."""

    server: Server
    actor: Actor
    network: Network

    def start(self, tool: str, **arguments: Any) -> Operation:
        return start(
            team_id=self.server.team_id,
            server_id=self.server.pk,
            tool_name=tool,
            arguments=arguments,
            actor=self.actor,
            now=timezone.now(),
        ).operation

    def work(self, operation: Operation, *states: State) -> Operation:
        """Let the engine work until the operation is in one of these states."""
        deadline = time.monotonic() + ENOUGH_S
        while True:
            drain(self.network, timezone.now)
            operation.refresh_from_db()
            if operation.state in states:
                return operation
            assert time.monotonic() < deadline, f"it stays {operation.state}"
            time.sleep(0.05)

    def finish(self, operation: Operation) -> Any:
        """Work until it is completed; its structured result."""
        self.work(operation, State.COMPLETED)
        operation.payload.refresh_from_db()
        return operation.payload.result["structuredContent"]

    def open(self, operation: Operation) -> list[InputRequest]:
        """Work until it asks; what it asks now."""
        self.work(operation, State.INPUT_REQUIRED)
        return list(operation.input_requests.filter(state=InputRequestState.OPEN))

    def accept(self, question: InputRequest, **content: Any) -> None:
        accepted = {"action": "accept", "content": content} if content else {"action": "accept"}
        answer(question.pk, response=accepted, actor=self.actor, now=timezone.now())


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    network = Network()
    yield network
    network.close()


def _member(server: Server, role: Role) -> Actor:
    user = MembershipFactory(team=server.team, role=role).user
    return Actor(user, user.name, Channel.WEB)


def _team(peer: Peer, network: Network) -> Team:
    server = ServerFactory(url=peer.url, allow_private=True, created_at=timezone.now())
    return Team(server, _member(server, Role.OPERATOR), network)


@pytest.fixture
def fastmcp(db: None, fastmcp_peer: Peer, network: Network) -> Team:
    return _team(fastmcp_peer, network)


@pytest.fixture
def sdk(db: None, sdk_peer: Peer, network: Network) -> Team:
    return _team(sdk_peer, network)


@pytest.mark.parametrize(("peer", "tools"), [("fastmcp", 6), ("sdk", 4)])
def test_the_test_of_a_server_finds_its_era_and_tools(
    request: pytest.FixtureRequest, peer: str, tools: int
) -> None:
    team: Team = request.getfixturevalue(peer)
    admin = _member(team.server, Role.ADMIN)
    found = look_at_server(team.server.pk, actor=admin, now=timezone.now())
    assert (found.era, found.test_problem) == (Era.MODERN, "")
    assert found.tools.filter(problem="").count() == tools


def test_a_task_of_fastmcp_completes_once(fastmcp: Team, fastmcp_peer: Peer) -> None:
    operation = fastmcp.start("crunch", rows=4, nonce="e-crunch")
    assert fastmcp.finish(operation) == {"sum": 10}
    assert operation.has_task
    assert fastmcp_peer.done("e-crunch") == 1


def test_a_task_that_must_not_be_inlined_is_made_and_followed(fastmcp: Team) -> None:
    operation = fastmcp.start("reindex", index="orders")
    assert fastmcp.finish(operation) == {"result": "orders is indexed"}
    assert operation.has_task


def test_two_questions_of_a_task_are_answered_separately(fastmcp: Team, fastmcp_peer: Peer) -> None:
    operation = fastmcp.start("publish", project="api", nonce="e-publish")
    questions = {q.params["message"]: q for q in fastmcp.open(operation)}
    fastmcp.accept(questions["Where does api go?"], region="south")
    left = fastmcp.open(operation)
    assert [question.params["message"] for question in left] == ["Publish now?"]
    fastmcp.accept(left[0], now=False)
    assert fastmcp.finish(operation) == {"result": "api is in south, now: False"}
    assert fastmcp_peer.done("e-publish") == 1
    assert operation.input_requests.count() == 2


def test_a_question_before_the_task_and_the_task_are_one_operation(
    fastmcp: Team, fastmcp_peer: Peer
) -> None:
    operation = fastmcp.start("refund", order="A-1", nonce="e-refund")
    (question,) = fastmcp.open(operation)
    assert not operation.has_task
    fastmcp.accept(question, amount=12.5)
    assert fastmcp.finish(operation) == {"result": "A-1 is refunded"}
    assert operation.has_task
    assert fastmcp_peer.done("e-refund") == 1


def test_a_task_that_waits_for_an_answer_can_be_cancelled(
    fastmcp: Team, fastmcp_peer: Peer
) -> None:
    operation = fastmcp.start("publish", project="api", nonce="e-cancel")
    fastmcp.open(operation)
    request_cancel(operation.pk, actor=fastmcp.actor, now=timezone.now())
    fastmcp.work(operation, State.CANCELLED)
    assert fastmcp_peer.done("e-cancel") == 0


def test_rounds_of_the_sdk_are_asked_one_after_the_other(sdk: Team, sdk_peer: Peer) -> None:
    operation = sdk.start("book_trip", nonce="e-trip")
    answers: list[dict[str, Any]] = [{"city": "Oslo"}, {"nights": 3}, {"confirmed": True}]
    for number, content in enumerate(answers, start=1):
        (question,) = sdk.open(operation)
        assert question.round == number
        sdk.accept(question, **content)
    assert sdk.finish(operation) == {"result": "3 nights in Oslo"}
    assert sdk_peer.done("e-trip") == 1


def test_a_round_with_a_form_and_a_link_goes_out_when_both_are_answered(
    sdk: Team, sdk_peer: Peer
) -> None:
    operation = sdk.start("link_account", account="ada", nonce="e-link")
    questions = {q.params["mode"]: q for q in sdk.open(operation)}
    sdk.accept(questions["url"])
    drain(sdk.network, timezone.now)
    assert sdk_peer.done("e-link") == 0
    sdk.accept(questions["form"], label="work")
    assert sdk.finish(operation) == {"result": "ada is linked as {'label': 'work'}"}
    assert sdk_peer.done("e-link") == 1


def test_a_tools_own_error_is_completed_with_a_flag(sdk: Team) -> None:
    operation = sdk.work(sdk.start("refuse"), State.COMPLETED)
    assert operation.is_error
