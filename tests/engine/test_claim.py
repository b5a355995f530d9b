"""Claim: each due operation to one worker, and never more at a server than it takes."""

from datetime import timedelta
from unittest import mock

import pytest
from django.db import connection

from tasks_monitor.engine import claim as module
from tasks_monitor.engine.claim import Claim, claim, release
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


def test_a_server_has_no_more_leases_than_it_takes_requests() -> None:
    server = ServerFactory(max_in_flight=3)
    due(server, 5)
    due(ServerFactory(), 1)

    first = claim(NOW, 10)
    assert len(first) == 4
    assert claim(NOW, 10) == []

    release(next(each for each in first if each.server.server_id == server.pk), None)
    assert len(claim(NOW, 10)) == 1


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
            if "WITH picked" in sql:
                meeting.wait()
            return execute(sql, params, many, context)

        with connection.execute_wrapper(wait):
            return claim(NOW, 10)

    return side_by_side(claim_slowly, claim_slowly)


@pytest.mark.django_db(transaction=True)
def test_two_workers_at_once_take_each_operation_once_and_keep_the_servers_bound() -> None:
    due(ServerFactory(max_in_flight=3), 10)

    results = _claimed_at_once()

    taken = [pk for claims in results for pk in ids(claims)]
    assert len(taken) == len(set(taken)) == 3


@pytest.mark.django_db(transaction=True)
def test_control_without_the_servers_lock_two_workers_hand_out_a_slot_twice() -> None:
    due(ServerFactory(max_in_flight=3), 10)
    unlocked = module._LOCK_SERVERS.replace("FOR NO KEY UPDATE OF s SKIP LOCKED", "")
    assert unlocked != module._LOCK_SERVERS
    with mock.patch.object(module, "_LOCK_SERVERS", unlocked):
        results = _claimed_at_once()

    assert sum(len(claims) for claims in results) == 6
