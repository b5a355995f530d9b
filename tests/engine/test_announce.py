"""An end is announced once, after its result is stored, and to whoever asked for it alone."""

import json
import threading
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from standardwebhooks import Webhook

from mcpdesk.accounts.models import Role
from mcpdesk.notify.claim import LEASE, claim
from mcpdesk.notify.media import webhook as signing
from mcpdesk.notify.models import Channel, ChannelKind, Medium, Message, Preference, Topic
from tasks_monitor.engine.reconcile import Choice, reconcile
from tasks_monitor.models import Operation, Payload
from tasks_monitor.states import State
from tests.engine import peer
from tests.engine.desk import ScriptedDesk
from tests.engine.racing import side_by_side
from tests.factories import NOW, MembershipFactory
from tests.notify.conftest import send_due
from tests.notify.receiver import Receiver, closes, status

pytestmark = pytest.mark.django_db

SECRET = "the-secret-of-the-result"
RESULT = [{"type": "text", "text": SECRET}]


@pytest.fixture
def receiver() -> Any:
    with Receiver() as running:
        yield running


@pytest.fixture
def hook(scripted: ScriptedDesk, receiver: Receiver) -> Channel:
    return a_hook(scripted, receiver.url)


def a_hook(desk: ScriptedDesk, url: str, *topics: Topic) -> Channel:
    """A signed webhook of the team that is told of what ended."""
    return Channel.objects.create(
        team=desk.server.team,
        kind=ChannelKind.WEBHOOK,
        name=f"hook {Channel.objects.count()}",
        target={"url": url},
        shown_as="http://127.0.0.1",
        secret=signing.rotated(None, NOW),
        topics=list(topics or [Topic.ENDED]),
        allow_private=True,
        created_at=NOW,
    )


def ended(desk: ScriptedDesk, *said: peer.Said) -> Operation:
    """A call that came to an end, with a secret in its arguments and its result."""
    desk.peer.will(peer.CALL, *(said or [peer.finished(content=RESULT)]))
    return desk.settle(desk.start(token=SECRET))


def said(receiver: Receiver) -> list[str]:
    return [received.json["type"] for received in receiver.requests]


def test_an_end_is_announced_at_once_with_its_outcome_and_no_payload(
    scripted: ScriptedDesk, hook: Channel, receiver: Receiver
) -> None:
    operation = ended(scripted)
    assert send_due(scripted.clock.now) == 1
    assert send_due(scripted.clock.now + timedelta(days=1)) == 0
    (received,) = receiver.requests
    event = received.json
    assert event["type"] == "operation.ended"
    assert operation.finished_at is not None
    at = operation.finished_at.isoformat()
    assert event["data"] == {
        "summary": f"Completed: {scripted.server.name}, “echo”",
        "sentence": "The tool returned its result.",
        "url": f"http://127.0.0.1:8642/operations/{operation.pk}/",
        "approval": None,
        "operation": str(operation.pk),
        "team": scripted.server.team.name,
        "server": scripted.server.name,
        "tool": "echo",
        "started_by": str(scripted.actor.user),
        "outcome": "succeeded",
        "state": "completed",
        "is_error": False,
        "idempotency_key": None,
        "created_at": operation.created_at.isoformat(),
        "changed_at": at,
        "finished_at": at,
    }
    assert SECRET not in received.body.decode()


@pytest.mark.parametrize(("key", "told"), [("api:release-43", "release-43"), ("form:1", None)])
def test_the_key_is_told_as_the_program_gave_it_and_a_forms_own_is_not(
    scripted: ScriptedDesk, hook: Channel, receiver: Receiver, key: str, told: str | None
) -> None:
    scripted.peer.will(peer.CALL, peer.finished())
    operation = scripted.start()
    Operation.objects.filter(pk=operation.pk).update(idempotency_key=key)
    scripted.settle(operation)
    send_due(scripted.clock.now)
    (received,) = receiver.requests
    assert received.json["data"]["idempotency_key"] == told


