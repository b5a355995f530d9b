"""Two people claim one item at the same moment; somebody decides while another takes it over."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from approvals import claim
from approvals.claim import Claimed
from approvals.models import Approval
from approvals.outcomes import Refused
from mcpdesk.accounts.access import Member
from tests.approvals.conftest import Ask, Join
from tests.factories import NOW

pytestmark = pytest.mark.django_db(transaction=True)


def _both_claim(
    approval: Approval, members: tuple[Member, Member], monkeypatch: pytest.MonkeyPatch
) -> list[Any]:
    """Each reads the item before the other writes, as far as the lock lets them."""
    both_read = threading.Barrier(2)
    read = claim.locked

    def after_both_read(approval_id: UUID, team_id: int) -> Approval | None:
        found = read(approval_id, team_id)
        # broken: the other one waits for the lock, as it should
        with suppress(threading.BrokenBarrierError):
            both_read.wait(timeout=1)
        return found

    monkeypatch.setattr(claim, "locked", after_both_read)

    def one(member: Member) -> Any:
        try:
            return claim.claim(approval.pk, member=member, now=NOW)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(one, members))


def test_of_two_who_claim_at_once_one_has_it(
    ask: Ask, approver: Member, join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = _both_claim(ask(), (approver, join()), monkeypatch)
    assert sum(isinstance(outcome, Claimed) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, Refused) for outcome in outcomes) == 1


def test_without_the_lock_both_are_told_that_it_is_theirs(
    ask: Ask, approver: Member, join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control."""
    approval, members = ask(), (approver, join())
    related = ("operation__server", "operation__payload", "claimed_by")

    def read_without_lock(approval_id: UUID, team_id: int) -> Any:
        return Approval.objects.select_related(*related).get(pk=approval_id, team_id=team_id)

    monkeypatch.setattr(claim, "locked", read_without_lock)
    outcomes = _both_claim(approval, members, monkeypatch)
    assert [type(outcome) for outcome in outcomes] == [Claimed, Claimed]
