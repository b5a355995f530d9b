"""What the outbox holds after each change, counted exactly."""

from collections import Counter
from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from approvals import notices
from approvals.models import Approval, ApprovalState, Audience, Choice, Comment, Vote
from mcpdesk.accounts import access
from mcpdesk.accounts.models import Role, Team
from mcpdesk.notify import outbox
from mcpdesk.notify.models import (
    Channel,
    Message,
    MessageState,
    Preference,
    TeamNotices,
    Timing,
    Topic,
)
from tasks_monitor.models import Payload
from tests.factories import NOW, MembershipFactory
from tests.notify.conftest import Join, browser_of, put, webhook

pytestmark = pytest.mark.django_db


def waiting() -> Counter[tuple[str, str]]:
    """How many messages wait, by event and medium."""
    found = Message.objects.filter(state=MessageState.WAITING)
    return Counter(found.values_list("event", "medium"))


def close(approval: Approval, state: ApprovalState = ApprovalState.WITHDRAWN) -> None:
    approval.state, approval.closed_at = state, NOW
    approval.save()
    notices.closed(approval, NOW)


def test_everybody_who_may_decide_is_told_once_by_each_way_they_have(
    approval: Approval, team: Team, join: Join
) -> None:
    anna, _ben = join(), join()
    join(Role.VIEWER)
    MembershipFactory(role=Role.APPROVER)
    browser_of(anna)
    webhook(team)
    put(approval)
    put(approval)
    event = "approval.opened"
    assert waiting() == {(event, "email"): 2, (event, "push"): 1, (event, "webhook"): 1}


def test_a_message_leaves_no_earlier_than_fifteen_seconds_later(
    approval: Approval, join: Join
) -> None:
    join()
    put(approval)
    assert Message.objects.get().next_at == NOW + timedelta(seconds=15)


def test_what_closes_within_the_wait_is_told_to_nobody(
    approval: Approval, team: Team, join: Join
) -> None:
    browser_of(join())
    webhook(team)
    put(approval)
    close(approval)
    assert set(Message.objects.values_list("state", flat=True)) == {MessageState.DROPPED}


def test_another_item_of_the_same_operation_is_not_dropped_along(
    approval: Approval, join: Join
) -> None:
    join()
    put(approval)
    outbox.drop(outbox.About(approval.team_id, "approval:another"), now=NOW)
    assert waiting() == {("approval.opened", "email"): 1}


def test_what_was_sent_says_what_came_of_it_except_by_mail(
    approval: Approval, team: Team, join: Join
) -> None:
    browser_of(join())
    webhook(team)
    put(approval)
    Message.objects.update(state=MessageState.SENT, next_at=None)
    close(approval)
    close(approval)
    assert waiting() == {("approval.closed", "push"): 1, ("approval.closed", "webhook"): 1}
    said = Message.objects.filter(event="approval.closed").first()
    assert said is not None
    assert said.content["sentence"] == "The server withdrew its question."


def test_what_is_on_its_way_is_not_tried_again_and_is_followed_after_its_lease(
    approval: Approval, team: Team
) -> None:
    webhook(team)
    put(approval)
    until = NOW + timedelta(seconds=60)
    Message.objects.update(state=MessageState.SENDING, leased_until=until)
    close(approval)
    first, second = Message.objects.order_by("created_at", "state")
    assert (first.state, first.unwanted) == (MessageState.SENDING, True)
    assert (second.event, second.next_at) == ("approval.closed", until)


def test_an_expiry_never_reads_as_a_refusal(approval: Approval, team: Team) -> None:
    webhook(team)
    put(approval)
    Message.objects.update(state=MessageState.SENT, next_at=None)
    close(approval, ApprovalState.EXPIRED)
    said = Message.objects.get(event="approval.closed").content["sentence"]
    assert said == "It expired: the server's time for it ran out. Nobody refused it."


@pytest.mark.parametrize("ours", [None, NOW + timedelta(hours=1)])
@pytest.mark.parametrize("theirs", [None, NOW + timedelta(hours=2)])
def test_a_message_says_whose_deadline_is_whose(
    approval: Approval, team: Team, join: Join, ours: datetime | None, theirs: datetime | None
) -> None:
    join()
    webhook(team)
    approval.deadline_at, approval.operation.expires_at = ours, theirs
    put(approval)
    for message in Message.objects.all():
        facts = dict(message.content["facts"])
        assert facts.get("Our deadline") == (ours and f"{ours:%Y-%m-%d %H:%M} UTC")
        assert facts.get("Deadline of the server") == (theirs and f"{theirs:%Y-%m-%d %H:%M} UTC")


def test_a_decision_is_told_with_the_name_of_who_decided(
    approval: Approval, team: Team, join: Join
) -> None:
    webhook(team)
    put(approval)
    Message.objects.update(state=MessageState.SENT, next_at=None)
    approval.decided_by, approval.decision, approval.decided_at = join(name="Dora"), "decline", NOW
    close(approval, ApprovalState.DECIDED)
    assert approval.decision == Choice.DECLINE
    said = Message.objects.get(event="approval.closed").content["sentence"]
    assert said == "Dora declined it."


def test_each_reminder_is_told_once(approval: Approval, join: Join) -> None:
    join()
    for behind in (1, 1, 2):
        approval.reminders = behind
        notices.reminded(approval, NOW)
    assert waiting() == {("approval.reminder", "email"): 2}