def test_the_official_library_verifies_the_announcement(
    scripted: ScriptedDesk, hook: Channel, receiver: Receiver
) -> None:
    ended(scripted)
    send_due(scripted.clock.now)
    (received,) = receiver.requests
    with time_machine.travel(scripted.clock.now, tick=False):
        Webhook(hook.secret["current"]).verify(received.body.decode(), received.headers)


@pytest.mark.parametrize(
    ("answer", "state", "outcome", "summary"),
    [
        (
            peer.finished(isError=True, content=RESULT),
            "completed",
            "tool_error",
            "The tool reported an",
        ),
        (peer.Error(-32603, 200), "failed", "failed", "Failed: "),
        (peer.handle("cancelled"), "cancelled", "cancelled", "Cancelled: "),
    ],
)
def test_each_way_to_end_says_which(
    scripted: ScriptedDesk,
    hook: Channel,
    receiver: Receiver,
    answer: peer.Said,
    state: str,
    outcome: str,
    summary: str,
) -> None:
    ended(scripted, answer)
    send_due(scripted.clock.now)
    (received,) = receiver.requests
    data = received.json["data"]
    assert (data["state"], data["outcome"]) == (state, outcome)
    assert data["is_error"] is (outcome == "tool_error")
    assert data["summary"].startswith(summary)


def test_a_retry_and_a_copy_keep_the_id(
    scripted: ScriptedDesk, hook: Channel, receiver: Receiver
) -> None:
    receiver.behaviour = closes
    ended(scripted)
    now = scripted.clock.now
    assert send_due(now) == 1
    receiver.behaviour = status(200)
    assert send_due(now + timedelta(minutes=1)) == 1
    assert len({received.headers["webhook-id"] for received in receiver.requests}) == 1
    assert len(receiver.requests) == 2


def test_a_sender_that_dies_between_the_commit_and_the_request_loses_nothing(
    scripted: ScriptedDesk, hook: Channel, receiver: Receiver
) -> None:
    ended(scripted)
    now = scripted.clock.now
    assert len(claim(now, 10)) == 1, "and then it dies: nobody carries the parcel"
    assert send_due(now + LEASE - timedelta(seconds=1)) == 0
    assert send_due(now + LEASE) == 1
    assert said(receiver) == ["operation.ended"]


def test_an_end_that_is_not_committed_is_announced_to_nobody(
    scripted: ScriptedDesk, hook: Channel
) -> None:
    class Crash(Exception):
        pass

    scripted.peer.will(peer.CALL, peer.handle())
    scripted.peer.will(peer.GET, peer.completed())
    operation = scripted.look(scripted.start())
    with pytest.raises(Crash), transaction.atomic():
        scripted.look(operation)
        assert Message.objects.count() == 1
        raise Crash
    operation.refresh_from_db()
    assert (operation.state, Message.objects.count()) == (State.WORKING, 0)


@pytest.mark.django_db(transaction=True)
def test_whoever_is_told_of_an_end_finds_its_result(scripted: ScriptedDesk) -> None:
    """Another connection sees the message no sooner than the result."""
    a_hook(scripted, "http://127.0.0.1:1/")
    scripted.peer.will(peer.CALL, peer.finished(content=RESULT))
    scripted.begin(scripted.start())
    moved, looked = threading.Event(), threading.Event()
    seen: list[Any] = []

    def finish() -> None:
        with transaction.atomic():
            scripted.arrive()
            moved.set()
            looked.wait(10)

    def watch() -> None:
        moved.wait(10)
        seen.append(Message.objects.filter(topic=Topic.ENDED).exists())
        looked.set()

    side_by_side(finish, watch)
    assert seen == [False]
    message = Message.objects.get(topic=Topic.ENDED)
    assert Payload.objects.get(pk=message.operation_id).result is not None


@pytest.mark.django_db(transaction=True)
def test_two_workers_with_the_same_end_announce_it_once(scripted: ScriptedDesk) -> None:
    a_hook(scripted, "http://127.0.0.1:1/")
    scripted.peer.will(peer.CALL, peer.finished())
    scripted.begin(scripted.start())
    scripted.peer.held *= 2
    side_by_side(scripted.arrive, scripted.arrive)
    assert Message.objects.filter(topic=Topic.ENDED).count() == 1


