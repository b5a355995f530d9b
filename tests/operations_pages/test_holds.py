"""The kill switch in the browser: who may press it, and that every page of the team says so."""

from datetime import timedelta

import pytest
import time_machine
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from mcpdesk.accounts.models import Membership, Role
from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import Channel
from tasks_monitor.engine import hold as engine
from tasks_monitor.models import Hold, Operation, Server
from tasks_monitor.states import State
from tests.factories import (
    NOW,
    DeliveryFactory,
    InputRequestFactory,
    MembershipFactory,
    OperationFactory,
    ServerFactory,
)
from tests.web.browsing import browser

pytestmark = pytest.mark.django_db

REASON = {"reason": "Odd payments since noon"}


def text_of(client: Client, path: str) -> str:
    return " ".join(client.get(path).content.decode().split())


def on_hold(operator: Membership, server: Server | None = None) -> Hold:
    who = Actor(operator.user, operator.user.name, Channel.WEB)
    server_id = server.pk if server else None
    return engine.begin(operator.team_id, server_id, reason="Odd payments", actor=who, now=NOW)


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.ADMIN])
@pytest.mark.parametrize("whole_team", [False, True])
def test_whoever_may_start_may_stop(
    operator: Membership, server: Server, role: Role, whole_team: bool
) -> None:
    client = browser(role, operator.team)
    path = "/holds/new/" if whole_team else f"/holds/new/?server={server.pk}"
    name = str(operator.team) if whole_team else server.name
    assert f"Stop sending to {'every server of ' if whole_team else ''}{name}?" in text_of(
        client, path
    )

    response = client.post(path, REASON)

    hold = Hold.objects.get()
    assert (hold.team, hold.server, hold.reason) == (
        operator.team,
        None if whole_team else server,
        REASON["reason"],
    )
    assert response["Location"] == ("/servers/" if whole_team else f"/servers/{server.pk}/")


@pytest.mark.parametrize("role", [Role.VIEWER, Role.APPROVER, Role.AUDITOR])
def test_others_may_not(operator: Membership, server: Server, role: Role) -> None:
    client = browser(role, operator.team)
    assert client.get("/holds/new/").status_code == 403
    assert client.post(f"/holds/new/?server={server.pk}", REASON).status_code == 403
    assert not Hold.objects.exists()
    assert "Stop sending" not in text_of(client, f"/servers/{server.pk}/")


@pytest.mark.parametrize("role", [Role.VIEWER, Role.APPROVER, Role.OPERATOR, Role.AUDITOR])
def test_only_an_admin_lets_it_go_again(operator: Membership, server: Server, role: Role) -> None:
    hold = on_hold(operator, server)
    client = browser(role, operator.team)
    assert "End the hold" not in text_of(client, "/inbox/")
    assert client.post(f"/holds/{hold.pk}/end/").status_code == 403
    hold.refresh_from_db()
    assert hold.ended_at is None


def test_an_admin_sees_what_would_leave_and_lets_it_go(
    operator: Membership, server: Server
) -> None:
    hold = on_hold(operator, server)
    OperationFactory(server=server, state=State.READY)
    task = OperationFactory(server=server, task_id="t", cancel_requested_at=NOW)
    DeliveryFactory(input_request=InputRequestFactory(operation=task, source="task"))
    OperationFactory(server=ServerFactory(team=server.team), state=State.READY)
    client = browser(Role.ADMIN, operator.team)
    page = text_of(client, f"/holds/{hold.pk}/end/")
    for words in ("1 call<", "1 answer to running tasks", "1 cancellation<", "Odd payments"):
        assert words in page
    assert Hold.objects.get().ended_at is None

    response = client.post(f"/holds/{hold.pk}/end/", follow=True)

    assert "This hold is over. What waited only for it goes out" in response.content.decode()
    assert Hold.objects.get().ended_at is not None
    assert Operation.objects.filter(server=server, state=State.READY, due_at=None).count() == 0


def test_ending_it_twice_says_who_was_first(operator: Membership) -> None:
    hold = on_hold(operator)
    first, second = browser(Role.ADMIN, operator.team), browser(Role.ADMIN, operator.team)
    first.post(f"/holds/{hold.pk}/end/")
    response = second.post(f"/holds/{hold.pk}/end/", follow=True)
    assert "This is over already" in response.content.decode()
    assert "This hold is over" in text_of(second, f"/holds/{hold.pk}/end/")


def test_a_reason_is_required_and_a_second_hold_is_refused(
    operator: Membership, server: Server
) -> None:
    client = browser(Role.OPERATOR, operator.team)
    path = f"/holds/new/?server={server.pk}"
    response = client.post(path, {"reason": "  "})
    assert (response.status_code, Hold.objects.count()) == (422, 0)
    client.post(path, REASON)
    response = client.post(path, REASON)
    assert (response.status_code, Hold.objects.count()) == (422, 1)
    assert "Nothing is sent to build-server already" in response.content.decode()


