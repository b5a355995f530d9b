"""`./desk timeline`: what a terminal is given to print."""

from io import StringIO

import pytest
from django.core.management import call_command

from mcpdesk.audit.log import DESK, record
from tests.factories import NOW, OperationFactory

pytestmark = pytest.mark.django_db


def test_a_terminal_obeys_nothing_that_a_server_wrote() -> None:
    operation = OperationFactory(tool_name="run\x1b]0;gone\x07\x1b[2J\r\u202e")
    tool = {"tool": operation.tool_name, "server": "demo"}
    about = {"team_id": operation.team_id, "operation_id": operation.pk}
    record("operation.started", **about, **tool, actor=DESK, now=NOW)
    out = StringIO()
    call_command("timeline", str(operation.pk), stdout=out)
    assert "run<U+001B>]0;gone<U+0007><U+001B>[2J <U+202E>" in out.getvalue()
    assert {"\x1b", "\x07", "\r", "\u202e"}.isdisjoint(out.getvalue())