def test_a_late_answer_after_the_end_is_announced_to_nobody(
    scripted: ScriptedDesk, hook: Channel, receiver: Receiver
) -> None:
    scripted.peer.will(peer.CALL, peer.handle())
    scripted.peer.will(peer.GET, peer.completed())
    operation = scripted.look(scripted.start())
    scripted.peer.holds = True
    scripted.look(operation)
    scripted.peer.held *= 2
    scripted.arrive()
    scripted.arrive()
    send_due(scripted.clock.now)
    assert said(receiver) == ["operation.ended"]


def reconciled(desk: ScriptedDesk, operation: Operation, choice: Choice) -> None:
    reconcile(
        operation.pk,
        choice=choice,
        reason=SECRET,
        evidence=SECRET,
        actor=desk.actor,
        now=desk.clock.now,
    )


@pytest.mark.parametrize(
    ("choice", "state"),
    [(Choice.RECORD_DONE, "completed"), (Choice.RECORD_FAILED, "failed")],
)
def test_what_needs_a_person_is_announced_as_that_and_its_late_end_as_another_event(
    scripted: ScriptedDesk, hook: Channel, receiver: Receiver, choice: Choice, state: str
) -> None:
    operation = ended(scripted, peer.Nothing())
    send_due(scripted.clock.now)
    scripted.clock.advance(3600)
    reconciled(scripted, operation, choice)
    send_due(scripted.clock.now)
    assert said(receiver) == ["operation.needs_person", "operation.reconciled"]
    first, second = (received.json["data"] for received in receiver.requests)
    assert (first["state"], first["outcome"], first["finished_at"]) == ("unknown", None, None)
    assert second["state"] == state
    assert not any(SECRET in received.body.decode() for received in receiver.requests)


def test_what_is_sent_again_ends_like_any_other(
    scripted: ScriptedDesk, hook: Channel, receiver: Receiver
) -> None:
    operation = ended(scripted, peer.Nothing(), peer.Nothing(), peer.finished())
    for _ in range(2):
        scripted.clock.advance(60)
        reconciled(scripted, operation, Choice.SEND_AGAIN)
        scripted.settle(operation)
    for _ in range(3):
        send_due(scripted.clock.now)
    assert said(receiver) == [*["operation.needs_person"] * 2, "operation.ended"]


def test_whoever_did_not_ask_for_it_is_told_nothing(scripted: ScriptedDesk) -> None:
    others = [topic for topic in Topic if topic is not Topic.ENDED]
    a_hook(scripted, "http://127.0.0.1:1/", *others)
    ended(scripted)
    assert not Message.objects.exists()


def test_whoever_started_it_is_told_where_they_ask_for_it(scripted: ScriptedDesk) -> None:
    user = scripted.actor.user
    assert user is not None
    colleague = MembershipFactory(team=scripted.server.team, role=Role.ADMIN).user
    for person in (user, colleague):
        Preference.objects.create(user=person, topics=[Topic.ENDED])
    ended(scripted)
    message = Message.objects.get()
    assert (message.user, message.medium, message.event) == (user, Medium.EMAIL, "operation.ended")


def test_nobody_is_told_of_ends_who_never_asked(scripted: ScriptedDesk) -> None:
    ended(scripted)
    assert Topic.ENDED not in Preference(user=scripted.actor.user).topics
    assert not Message.objects.exists()


def test_where_nobody_asked_an_end_costs_one_query(scripted: ScriptedDesk) -> None:
    scripted.peer.will(peer.CALL, peer.finished())
    scripted.begin(scripted.start())
    with CaptureQueriesContext(connection) as asked:
        scripted.arrive()
    about = [query["sql"] for query in asked if "notify_" in query["sql"]]
    assert len(about) == 1


def test_a_channel_that_was_switched_off_is_not_told(
    scripted: ScriptedDesk, hook: Channel, receiver: Receiver
) -> None:
    hook.enabled = False
    hook.save()
    ended(scripted)
    send_due(scripted.clock.now)
    assert receiver.requests == []


def test_a_message_holds_nothing_of_the_call(scripted: ScriptedDesk, hook: Channel) -> None:
    ended(scripted)
    assert SECRET not in json.dumps(Message.objects.get().content)
