"""Hold: nothing is sent while it is on, polls go on, and what waited leaves when it ends."""

import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from unittest import mock

import pytest
from django.core.exceptions import PermissionDenied

from mcpdesk.accounts.models import Membership, Role
from mcpdesk.audit.log import DESK
from mcpdesk.audit.models import Event
from tasks_monitor import holds
from tasks_monitor.engine.claim import claim
from tasks_monitor.engine.errors import Refused
from tasks_monitor.engine.hold import Stretch, begin, end, stops
from tasks_monitor.engine.prepare import prepare
from tasks_monitor.engine.sweep import anything_due
from tasks_monitor.models import Attempt, Hold, Operation, Server
from tasks_monitor.signals import hold_ended
from tasks_monitor.states import State
from tests.engine import peer
from tests.engine.conftest import an_admin
from tests.engine.desk import Clock, ScriptedDesk
from tests.engine.racing import Meeting, meeting_after, side_by_side, while_demoted
from tests.factories import NOW, OperationFactory, ServerFactory

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)


def stop(desk: ScriptedDesk, *, team: bool = False, reason: str = "Odd payments") -> Hold:
    """A hold over the desk's server, or over its team, from now."""
    server_id = None if team else desk.server.pk
    return begin(
        desk.server.team_id, server_id, reason=reason, actor=desk.actor, now=desk.clock.now
    )


def go_on(desk: ScriptedDesk, hold: Hold) -> Hold:
    return end(hold.pk, actor=desk.actor, now=desk.clock.now)


def a_task_that_asks(desk: ScriptedDesk) -> Operation:
    """An operation whose task waits for one answer."""
    desk.peer.will(peer.CALL, peer.handle())
    desk.peer.will(peer.GET, peer.task("input_required", inputRequests={"a": peer.form()}))
    desk.peer.will(peer.UPDATE, peer.ACK)
    desk.peer.will(peer.CANCEL, peer.ACK)
    operation = desk.settle(desk.start())
    assert desk.questions(operation)
    return operation


# the effect


@pytest.mark.parametrize("team", [False, True])
def test_a_call_waits_for_the_end_of_the_hold_and_leaves_by_itself(
    scripted: ScriptedDesk, team: bool
) -> None:
    scripted.peer.will(peer.CALL, peer.finished())
    hold = stop(scripted, team=team)
    operation = scripted.start()
    scripted.drain()
    operation.refresh_from_db()
    assert (operation.state, scripted.peer.sent) == (State.READY, [])

    scripted.clock.advance(3600)
    go_on(scripted, hold)
    scripted.drain()

    operation.refresh_from_db()
    assert operation.state == State.COMPLETED
    assert len(scripted.peer.asked(peer.CALL)) == 1
    assert scripted.events(operation).count("call.held") == 1


def test_what_waits_is_not_claimed_again_and_again(scripted: ScriptedDesk) -> None:
    stop(scripted)
    operation = scripted.start()
    scripted.drain()

    for _ in range(3):
        scripted.clock.advance(86_400)
        assert not anything_due(scripted.clock.now)
        assert claim(scripted.clock.now, 10) == []
    operation.refresh_from_db()
    assert (operation.due_at, operation.lease_token) == (None, None)


def test_an_answer_waits_while_the_task_is_checked_at_its_pace(scripted: ScriptedDesk) -> None:
    operation = a_task_that_asks(scripted)
    hold = stop(scripted)
    scripted.answer_all(operation)
    checks = len(scripted.peer.asked(peer.GET))

    for _ in range(6):
        scripted.look(operation)

    assert scripted.peer.asked(peer.UPDATE) == []
    assert checks < len(scripted.peer.asked(peer.GET)) <= checks + 6
    go_on(scripted, hold)
    scripted.drain()
    assert len(scripted.peer.asked(peer.UPDATE)) == 1


