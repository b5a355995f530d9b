"""Log lines: each stands alone, bears its ids, and holds nothing that anybody put in."""

import asyncio
import gc
import io
import json
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from celery.app.trace import logger as celery_logger
from django.conf import settings as django_settings
from django.db import IntegrityError, OperationalError, transaction
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from mcpdesk import logs
from mcpdesk.accounts.models import Membership, Role
from mcpdesk.audit.log import DESK, record
from mcpdesk.audit.models import Event
from mcpdesk.checks import configuration
from mcpdesk.web.views import health
from tasks_monitor.engine import settle_call
from tests.conftest import CHECKOUT
from tests.engine import peer
from tests.engine.desk import ScriptedDesk
from tests.engine.test_secrets import CANARY, said, with_canaries
from tests.factories import NOW, MembershipFactory, OperationFactory, ServerFactory
from tests.hostile import BREAKOUTS
from tests.web.browsing import signed_in

pytestmark = pytest.mark.django_db

Read = Callable[[], str]
DOCS = CHECKOUT / "docs" / "observability.md"


@pytest.fixture(params=logs.FORMATS)
def written(request: pytest.FixtureRequest) -> Iterator[Read]:
    """Everything that is logged from now on, in each format."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs.formatter(request.param))
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield stream.getvalue
    root.removeHandler(handler)
    root.setLevel(before)


@pytest.fixture
def entries() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """The lines of JSON that are logged from now on, read."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs.formatter(logs.JSON))
    root = logging.getLogger()
    root.addHandler(handler)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.removeHandler(handler)


def breaks(*_: Any, **__: Any) -> Any:
    """What a parser or a validator raises: it quotes what it was given."""
    try:
        raise KeyError(said("cause"))
    except KeyError as error:
        raise ValueError(said("exception"), {"content": said("content")}) from error


def test_a_run_over_hostile_payloads_leaves_none_of_them_in_the_log(
    scripted: ScriptedDesk, written: Read
) -> None:
    with_canaries(scripted)
    assert CANARY not in written()


def test_a_task_that_nobody_waited_for_is_logged_without_its_words(written: Read) -> None:
    async def main() -> None:
        async def forgotten() -> None:
            raise ValueError(said("exception"))

        task = asyncio.ensure_future(forgotten())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        del task
        gc.collect()

    asyncio.run(main())
    text = written()
    assert "Task exception was never retrieved" in text and "ValueError" in text
    assert CANARY not in text


