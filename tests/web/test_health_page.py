"""The health page: the clock's last run and what waits, for every member, of their team only."""

from datetime import timedelta

import pytest
import time_machine
from django.test import Client

from approvals import tasks
from mcpdesk.accounts.models import Membership, Role
from tasks_monitor.engine.heartbeat import beat
from tasks_monitor.states import State
from tests.factories import (
    NOW,
    ApprovalFactory,
    MembershipFactory,
    OperationFactory,
    ServerFactory,
)
from tests.web.browsing import browser, htmx

pytestmark = pytest.mark.django_db


@pytest.fixture
def member() -> Membership:
    membership: Membership = MembershipFactory(role=Role.OPERATOR)
    return membership


def page(client: Client, **headers: str) -> str:
    with time_machine.travel(NOW, tick=False):
        return " ".join(client.get("/health/desk/", headers=headers).content.decode().split())


def test_it_shows_the_last_run_of_the_clock(member: Membership) -> None:
    beat("clock", NOW - timedelta(seconds=3))
    beat("worker", NOW - timedelta(minutes=5))
    shown = page(browser(Role.VIEWER, member.team), **htmx("desk-health"))
    assert 'dot-green"></span><span><strong>The clock process</strong></span>' in shown
    assert "3 s ago" in shown
    assert "<strong>The worker process</strong>: until it runs, nothing is sent" in shown
    assert shown.count("dot-red") == 2


def test_the_sweep_of_the_inbox_leaves_its_mark(member: Membership) -> None:
    with time_machine.travel(NOW - timedelta(seconds=7), tick=False):
        tasks.sweep()
    assert "7 s ago" in page(browser(Role.VIEWER, member.team))


def test_it_counts_what_is_late_in_this_team_only(member: Membership) -> None:
    def late(server: object) -> None:
        OperationFactory(server=server, state=State.READY, due_at=NOW - timedelta(minutes=9))

    for _ in range(2):
        late(ServerFactory(team=member.team))
    late(ServerFactory())
    ApprovalFactory()
    shown = page(browser(Role.VIEWER, member.team))
    assert "2 to be sent or checked now, the oldest" in shown
    assert "9 min ago" in shown
    assert "Items of the inbox</dt><dd>nothing is late" in shown


def test_without_a_team_and_without_signing_in_there_is_no_page(client: Client) -> None:
    assert client.get("/health/desk/").status_code == 302


def test_programs_are_still_told_that_the_web_process_answers(client: Client) -> None:
    response = client.get("/health/")
    assert (response.status_code, response.content) == (200, b"ok")


def test_the_way_there_is_in_the_user_menu(member: Membership) -> None:
    shown = browser(Role.VIEWER, member.team).get("/team/").content.decode()
    assert 'href="/health/desk/"' in shown
