"""What no key opens any more: every page that needs it says so, and so does the API."""

from typing import Any

import pytest
from django.test import Client

from mcpdesk.accounts.models import Role
from mcpdesk.audit.models import Event
from tasks_monitor.models import Operation, Server, Tool
from tests.api.calling import person
from tests.engine.desk import spoil
from tests.factories import OperationFactory, ServerFactory
from tests.web.browsing import browser

pytestmark = pytest.mark.django_db

SAYS = "No key of this desk opens what is stored"


@pytest.fixture
def server() -> Server:
    made: Server = ServerFactory()
    tool = Tool.objects.create(server=made, name="deploy", definition={})
    spoil("tool", "definition", tool.pk)
    return made


@pytest.fixture
def operation(server: Server) -> Operation:
    made: Operation = OperationFactory(server=server)
    spoil("payload", "arguments", made.pk)
    return made


@pytest.fixture
def admin(server: Server) -> Client:
    return browser(Role.ADMIN, server.team)


@pytest.mark.parametrize(
    "path",
    [
        "/operations/new/?server={server}",
        "/operations/new/?server={server}&tool=deploy",
        "/operations/{operation}/",
    ],
)
def test_a_page_says_it_in_a_sentence(
    admin: Client, server: Server, operation: Operation, path: str
) -> None:
    answer = admin.get(path.format(server=server.pk, operation=operation.pk))
    assert answer.status_code == 503
    assert SAYS in answer.text and "MCPDESK_ENCRYPTION_KEYS" in answer.text


def test_what_is_clicked_changes_nothing_and_says_it(admin: Client, server: Server) -> None:
    before = Operation.objects.count(), Event.objects.count()
    answer = admin.post(f"/operations/new/?server={server.pk}&tool=deploy", {"arguments": "{}"})
    assert (answer.status_code, SAYS in answer.text) == (503, True)
    assert (Operation.objects.count(), Event.objects.count()) == before


def test_the_log_of_the_process_names_the_page_and_not_what_is_stored(
    admin: Client, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    admin.get(f"/operations/new/?server={server.pk}&tool=deploy")
    assert "no configured key opens what the page operation_new needs" in caplog.text
    assert "garbage" not in caplog.text


def test_the_api_says_it_as_a_problem(server: Server) -> None:
    answer: Any = person(server.team).get(f"/servers/{server.name}/tools")
    assert answer.status_code == 503
    assert SAYS in answer.json()["detail"]


def test_another_mistake_is_still_one(admin: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise ValueError("ours")

    monkeypatch.setattr("mcpdesk.web.views.start._choose_server", broken)
    admin.raise_request_exception = False
    assert admin.get("/operations/new/").status_code == 500
