"""A remembered approval that two people are at, at the same moment."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from approvals import policy, recall, remembered
from approvals.models import Approval, Remembered
from approvals.remembered import Scope
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.errors import Refused
from mcpdesk.audit.models import Event
from tasks_monitor.engine.servers import change_server
from tests.approvals.attacks import as_it_is
from tests.approvals.gates import LATER, a_gate, request, say
from tests.engine.conftest import an_admin

pytestmark = pytest.mark.django_db(transaction=True)

SCOPE = Scope(any_arguments=True, whole_team=True, hours=1)


def _together(*actions: Callable[[], object]) -> list[object]:
    """What each came to; they run side by side, each on a connection of its own."""

    def run(action: Callable[[], object]) -> object:
        try:
            return action()
        except Exception as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(actions)) as pool:
        return list(pool.map(run, actions))


def _approved(operator: Member, approver: Member) -> Approval:
    approval = a_gate(operator, {"remember": True})
    say(approval, approver)
    return approval


def _use_while_it_is_taken_back(
    operator: Member, approver: Member, monkeypatch: pytest.MonkeyPatch, *, lock: bool
) -> list[str]:
    """The call has found it when it is taken back. The events of both, in order."""
    approval = _approved(operator, approver)
    one = remembered.remember(approval.pk, member=approver, scope=SCOPE, now=LATER)
    found, taken_back = threading.Event(), threading.Event()
    find = recall.find

    def find_and_wait(call: recall.Call, word: policy.Gate, now: Any, **_: bool) -> Any:
        there = find(call, word, now, lock=lock)
        found.set()
        taken_back.wait(timeout=1)
        return there

    monkeypatch.setattr(recall, "find", find_and_wait)

    def take_back() -> None:
        found.wait(timeout=5)
        remembered.revoke(one.pk, member=approver, now=LATER)
        taken_back.set()

    server = approval.operation.server
    outcomes = _together(lambda: request(operator, server=server), take_back)
    assert not [one for one in outcomes if isinstance(one, Exception)]
    kinds = ("remembered.used", "remembered.revoked")
    return list(Event.objects.filter(kind__in=kinds).order_by("id").values_list("kind", flat=True))


def test_none_is_used_after_it_was_taken_back(
    operator: Member, approver: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = _use_while_it_is_taken_back(operator, approver, monkeypatch, lock=True)
    assert told == ["remembered.used", "remembered.revoked"]


def test_without_the_lock_one_is_used_after_it_was_taken_back(
    operator: Member, approver: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control."""
    told = _use_while_it_is_taken_back(operator, approver, monkeypatch, lock=False)
    assert told == ["remembered.revoked", "remembered.used"]


def test_every_use_is_counted(operator: Member, approver: Member) -> None:
    approval = _approved(operator, approver)
    one = remembered.remember(approval.pk, member=approver, scope=SCOPE, now=LATER)
    server = approval.operation.server
    made = _together(*[lambda: request(operator, server=server)] * 4)
    assert not [one for one in made if isinstance(one, Exception)]
    one.refresh_from_db()
    assert one.uses == Event.objects.filter(kind="remembered.used").count() == 4


def _left_twice(
    operator: Member, approver: Member, monkeypatch: pytest.MonkeyPatch, read: Any
) -> list[object]:
    """Two pages of one person have the same approval remembered; each has read it before."""
    approval = _approved(operator, approver)
    both_read = threading.Barrier(2)

    def after_both_read(approval_id: UUID, team_id: int) -> Any:
        there = read(approval_id, team_id)
        # broken: the other one waits for the lock, as it should
        with suppress(threading.BrokenBarrierError):
            both_read.wait(timeout=1)
        return there

    monkeypatch.setattr(remembered, "_locked", after_both_read)
    leave = remembered._check

    def check_together(*args: Any) -> None:
        leave(*args)
        with suppress(threading.BrokenBarrierError):
            both_checked.wait(timeout=1)

    both_checked = threading.Barrier(2)
    monkeypatch.setattr(remembered, "_check", check_together)

    def remember() -> object:
        return remembered.remember(approval.pk, member=approver, scope=SCOPE, now=LATER)

    return _together(remember, remember)


def test_one_approval_is_remembered_once_however_often_it_is_said(
    operator: Member, approver: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = _left_twice(operator, approver, monkeypatch, remembered._locked)
    assert sum(isinstance(outcome, Refused) for outcome in outcomes) == 1
    assert Remembered.objects.count() == 1


def test_without_the_lock_it_is_remembered_twice(
    operator: Member, approver: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control."""

    def unlocked(approval_id: UUID, team_id: int) -> Any:
        mine = Approval.objects.filter(pk=approval_id, team_id=team_id)
        return mine.select_related("operation__payload").first()

    _left_twice(operator, approver, monkeypatch, unlocked)
    assert Remembered.objects.count() == 2


def test_what_is_remembered_while_the_server_gets_another_name_ends_with_the_old_one(
    operator: Member, approver: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    approval = _approved(operator, approver)
    server = approval.operation.server
    locked, waits = threading.Event(), threading.Event()
    check, end = remembered._check, remembered.end_for_server

    def check_and_wait(*args: Any) -> None:
        check(*args)
        locked.set()
        waits.wait(timeout=5)

    def end_at_last(server_id: int, now: Any) -> None:
        waits.set()
        end(server_id, now)

    monkeypatch.setattr(remembered, "_check", check_and_wait)
    monkeypatch.setattr(remembered, "end_for_server", end_at_last)

    def rename() -> None:
        locked.wait(timeout=5)
        change_server(
            server.pk,
            **{**as_it_is(server), "name": "other"},
            actor=an_admin(server.team),
            now=LATER,
        )

    def remember() -> object:
        return remembered.remember(approval.pk, member=approver, scope=SCOPE, now=LATER)

    outcomes = _together(remember, rename)
    assert not [one for one in outcomes if isinstance(one, Exception)]
    assert Remembered.objects.get().revoked_at == LATER
