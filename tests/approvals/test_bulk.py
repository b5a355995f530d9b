"""Several at once: each item has its own check, its own transaction and its own result."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from approvals import binding, bulk, selectors
from approvals.filters import Chosen
from approvals.models import Approval, Choice, Verdict, Vote
from approvals.outcomes import Refused
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Membership, Role
from tasks_monitor.models import Delivery, Operation
from tasks_monitor.states import State
from tests.approvals.conftest import Ask, Join
from tests.approvals.gates import a_gate, request, say
from tests.factories import TeamFactory, url_params

pytestmark = pytest.mark.django_db(transaction=True)

NAME = {"name": {"type": "string"}}


def _gates(operator: Member, count: int, **more: Any) -> list[Approval]:
    """Gates for calls that this operator asks for; the first one makes the rule."""
    first = a_gate(operator, **more)
    others = [request(operator).approval for _ in range(count - 1)]
    return [first, *others]


def _tokens(member: Member, *approvals: Approval) -> dict[Any, str]:
    """What the page that asks once more puts into its form."""
    shown = bulk.show(member, [one.pk for one in approvals], timezone.now())
    return {one.approval.pk: one.token for one in shown}


def _decide(
    member: Member, *approvals: Approval, verdict: Verdict = Verdict.APPROVE, **more: Any
) -> list[bulk.Line]:
    tokens = more.pop("tokens", None) or _tokens(member, *approvals)
    lines = bulk.decide_each(tokens, member=member, verdict=verdict, **more)
    assert isinstance(lines, list)
    return lines


def _why(member: Member, approval: Approval) -> str:
    """Why the list has no box for it; empty: it has one."""
    rows = selectors.page(member, Chosen(), timezone.now()).rows
    row = next(one for one in rows if one.pk == approval.pk)
    return bulk.why_alone(member, [row], timezone.now())[row.pk]


def test_gates_and_confirmations_are_approved_together(
    ask: Ask, approver: Member, operator: Member
) -> None:
    gates, question = _gates(operator, 2), ask()
    lines = _decide(approver, *gates, question)
    assert [line.done for line in lines] == [True, True, True]
    states = set(Operation.objects.filter(approvals__in=gates).values_list("state", flat=True))
    assert states == {State.READY}
    assert Delivery.objects.get().response == {"action": "accept", "content": {}}
    assert Vote.objects.filter(user=approver.user).count() == 3


def test_denying_refuses_calls_and_declines_questions_and_keeps_the_reason(
    ask: Ask, approver: Member, operator: Member
) -> None:
    [gate], question = _gates(operator, 1), ask()
    lines = _decide(approver, gate, question, verdict=Verdict.DENY, reason="not today")
    assert all(line.done for line in lines)
    assert Operation.objects.get(approvals=gate).state == State.DENIED
    assert Vote.objects.get(approval=gate).reason == "not today"
    question.refresh_from_db()
    assert question.decision == Choice.DECLINE


@pytest.mark.parametrize("reason", ["", "  ", "x" * 501])
def test_nothing_is_denied_without_a_proper_reason(
    approver: Member, operator: Member, reason: str
) -> None:
    [gate] = _gates(operator, 1)
    tokens = _tokens(approver, gate)
    outcome = bulk.decide_each(tokens, member=approver, verdict=Verdict.DENY, reason=reason)
    assert isinstance(outcome, Refused)
    assert not Vote.objects.exists()


def test_more_than_the_most_or_none_at_all_is_refused_whole(approver: Member) -> None:
    many = {uuid4(): "" for _ in range(bulk.MAX_ITEMS + 1)}
    for tokens in (many, {}):
        outcome = bulk.decide_each(tokens, member=approver, verdict=Verdict.APPROVE)
        assert isinstance(outcome, Refused)


def test_one_that_somebody_else_decided_does_not_hold_back_the_others(
    approver: Member, operator: Member, join: Join
) -> None:
    first, second, third = _gates(operator, 3)
    tokens, quick = _tokens(approver, first, second, third), join()
    say(second, quick, now=timezone.now())
    lines = {line.approval: line for line in _decide(approver, tokens=tokens)}
    assert (lines[first].done, lines[second].done, lines[third].done) == (True, False, True)
    assert quick.user.name in lines[second].sentence


@pytest.mark.parametrize("read", ["decidable_among", "picked"])
def test_one_that_somebody_decides_after_either_read_is_told_as_decided_by_them(
    approver: Member, operator: Member, join: Join, monkeypatch: pytest.MonkeyPatch, read: str
) -> None:
    [gate], quick = _gates(operator, 1), join()
    tokens, real = _tokens(approver, gate), getattr(selectors, read)

    def then_decided_by_another(*asked: Any) -> Any:
        found = real(*asked)
        say(gate, quick, now=timezone.now())
        return found

    monkeypatch.setattr(selectors, read, then_decided_by_another)
    [line] = _decide(approver, tokens=tokens)
    assert not line.done
    assert f"{quick.user} approved this before you" in line.sentence


def test_the_same_post_again_decides_nothing_twice(approver: Member, operator: Member) -> None:
    gates = _gates(operator, 2)
    tokens = _tokens(approver, *gates)
    _decide(approver, tokens=tokens)
    again = _decide(approver, tokens=tokens)
    assert [line.done for line in again] == [False, False]
    assert all("You already approved this" in line.sentence for line in again)
    assert Vote.objects.count() == 2


@pytest.mark.parametrize("role", [Role.VIEWER, Role.OPERATOR, Role.AUDITOR])
def test_nobody_decides_together_what_they_could_not_decide_alone(
    operator: Member, join: Join, approver: Member, role: Role
) -> None:
    [gate], other = _gates(operator, 1), join(role)
    stolen = binding.bind(gate, user_id=other.user_id, now=timezone.now())
    [line] = _decide(other, tokens={gate.pk: stolen})
    assert not line.done
    assert not Vote.objects.exists()


def test_whoever_started_it_is_refused_among_many_too(
    ask: Ask, approver: Member, join: Join
) -> None:
    """Four eyes: the requester is an approver, and has a token that is theirs."""
    [own] = _gates(approver, 1)
    token = binding.bind(own, user_id=approver.user_id, now=timezone.now())
    [line] = _decide(approver, tokens={own.pk: token})
    assert not line.done
    assert not Vote.objects.exists()


def test_a_role_that_was_lost_after_the_page_was_shown_decides_nothing(
    approver: Member, operator: Member
) -> None:
    gates = _gates(operator, 2)
    tokens = _tokens(approver, *gates)
    Membership.objects.filter(user=approver.user).update(role=Role.VIEWER)
    lines = _decide(approver, tokens=tokens)
    assert [line.done for line in lines] == [False, False]
    assert not Vote.objects.exists()


def test_another_teams_items_do_not_exist(operator: Member, join: Join) -> None:
    [gate], stranger = _gates(operator, 1), join(Role.ADMIN, team=TeamFactory())
    token = binding.bind(gate, user_id=stranger.user_id, now=timezone.now())
    assert _decide(stranger, tokens={gate.pk: token}) == [bulk.Line(None, False, bulk.GONE)]
    assert bulk.show(stranger, [gate.pk], timezone.now()) == []


@pytest.mark.parametrize(
    "forged", ["", "nonsense", "of another item", "of another person", "of another question"]
)
def test_each_item_needs_the_token_that_it_was_shown_with(
    approver: Member, operator: Member, join: Join, forged: str
) -> None:
    gate, other = _gates(operator, 2)
    token = {
        "of another item": _tokens(approver, other).get(other.pk, ""),
        "of another person": _tokens(join(), gate).get(gate.pk, ""),
        "of another question": _tokens(approver, gate).get(gate.pk, ""),
    }.get(forged, forged)
    if forged == "of another question":
        Approval.objects.filter(pk=gate.pk).update(version=2)
    lines = _decide(approver, tokens={gate.pk: token, other.pk: _tokens(approver, other)[other.pk]})
    assert [line.done for line in lines] == [False, True]


def test_a_database_that_breaks_in_the_middle_is_one_line(
    approver: Member, operator: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = _gates(operator, 3)
    real = bulk.decide_gate

    def breaks_once(pk: Any, **more: Any) -> Any:
        if pk == second.pk:
            raise OperationalError("deadlock detected")
        return real(pk, **more)

    monkeypatch.setattr(bulk, "decide_gate", breaks_once)
    lines = {line.approval: line for line in _decide(approver, first, second, third)}
    assert lines[second] == bulk.Line(second, False, bulk.NOT_TAKEN)
    assert lines[first].done
    assert lines[third].done


def test_what_has_a_box_is_a_plain_yes_or_no(ask: Ask, approver: Member, operator: Member) -> None:
    [gate] = _gates(operator, 1)
    assert _why(approver, gate) == ""
    assert _why(approver, ask()) == ""


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ({"fields": NAME}, "more than yes or no"),
        ({"params": url_params("https://pay.example.com/")}, "more than yes or no"),
        ({"problem": "This desk does not offer that."}, "more than yes or no"),
        ({"message": "a" * 601}, "Its message is long"),
        ({"message": "a\n" * 13}, "Its message is long"),
        ({"message": "Sure?\u202e"}, "something to be careful about"),
        ({"arguments": {"sql": "x" * 301}}, "Its arguments are long"),
        ({"arguments": {"url": "https://аррӏе.com"}}, "not what it looks like"),
        ({"arguments": {f"n{number}": "x" * 100 for number in range(99)}}, "arguments are long"),
    ],
)
def test_what_has_to_be_opened_has_no_box_and_is_decided_by_no_bulk(
    ask: Ask, approver: Member, question: dict[str, Any], why: str
) -> None:
    approval = ask(**question)
    assert why in _why(approver, approval)
    [shown] = bulk.show(approver, [approval.pk], timezone.now())
    assert (why in shown.alone, shown.token) == (True, "")
    whole = selectors.find([approver], approval.pk)
    assert whole is not None
    token = binding.bind(whole[1], user_id=approver.user_id, now=timezone.now())
    [line] = _decide(approver, tokens={approval.pk: token})
    assert (line.done, why in line.sentence) == (False, True)
    assert not Vote.objects.exists()


def test_a_call_that_may_have_arrived_already_is_opened_before_it_is_sent_again(
    approver: Member, operator: Member
) -> None:
    [gate] = _gates(operator, 1)
    Approval.objects.update(created_at=gate.created_at + timedelta(hours=1))
    assert "It was sent before" in _why(approver, gate)


def test_what_somebody_else_claimed_has_no_box_and_what_i_claimed_has_one(
    approver: Member, operator: Member, join: Join
) -> None:
    [gate], colleague = _gates(operator, 1), join()
    until = timezone.now() + timedelta(minutes=5)
    Approval.objects.update(claimed_by=colleague.user, claimed_until=until)
    assert colleague.user.name in _why(approver, gate)
    Approval.objects.update(claimed_by=approver.user)
    assert _why(approver, gate) == ""
    Approval.objects.update(claimed_by=colleague.user, claimed_until=timezone.now())
    assert _why(approver, gate) == ""


def test_a_quorum_counts_the_word_and_says_that_more_are_needed(
    approver: Member, operator: Member, join: Join
) -> None:
    join()
    [gate] = _gates(operator, 1, ask={"quorum": 2})
    [line] = _decide(approver, gate)
    assert line.done
    assert "Nothing is sent yet: waiting for 1 more of 2." in line.sentence
    assert Operation.objects.get().state == State.AWAITING_APPROVAL


def test_why_some_have_no_box_costs_one_query_however_many_there_are(
    ask: Ask, approver: Member, django_assert_num_queries: Callable[[int], Any]
) -> None:
    for _ in range(5):
        ask()
    rows = selectors.page(approver, Chosen(), timezone.now()).rows
    with django_assert_num_queries(1):
        bulk.why_alone(approver, rows, timezone.now())


def test_two_people_at_the_same_moment_decide_each_item_once(
    approver: Member, operator: Member, join: Join
) -> None:
    """The lock of decide_gate keeps one from the other; test_verdict_race has the control."""
    gates, other = _gates(operator, 4), join()
    given = [(member, _tokens(member, *gates)) for member in (approver, other)]

    def both(number: int) -> list[bulk.Line]:
        try:
            member, tokens = given[number]
            return _decide(member, tokens=tokens)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        lines = [line for found in pool.map(both, range(2)) for line in found]
    assert sum(line.done for line in lines) == 4
    assert Vote.objects.count() == 4
    assert all("before you" in line.sentence for line in lines if not line.done)
