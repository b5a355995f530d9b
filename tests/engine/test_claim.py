"""Claim: each due operation to one worker, and never more at a server than it takes."""

from collections import Counter
from datetime import timedelta
from unittest import mock
from uuid import UUID, uuid4

import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from tasks_monitor.engine import claim as module
from tasks_monitor.engine.claim import LANE_DEPTH, Claim, claim, release, release_unused
from tasks_monitor.models import Operation, Server
from tasks_monitor.states import State
from tests.engine.racing import Meeting, side_by_side
from tests.factories import NOW, OperationFactory, ServerFactory

pytestmark = pytest.mark.django_db

SECOND = timedelta(seconds=1)


def due(server: Server, count: int = 1, **columns: object) -> list[Operation]:
    """Operations that may be sent, the first one due for longest."""
    defaults = {"state": State.READY}
    return [
        OperationFactory(
            server=server, **{**defaults, "due_at": NOW - (count - n) * SECOND, **columns}
        )
        for n in range(count)
    ]


def ids(claims: list[Claim]) -> list[object]:
    return [each.operation_id for each in claims]


def test_what_is_due_is_taken_longest_due_first() -> None:
    operations = due(ServerFactory(), 3)

    assert sorted(ids(claim(NOW, 2)), key=str) == sorted(
        (operation.pk for operation in operations[:2]), key=str
    )


def test_the_longest_due_comes_first_over_all_servers() -> None:
    due(ServerFactory(), 3, due_at=NOW)
    (oldest,) = due(ServerFactory(), 1, due_at=NOW - SECOND)

    assert ids(claim(NOW, 1)) == [oldest.pk]


def test_what_is_taken_is_not_taken_again_before_the_lease_ends() -> None:
    due(ServerFactory(call_timeout_s=60))
    (taken,) = claim(NOW, 10)
    assert taken.leased_until == NOW + timedelta(seconds=60 + 15)

    assert claim(taken.leased_until - SECOND, 10) == []
    assert ids(claim(taken.leased_until, 10)) == [taken.operation_id]


def test_a_poll_has_the_lease_of_a_poll() -> None:
    due(ServerFactory(call_timeout_s=3600), state=State.WORKING, task_id="t")

    assert claim(NOW, 10)[0].leased_until == NOW + timedelta(seconds=30 + 15)


@pytest.mark.parametrize(
    "columns",
    [
        {"paused": True},
        {"not_before": NOW + SECOND, "not_before_reason": "throttled"},
    ],
)
def test_nothing_is_taken_of_a_server_that_must_not_be_asked(columns: dict[str, object]) -> None:
    due(ServerFactory(**columns))

    assert claim(NOW, 10) == []


def test_a_server_may_be_asked_again_when_its_pause_is_over() -> None:
    due(ServerFactory(not_before=NOW))

    assert len(claim(NOW, 10)) == 1


def test_what_is_not_due_is_not_taken() -> None:
    due(ServerFactory(), due_at=NOW + timedelta(microseconds=1))
    due(ServerFactory(), due_at=None)

    assert claim(NOW, 10) == []


def test_a_server_has_no_more_calls_under_way_than_it_takes_requests() -> None:
    server = ServerFactory(max_in_flight=3)
    due(server, 5)
    due(ServerFactory(), 1)

    first = claim(NOW, 10)
    assert len(first) == 4
    assert claim(NOW, 10) == []

    release(next(each for each in first if each.server.server_id == server.pk), None)
    assert len(claim(NOW, 10)) == 1


def tokens(claims: list[Claim]) -> Counter[UUID]:
    """The lanes of these claims, and how many operations each has."""
    return Counter(each.lease_token for each in claims)


def polled(server: Server, count: int, **columns: object) -> list[Operation]:
    return due(server, count, **{"state": State.WORKING, "task_id": "t", **columns})


def test_a_few_polls_have_a_lane_each() -> None:
    polled(ServerFactory(max_in_flight=8), 3)

    assert sorted(tokens(claim(NOW, 64)).values()) == [1, 1, 1]


def test_many_polls_share_the_lanes_of_their_server_up_to_its_depth() -> None:
    polled(ServerFactory(max_in_flight=2), 3 * LANE_DEPTH)

    assert sorted(tokens(claim(NOW, 64)).values()) == [LANE_DEPTH, LANE_DEPTH]
    assert claim(NOW, 64) == []


@pytest.mark.parametrize("columns", [{"state": State.READY}, {"attention": True}])
def test_what_is_more_than_a_poll_has_a_lane_to_itself(columns: dict[str, object]) -> None:
    server = ServerFactory(max_in_flight=3)
    polled(server, 10)
    alone = {operation.pk for operation in polled(server, 2, **columns)}

    claims = claim(NOW, 64)

    lanes = tokens(claims)
    assert len(lanes) == 3
    assert {lanes[each.lease_token] for each in claims if each.operation_id in alone} == {1}
    assert alone <= set(ids(claims))


