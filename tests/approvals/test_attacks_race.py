"""Four eyes and quorum, attacked by being quick: two at once, and people who change meanwhile."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from approvals import agree, binding, decide, frame, verdict, words
from approvals.models import Approval, ApprovalState, Verdict, Vote
from approvals.outcomes import Counted, Decided, Lost, Refused, Voted
from approvals.policy import Waiting
from approvals.votes import Turn
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Membership, Role, Team
from tasks_monitor.models import Delivery
from tasks_monitor.states import State
from tests.approvals.answers import confirm, propose, questions_rule, token
from tests.approvals.attacks import by_api, by_page, left, proof
from tests.approvals.conftest import Ask, Join
from tests.approvals.gates import a_gate, say
from tests.factories import AbsenceFactory

pytestmark = pytest.mark.django_db(transaction=True)

NAME = {"name": {"type": "string"}}
Say = Callable[[], Any]


def _at_once(monkeypatch: pytest.MonkeyPatch, *says: Say) -> list[Any]:
    """Each reads the item before another writes, as far as the lock lets them."""
    all_read = threading.Barrier(len(says))
    read = frame.locked

    def after_all_read(approval_id: UUID, team_id: int) -> Approval | None:
        found = read(approval_id, team_id)
        # broken: the others wait for the lock, as they should
        with suppress(threading.BrokenBarrierError):
            all_read.wait(timeout=1)
        return found

    monkeypatch.setattr(frame, "locked", after_all_read)

    def one(speak: Say) -> Any:
        try:
            return speak()
        except Exception as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(says)) as pool:
        return list(pool.map(one, says))


def _read_without_lock(approval_id: UUID, team_id: int) -> Any:
    related = ("operation__server", "operation__payload", "input_request", "proposed_by")
    return Approval.objects.select_related(*related, "decided_by", "claimed_by").get(
        pk=approval_id, team_id=team_id
    )


def _confirm_and_propose(
    ask: Ask, approver: Member, join: Join, monkeypatch: pytest.MonkeyPatch
) -> tuple[Approval, list[Any]]:
    """One confirms what stands proposed while another proposes something else."""
    approval, second, third = ask(fields=NAME), join(), join()
    propose(approval, approver, {"name": "api"})
    confirms, proposes = token(approval, second), token(approval, third)
    outcomes = _at_once(
        monkeypatch,
        lambda: propose(approval, second, {"name": "api"}, token=confirms),
        lambda: propose(approval, third, {"name": "all"}, token=proposes, proposes=True),
    )
    return approval, outcomes


def test_what_is_sent_is_what_was_confirmed_and_the_other_one_is_told(
    ask: Ask, team: Team, approver: Member, join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions_rule(team)
    approval, (confirmed, proposed) = _confirm_and_propose(ask, approver, join, monkeypatch)
    approval.refresh_from_db()
    if isinstance(confirmed, Decided):
        assert isinstance(proposed, Lost)
        assert Delivery.objects.get().response["content"] == {"name": "api"}
    else:
        assert confirmed == Refused(binding.CHANGED)
        assert isinstance(proposed, Counted)
        assert not Delivery.objects.exists()
        assert approval.proposal == {"action": "accept", "content": {"name": "all"}}


def _propose_once_it_is_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two who read the item at once, the one with another answer writes second."""
    confirmed = threading.Event()
    close, another = decide._close, agree._propose

    def close_first(*args: Any) -> Decided:
        found = close(*args)
        confirmed.set()
        return found

    def then_propose(turn: Turn, answer: agree.Answer) -> None:
        if turn.approval.proposal is not None:
            assert confirmed.wait(timeout=5)
        another(turn, answer)

    monkeypatch.setattr(decide, "_close", close_first)
    monkeypatch.setattr(agree, "_propose", then_propose)