def test_a_cancellation_waits_too(scripted: ScriptedDesk) -> None:
    operation = a_task_that_asks(scripted)
    hold = stop(scripted)
    scripted.cancel(operation)
    for _ in range(4):
        scripted.look(operation)
    assert scripted.peer.asked(peer.CANCEL) == []

    go_on(scripted, hold)
    scripted.drain()
    assert len(scripted.peer.asked(peer.CANCEL)) == 1


def test_the_end_brings_an_answer_forward_that_would_wait_for_the_next_check(
    scripted: ScriptedDesk,
) -> None:
    operation = a_task_that_asks(scripted)
    hold = stop(scripted)
    scripted.answer_all(operation)
    scripted.drain()
    operation.refresh_from_db()
    assert operation.due_at is not None
    assert operation.due_at > scripted.clock.now

    go_on(scripted, hold)

    operation.refresh_from_db()
    assert operation.due_at == scripted.clock.now


def test_a_result_that_comes_during_a_hold_is_taken(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, peer.handle())
    scripted.peer.will(peer.GET, peer.task(), peer.completed())
    operation = scripted.start()
    scripted.drain()
    stop(scripted)

    scripted.settle(operation)

    assert operation.state == State.COMPLETED


def test_other_servers_and_other_teams_go_on(scripted: ScriptedDesk) -> None:
    beside = ServerFactory(team=scripted.server.team)
    elsewhere = ServerFactory()
    stop(scripted)
    for server in (beside, elsewhere):
        OperationFactory(server=server, state=State.READY, due_at=scripted.clock.now)
    scripted.peer.will(peer.CALL, peer.finished())
    scripted.drain()
    assert len(scripted.peer.asked(peer.CALL)) == 2


def test_a_server_stays_stopped_until_the_last_hold_over_it_ends(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, peer.finished())
    own, whole = stop(scripted), stop(scripted, team=True)
    operation = scripted.start()
    scripted.drain()

    go_on(scripted, whole)
    scripted.drain()
    operation.refresh_from_db()
    assert (operation.state, operation.due_at) == (State.READY, None)

    go_on(scripted, own)
    scripted.drain()
    operation.refresh_from_db()
    assert operation.state == State.COMPLETED


def test_our_deadline_of_an_operation_stands_still(scripted: ScriptedDesk) -> None:
    before = OperationFactory(server=scripted.server, deadline_at=NOW + 5 * MINUTE)
    hold = stop(scripted)
    scripted.clock.advance(600)
    during = OperationFactory(
        server=scripted.server, created_at=scripted.clock.now, deadline_at=NOW + 15 * MINUTE
    )
    scripted.clock.advance(600)
    assert scripted.sweep() == 0

    go_on(scripted, hold)

    for operation, minutes in ((before, 25), (during, 25)):
        operation.refresh_from_db()
        assert operation.deadline_at == NOW + minutes * MINUTE
    scripted.clock.advance(300)
    assert scripted.sweep() == 2


def test_the_servers_own_time_runs_on(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, peer.handle(ttlMs=60_000))
    scripted.peer.will(peer.GET, peer.task(ttlMs=60_000))
    operation = scripted.start()
    scripted.drain()
    stop(scripted)
    scripted.clock.advance(61)

    scripted.look(operation)

    assert operation.state == State.EXPIRED


def test_begin_and_end_are_in_the_log_without_the_reason(scripted: ScriptedDesk) -> None:
    hold = stop(scripted, reason="CANARY")
    scripted.clock.advance(90)
    go_on(scripted, hold)

    begun, ended = Event.objects.filter(kind__startswith="hold.").order_by("id")
    name, who = scripted.server.name, scripted.actor.name
    assert begun.sentence == f"{who} stopped everything that is sent to {name}"
    assert ended.sentence == f"{who} let it go on to {name}, after 90 s"
    assert "CANARY" not in str(Event.objects.values_list("data", flat=True))


def test_who_why_and_since_when_are_kept(scripted: ScriptedDesk) -> None:
    hold = stop(scripted, reason="  Odd payments ")
    (found,) = holds.in_force(scripted.server.team_id)
    assert (found.pk, found.reason, found.since) == (hold.pk, "Odd payments", NOW)
    assert found.begun_by == scripted.actor.user


