"""Claiming: one at a time to each target, never the same to two, and what races do to that."""

import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet

from approvals.models import Approval
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Role, Team
from mcpdesk.audit.admins import Who
from mcpdesk.audit.models import Event
from mcpdesk.notify import claim as claiming
from mcpdesk.notify.channels import send_again
from mcpdesk.notify.claim import LEASE, Parcel, anything_due, claim
from mcpdesk.notify.deliver import deliver
from mcpdesk.notify.models import Message, MessageState
from mcpdesk.notify.settle import MAX_ATTEMPTS, NOBODY_CAME_BACK
from tests.factories import NOW, ApprovalFactory, MembershipFactory
from tests.notify.conftest import put, webhook
from tests.notify.receiver import Receiver

DUE = NOW + timedelta(seconds=15)


@pytest.mark.django_db
def test_only_one_message_at_a_time_goes_to_each_target(approval: Approval, team: Team) -> None:
    webhook(team)
    webhook(team)
    put(approval)
    put(ApprovalFactory(input_request__operation__server__team=team, created_at=NOW))
    assert len(claim(DUE, 10)) == 2
    assert claim(DUE, 10) == []
    Message.objects.filter(state=MessageState.SENDING).update(
        state=MessageState.SENT, next_at=None, lease_token=None
    )
    assert len(claim(DUE, 10)) == 2


@pytest.mark.django_db
def test_nothing_is_due_before_its_time_or_while_it_is_leased(
    approval: Approval, team: Team
) -> None:
    webhook(team)
    put(approval)
    assert not anything_due(NOW)
    assert anything_due(DUE)
    claim(DUE, 1)
    assert not anything_due(DUE + LEASE - timedelta(seconds=1))
    assert anything_due(DUE + LEASE)


@pytest.mark.django_db
def test_what_nobody_wants_any_more_is_not_taken_up_after_its_sender_died(
    approval: Approval, team: Team
) -> None:
    webhook(team)
    put(approval)
    claim(DUE, 1)
    Message.objects.update(unwanted=True)
    assert claim(DUE + LEASE, 1) == []
    assert Message.objects.get().state == MessageState.DROPPED


@pytest.mark.django_db
def test_what_no_sender_comes_back_from_is_given_up_and_can_be_sent_again(
    approval: Approval, team: Team
) -> None:
    webhook(team)
    put(approval)
    moments = [DUE + LEASE * number for number in range(MAX_ATTEMPTS + 1)]
    assert [len(claim(at, 1)) for at in moments] == [1] * MAX_ATTEMPTS + [0]
    message = Message.objects.get()
    assert (message.state, message.last_error) == (MessageState.DEAD, NOBODY_CAME_BACK)
    assert not anything_due(moments[-1] + LEASE)
    assert Event.objects.filter(kind="notice.given_up", approval_id=approval.pk).count() == 1
    admin = MembershipFactory(team=team, role=Role.ADMIN)
    who = Who(Member(admin.user, team, Role.ADMIN), moments[-1])
    send_again(message.pk, who=who)
    assert len(claim(moments[-1], 1)) == 1


@pytest.mark.django_db
def test_claiming_costs_the_same_however_much_waits(
    team: Team, django_assert_max_num_queries: Any
) -> None:
    for _ in range(3):
        webhook(team)
    for _ in range(10):
        put(ApprovalFactory(input_request__operation__server__team=team))
    with django_assert_max_num_queries(2 + 2 + 3):
        assert len(claim(DUE, 10)) == 3


@contextmanager
def meeting(monkeypatch: pytest.MonkeyPatch, *, locked: bool) -> Iterator[None]:
    """Two claims read what is due before either of them writes, as far as the lock lets them."""
    both_read = threading.Barrier(2)
    take = claiming._take

    def after_both_read(message: Message, now: Any) -> Parcel:
        with suppress(threading.BrokenBarrierError):
            both_read.wait(timeout=1)
        return take(message, now)

    monkeypatch.setattr(claiming, "_take", after_both_read)
    if not locked:
        monkeypatch.setattr(QuerySet, "select_for_update", lambda rows, **_: rows)
    yield


def _both_claim() -> list[Parcel]:
    def one(_: int) -> list[Parcel]:
        try:
            return claim(DUE, 10)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        return [parcel for parcels in pool.map(one, range(2)) for parcel in parcels]


@pytest.mark.django_db(transaction=True)
def test_two_senders_never_take_the_same_message(
    approval: Approval, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook(team)
    put(approval)
    with meeting(monkeypatch, locked=True):
        taken = Counter(pk for parcel in _both_claim() for pk in parcel.message_ids)
    assert list(taken.values()) == [1]


@pytest.mark.django_db(transaction=True)
def test_without_the_lock_both_take_it(
    approval: Approval, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control."""
    webhook(team)
    put(approval)
    with meeting(monkeypatch, locked=False):
        taken = Counter(pk for parcel in _both_claim() for pk in parcel.message_ids)
    assert list(taken.values()) == [2]


@pytest.mark.django_db(transaction=True)
def test_two_workers_send_forty_messages_once_each(team: Team, receiver: Receiver) -> None:
    for _ in range(4):
        webhook(team, receiver.url, allow_private=True)
    for _ in range(10):
        put(ApprovalFactory(input_request__operation__server__team=team))

    def work(_: int) -> int:
        try:
            return deliver(lambda: DUE)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(work, range(2))) == 40
    ids = Counter(received.headers["webhook-id"] for received in receiver.requests)
    assert len(ids) == 40 and set(ids.values()) == {1}
    assert set(Message.objects.values_list("state", flat=True)) == {MessageState.SENT}


@pytest.mark.django_db(transaction=True)
def test_a_receiver_that_hangs_keeps_no_other_waiting(team: Team, receiver: Receiver) -> None:
    with Receiver() as slow:
        slow.behaviour = slow.hangs
        webhook(team, slow.url, allow_private=True)
        webhook(team, receiver.url, allow_private=True)
        for _ in range(5):
            put(ApprovalFactory(input_request__operation__server__team=team))
        with ThreadPoolExecutor(1) as pool:
            done = pool.submit(deliver, lambda: DUE)
            while len(receiver.requests) < 5:
                assert not done.done()
            slow.let_go.set()
            done.result(60)
    assert len(receiver.requests) == 5
