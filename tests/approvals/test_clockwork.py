"""The inbox's clock: reminders, escalation, expiry; each once, and never in anybody's name."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals import clockwork, notices, tasks
from approvals.models import Approval, ApprovalState, Audience, PolicyRule, Vote
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Role
from mcpdesk.audit.models import Event
from tasks_monitor.models import Attempt, Operation
from tasks_monitor.states import State
from tests.approvals.conftest import Ask, Join
from tests.approvals.gates import a_gate
from tests.factories import NOW, ApprovalFactory

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
TEN_HOURS = {"deadline_s": 36_000}

Told = list[tuple[str, datetime]]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """Whom notices were asked to tell, and when."""
    found: Told = []

    def noting(name: str) -> Callable[..., None]:
        return lambda approval, *at: found.append((name, at[-1]))

    for name in ("reminded", "escalated", "closed", "nobody_left", "somebody_again"):
        monkeypatch.setattr(notices, name, noting(name))
    return found


def looks(*hours: float) -> None:
    for hour in hours:
        clockwork.look(NOW + hour * HOUR)


def every_minute(first: float, last: float) -> None:
    """The clock as it runs, from one hour to another."""
    for minute in range(int(first * 60), int(last * 60) + 1):
        clockwork.look(NOW + timedelta(minutes=minute))


def steps(*times: tuple[float, str], people: tuple[int, ...] = ()) -> dict[str, Any]:
    """An ask part that escalates after so many hours to these audiences."""
    escalation = [
        {
            "after_s": int(hours * 3600),
            "audience": audience,
            "people": list(people) if audience == "people" else [],
        }
        for hours, audience in times
    ]
    return {**TEN_HOURS, "escalation": escalation}


# reminders


def test_reminders_come_at_half_and_nine_tenths_and_each_once(
    operator: Member, approver: Member, told: Told
) -> None:
    a_gate(operator, TEN_HOURS)
    every_minute(0, 9.5)
    assert told == [("reminded", NOW + 5 * HOUR), ("reminded", NOW + 9 * HOUR)]
    sentences = [e.sentence for e in Event.objects.filter(kind="approval.reminded").order_by("id")]
    assert sentences == [
        "Reminded: half of its time is over",
        "Reminded: nine tenths of its time is over",
    ]


def test_after_a_clock_that_stood_still_only_the_latest_reminder_comes(
    operator: Member, approver: Member, told: Told
) -> None:
    a_gate(operator, TEN_HOURS)
    looks(0, 9.5, 9.6, 9.9)
    assert told == [("reminded", NOW + 9.5 * HOUR)]


def test_after_a_clock_that_stood_still_past_the_deadline_nobody_is_reminded(
    operator: Member, approver: Member, told: Told
) -> None:
    a_gate(operator, steps((2, "admins")) | TEN_HOURS)
    looks(0, 30, 31)
    assert told == [("closed", NOW + 30 * HOUR)]


def test_what_is_decided_is_reminded_of_no_more(ask: Ask, approver: Member, told: Told) -> None:
    ask()
    Approval.objects.update(deadline_at=NOW + 10 * HOUR, state=ApprovalState.WITHDRAWN)
    looks(5, 9)
    assert told == []


def test_without_a_deadline_of_ours_nobody_is_reminded(
    ask: Ask, approver: Member, told: Told
) -> None:
    ask()
    looks(1, 1000)
    assert told == []


def test_the_servers_own_deadline_reminds_nobody_and_expires_nothing_of_ours(
    ask: Ask, approver: Member, told: Told
) -> None:
    approval = ask()
    Operation.objects.update(expires_at=NOW + HOUR)
    looks(0.5, 0.9, 2)
    approval.refresh_from_db()
    assert (approval.is_open, told) == (True, [])


# escalation


def test_a_step_puts_it_to_the_next_audience_in_addition(
    operator: Member, join: Join, told: Told
) -> None:
    approver, admin = join(Role.APPROVER), join(Role.ADMIN)
    approval = a_gate(
        operator, {**steps((2, "approvers")), "audience": "requester", "four_eyes": False}
    )
    assert not access.may_decide(approver, approval)
    looks(1)
    assert told == []

    looks(2, 3)

    approval.refresh_from_db()
    assert all(access.may_decide(m, approval) for m in (operator, approver, admin))
    assert told == [("escalated", NOW + 2 * HOUR)]
    (event,) = Event.objects.filter(kind="approval.escalated")
    assert event.sentence == "Also put to the team's approvers (step 1)"


def test_four_eyes_keep_the_starter_out_through_every_step(join: Join, told: Told) -> None:
    starter = join(Role.ADMIN)
    join(Role.APPROVER)
    approval = a_gate(
        starter,
        {
            **steps((1, "people"), (2, "admins"), (3, "approvers"), people=(starter.user_id,)),
            "audience": "people",
            "people": [join().user_id],
            "four_eyes": True,
        },
    )
    looks(1, 2, 3)
    approval.refresh_from_db()
    assert approval.escalations == 3
    assert not access.may_decide(starter, approval)


def test_named_people_are_asked_beside_the_audience_there_was(
    operator: Member, join: Join, told: Told
) -> None:
    approver, named = join(Role.APPROVER), join(Role.OPERATOR)
    approval = a_gate(operator, steps((1, "people"), people=(named.user_id,)))
    looks(1)
    approval.refresh_from_db()
    assert approval.audience == Audience.APPROVERS
    assert all(access.may_decide(m, approval) for m in (approver, named))


def test_the_admins_never_narrow_what_the_approvers_were_asked(
    operator: Member, approver: Member, told: Told
) -> None:
    approval = a_gate(operator, steps((1, "admins")))
    looks(1)
    approval.refresh_from_db()
    assert access.may_decide(approver, approval)


def test_named_people_stay_asked_when_it_goes_to_the_admins(
    operator: Member, join: Join, told: Told
) -> None:
    named, admin, approver = join(Role.APPROVER), join(Role.ADMIN), join(Role.APPROVER)
    ask = {**steps((1, "admins")), "audience": "people", "people": [named.user_id]}
    approval = a_gate(operator, ask)
    looks(1)
    approval.refresh_from_db()
    asked = [access.may_decide(m, approval) for m in (named, admin, approver)]
    assert asked == [True, True, False]


def test_steps_that_were_missed_are_taken_together_and_told_once(
    operator: Member, join: Join, told: Told
) -> None:
    join(Role.ADMIN)
    ask = {
        **steps((1, "admins"), (2, "approvers")),
        "audience": "people",
        "people": [join().user_id],
    }
    approval = a_gate(operator, ask)
    looks(3, 4)
    approval.refresh_from_db()
    assert (approval.escalations, approval.audience) == (2, Audience.APPROVERS)
    assert told == [("escalated", NOW + 3 * HOUR)]


def test_a_form_that_is_open_outlives_an_escalation(operator: Member, approver: Member) -> None:
    approval = a_gate(operator, steps((1, "admins")))
    looks(1)
    assert Approval.objects.get().version == approval.version


def test_a_snapshot_that_cannot_be_read_escalates_nothing_and_still_expires(
    operator: Member, approver: Member, told: Told
) -> None:
    approval = a_gate(operator, TEN_HOURS)
    Approval.objects.update(policy={"ask": {"escalation": "soon"}})
    looks(1, 10)
    approval.refresh_from_db()
    assert approval.state == ApprovalState.EXPIRED
    assert "escalated" not in dict(told)


# the clock itself


def test_a_clock_that_was_off_for_days_does_each_thing_once_and_allows_nothing(
    operator: Member, join: Join, told: Told
) -> None:
    join(), join(Role.ADMIN)
    short = a_gate(operator, TEN_HOURS)
    PolicyRule.objects.all().delete()
    long = a_gate(operator, {**steps((1, "admins")), "deadline_s": 90 * 3600})

    for _ in range(3):
        looks(48)

    assert sorted(told) == sorted(
        [(name, NOW + 48 * HOUR) for name in ("closed", "reminded", "escalated")]
    )
    assert not Attempt.objects.exists()
    assert not Vote.objects.exists()
    states = [Operation.objects.get(pk=item.operation_id).state for item in (short, long)]
    assert states == [State.EXPIRED, State.AWAITING_APPROVAL]


def test_the_sweep_looks_by_the_time_it_is(operator: Member, approver: Member) -> None:
    a_gate(operator, TEN_HOURS)
    with time_machine.travel(NOW + 5 * HOUR, tick=False):
        tasks.sweep()
        tasks.sweep()
    assert Approval.objects.get().reminders == 1
    with time_machine.travel(NOW + 11 * HOUR, tick=False):
        tasks.sweep()
    assert Approval.objects.get().state == ApprovalState.EXPIRED


def test_an_item_is_looked_at_when_something_can_be_due_and_not_before(
    operator: Member, approver: Member
) -> None:
    a_gate(operator, {"deadline_s": 1200})
    looks(0)
    assert Approval.objects.get().look_at == NOW + timedelta(minutes=10)
    a_gate(operator, TEN_HOURS, tool="other")
    looks(0)
    assert Approval.objects.order_by("created_at").last().look_at <= NOW + HOUR


def test_an_item_that_cannot_be_looked_at_keeps_no_other_waiting(
    operator: Member, approver: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = a_gate(operator, TEN_HOURS), a_gate(operator, TEN_HOURS, tool="other")

    def fail_for_one(approval: Approval, now: datetime) -> None:
        if approval.pk == bad.pk:
            raise RuntimeError("no")

    monkeypatch.setattr(notices, "reminded", fail_for_one)
    looks(5)
    bad.refresh_from_db()
    good.refresh_from_db()
    assert (bad.reminders, good.reminders) == (0, 1)
    assert bad.look_at == NOW + 5 * HOUR + clockwork.AFTER_A_FAULT


def test_an_item_whose_operation_is_over_is_closed_whenever_it_was_to_be_looked_at(
    ask: Ask, approver: Member
) -> None:
    approval = ask()
    looks(0)
    Operation.objects.update(state=State.COMPLETED, finished_at=NOW)
    looks(0.01)
    approval.refresh_from_db()
    assert approval.state == ApprovalState.CLOSED


def test_with_nothing_due_a_look_costs_the_same_however_many_items_are_open(
    ask: Ask, approver: Member
) -> None:
    ask()
    ApprovalFactory.create_batch(60)
    looks(0)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        looks(0.01)
    assert len(queries) == 2


def test_a_look_takes_a_batch_and_the_next_one_goes_on(
    ask: Ask, approver: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clockwork, "BATCH", 2)
    for _ in range(5):
        ask()
    Approval.objects.update(deadline_at=NOW)
    counts = [clockwork.look(NOW) for _ in range(4)]
    assert counts == [2, 2, 1, 0]
