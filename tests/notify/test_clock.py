"""The clock rings for messages that are due, and only then."""

from datetime import timedelta

import pytest

from approvals.models import Approval
from mcpdesk.accounts.models import Team
from tasks_monitor.management.commands import clock
from tests.factories import NOW
from tests.notify.conftest import put, webhook

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("after_s", "rings"), [(14, 0), (15, 1)])
def test_the_clock_rings_once_a_message_is_due(
    approval: Approval, team: Team, monkeypatch: pytest.MonkeyPatch, after_s: int, rings: int
) -> None:
    rung: list[str] = []
    monkeypatch.setattr(clock, "ring_task", lambda name, *_: rung.append(name))
    monkeypatch.setattr(clock, "ring", lambda *_: None)
    webhook(team)
    put(approval)
    clock.Clock().tick(NOW + timedelta(seconds=after_s), 100.0)
    assert rung.count(clock.TELL) == rings