def test_an_escalation_is_told_to_those_who_were_not_asked_before(
    approval: Approval, join: Join
) -> None:
    join()
    approval.audience = Audience.REQUESTER
    approval.save()
    starter = approval.operation.started_by
    MembershipFactory(team=approval.team, user=starter, role=Role.APPROVER)
    put(approval)
    approval.audience, approval.escalations = Audience.APPROVERS, 1
    approval.save()
    notices.escalated(approval, {starter.pk}, NOW)
    told = Message.objects.filter(event="approval.escalated")
    assert told.exclude(user=starter).count() == told.count() == 1


def test_a_step_that_asks_nobody_new_tells_those_again_who_have_not_said_a_word(
    approval: Approval, join: Join
) -> None:
    voter, silent = join(), join()
    approval.escalations = 1
    approval.save()
    Vote.objects.create(approval=approval, user=voter, version=1, choice="approve", at=NOW)
    asked = {user.pk for user in access.deciders(approval).users}
    notices.escalated(approval, asked, NOW)
    [message] = Message.objects.filter(event="approval.escalated")
    assert message.user == silent
    assert "Still undecided" in message.content["subject"]


def test_a_comment_is_told_to_whom_it_names_and_to_who_started_it(
    approval: Approval, join: Join
) -> None:
    author, named = join(), join()
    comment = Comment.objects.create(approval=approval, user=author, text="Why?", at=NOW)
    comment.mentions.set([author, named])
    notices.commented(comment, NOW)
    told = set(Message.objects.values_list("user", flat=True))
    assert told == {named.pk, approval.operation.started_by_id}
    assert "Why?" not in str([message.content for message in Message.objects.all()])


def test_handing_is_told_to_the_colleague_alone(approval: Approval, join: Join, team: Team) -> None:
    webhook(team)
    colleague = join()
    notices.handed(approval, colleague, join(name="Dora"), NOW)
    message = Message.objects.get()
    assert message.user == colleague
    assert message.content["subject"].startswith("Dora hands this to you: server-")


@pytest.mark.parametrize("unwanted", [{"email": False}, {"topics": [Topic.ALERT]}])
def test_nobody_gets_what_they_switched_off(
    approval: Approval, join: Join, unwanted: dict[str, Any]
) -> None:
    Preference.objects.create(user=join(), **unwanted)
    put(approval)
    assert not Message.objects.exists()


def test_without_a_mail_server_no_mail_is_written(
    approval: Approval, join: Join, settings: Any
) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    join()
    put(approval)
    assert not Message.objects.exists()


@pytest.mark.parametrize("off", [{"enabled": False}, {"topics": ["alert"]}])
def test_a_channel_that_is_off_or_wants_other_kinds_gets_nothing(
    approval: Approval, team: Team, off: dict[str, Any]
) -> None:
    webhook(team, **off)
    put(approval)
    assert not Message.objects.exists()


def test_quiet_hours_hold_a_message_back_until_they_end(approval: Approval, join: Join) -> None:
    user = join(time_zone="Europe/Warsaw")
    Preference.objects.create(user=user, quiet_from=time(14), quiet_to=time(16, 30))
    browser_of(user)
    put(approval)
    ends = NOW.astimezone(ZoneInfo("Europe/Warsaw")).replace(hour=16, minute=30)
    assert [message.next_at for message in Message.objects.all()] == [ends, ends]


def test_a_digest_waits_for_its_hour_and_a_browser_is_told_at_once(
    approval: Approval, join: Join
) -> None:
    user = join()
    Preference.objects.create(user=user, timing=Timing.HOURLY)
    browser_of(user)
    put(approval)
    due = dict(Message.objects.values_list("medium", "next_at"))
    assert due == {"email": NOW + timedelta(hours=1), "push": NOW + outbox.WAIT}


def test_arguments_are_in_no_message_unless_the_team_wants_them(
    approval: Approval, team: Team
) -> None:
    webhook(team)
    put(approval)
    assert Message.objects.get().content["arguments"] == ""
    Message.objects.all().delete()
    TeamNotices.objects.create(team=team, with_arguments=True)
    put(approval)
    assert Message.objects.get().content["arguments"] == '{"project":"api"}'


def test_long_arguments_are_cut_and_say_so(approval: Approval, team: Team) -> None:
    webhook(team)
    TeamNotices.objects.create(team=team, with_arguments=True)
    Payload.objects.update(arguments={"text": "x" * 5000})
    put(approval)
    kept = Message.objects.get().content["arguments"]
    assert len(kept) < 2100 and kept.endswith("(cut here: the page has all of it)")


def test_names_that_hide_something_are_written_out_on_one_line(
    approval: Approval, team: Team
) -> None:
    webhook(team)
    approval.operation.tool_name = "pay\r\nBcc: all@example.test\u202e"
    put(approval)
    subject = Message.objects.get().content["subject"]
    assert subject.endswith("“pay Bcc: all@example.test<U+202E>”")


def test_telling_costs_the_same_for_a_team_of_any_size(
    approval: Approval, team: Team, join: Join, django_assert_num_queries: Any
) -> None:
    for _ in range(5):
        browser_of(join(), f"https://push.example.test/{Channel.objects.count()}")
        webhook(team)
    with django_assert_num_queries(9):
        put(approval)
    assert Message.objects.count() == 15
