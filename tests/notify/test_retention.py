"""Messages are deleted some time after they were over, and only then."""

from datetime import timedelta

import pytest

from approvals.models import Approval
from mcpdesk.accounts.models import Team
from mcpdesk.notify import retention
from mcpdesk.notify.models import Message, MessageState
from tasks_monitor.management.commands.clock import Clock
from tests.factories import NOW
from tests.notify.conftest import put, webhook

pytestmark = pytest.mark.django_db

KEPT = timedelta(days=90)
SECOND = timedelta(seconds=1)


@pytest.fixture
def message(approval: Approval, team: Team) -> Message:
    webhook(team)
    put(approval)
    return Message.objects.get()


def _is(message: Message, state: MessageState, age: timedelta) -> None:
    """It came into this state so long before NOW."""
    message.state, message.finished_at = state, NOW - age
    message.save()


@pytest.mark.parametrize("state", [MessageState.SENT, MessageState.DROPPED])
def test_what_was_over_long_ago_is_deleted_and_no_earlier(
    message: Message, state: MessageState
) -> None:
    _is(message, state, KEPT - SECOND)
    retention.clear(NOW)
    assert Message.objects.exists()
    _is(message, state, KEPT + SECOND)
    retention.clear(NOW)
    assert not Message.objects.exists()


def test_what_was_given_up_stays_four_times_as_long(message: Message) -> None:
    _is(message, MessageState.DEAD, KEPT * 4 - SECOND)
    retention.clear(NOW)
    assert Message.objects.exists()
    _is(message, MessageState.DEAD, KEPT * 4 + SECOND)
    retention.clear(NOW)
    assert not Message.objects.exists()


@pytest.mark.parametrize("state", [MessageState.WAITING, MessageState.FAILED, MessageState.SENDING])
def test_what_still_is_to_leave_is_never_deleted(message: Message, state: MessageState) -> None:
    message.state, message.next_at = state, NOW - KEPT * 100
    message.created_at = NOW - KEPT * 100
    message.save()
    retention.clear(NOW)
    assert Message.objects.exists()


def test_the_days_are_a_setting(message: Message, settings: object) -> None:
    settings.KEEP_MESSAGES_DAYS = 1  # type: ignore[attr-defined]
    _is(message, MessageState.SENT, timedelta(days=1, seconds=1))
    retention.clear(NOW)
    assert not Message.objects.exists()


def test_it_goes_in_small_batches_and_says_whether_more_is_left(
    message: Message, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "BATCH", 2)
    _is(message, MessageState.SENT, KEPT * 2)
    for number in range(2):
        message.pk, message.once = None, f"copy {number}"
        message.save(force_insert=True)
    assert retention.clear(NOW)
    assert Message.objects.count() == 1
    assert not retention.clear(NOW)
    assert not Message.objects.exists()


def test_the_clock_clears(message: Message) -> None:
    _is(message, MessageState.SENT, KEPT * 2)
    Clock().tick(NOW, 0.0)
    assert not Message.objects.exists()
