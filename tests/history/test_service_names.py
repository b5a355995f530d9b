"""What a service started is named after it, in every list and in what leaves the desk."""

import pytest
from django.test import Client

from approvals.history_export import APPROVALS
from approvals.notices import _facts
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Role
from tasks_monitor.history_export import OPERATIONS
from tasks_monitor.models import HistoryEntry, Operation, Server
from tasks_monitor.states import State
from tests.api.calling import service
from tests.factories import ApprovalFactory, InputRequestFactory, OperationFactory
from tests.history.conftest import Join

pytestmark = pytest.mark.django_db


@pytest.fixture
def operation(server: Server) -> Operation:
    """A call of the service nightly-bot that waits for an answer."""
    made: Operation = OperationFactory(
        server=server,
        state=State.INPUT_REQUIRED,
        started_by=None,
        token=service(server.team, name="nightly-bot").token,
    )
    ApprovalFactory(input_request=InputRequestFactory(operation=made, taken_version=1))
    return made


@pytest.mark.parametrize(
    "path", ["/", "/operations/", "/history/", "/history/approvals/", "/inbox/?tab=team"]
)
def test_a_list_names_the_service(operation: Operation, join: Join, path: str) -> None:
    client = Client()
    client.force_login(join(Role.ADMIN).user)
    page = client.get(path).content.decode()
    assert "nightly-bot" in page
    assert "started by a service" not in page


def test_exports_and_messages_name_it_too(operation: Operation, auditor: Member) -> None:
    [line] = OPERATIONS.values([HistoryEntry.objects.get()], False)
    [item] = APPROVALS.values(list(operation.approvals.all()), False)  # type: ignore[attr-defined]
    assert dict(zip(OPERATIONS.columns, line, strict=True))["started_by"] == "nightly-bot"
    assert dict(zip(APPROVALS.columns, item, strict=True))["started_by"] == "nightly-bot"
    assert ("Started by", "nightly-bot") in _facts(operation.approvals.get())  # type: ignore[attr-defined]
