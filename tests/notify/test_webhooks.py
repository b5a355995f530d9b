"""Webhooks against a real receiver: what it got, counted exactly, and what the desk made of it."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from standardwebhooks import Webhook

from approvals import notices
from approvals.models import Approval, ApprovalState
from mcpdesk.accounts.models import Team
from mcpdesk.audit.models import Event
from mcpdesk.http import posting
from mcpdesk.notify import settle
from mcpdesk.notify.claim import LEASE, claim
from mcpdesk.notify.deliver import carry
from mcpdesk.notify.media import webhook as signing
from mcpdesk.notify.media.result import NotSent
from mcpdesk.notify.models import Channel, ChannelKind, Message, MessageState, TeamNotices
from mcpdesk.notify.settle import MAX_ATTEMPTS
from tests.factories import NOW
from tests.notify.conftest import channel, put, send_due, webhook
from tests.notify.receiver import Behaviour, Receiver, closes, five_megabytes, status

pytestmark = pytest.mark.django_db

DUE = NOW + timedelta(seconds=15)


@pytest.fixture
def hook(team: Team, receiver: Receiver) -> Channel:
    return webhook(team, receiver.url, allow_private=True)


def the_message() -> Message:
    return Message.objects.get()


def tried_until_the_end(now: datetime = DUE) -> int:
    """Let the clock run from one attempt to the next until nothing waits; the attempts made."""
    attempts = 0
    while (message := the_message()).next_at is not None:
        now = max(now, message.next_at)
        attempts += send_due(now)
        assert attempts < 50
    return attempts


def test_one_event_arrives_once_with_a_link_and_no_arguments(
    approval: Approval, hook: Channel, receiver: Receiver
) -> None:
    put(approval)
    assert send_due(NOW + timedelta(seconds=14)) == 0
    assert send_due(DUE) == 1
    assert send_due(DUE) == 0
    (received,) = receiver.requests
    sent = received.json
    assert sent["type"] == "approval.opened"
    assert sent["data"]["url"] == f"https://desk.example.test/inbox/{approval.pk}/"
    assert sent["data"]["tool"] == "deploy_project"
    assert "project" not in sent["data"].get("arguments", "")
    assert the_message().state == MessageState.SENT


def test_the_official_library_verifies_what_was_sent(
    approval: Approval, hook: Channel, receiver: Receiver
) -> None:
    put(approval)
    send_due(DUE)
    (received,) = receiver.requests
    with time_machine.travel(DUE, tick=False):
        Webhook(hook.secret["current"]).verify(received.body.decode(), received.headers)
    assert received.headers["webhook-id"] == f"msg_{the_message().pk.hex}"


def test_old_and_new_secret_both_sign_for_a_day_and_then_the_new_one_alone(
    approval: Approval, hook: Channel, receiver: Receiver
) -> None:
    old = hook.secret["current"]
    hook.secret = signing.rotated(hook.secret, NOW)
    hook.save()
    put(approval)
    send_due(DUE)
    (received,) = receiver.requests
    with time_machine.travel(DUE, tick=False):
        for secret in (old, hook.secret["current"]):
            Webhook(secret).verify(received.body.decode(), received.headers)
    assert signing.in_force(hook.secret, NOW + timedelta(hours=24)) == [hook.secret["current"]]


def test_rotating_twice_cuts_no_receiver_off_before_its_day_is_over() -> None:
    kept, day = signing.rotated(None, NOW), timedelta(hours=24)
    first = kept["current"]
    kept = signing.rotated(kept, NOW)
    second = kept["current"]
    kept = signing.rotated(kept, NOW + timedelta(hours=1))
    third = kept["current"]
    assert signing.in_force(kept, NOW + timedelta(hours=2)) == [third, second, first]
    assert signing.in_force(kept, NOW + day) == [third, second]
    assert signing.in_force(kept, NOW + day + timedelta(hours=1)) == [third]


def test_however_often_it_is_rotated_a_request_stays_small() -> None:
    kept = signing.rotated(None, NOW)
    for _ in range(20):
        kept = signing.rotated(kept, NOW)
    assert len(signing.in_force(kept, NOW)) == 1 + signing.MAX_BEFORE
    assert len(kept["older"]) < signing.MAX_BEFORE


@pytest.mark.parametrize(
    ("behaviour", "says"),
    [
        (status(500), "The receiver is in trouble (HTTP 500)."),
        (status(429), "The receiver is in trouble (HTTP 429)."),
        (closes, "The connection broke before the answer was complete."),
    ],
)
def test_a_passing_failure_is_tried_again_with_longer_pauses_and_then_given_up(
    approval: Approval, hook: Channel, receiver: Receiver, behaviour: Behaviour, says: str
) -> None:
    receiver.behaviour = behaviour
    put(approval)
    assert tried_until_the_end() == len(receiver.requests) == MAX_ATTEMPTS
    assert (the_message().state, the_message().last_error) == (MessageState.DEAD, says)
    assert len({received.headers["webhook-id"] for received in receiver.requests}) == 1
    hook.refresh_from_db()
    assert (hook.enabled, hook.last_problem) == (True, says)
    assert Event.objects.filter(kind="notice.given_up").count() == 1


@pytest.mark.parametrize("code", [301, 308, 400, 401, 404])
def test_a_lasting_refusal_is_given_up_at_once(
    approval: Approval, hook: Channel, receiver: Receiver, code: int
) -> None:
    receiver.behaviour = status(code, ("Location", receiver.url + "/elsewhere"))
    put(approval)
    assert tried_until_the_end() == len(receiver.requests) == 1
    assert the_message().state == MessageState.DEAD
    assert f"HTTP {code}" in the_message().last_error


def test_a_receiver_that_is_gone_is_told_nothing_any_more(
    approval: Approval, hook: Channel, receiver: Receiver
) -> None:
    receiver.behaviour = status(410)
    put(approval)
    notices.reminded(approval, NOW)
    assert send_due(DUE) == 1
    send_due(DUE)
    assert len(receiver.requests) == 1
    hook.refresh_from_db()
    assert not hook.enabled
    assert "gone (HTTP 410)" in hook.off_because
    assert Event.objects.filter(kind="channel.gone").count() == 1
    assert set(Message.objects.values_list("state", flat=True)) == {"dead", "dropped"}


def test_of_a_chat_that_is_gone_it_says_what_was_answered(
    approval: Approval, team: Team, receiver: Receiver
) -> None:
    """Slack says 404 of a webhook that was removed."""
    chat = channel(team, ChannelKind.SLACK, {"url": receiver.url}, allow_private=True)
    receiver.behaviour = status(404)
    put(approval)
    send_due(DUE)
    chat.refresh_from_db()
    assert (chat.enabled, chat.off_because) == (False, "The address is gone (HTTP 404).")


def test_a_receiver_that_hangs_costs_one_time_limit(
    approval: Approval, hook: Channel, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(posting, "TIMEOUT_S", 0.2)
    receiver.behaviour = receiver.hangs
    put(approval)
    send_due(DUE)
    assert the_message().state == MessageState.FAILED
    assert the_message().last_error == "The server did not answer in time."


def test_an_endless_answer_is_not_read(
    approval: Approval, hook: Channel, receiver: Receiver
) -> None:
    receiver.behaviour = five_megabytes
    put(approval)
    send_due(DUE)
    assert the_message().state == MessageState.SENT


def test_a_receiver_that_recovers_has_the_event_once(
    approval: Approval, hook: Channel, receiver: Receiver
) -> None:
    receiver.behaviour = status(503, ("Retry-After", "600"))
    put(approval)
    send_due(DUE)
    assert the_message().next_at == DUE + timedelta(seconds=600)
    receiver.behaviour = status(204)
    assert tried_until_the_end() == 1
    assert the_message().state == MessageState.SENT
    hook.refresh_from_db()
    assert (hook.last_problem, hook.last_sent_at) == ("", DUE + timedelta(seconds=600))


@pytest.mark.parametrize("allowed", [(False, True), (True, False)])
def test_a_private_address_needs_an_admin_and_the_installation(
    approval: Approval, team: Team, receiver: Receiver, settings: Any, allowed: tuple[bool, bool]
) -> None:
    by_admin, settings.ALLOW_PRIVATE_SERVERS = allowed
    webhook(team, receiver.url, allow_private=by_admin)
    put(approval)
    send_due(DUE)
    assert receiver.requests == []
    assert the_message().state == MessageState.DEAD


def test_a_webhook_is_told_when_it_is_over(
    approval: Approval, hook: Channel, receiver: Receiver
) -> None:
    put(approval)
    send_due(DUE)
    approval.state, approval.closed_at = ApprovalState.EXPIRED, DUE
    approval.save()
    notices.closed(approval, DUE)
    send_due(DUE)
    types = [received.json["type"] for received in receiver.requests]
    assert types == ["approval.opened", "approval.closed"]
    assert len({received.headers["webhook-id"] for received in receiver.requests}) == 2


def test_a_webhook_that_may_have_taken_it_is_told_the_end_too(
    approval: Approval, hook: Channel, receiver: Receiver
) -> None:
    receiver.behaviour = closes
    put(approval)
    send_due(DUE)
    approval.state, approval.closed_at = ApprovalState.WITHDRAWN, DUE
    approval.save()
    notices.closed(approval, DUE)
    receiver.behaviour = status(200)
    send_due(DUE)
    types = [received.json["type"] for received in receiver.requests]
    assert types == ["approval.opened", "approval.closed"]


def test_what_fails_while_the_matter_closes_is_not_tried_again(
    approval: Approval, hook: Channel, receiver: Receiver
) -> None:
    receiver.behaviour = status(500)
    put(approval)

    (parcel,) = claim(DUE, 1)
    approval.state, approval.closed_at = ApprovalState.WITHDRAWN, DUE
    approval.save()
    notices.closed(approval, DUE)
    carry(parcel, lambda: DUE)
    first = Message.objects.get(event="approval.opened")
    assert (first.state, len(receiver.requests)) == (MessageState.DROPPED, 0)


def test_a_message_whose_sender_died_goes_once_more_under_the_same_id(
    approval: Approval, hook: Channel, receiver: Receiver
) -> None:

    put(approval)
    (parcel,) = claim(DUE, 1)
    with pytest.MonkeyPatch.context() as dying:
        dying.setattr(settle, "settle", lambda *_: None)
        carry(parcel, lambda: DUE)
    assert send_due(DUE + LEASE - timedelta(seconds=1)) == 0
    assert send_due(DUE + LEASE) == 1
    assert send_due(DUE + 2 * LEASE) == 0
    assert len(receiver.requests) == 2
    assert len({received.headers["webhook-id"] for received in receiver.requests}) == 1


def test_who_comes_back_after_the_lease_changes_nothing(
    approval: Approval, hook: Channel, receiver: Receiver
) -> None:
    put(approval)
    (late,) = claim(DUE, 1)
    (other,) = claim(DUE + LEASE, 1)
    settle.settle(late.token, NotSent("Late.", permanent=True), DUE + LEASE)
    assert (the_message().state, the_message().lease_token) == ("sending", other.token)
    carry(other, lambda: DUE + LEASE)
    settle.settle(late.token, NotSent("Late.", permanent=True), DUE + LEASE)
    assert the_message().state == MessageState.SENT


@pytest.mark.parametrize(
    ("kind", "where"),
    [
        (ChannelKind.SLACK, lambda body: [b["type"] for b in body["blocks"]]),
        (ChannelKind.TEAMS, lambda body: [a["contentType"] for a in body["attachments"]]),
    ],
)
def test_chats_get_names_as_plain_text(
    approval: Approval,
    team: Team,
    receiver: Receiver,
    kind: ChannelKind,
    where: Callable[[Any], list[str]],
) -> None:
    channel(team, kind, {"url": receiver.url}, allow_private=True)
    approval.operation.tool_name = "<!channel> [pay](https://evil.example)"
    put(approval)
    assert send_due(DUE) == 1
    (received,) = receiver.requests
    assert where(received.json)
    text = received.body.decode()
    assert '"text": "<!channel>' not in received.json.get("text", "")
    assert "mrkdwn" not in text and '"TextBlock"' not in text
    assert f"https://desk.example.test/inbox/{approval.pk}/" in text


def test_arguments_switched_off_after_it_was_written_do_not_leave(
    approval: Approval, team: Team, hook: Channel, receiver: Receiver
) -> None:
    allowed = TeamNotices.objects.create(team=team, with_arguments=True)
    put(approval)
    allowed.with_arguments = False
    allowed.save()
    send_due(DUE)
    assert "arguments" not in receiver.requests[0].json["data"]


def test_a_sent_message_is_an_event_of_its_item(
    approval: Approval, hook: Channel, receiver: Receiver
) -> None:
    put(approval)
    send_due(DUE)
    event = Event.objects.get(kind="notice.sent")
    assert event.approval_id == approval.pk
    assert event.data == {"to": str(hook), "medium": "webhook", "topic": "Something is put to me"}


def test_nothing_of_the_target_is_readable_in_the_database(
    hook: Channel, receiver: Receiver
) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT target::text || secret::text FROM notify_channel")
        (row,) = cursor.fetchone()
    assert receiver.url not in row and "whsec_" not in row
