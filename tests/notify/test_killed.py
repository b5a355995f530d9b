"""A process that is killed while it sends: nothing is lost, and at most one more copy goes."""

import os
import signal
import subprocess
import sys
import time
from datetime import datetime, timedelta

import pytest

from approvals.models import Approval
from mcpdesk.accounts.models import Team
from mcpdesk.notify.claim import LEASE
from mcpdesk.notify.models import Message, MessageState
from tests import databases
from tests.conftest import CHECKOUT
from tests.factories import NOW
from tests.notify.conftest import put, send_due, webhook
from tests.notify.receiver import Receiver, status

pytestmark = [pytest.mark.chaos, pytest.mark.django_db(transaction=True)]

DUE = NOW + timedelta(seconds=15)
PATIENCE_S = 60.0


def sender(at: datetime) -> subprocess.Popen[bytes]:
    """A process that sends what is due at `at`, on the database of this test."""
    environment = os.environ | {"DATABASE_URL": databases.url()}
    command = [sys.executable, "-m", "tests.notify.sender", at.isoformat()]
    return subprocess.Popen(command, cwd=CHECKOUT, env=environment)


def test_what_a_killed_sender_held_goes_once_more_under_the_same_id(
    approval: Approval, team: Team, receiver: Receiver
) -> None:
    webhook(team, receiver.url, allow_private=True)
    put(approval)
    receiver.behaviour = receiver.hangs
    process = sender(DUE)
    ends = time.monotonic() + PATIENCE_S
    while not receiver.requests and time.monotonic() < ends:
        assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    receiver.behaviour = status(200)
    assert send_due(DUE + LEASE - timedelta(seconds=1)) == 0
    assert send_due(DUE + LEASE) == 1
    assert Message.objects.get().state == MessageState.SENT
    ids = [received.headers["webhook-id"] for received in receiver.requests]
    assert len(ids) == 2 and len(set(ids)) == 1