# what is refused


@pytest.mark.parametrize("reason", ["", "  ", "x" * 501, "a\x00b"])
def test_a_hold_needs_a_reason_that_can_be_kept(scripted: ScriptedDesk, reason: str) -> None:
    with pytest.raises(Refused):
        stop(scripted, reason=reason)
    assert not Hold.objects.exists()


def test_the_same_hold_twice_is_refused_and_says_who_was_first(scripted: ScriptedDesk) -> None:
    for team in (False, True):
        stop(scripted, team=team)
        with pytest.raises(Refused, match=scripted.actor.name):
            stop(scripted, team=team)
    assert Hold.objects.count() == 2


def test_a_foreign_server_does_not_exist(scripted: ScriptedDesk) -> None:
    with pytest.raises(Server.DoesNotExist):
        begin(
            scripted.server.team_id, ServerFactory().pk, reason="r", actor=scripted.actor, now=NOW
        )


def test_ending_twice_is_refused_and_gives_no_time_twice(scripted: ScriptedDesk) -> None:
    operation = OperationFactory(server=scripted.server, deadline_at=NOW + MINUTE)
    hold = stop(scripted)
    scripted.clock.advance(60)
    go_on(scripted, hold)

    with pytest.raises(Refused, match=scripted.actor.name):
        go_on(scripted, hold)

    operation.refresh_from_db()
    assert operation.deadline_at == NOW + 2 * MINUTE


def test_the_desk_itself_stops_nothing(scripted: ScriptedDesk) -> None:
    with pytest.raises(ValueError, match="person"):
        begin(scripted.server.team_id, None, reason="r", actor=DESK, now=NOW)


def test_a_receiver_that_fails_keeps_the_hold_on(scripted: ScriptedDesk) -> None:
    def fail(**_: Any) -> None:
        raise RuntimeError("no")

    hold = stop(scripted)
    hold_ended.connect(fail)
    try:
        with pytest.raises(RuntimeError):
            go_on(scripted, hold)
    finally:
        hold_ended.disconnect(fail)
    hold.refresh_from_db()
    assert hold.ended_at is None


# stretches


def stretches_of(desk: ScriptedDesk, *steps: tuple[int, str]) -> list[Stretch]:
    """What ends with these steps: (minute, "+server" | "-server" | "+team" | "-team")."""
    found: list[Stretch] = []

    def take(stretch: Stretch, **_: Any) -> None:
        found.append(stretch)

    on: dict[str, Hold] = {}
    hold_ended.connect(take)
    try:
        for minute, step in steps:
            desk.clock.now = NOW + minute * MINUTE
            if step[0] == "+":
                on[step[1:]] = stop(desk, team=step == "+team")
            else:
                go_on(desk, on.pop(step[1:]))
    finally:
        hold_ended.disconnect(take)
    return found


def minutes_of(desk: ScriptedDesk, *steps: tuple[int, str]) -> list[tuple[int, int]]:
    def minute(at: datetime) -> int:
        return round((at - NOW) / MINUTE)

    return [(minute(s.since), minute(s.until)) for s in stretches_of(desk, *steps)]


def test_holds_that_overlap_are_one_stretch(scripted: ScriptedDesk) -> None:
    steps = (0, "+server"), (5, "+team"), (10, "-server"), (20, "-team")
    assert minutes_of(scripted, *steps) == [(0, 20)]


def test_a_hold_within_another_counts_once(scripted: ScriptedDesk) -> None:
    steps = (0, "+team"), (5, "+server"), (10, "-server"), (20, "-team")
    assert minutes_of(scripted, *steps) == [(0, 20)]


def test_holds_apart_are_two_stretches(scripted: ScriptedDesk) -> None:
    steps = (0, "+team"), (5, "-team"), (10, "+server"), (20, "-server")
    assert minutes_of(scripted, *steps) == [(0, 5), (10, 20)]


