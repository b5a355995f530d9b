"""Two people, one question, at the same moment: one wins, nothing is sent twice."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from approvals import binding, decide, frame
from approvals.decide import Said
from approvals.models import Approval, Choice, Vote
from approvals.outcomes import Decided, Lost, Outcome
from mcpdesk.accounts.access import Member
from tasks_monitor.models import Delivery
from tests.approvals.conftest import Ask, Join
from tests.factories import NOW

pytestmark = pytest.mark.django_db(transaction=True)

SAYS = (Choice.ACCEPT, Choice.DECLINE)


def _both_decide(
    approval: Approval, members: tuple[Member, Member], monkeypatch: pytest.MonkeyPatch
) -> list[Outcome | BaseException]:
    """Each reads the item before the other writes, as far as the lock lets them."""
    both_read = threading.Barrier(2)
    read = frame.locked

    def after_both_read(approval_id: UUID, team_id: int) -> Approval | None:
        found = read(approval_id, team_id)
        # broken: the other one waits for the lock, as it should
        with suppress(threading.BrokenBarrierError):
            both_read.wait(timeout=1)
        return found

    monkeypatch.setattr(frame, "locked", after_both_read)

    def say(number: int) -> Outcome | BaseException:
        member = members[number]
        token = binding.bind(approval, user_id=member.user_id, now=NOW)
        said = Said(SAYS[number], token)
        try:
            return decide.decide(approval.pk, member=member, said=said, now=NOW)
        except Exception as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(say, range(2)))


def _read_without_lock(approval_id: UUID, team_id: int) -> Any:
    related = ("operation__server", "operation__payload", "input_request", "decided_by")
    return Approval.objects.select_related(*related).get(pk=approval_id, team_id=team_id)


def test_one_of_two_wins_and_the_other_is_told_who(
    ask: Ask, join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    approval, members = ask(), (join(), join())
    outcomes = _both_decide(approval, members, monkeypatch)
    won = next(n for n, outcome in enumerate(outcomes) if isinstance(outcome, Decided))
    assert outcomes[1 - won] == Lost(members[won].user.name, SAYS[won], NOW)
    assert Vote.objects.get().user == members[won].user
    assert Delivery.objects.get().action == SAYS[won].value


def test_without_the_lock_both_believe_they_may_decide(
    ask: Ask, join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: nobody is told that they lost, and only the engine's own check is left."""
    approval, members = ask(), (join(), join())
    monkeypatch.setattr(frame, "locked", _read_without_lock)
    outcomes = _both_decide(approval, members, monkeypatch)
    assert not any(isinstance(outcome, Lost) for outcome in outcomes)


def test_the_same_person_pressing_twice_is_sent_once(
    ask: Ask, approver: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = _both_decide(ask(), (approver, approver), monkeypatch)
    assert sum(isinstance(outcome, Decided) for outcome in outcomes) == 1
    assert Vote.objects.count() == Delivery.objects.count() == 1
