"""Health: what the engine learns of a server by talking to it."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from mcpdesk.audit.models import Event
from tasks_monitor.engine.health import note_exchanges
from tasks_monitor.engine.servers import bearer, change_server
from tasks_monitor.models import AuthKind, Server
from tasks_monitor.states import State
from tests.engine import peer
from tests.engine.desk import Desk, ScriptedDesk
from tests.simulator.process import SimulatorProcess

pytestmark = pytest.mark.django_db


def kinds(server: Server) -> list[str]:
    return list(Event.objects.filter(server_id=server.pk).values_list("kind", flat=True))


def test_a_server_that_cannot_be_reached_is_backed_off_from_as_a_whole(
    scripted: ScriptedDesk,
) -> None:
    scripted.peer.will(peer.CALL, peer.Nothing(sent=False))
    first = scripted.start()
    scripted.drain()
    second = scripted.start()
    scripted.drain()

    scripted.server.refresh_from_db()
    assert scripted.server.unreachable_since == scripted.clock.now
    assert scripted.server.not_before_reason == "unreachable"
    assert len(scripted.peer.sent) == 1, "the second one waits for the first one's probe"
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.attempts_made, second.attempts_made) == (1, 0)


def test_the_pause_grows_to_a_minute_and_is_one_event(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, peer.Nothing(sent=False))
    operation = scripted.start()
    pauses = []
    for _ in range(10):
        scripted.look(operation)
        scripted.server.refresh_from_db()
        assert scripted.server.not_before is not None
        pauses.append((scripted.server.not_before - scripted.clock.now).total_seconds())

    assert pauses[:4] == [1, 2, 4, 8]
    assert pauses[-1] == 60
    assert kinds(scripted.server).count("server.unreachable") == 1


def test_a_server_that_answers_again_is_reachable_again(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, peer.Nothing(sent=False), peer.finished())
    operation = scripted.settle(scripted.start())

    assert operation.state == State.COMPLETED
    scripted.server.refresh_from_db()
    assert (scripted.server.unreachable_since, scripted.server.failures) == (None, 0)
    assert (scripted.server.not_before, scripted.server.last_problem) == (None, "")
    assert scripted.server.last_problem_at is None
    told = [kind for kind in kinds(scripted.server) if kind.startswith("server.")]
    assert told == ["server.unreachable", "server.reachable"]


def test_a_server_that_is_silent_is_not_called_unreachable(scripted: ScriptedDesk) -> None:
    """The connection came about: one call without an answer says nothing of the others."""
    scripted.peer.will(peer.CALL, peer.Nothing(sent=True))
    scripted.start()
    scripted.drain()

    scripted.server.refresh_from_db()
    assert (scripted.server.unreachable_since, scripted.server.not_before) == (None, None)


def test_a_simulator_that_is_killed_and_comes_back_loses_nothing(desk: Desk) -> None:
    with SimulatorProcess("--seed", "h") as own:
        desk.server.url = own.url
        desk.server.save()
        desk.drain()
        own.kill()
        operation = desk.start("echo", nonce="back")
        for _ in range(3):
            desk.look(operation)
        assert operation.state == State.READY
        own.start()

        assert desk.settle(operation).state == State.COMPLETED
        assert own.done("back") == 1


@pytest.fixture
def guarded() -> Iterator[SimulatorProcess]:
    """A simulator that demands a token."""
    with SimulatorProcess("--seed", "g", "--token", "old-token") as process:
        yield process


def rotate(desk: Desk, token: str) -> None:
    desk.server.refresh_from_db()
    names = ("name", "identity", "allow_private", "questions_to", "paused")
    same = {name: getattr(desk.server, name) for name in (*names, "max_in_flight")}
    change_server(
        desk.server.pk,
        **same,
        call_timeout_s=desk.server.call_timeout_s,
        auth_kind=AuthKind.BEARER,
        credential=bearer(token),
        actor=desk.actor,
        now=desk.clock.now,
    )


def test_a_refused_credential_pauses_the_server_and_a_new_one_goes_on_at_once(
    desk: Desk, guarded: SimulatorProcess
) -> None:
    desk.server.url = guarded.url
    desk.server.save()
    rotate(desk, "old-token")
    assert desk.run("echo", nonce="before").state == State.COMPLETED

    guarded.post("/token", {"token": "new-token"})
    operation = desk.start("echo", nonce="after")
    desk.drain()
    operation.refresh_from_db()
    desk.server.refresh_from_db()
    assert operation.state == State.READY, "a call that was turned away was not taken in"
    assert desk.server.not_before_reason == "authorization"
    assert desk.server.not_before is not None
    assert desk.server.not_before - desk.clock.now >= timedelta(seconds=59)
    kinds = set(Event.objects.filter(server_id=desk.server.pk).values_list("kind", flat=True))
    assert "server.unauthorized" in kinds and "server.throttled" not in kinds

    rotate(desk, "new-token")
    desk.clock.advance(3)
    desk.drain()

    operation.refresh_from_db()
    assert (operation.state, guarded.done("after")) == (State.COMPLETED, 1)


def test_a_task_outlives_an_authorization_that_expires_in_the_middle(desk: Desk) -> None:
    operation = desk.start(
        "misbehave_task", fault="http-401", after=1, times=1, duration_ms=0, nonce="mid"
    )
    desk.settle(operation)

    assert operation.state == State.COMPLETED
    assert desk.simulator.done("mid") == 1


@pytest.mark.parametrize(("days", "shown"), [(0, False), (1, True)])
def test_a_clock_that_differs_by_over_a_minute_is_shown(
    scripted: ScriptedDesk, days: int, shown: bool
) -> None:
    scripted.peer.will(peer.CALL, peer.finished())
    operation = scripted.begin(scripted.start())
    done = scripted.peer.held[0]
    received = done.step.exchange.received_at
    exchange: Any = replace(
        done.step.exchange, server_date=received + timedelta(days=days, seconds=30)
    )
    note_exchanges(done.work.claim.server, [exchange], scripted.clock.now)

    scripted.server.refresh_from_db()
    assert (scripted.server.clock_skew_ms != 0) is shown
    assert operation.pk


def test_what_the_server_last_did_wrong_is_kept_in_words(desk: Desk) -> None:
    desk.run("misbehave", fault="html", nonce="page")

    desk.server.refresh_from_db()
    assert "text/html" in desk.server.last_problem
    assert desk.server.last_problem_at is not None
    assert timezone.now() - desk.server.last_problem_at < timedelta(minutes=5)


def test_what_a_server_out_of_reach_did_is_kept_with_its_time(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, *[peer.Nothing(sent=False)] * 2)
    scripted.start()
    scripted.drain()
    scripted.server.refresh_from_db()
    assert scripted.server.last_problem
    assert scripted.server.last_problem_at == scripted.server.unreachable_since