def test_one_that_begins_as_the_other_has_ended_is_not_the_same_stretch(
    scripted: ScriptedDesk,
) -> None:
    steps = (0, "+team"), (5, "-team"), (5, "+server"), (20, "-server")
    assert minutes_of(scripted, *steps) == [(0, 5), (5, 20)]


def test_a_chain_of_three_is_one_stretch(scripted: ScriptedDesk) -> None:
    steps = (0, "+team"), (4, "+server"), (5, "-team"), (8, "+team"), (9, "-server"), (12, "-team")
    assert minutes_of(scripted, *steps) == [(0, 12)]


def test_since_is_the_begin_of_the_stretch(scripted: ScriptedDesk) -> None:
    where = scripted.server.team_id, scripted.server.pk
    assert holds.since(*where) is None
    first = stop(scripted, team=True)
    scripted.clock.advance(60)
    stop(scripted)
    scripted.clock.advance(60)
    go_on(scripted, first)
    assert holds.since(*where) == NOW


def test_a_clock_that_is_behind_loses_no_time(scripted: ScriptedDesk) -> None:
    """The other process ends the first hold by a clock that says it ends before the second."""
    steps = (0, "+team"), (10, "+server"), (9, "-team"), (20, "-server")
    assert minutes_of(scripted, *steps) == [(0, 20)]


# the race


def _race(desk: ScriptedDesk, operation: Operation) -> tuple[int, int]:
    """A worker has looked whether it may send, and is about to write down that it does.

    Returns how many calls were on record when the hold had committed, and how many in the end.
    """
    known = []

    def hold() -> None:
        stop(desk)
        known.append(Attempt.objects.filter(operation=operation).count())

    _while_a_worker_prepares(desk, hold)
    return known[0], Attempt.objects.filter(operation=operation).count()


def _while_a_worker_prepares(desk: ScriptedDesk, verb: Callable[[], object]) -> None:
    """The worker has looked whether it may send; then it meets whoever is done with the verb."""
    (taken,) = claim(desk.clock.now, 10)
    has_looked, meeting = threading.Event(), Meeting()

    def look(server_id: int) -> bool:
        found = stops(server_id)
        has_looked.set()
        meeting.wait()
        return found

    def carry_out() -> None:
        assert has_looked.wait(10)
        verb()
        meeting.wait()

    with mock.patch("tasks_monitor.engine.prepare.stops", look):
        side_by_side(lambda: prepare([taken], desk.clock.now), carry_out)


@pytest.fixture
def racing_desk(transactional_db: None) -> ScriptedDesk:
    server, peer_ = ServerFactory(), peer.Peer()
    return ScriptedDesk(server, an_admin(server.team), Clock(NOW), peer_, peer_)


@pytest.mark.django_db(transaction=True)
def test_no_call_is_recorded_after_the_hold_committed(racing_desk: ScriptedDesk) -> None:
    known, in_the_end = _race(racing_desk, racing_desk.start())
    assert known == in_the_end == 1


@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_a_call_leaves_after_the_hold(racing_desk: ScriptedDesk) -> None:
    operation = racing_desk.start()
    with mock.patch("tasks_monitor.engine.hold._wait_for_senders"):
        known, in_the_end = _race(racing_desk, operation)
    assert (known, in_the_end) == (0, 1)


def _race_of_the_end(desk: ScriptedDesk) -> Operation:
    """A worker is about to put a call aside while the hold ends."""
    hold, operation = stop(desk), desk.start()
    _while_a_worker_prepares(desk, lambda: go_on(desk, hold))
    operation.refresh_from_db()
    return operation


@pytest.mark.django_db(transaction=True)
def test_no_call_is_put_aside_after_the_hold_ended(racing_desk: ScriptedDesk) -> None:
    assert _race_of_the_end(racing_desk).due_at == NOW


@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_a_call_is_put_aside_for_ever(racing_desk: ScriptedDesk) -> None:
    with mock.patch("tasks_monitor.engine.hold._wait_for_senders"):
        operation = _race_of_the_end(racing_desk)
    assert (operation.state, operation.due_at) == (State.READY, None)