def test_without_the_lock_both_are_told_that_it_was_done(
    ask: Ask, team: Team, approver: Member, join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: one answer is sent while another one stands proposed."""
    questions_rule(team)
    monkeypatch.setattr(frame, "locked", _read_without_lock)
    # the words a list finds it by are one row for both, and would make one wait for the other
    monkeypatch.setattr(words, "said", lambda *_: None)
    _propose_once_it_is_confirmed(monkeypatch)
    _, (confirmed, proposed) = _confirm_and_propose(ask, approver, join, monkeypatch)
    assert isinstance(confirmed, Decided)
    assert isinstance(proposed, Counted)


def test_two_who_propose_at_once_make_one_proposal(
    ask: Ask, team: Team, approver: Member, join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions_rule(team)
    approval, second = ask(fields=NAME), join()
    first_token, second_token = token(approval, approver), token(approval, second)
    outcomes = _at_once(
        monkeypatch,
        lambda: propose(approval, approver, {"name": "api"}, token=first_token),
        lambda: propose(approval, second, {"name": "api"}, token=second_token),
    )
    assert sum(isinstance(one, Counted) for one in outcomes) == 1
    assert outcomes.count(Refused(binding.CHANGED)) == 1
    assert Vote.objects.count() == 1
    assert not Delivery.objects.exists()


def test_one_person_in_two_windows_is_one_person(
    operator: Member, approver: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    approval = a_gate(operator, {"quorum": 2})
    twice = _at_once(monkeypatch, *[lambda: say(approval, approver)] * 2)
    assert [one.came_to for one in twice if isinstance(one, Voted)] == [Waiting(1, 2)]
    assert Vote.objects.count() == 1


def test_a_person_and_their_stand_in_at_once_are_one(
    operator: Member, approver: Member, team: Team, join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    approval, stand_in = a_gate(operator, {"quorum": 2}), join(Role.OPERATOR)
    AbsenceFactory(team=team, user=approver.user, stand_in=stand_in.user)
    outcomes = _at_once(
        monkeypatch,
        lambda: say(approval, approver),
        lambda: say(approval, stand_in),
    )
    assert [one.came_to for one in outcomes] == [Waiting(1, 2)] * 2
    approval.refresh_from_db()
    assert approval.is_open


def test_whoever_started_it_gains_nothing_by_speaking_together_with_somebody(
    operator: Member, approver: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    approval = a_gate(operator, {"quorum": 2})
    Membership.objects.filter(user=operator.user).update(role=Role.ADMIN)
    outcomes = _at_once(
        monkeypatch,
        lambda: say(approval, operator),
        lambda: say(approval, approver),
    )
    assert isinstance(outcomes[0], Refused)
    assert outcomes[1].came_to == Waiting(1, 2)


def _two_tokens(
    operator: Member, join: Join, monkeypatch: pytest.MonkeyPatch
) -> tuple[Approval, list[bool]]:
    """Two programs approve for two people at once; whether each was told that it is decided."""
    approval, first, second = a_gate(operator, {"quorum": 2}), join(), join()
    answers = _at_once(
        monkeypatch,
        lambda: by_api(approval, first, proof(approval, first), yes=True).json(),
        lambda: by_api(approval, second, proof(approval, second), yes=True).json(),
    )
    return approval, [one["final"] for one in answers]


def test_two_who_approve_by_the_api_at_once_are_two(
    operator: Member, join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    approval, final = _two_tokens(operator, join, monkeypatch)
    assert sorted(final) == [False, True]
    assert left(approval)


def test_without_the_lock_two_by_the_api_each_wait_for_the_other(
    operator: Member, join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: both are told to wait for one more, and the call waits for ever."""
    monkeypatch.setattr(frame, "locked", _read_without_lock)
    # writing the words of a vote holds the item's row, which would let the second one wait too
    monkeypatch.setattr(words, "said", lambda *_: None)
    both, follow = threading.Barrier(2), verdict._follow

    def after_both_follow(*args: Any) -> Any:
        found = follow(*args)
        both.wait(timeout=5)
        return found

    monkeypatch.setattr(verdict, "_follow", after_both_follow)
    approval, final = _two_tokens(operator, join, monkeypatch)
    assert final == [False, False]
    assert not left(approval)


def test_one_person_on_a_page_and_by_their_token_at_once_is_one_person(
    operator: Member, approver: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    approval = a_gate(operator, {"quorum": 2})
    _at_once(
        monkeypatch,
        lambda: by_page(approval, approver, proof(approval, approver), yes=True),
        lambda: by_api(approval, approver, proof(approval, approver), yes=True),
    )
    assert Vote.objects.filter(user=approver.user).count() == 1
    assert not left(approval)


def _demoted_on_the_way(
    approver: Member, monkeypatch: pytest.MonkeyPatch, say_it: Callable[[], Any]
) -> Any:
    """An admin takes the role away after the page was shown, while the word waits for the item."""
    read = frame.locked

    def demote_first(approval_id: UUID, team_id: int) -> Approval | None:
        def demote() -> None:
            Membership.objects.filter(user=approver.user).update(role=Role.VIEWER)
            connection.close()

        with ThreadPoolExecutor(1) as pool:
            pool.submit(demote).result()
        return read(approval_id, team_id)

    monkeypatch.setattr(frame, "locked", demote_first)
    return say_it()


def test_a_role_that_goes_while_the_word_is_on_its_way_counts(
    operator: Member, approver: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    approval = a_gate(operator)
    outcome = _demoted_on_the_way(approver, monkeypatch, lambda: say(approval, approver))
    assert outcome == Refused(verdict.NOT_YOURS)
    assert not Vote.objects.exists()


def test_a_role_that_goes_while_a_program_speaks_counts(
    operator: Member, approver: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    approval = a_gate(operator)
    said = proof(approval, approver)
    answer = _demoted_on_the_way(
        approver, monkeypatch, lambda: by_api(approval, approver, said, yes=True)
    )
    assert (answer.status_code, answer.json()["detail"]) == (409, verdict.NOT_YOURS)
    assert not Vote.objects.exists()


def test_without_reading_the_role_again_the_word_would_be_taken_and_still_not_count(
    operator: Member, approver: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: what the page knew lets the vote in; the count does not believe the page."""
    approval = a_gate(operator)
    monkeypatch.setattr(access, "member_in", lambda *_: approver)
    outcome = _demoted_on_the_way(approver, monkeypatch, lambda: say(approval, approver))
    assert isinstance(outcome, Voted)
    assert outcome.came_to == Waiting(0, 1)
    approval.operation.refresh_from_db()
    assert approval.operation.state == State.AWAITING_APPROVAL


def test_a_refusal_and_the_last_yes_at_once_come_to_one_of_the_two(
    operator: Member, approver: Member, join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    approval, second, third = a_gate(operator, {"quorum": 2}), join(), join()
    say(approval, approver)
    outcomes = _at_once(
        monkeypatch,
        lambda: say(approval, second),
        lambda: say(approval, third, Verdict.DENY),
    )
    assert sum(isinstance(one, Voted) for one in outcomes) == 1
    assert sum(isinstance(one, Lost) for one in outcomes) == 1
    approval.refresh_from_db()
    approval.operation.refresh_from_db()
    assert approval.state == ApprovalState.DECIDED
    expected = State.READY if approval.decision == Verdict.APPROVE else State.DENIED
    assert approval.operation.state == expected


def test_two_who_confirm_at_once_are_sent_once(
    ask: Ask, team: Team, approver: Member, join: Join, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions_rule(team)
    approval, second, third = ask(fields=NAME), join(), join()
    propose(approval, approver, {"name": "api"})
    outcomes = _at_once(
        monkeypatch,
        lambda: confirm(approval, second),
        lambda: confirm(approval, third),
    )
    assert sum(isinstance(one, Decided) for one in outcomes) == 1
    assert sum(isinstance(one, Lost) for one in outcomes) == 1
    assert Delivery.objects.count() == 1
