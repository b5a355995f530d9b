"""From the call that asks to what arrived, by the product's own verbs and a moved clock."""

from collections import Counter
from datetime import timedelta

import pytest
from django.core import mail

from approvals import clockwork
from approvals.models import Approval, Verdict
from mcpdesk.accounts.access import Member, member_in
from mcpdesk.accounts.models import Role, Team
from mcpdesk.notify import selectors
from mcpdesk.notify.models import Alert, Message
from tests.approvals.gates import a_gate, say
from tests.factories import NOW, MembershipFactory, TeamFactory
from tests.notify.conftest import send_due, webhook
from tests.notify.receiver import Receiver

# clockwork.look and the verbs of deciding are transactions of their own
pytestmark = pytest.mark.django_db(transaction=True)

HOURS_10 = {"deadline_s": 36_000}


@pytest.fixture
def team(db: None) -> Team:
    found: Team = TeamFactory()
    return found


@pytest.fixture(autouse=True)
def _no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcpdesk.audit.announce.post", lambda *_: None)
    monkeypatch.setattr("tasks_monitor.engine.doorbell.ring", lambda *_: None)
    monkeypatch.setattr("tasks_monitor.engine.doorbell.ring_task", lambda *_: None)
    monkeypatch.setattr("approvals.tasks.take_in.delay", lambda *_: None)


def member(team: Team, role: Role = Role.APPROVER, email: str = "") -> Member:
    given = {"user__email": email} if email else {}
    found = member_in(MembershipFactory(team=team, role=role, **given).user, team.pk)
    assert found is not None
    return found


@pytest.fixture
def anna(team: Team) -> Member:
    return member(team, email="anna@example.test")


@pytest.fixture
def gate(team: Team, anna: Member, receiver: Receiver) -> Approval:
    """A call of an operator that the approver decides within ten hours."""
    webhook(team, receiver.url, allow_private=True)
    return a_gate(member(team, Role.OPERATOR), HOURS_10)


def play(*hours: float) -> None:
    """The clock looks, twice, and the worker sends, at each of these times after the call."""
    for hour in hours:
        now = NOW + timedelta(hours=hour)
        clockwork.look(now)
        clockwork.look(now)
        for _ in range(3):
            send_due(now + timedelta(seconds=15))


def events(receiver: Receiver) -> list[str]:
    return [received.json["type"] for received in receiver.requests]


def mails() -> Counter[str]:
    return Counter(to for sent in mail.outbox for to in sent.to)


def test_what_is_decided_within_the_wait_is_told_to_nobody(
    gate: Approval, anna: Member, receiver: Receiver
) -> None:
    say(gate, anna, now=NOW + timedelta(seconds=10))
    play(0, 1, 11)
    assert (events(receiver), mails()) == ([], Counter())


def test_opening_both_reminders_and_the_end_are_told_once_each(
    gate: Approval, receiver: Receiver
) -> None:
    play(0, 4.9, 5.1, 5.2, 9.1, 10.1, 20)
    told = ["approval.opened", "approval.reminder", "approval.reminder", "approval.closed"]
    assert events(receiver) == told
    assert mails() == {"anna@example.test": 3}
    over = receiver.requests[-1].json["data"]["sentence"]
    assert over == "It expired: our own deadline passed. Nobody refused it."


def test_a_clock_that_was_off_for_hours_tells_nothing_late_or_twice(
    gate: Approval, receiver: Receiver
) -> None:
    play(0, 15, 16)
    assert events(receiver) == ["approval.opened", "approval.closed"]
    assert mails() == {"anna@example.test": 1}


def test_a_refusal_is_told_as_one(gate: Approval, anna: Member, receiver: Receiver) -> None:
    play(0)
    say(gate, anna, Verdict.DENY)
    play(1, 2)
    assert events(receiver) == ["approval.opened", "approval.closed"]
    assert receiver.requests[-1].json["data"]["sentence"] == f"{anna.user} denied it."


def test_who_has_said_yes_is_not_reminded_while_others_are_missing(
    team: Team, anna: Member
) -> None:
    member(team, email="ben@example.test")
    gate = a_gate(member(team, Role.OPERATOR), {**HOURS_10, "quorum": 2})
    play(0)
    say(gate, anna)
    play(5.1)
    assert mails() == {"anna@example.test": 1, "ben@example.test": 2}


def test_an_item_that_nobody_may_decide_alerts_the_admins_once_and_says_when_it_is_over(
    team: Team, receiver: Receiver
) -> None:
    webhook(team, receiver.url, allow_private=True)
    admin = member(team, Role.ADMIN, email="admin@example.test")
    gate = a_gate(admin, {**HOURS_10, "four_eyes": True})
    play(0, 1, 2)
    assert Alert.objects.filter(closed_at__isnull=True).count() == 1
    assert events(receiver).count("alert.opened") == 1
    member(team)
    Approval.objects.filter(pk=gate.pk).update(look_at=NOW)
    play(3)
    assert Alert.objects.filter(closed_at__isnull=True).count() == 0
    assert events(receiver).count("alert.closed") == 1


def test_the_item_shows_what_became_of_each_message(gate: Approval, receiver: Receiver) -> None:
    play(0)
    found = selectors.of_approval(member(gate.team, Role.ADMIN), gate.pk)
    assert Counter(message.state for message in found.latest) == {"sent": Message.objects.count()}