def _ended_twice(desk: ScriptedDesk) -> tuple[list[object], datetime | None]:
    """Two admins end one hold at once: what each was told, and the deadline afterwards."""
    operation = OperationFactory(server=desk.server, deadline_at=NOW + 10 * MINUTE)
    hold = stop(desk)
    desk.clock.now += 5 * MINUTE
    with meeting_after("tasks_monitor.engine.hold._last"):
        told = side_by_side(lambda: go_on(desk, hold), lambda: go_on(desk, hold))
    operation.refresh_from_db()
    return told, operation.deadline_at


@pytest.mark.django_db(transaction=True)
def test_of_two_who_end_it_at_once_one_does_and_time_is_given_back_once(
    racing_desk: ScriptedDesk,
) -> None:
    told, deadline = _ended_twice(racing_desk)
    assert sorted(type(one).__name__ for one in told) == ["Hold", "Refused"]
    assert deadline == NOW + 15 * MINUTE


@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_time_is_given_back_twice(racing_desk: ScriptedDesk) -> None:
    with mock.patch("tasks_monitor.engine.hold._wait_for_senders"):
        _, deadline = _ended_twice(racing_desk)
    assert deadline == NOW + 20 * MINUTE


@pytest.mark.django_db(transaction=True)
def test_of_two_who_stop_it_at_once_the_second_is_told_who_was_first(
    racing_desk: ScriptedDesk,
) -> None:
    with meeting_after("tasks_monitor.engine.hold._checked"):
        told = side_by_side(lambda: stop(racing_desk), lambda: stop(racing_desk))
    assert sorted(type(one).__name__ for one in told) == ["Hold", "Refused"]
    assert Hold.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_only_the_database_refuses_a_second_one(
    racing_desk: ScriptedDesk,
) -> None:
    with (
        mock.patch("tasks_monitor.engine.hold._wait_for_senders"),
        meeting_after("tasks_monitor.engine.hold._refuse_second"),
    ):
        told = side_by_side(lambda: stop(racing_desk), lambda: stop(racing_desk))
    assert sorted(type(one).__name__ for one in told) == ["Hold", "IntegrityError"]


def _stopped(desk: ScriptedDesk) -> Callable[[], Hold]:
    return lambda: stop(desk)


def _let_go(desk: ScriptedDesk) -> Callable[[], Hold]:
    hold = stop(desk)
    return lambda: go_on(desk, hold)


VERBS = pytest.mark.parametrize("prepared", [_stopped, _let_go])
Prepared = Callable[[ScriptedDesk], Callable[[], Hold]]


def _while_demoted(desk: ScriptedDesk, verb: Callable[[], Hold]) -> object:
    """A sender is at work, and the role is taken away before they have committed."""
    return while_demoted(Membership.objects.get(), verb, lock=lambda: stops(desk.server.pk))


@VERBS
@pytest.mark.django_db(transaction=True)
def test_who_is_demoted_while_they_wait_neither_stops_nor_lets_go_and_is_told(
    racing_desk: ScriptedDesk, prepared: Prepared
) -> None:
    verb = prepared(racing_desk)
    before = list(Hold.objects.values())
    told = _while_demoted(racing_desk, verb)
    assert isinstance(told, PermissionDenied) and "does not allow you" in str(told)
    assert list(Hold.objects.values()) == before


@VERBS
@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_who_is_demoted_stops_it_or_lets_it_go(
    racing_desk: ScriptedDesk, prepared: Prepared
) -> None:
    verb = prepared(racing_desk)
    with mock.patch("tasks_monitor.engine.hold._wait_for_senders"):
        assert isinstance(_while_demoted(racing_desk, verb), Hold)


def test_an_operator_stops_it_and_does_not_let_it_go(scripted: ScriptedDesk) -> None:
    Membership.objects.update(role=Role.OPERATOR)
    hold = stop(scripted)
    with pytest.raises(PermissionDenied, match="does not allow you"):
        go_on(scripted, hold)