def test_a_lane_is_taken_until_the_last_of_its_polls_is_settled() -> None:
    server = ServerFactory(max_in_flight=1)
    polled(server, 3)
    first, second, third = claim(NOW, 64)
    polled(server, 1)

    release(first, None)
    release(second, None)
    assert claim(NOW, 64) == []

    release(third, None)
    assert len(claim(NOW, 64)) == 1


def test_what_is_given_back_unused_is_due_as_before() -> None:
    operations = polled(ServerFactory(max_in_flight=1), 2)
    before = [operation.due_at for operation in operations]

    release_unused(claim(NOW, 64))

    for operation, due_at in zip(operations, before, strict=True):
        operation.refresh_from_db()
        assert (operation.lease_token, operation.due_at) == (None, due_at)


def test_a_lease_that_was_lost_gives_nothing_back() -> None:
    (operation,) = polled(ServerFactory(), 1)
    lost = claim(NOW, 1)
    (held,) = claim(lost[0].leased_until, 1)

    release_unused(lost)

    operation.refresh_from_db()
    assert operation.lease_token == held.lease_token


@given(
    lanes=st.integers(1, 9),
    kinds=st.lists(st.sampled_from(["ready", "attention", "poll"]), max_size=100),
)
def test_no_server_is_given_more_lanes_than_it_takes(lanes: int, kinds: list[str]) -> None:
    """Whatever is due: lanes are bounded in number and depth, and none is left idle."""
    rows = [
        module._Due(
            operation_id=uuid4(),
            state=State.READY if kind == "ready" else State.WORKING,
            attention=kind == "attention",
            due_at=NOW,
            poll_interval_ms=None,
            unchanged_polls=0,
            expires_at=None,
            snapshot_digest=None,
            sealed_task_id=b"",
            traceparent="",
            lanes=lanes,
            server_id=1,
            url="",
            sealed_credential=None,
            allow_private=False,
            call_timeout_s=60,
            troubled=False,
            last_ok_at=None,
            clock_skew_ms=0,
        )
        for kind in kinds
    ]

    claims = module._in_lanes(rows, NOW)

    depths = tokens(claims)
    alone = [each for each in claims if each.state == State.READY or each.attention]
    assert len(depths) == min(lanes, len(kinds))
    assert max(depths.values(), default=0) <= LANE_DEPTH
    assert all(depths[each.lease_token] == 1 for each in alone)
    assert len(alone) == min(lanes, sum(kind != "poll" for kind in kinds))
    assert len(set(ids(claims))) == len(claims)


def test_a_limit_of_zero_takes_nothing() -> None:
    due(ServerFactory())

    assert claim(NOW, 0) == []


def test_a_lease_that_was_lost_releases_nothing() -> None:
    (operation,) = due(ServerFactory())
    (first,) = claim(NOW, 1)
    later = first.leased_until
    (second,) = claim(later, 1)

    release(first, later + SECOND)

    operation.refresh_from_db()
    assert operation.lease_token == second.lease_token


def test_no_credential_and_no_task_id_in_its_representation() -> None:
    due(ServerFactory(credential={"headers": [["X", "CANARY"]]}), task_id="CANARY")
    (taken,) = claim(NOW, 1)

    assert "sealed" not in repr(taken)
    assert "CANARY" not in repr(taken)
    assert taken.task_id == "CANARY"


def _claimed_at_once() -> list[list[Claim]]:
    """What two workers claim whose statements are interleaved: both look, then both take."""
    meeting = Meeting()

    def claim_slowly() -> list[Claim]:
        def wait(execute, sql, params, many, context):  # type: ignore[no-untyped-def]
            if "FOR UPDATE SKIP LOCKED" in sql and "LATERAL" in sql:
                meeting.wait()
            return execute(sql, params, many, context)

        with connection.execute_wrapper(wait):
            return claim(NOW, 10)

    return side_by_side(claim_slowly, claim_slowly)


@pytest.mark.django_db(transaction=True)
def test_two_workers_at_once_take_each_operation_once_and_keep_the_servers_bound() -> None:
    due(ServerFactory(max_in_flight=3), 60)

    results = _claimed_at_once()

    taken = [pk for claims in results for pk in ids(claims)]
    assert len(taken) == len(set(taken)) == 3


@pytest.mark.django_db(transaction=True)
def test_control_without_the_servers_lock_two_workers_hand_out_a_slot_twice() -> None:
    due(ServerFactory(max_in_flight=3), 60)
    unlocked = module._LOCK_SERVERS.replace("FOR NO KEY UPDATE OF s SKIP LOCKED", "")
    assert unlocked != module._LOCK_SERVERS
    with mock.patch.object(module, "_LOCK_SERVERS", unlocked):
        results = _claimed_at_once()

    assert sum(len(claims) for claims in results) == 6