@pytest.mark.parametrize("payload", BREAKOUTS[:6])
def test_a_result_that_breaks_us_is_logged_by_its_operation_and_not_by_its_words(
    scripted: ScriptedDesk, written: Read, payload: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks_with_payload(operation: Any, result: Any, notes: Any) -> None:
        raise ValueError(f"{result!r} {said('x')}")

    monkeypatch.setattr(settle_call, "keep_result", breaks_with_payload)
    scripted.peer.will(peer.CALL, peer.finished(content=[{"type": "text", "text": payload}]))
    operation = scripted.look(scripted.start(secret=said("argument")))
    text = written()
    assert "could not apply a result" in text and "ValueError" in text
    assert str(operation.pk) in text
    assert CANARY not in text and payload not in text


def test_a_line_bears_the_operation_and_the_server_it_is_about(
    scripted: ScriptedDesk,
    entries: Callable[[], list[dict[str, Any]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(settle_call, "keep_result", breaks)
    scripted.peer.will(peer.CALL, peer.finished())
    operation = scripted.look(scripted.start())
    (entry,) = [entry for entry in entries() if entry["level"] == "error"]
    assert (entry["operation"], entry["server"]) == (str(operation.pk), str(scripted.server.pk))
    assert entry["logger"] == "tasks_monitor.engine.drain"
    assert entry["timestamp"].endswith("Z")
    assert entry["exception"].startswith("ValueError\n")
    assert "KeyError" in entry["exception"]


@pytest.fixture
def as_started() -> Iterator[None]:
    """As the settings have it."""
    logger = logging.getLogger(logs.EVENTS)
    before = logger.level
    logger.setLevel(django_settings.LOGGING["loggers"][logs.EVENTS]["level"])
    yield
    logger.setLevel(before)


@pytest.fixture
def staying(as_started: None) -> None:
    """As in a process that stays: web, worker or clock."""
    logs.write_events()


def test_every_event_is_a_line_with_its_ids_and_states_and_without_names(
    staying: None,
    scripted: ScriptedDesk,
    entries: Callable[[], list[dict[str, Any]]],
    django_capture_on_commit_callbacks: Any,
) -> None:
    scripted.peer.will(peer.CALL, peer.finished())
    with django_capture_on_commit_callbacks(execute=True):
        operation = scripted.look(scripted.start())
    events = Event.objects.filter(operation_id=operation.pk).order_by("pk")
    lines = [entry for entry in entries() if entry["logger"] == logs.EVENTS]
    own = {"event", "number", "team", "operation", "before", "after"}
    assert [{name: line[name] for name in own & line.keys()} for line in lines] == [
        {
            "event": event.kind,
            "number": str(event.pk),
            "team": str(operation.team_id),
            "operation": str(operation.pk),
            **{name: event.data[name] for name in ("before", "after") if name in event.data},
        }
        for event in events
    ]
    assert lines[-1]["after"] == "Completed"
    everywhere = {"timestamp", "level", "logger", "server"}
    assert all(line.keys() <= own | everywhere for line in lines)


@pytest.mark.django_db(transaction=True)
def test_a_line_about_an_event_of_a_page_bears_only_what_the_docs_name(
    staying: None, entries: Callable[[], list[dict[str, Any]]]
) -> None:
    member: Membership = MembershipFactory(role=Role.ADMIN)
    server = ServerFactory(team=member.team)
    asked = {"X-Forwarded-For": "203.0.113.9", "X-Request-ID": CANARY}
    path = f"/servers/{server.pk}/pause/"
    assert signed_in(member).post(path, {"paused": "yes"}, headers=asked).status_code == 302
    (line,) = [entry for entry in entries() if entry["logger"] == logs.EVENTS]
    assert (line["event"], line["user_id"]) == ("server.changed", member.user_id)
    fields = DOCS.read_text().partition("| field | |")[2].partition("\n\n")[0]
    assert line.keys() <= set(re.findall(r"`(\w+)`", fields))
    assert CANARY not in json.dumps(line)


def test_what_is_taken_back_is_no_line(
    staying: None,
    entries: Callable[[], list[dict[str, Any]]],
    django_capture_on_commit_callbacks: Any,
) -> None:
    team = MembershipFactory().team
    commits = django_capture_on_commit_callbacks(execute=True)
    with commits, suppress(RuntimeError), transaction.atomic():
        record("operation.cancel_requested", team_id=team.pk, actor=DESK, now=NOW)
        raise RuntimeError
    assert not entries()


def test_a_command_writes_none_of_its_own_events(
    as_started: None,
    entries: Callable[[], list[dict[str, Any]]],
    django_capture_on_commit_callbacks: Any,
) -> None:
    team = MembershipFactory().team
    with django_capture_on_commit_callbacks(execute=True), transaction.atomic():
        record("operation.cancel_requested", team_id=team.pk, actor=DESK, now=NOW)
    assert not entries()


def test_what_postgresql_quotes_of_a_row_is_not_logged(written: Read) -> None:
    server = ServerFactory()
    OperationFactory(server=server, idempotency_key=said("key"))
    try:
        with transaction.atomic():
            OperationFactory(server=server, idempotency_key=said("key"))
    except IntegrityError as error:
        assert CANARY in str(error), "or this proves nothing"
        logging.getLogger("x").exception("a row was refused")
    assert "IntegrityError" in written() and CANARY not in written()


def test_a_page_that_breaks_bears_request_and_team(
    entries: Callable[[], list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "beats", breaks)
    member: Membership = MembershipFactory(role=Role.ADMIN)
    client: Client = signed_in(member)
    client.raise_request_exception = False
    assert client.get("/health/desk/", {"q": said("query")}).status_code == 500
    found = [entry for entry in entries() if entry["level"] == "error"]
    assert found
    assert all(entry.get("request_id") for entry in found)
    assert {entry.get("team") for entry in found} & {str(member.team_id)}
    assert CANARY not in json.dumps(found)


def test_a_task_that_fails_is_logged_by_its_name(written: Read) -> None:
    context = {
        "name": "tasks_monitor.tasks.look",
        "id": "1",
        "exc": said("exc"),
        "args": said("args"),
        "kwargs": "{}",
        "traceback": said("traceback"),
        "description": "raised unexpected",
        "internal": "",
        "hostname": "h",
    }
    filters = list(celery_logger.filters)
    celery_logger.addFilter(logs.TaskFailures())
    try:
        celery_logger.error("%(name)s %(exc)s %(traceback)s", context, extra={"data": context})
    finally:
        celery_logger.filters[:] = filters
    assert "tasks_monitor.tasks.look failed" in written()
    assert CANARY not in written()


def test_celerys_failures_and_uvicorns_errors_go_our_way() -> None:
    loggers = django_settings.LOGGING["loggers"]
    assert loggers["celery.app.trace"]["filters"] == ["task_failures"]
    assert loggers["uvicorn"] == {"handlers": [], "propagate": True}


def test_what_is_about_the_installation_keeps_its_words(written: Read) -> None:
    for error in (ConnectionRefusedError("port 5432 is closed"), OperationalError("too many")):
        try:
            raise error
        except Exception:
            logging.getLogger("x").exception("away")
    assert "port 5432 is closed" in written() and "too many" in written()


@given(event=st.text(), value=st.text())
@pytest.mark.parametrize("form", logs.FORMATS)
def test_a_record_is_one_line_whatever_is_in_it(form: str, event: str, value: str) -> None:
    record = logging.LogRecord("x", logging.INFO, "", 0, "%s", (event,), None)
    with logs.about(operation=value):
        line = logs.formatter(form).format(record)
    assert len(line.splitlines()) == 1
    if form == logs.JSON:
        read = json.loads(line)
        assert (read["event"], read["operation"]) == (event, value)


def test_ids_end_with_what_they_are_about() -> None:
    record = logging.LogRecord("x", logging.INFO, "", 0, "x", (), None)
    with logs.about(operation=1):
        pass
    assert "operation" not in logs.formatter(logs.JSON).format(record)


@pytest.mark.parametrize(("form", "errors"), [("lines", 0), ("json", 0), ("xml", 1)])
def test_a_format_that_nobody_knows_is_refused_at_start(
    settings: Any, form: str, errors: int
) -> None:
    settings.LOG_FORMAT = form
    assert [found.id for found in configuration()].count("mcpdesk.E015") == errors