@pytest.mark.parametrize("wanted", ["foreign", "0", "x", "9" * 30, "-1"])
def test_a_server_of_another_team_does_not_exist(operator: Membership, wanted: str) -> None:
    client = browser(Role.ADMIN, operator.team)
    pk = ServerFactory().pk if wanted == "foreign" else wanted
    assert client.get(f"/holds/new/?server={pk}").status_code == 404
    assert client.post(f"/holds/new/?server={pk}", REASON).status_code == 404


def test_a_hold_of_another_team_does_not_exist(operator: Membership) -> None:
    hold = on_hold(operator)
    client = browser(Role.ADMIN, MembershipFactory().team)
    assert client.get(f"/holds/{hold.pk}/end/").status_code == 404
    assert client.post(f"/holds/{hold.pk}/end/").status_code == 404
    assert "On hold" not in text_of(client, "/inbox/")


@pytest.mark.parametrize("role", Role.values)
@pytest.mark.parametrize("path", ["/inbox/", "/operations/", "/servers/", "/policies/", "/team/"])
def test_every_page_says_who_why_and_since_when(
    operator: Membership, server: Server, role: str, path: str
) -> None:
    on_hold(operator)
    page = text_of(browser(Role(role), operator.team), path)
    assert "On hold: nothing is sent to any server" in page
    assert "says Oskar: “Odd payments”" in page
    assert 'title="2026-11-29 14:00:00 UTC"' in page


def test_the_banner_alone_is_there_for_live_pages(operator: Membership, server: Server) -> None:
    on_hold(operator, server)
    page = text_of(browser(Role.VIEWER, operator.team), "/shell/holds/")
    assert page.startswith('<div id="holds" data-live="servers"')
    assert "On hold: nothing is sent to build-server" in page


def test_the_reason_is_shown_as_text(operator: Membership, server: Server) -> None:
    who = Actor(operator.user, operator.user.name, Channel.WEB)
    reason = "<b>now</b> \u202e"
    engine.begin(operator.team_id, None, reason=reason, actor=who, now=NOW)
    page = text_of(browser(Role.VIEWER, operator.team), "/inbox/")
    assert "&lt;b&gt;now&lt;/b&gt;" in page
    assert "\u202e" not in page


def test_the_state_of_a_call_that_waits_says_so(operator: Membership, server: Server) -> None:
    operation = OperationFactory(server=server, state=State.READY)
    on_hold(operator, server)
    page = text_of(browser(Role.OPERATOR, operator.team), f"/operations/{operation.pk}/")
    assert "<strong>Held:</strong> nothing is sent to build-server since" in page
    assert "Ready to be sent · on hold" in text_of(
        browser(Role.OPERATOR, operator.team), "/operations/"
    )


def test_a_running_task_says_that_it_is_still_checked_and_which_deadline_runs_on(
    operator: Membership, server: Server
) -> None:
    now = timezone.now()
    operation = OperationFactory(
        server=server,
        state=State.WORKING,
        task_id="t",
        expires_at=now + timedelta(hours=1),
        deadline_at=now + timedelta(hours=2),
    )
    on_hold(operator, server)
    page = text_of(browser(Role.OPERATOR, operator.team), f"/operations/{operation.pk}/")
    assert "The task is still checked." in page
    assert "stands still: on hold" in page
    assert "1 h left" in page


def test_an_ended_operation_says_nothing_of_a_hold(operator: Membership, server: Server) -> None:
    operation = OperationFactory(server=server, state=State.COMPLETED, finished_at=NOW)
    on_hold(operator, server)
    client = browser(Role.OPERATOR, operator.team)
    page = text_of(client, f"/operations/{operation.pk}/")
    assert page.count("nothing is sent to build-server") == 1
    assert "· on hold" not in text_of(client, "/operations/?tab=ended")


def test_the_servers_page_says_so_for_each_server(operator: Membership, server: Server) -> None:
    ServerFactory(team=operator.team, name="other")
    on_hold(operator, server)
    page = text_of(browser(Role.OPERATOR, operator.team), "/servers/")
    assert page.count("On hold since") == 1


def test_holds_cost_a_page_as_many_queries_however_many_there_are(operator: Membership) -> None:
    client = browser(Role.OPERATOR, operator.team)

    def queries() -> int:
        with CaptureQueriesContext(connection) as found:
            client.get("/servers/")
        return len(found)

    none = queries()
    on_hold(operator, ServerFactory(team=operator.team))
    # the servers, and who holds them
    assert queries() == none + 2
    for _ in range(5):
        on_hold(operator, ServerFactory(team=operator.team))
    assert queries() == none + 2


def test_the_banner_says_the_time_in_the_readers_zone(operator: Membership) -> None:
    on_hold(operator)
    with time_machine.travel(NOW + timedelta(minutes=5), tick=False):
        member = MembershipFactory(team=operator.team, user__time_zone="Europe/Warsaw")
        client = Client()
        client.force_login(member.user)
        assert "15:00:00 CET" in text_of(client, "/team/")
