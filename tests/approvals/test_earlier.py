"""The last approved call of a tool, beside a new one: the right one, and only for its readers."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from approvals import earlier
from approvals.models import Approval, Audience
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Role
from tasks_monitor.models import HistoryEntry, Operation, Payload, Server
from tasks_monitor.states import State
from tests.approvals.conftest import Join
from tests.approvals.gates import a_gate, say
from tests.factories import NOW, OperationFactory, ServerFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def server(operator: Member) -> Server:
    made: Server = ServerFactory(team=operator.team)
    return made


def _gate(operator: Member, server: Server, arguments: dict[str, Any], minutes: int) -> Approval:
    approval = a_gate(operator, arguments=arguments, server=server)
    at = NOW + timedelta(minutes=minutes)
    Operation.objects.filter(pk=approval.operation_id).update(created_at=at)
    HistoryEntry.objects.filter(pk=approval.operation_id).update(created_at=at)
    Approval.objects.filter(pk=approval.pk).update(created_at=at)
    approval.operation.refresh_from_db()
    return approval


def _completed(operator: Member, server: Server, **columns: Any) -> Operation:
    made: Operation = OperationFactory(
        server=server,
        started_by=operator.user,
        **{"state": State.COMPLETED, "created_at": NOW - timedelta(hours=1), **columns},
    )
    return made


def test_it_is_compared_with_the_last_call_that_was_approved(
    operator: Member, approver: Member, server: Server
) -> None:
    for minutes, size in ((1, 1), (2, 2)):
        say(_gate(operator, server, {"size": size}, minutes), approver)
    _gate(operator, server, {"size": 3}, 3)  # nobody approved this one
    this = _gate(operator, server, {"size": 4}, 4)
    found = earlier.compare(this, approver)
    assert found is not None
    assert found.approved
    (line,) = found.differences.lines
    assert (line.path, line.before, line.after) == ("size", "2", "4")


def test_a_call_that_completed_stands_in_where_none_was_approved(
    operator: Member, approver: Member, server: Server
) -> None:
    _completed(operator, server, is_error=True, arguments={"size": 1})
    last = _completed(operator, server, arguments={"size": 2}, created_at=NOW - timedelta(hours=2))
    found = earlier.compare(_gate(operator, server, {"size": 2}, 0), operator)
    assert found is not None
    assert (found.operation, found.approved, found.differences.none) == (last, False, True)


def test_another_tool_another_server_and_a_later_call_do_not_count(
    operator: Member, server: Server
) -> None:
    _completed(operator, server, tool_name="other")
    _completed(operator, ServerFactory(team=operator.team))
    _completed(operator, server, created_at=NOW + timedelta(hours=1))
    assert earlier.compare(_gate(operator, server, {}, 0), operator) is None


def test_who_may_not_read_the_earlier_call_sees_nothing_of_it(
    operator: Member, approver: Member, server: Server, join: Join
) -> None:
    last = _gate(operator, server, {"secret": "HIDDEN-WORD"}, 1)
    say(last, approver)
    Approval.objects.filter(pk=last.pk).update(audience=Audience.REQUESTER)
    this = _gate(operator, server, {"secret": "other"}, 2)
    assert earlier.compare(this, approver) is None
    assert earlier.compare(this, join(Role.AUDITOR)) is not None


def test_arguments_that_are_gone_are_not_compared(operator: Member, server: Server) -> None:
    last = _completed(operator, server)
    Payload.objects.filter(operation=last).update(arguments=None)
    assert earlier.compare(_gate(operator, server, {}, 0), operator) is None


def test_the_page_says_what_differs_as_text(
    operator: Member, approver: Member, server: Server
) -> None:
    say(_gate(operator, server, {"to": "<b>ana</b>", "cc": "x"}, 1), approver)
    this = _gate(operator, server, {"to": "eve\u202e", "new": 1}, 2)
    client = Client()
    client.force_login(approver.user)
    page = client.get(reverse("inbox_item", args=[this.pk])).content.decode()
    assert "Unlike the last approved call of this tool" in page
    assert "&lt;b&gt;ana&lt;/b&gt;" in page
    assert "<b>ana" not in page
    assert "U+202E" in page
    say(this, approver)
    same = _gate(operator, server, {"to": "eve\u202e", "new": 1}, 3)
    page = client.get(reverse("inbox_item", args=[same.pk])).content.decode()
    assert "The same as the last approved call of this tool" in page
