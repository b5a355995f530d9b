"""Two people, one gate, at the same moment."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from approvals import frame, verdict, words
from approvals.models import Approval, Verdict, Vote
from approvals.outcomes import Lost, VerdictOutcome, Voted
from approvals.policy import Approved, Waiting
from mcpdesk.accounts.access import Member
from tasks_monitor.states import State
from tests.approvals.conftest import Join
from tests.approvals.gates import a_gate, say

pytestmark = pytest.mark.django_db(transaction=True)


def _both_say(
    approval: Approval,
    members: tuple[Member, Member],
    words: tuple[Verdict, Verdict],
    monkeypatch: pytest.MonkeyPatch,
) -> list[VerdictOutcome | BaseException]:
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

    def one(number: int) -> VerdictOutcome | BaseException:
        try:
            return say(approval, members[number], words[number])
        except Exception as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(one, range(2)))


def _read_without_lock(approval_id: UUID, team_id: int) -> Any:
    related = ("operation__server", "operation__payload", "decided_by")
    return Approval.objects.select_related(*related).get(pk=approval_id, team_id=team_id)


def test_of_two_words_that_each_decide_one_counts(
    operator: Member, join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    approval, members = a_gate(operator), (join(), join())
    words = (Verdict.APPROVE, Verdict.DENY)
    outcomes = _both_say(approval, members, words, monkeypatch)
    assert sum(isinstance(outcome, Voted) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, Lost) for outcome in outcomes) == 1
    approval.refresh_from_db()
    won = Vote.objects.get()
    assert (approval.decision, approval.decided_by) == (won.choice, won.user)
    expected = State.READY if won.choice == Verdict.APPROVE else State.DENIED
    assert approval.operation.__class__.objects.get().state == expected


def test_of_two_needed_both_count_and_the_second_one_releases_it(
    operator: Member, join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    approval, members = a_gate(operator, {"quorum": 2}), (join(), join())
    outcomes = _both_say(approval, members, (Verdict.APPROVE,) * 2, monkeypatch)
    came_to = [outcome.came_to for outcome in outcomes if isinstance(outcome, Voted)]
    assert Waiting(1, 2) in came_to
    assert any(isinstance(one, Approved) for one in came_to)


def test_without_the_lock_two_approvals_each_see_only_themselves(
    operator: Member, join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: both are told to wait for one more, and the call waits for ever."""
    approval, members = a_gate(operator, {"quorum": 2}), (join(), join())
    monkeypatch.setattr(frame, "locked", _read_without_lock)
    # writing the words of a vote holds the item's row, which would let the second one wait too
    monkeypatch.setattr(words, "said", lambda *_: None)
    wait = threading.Barrier(2)
    follow = verdict._follow

    def after_both_follow(*args: Any) -> VerdictOutcome:
        found = follow(*args)
        wait.wait(timeout=5)
        return found

    monkeypatch.setattr(verdict, "_follow", after_both_follow)
    outcomes = _both_say(approval, members, (Verdict.APPROVE,) * 2, monkeypatch)
    assert [outcome.came_to for outcome in outcomes if isinstance(outcome, Voted)] == [
        Waiting(1, 2)
    ] * 2
