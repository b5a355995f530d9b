"""Nothing secret in events, logs, representations, or in clear in the database.

A canary is put wherever a person or a server may put something, and then looked for everywhere.
"""

import json
import logging
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from mcpdesk.audit.models import Event
from tasks_monitor.engine import rows, settle_call
from tasks_monitor.engine.reconcile import Choice, reconcile
from tasks_monitor.engine.servers import bearer, change_server
from tasks_monitor.models import AuthKind, Operation
from tasks_monitor.states import State
from tests.engine import peer
from tests.engine.desk import Desk, ScriptedDesk

pytestmark = pytest.mark.django_db

CANARY = "CANARY"


def said(place: str) -> str:
    return f"{CANARY}-{place}"


def with_canaries(desk: ScriptedDesk) -> Operation:
    """One operation with a canary in everything: rounds, a task, questions, answers, an error."""
    form = peer.form(said("message"))
    asks: dict[str, Any] = {"resultType": "input_required", "requestState": said("state")}
    asks["inputRequests"] = {said("key"): form}
    waiting = peer.task(
        "input_required",
        taskId=said("task"),
        statusMessage=said("status"),
        inputRequests={said("key2"): form, said("key3"): {"method": said("method"), "params": {}}},
    )
    error = {"code": -1, "message": said("error"), "data": said("data")}
    failed = peer.task("failed", taskId=said("task"), error=error, statusMessage=said("end"))
    desk.peer.will(peer.CALL, asks, peer.handle(taskId=said("task")))
    desk.peer.will(peer.GET, waiting, failed)
    desk.peer.will(peer.UPDATE, peer.ACK)
    operation = desk.start(secret=said("argument"))
    answer = {"action": "accept", "content": {"confirm": said("answer")}}
    for _ in range(6):
        for question in desk.questions(operation):
            if not question.problem:
                desk.answer(question, answer)
        desk.look(operation)
    assert operation.state == State.FAILED
    return operation


def texts_of(model: Any) -> str:
    """Every column of a table as text, as a dump would show it."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT row_to_json(t)::text FROM {model._meta.db_table} t")
        rows = "\n".join(row[0] for row in cursor.fetchall())
        return rows + _bytes_of(model, cursor)


def _bytes_of(model: Any, cursor: Any) -> str:
    """The binary columns as the bytes they are."""
    found = []
    for field in model._meta.concrete_fields:
        if field.get_internal_type() == "BinaryField":
            cursor.execute(f"SELECT {field.column} FROM {model._meta.db_table}")
            found += [bytes(row[0] or b"") for row in cursor.fetchall()]
    return b" ".join(found).decode("latin-1")


def test_no_table_holds_a_canary_in_clear(scripted: ScriptedDesk) -> None:
    scripted.server.credential = bearer(said("token"))
    scripted.server.auth_kind = AuthKind.BEARER
    scripted.server.discovery = {"instructions": said("instructions")}
    scripted.server.save()
    scripted.server.tools.create(name="echo", definition={"description": said("tool")})
    with_canaries(scripted)

    for model in apps.get_models():
        assert CANARY not in texts_of(model), model.__name__


def test_control_a_canary_in_a_plain_column_is_found(scripted: ScriptedDesk) -> None:
    scripted.server.last_problem = said("problem")
    scripted.server.save()

    assert CANARY in texts_of(type(scripted.server))


def test_what_is_sealed_comes_back_as_it_was(scripted: ScriptedDesk) -> None:
    operation = with_canaries(scripted)

    assert operation.payload.arguments == {"secret": said("argument")}
    assert operation.payload.error["message"] == said("error")
    assert operation.task_id == said("task")
    keys = [question.key for question in operation.input_requests.all()]
    assert sorted(keys) == sorted(said(key) for key in ("key", "key2", "key3"))


def test_no_event_holds_a_canary(scripted: ScriptedDesk) -> None:
    """But for the name of a method that was not declared, which the log may name."""
    with_canaries(scripted)

    for event in Event.objects.exclude(kind="question.undeclared"):
        assert CANARY not in json.dumps(event.data), event.kind


def test_no_event_tells_where_a_redirect_leads_or_what_an_operator_wrote(desk: Desk) -> None:
    operation = desk.run("misbehave", fault="redirect-other-origin", nonce="moved")
    assert operation.state == State.UNKNOWN
    reconcile(
        operation.pk,
        choice=Choice.RECORD_FAILED,
        reason=said("reason"),
        actor=desk.actor,
        now=desk.clock.now,
    )

    data = json.dumps(list(Event.objects.values_list("data", flat=True)))
    assert CANARY not in data
    assert "localhost" not in data


def test_a_changed_credential_is_in_no_event(scripted: ScriptedDesk) -> None:
    names = ("name", "identity", "allow_private", "questions_to", "paused", "max_in_flight")
    same = {name: getattr(scripted.server, name) for name in (*names, "call_timeout_s")}
    kind = {"auth_kind": AuthKind.BEARER, "credential": bearer(said("token"))}
    who = {"actor": scripted.actor, "now": scripted.clock.now}
    change_server(scripted.server.pk, **same, **kind, **who)

    assert CANARY not in json.dumps(list(Event.objects.values_list("data", flat=True)))


def test_the_log_holds_no_canary_at_its_loudest(
    desk: Desk, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    """Real requests, so that the libraries below have their say too."""
    caplog.set_level(logging.DEBUG)
    desk.server.credential = {"headers": [["X-Key", said("token")]]}
    desk.server.auth_kind = AuthKind.HEADERS
    desk.server.save()
    desk.finish(desk.start("ask_then_task_asks", nonce=said("argument"), duration_ms=0))
    desk.run("misbehave", fault="html", nonce=said("html"))
    desk.run("misbehave", fault="json-broken", nonce=said("broken"))
    desk.run("protocol_error", nonce=said("error"))

    shown = caplog.text + "".join(capfd.readouterr())
    logging.getLogger("tasks_monitor").debug("heard")
    assert "heard" in caplog.text
    assert CANARY not in shown


def test_a_fault_of_ours_logs_no_canary(
    scripted: ScriptedDesk, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(operation: Operation, result: Any, notes: Any) -> None:
        raise TypeError("a fault of ours")

    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(settle_call, "keep_result", broken)
    scripted.peer.will(peer.CALL, peer.finished(secret=said("result")))
    scripted.start(secret=said("argument"))
    scripted.drain()

    assert "could not apply" in caplog.text
    assert CANARY not in caplog.text


def test_no_representation_of_a_request_holds_a_canary(scripted: ScriptedDesk) -> None:
    scripted.server.credential = bearer(said("token"))
    scripted.server.save()
    with_canaries(scripted)

    for work in scripted.peer.sent:
        assert CANARY not in repr(work), type(work).__name__


def test_no_representation_of_a_row_holds_a_canary(scripted: ScriptedDesk) -> None:
    operation = with_canaries(scripted)

    kept = [operation, operation.payload, *operation.input_requests.all()]
    kept += [question.delivery for question in kept[2:] if hasattr(question, "delivery")]
    for row in kept:
        assert CANARY not in repr(row) + str(row)


def test_every_change_of_state_is_an_event_of_the_same_transaction(
    scripted: ScriptedDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the event cannot be written, nothing is."""
    scripted.peer.will(peer.CALL, peer.finished())
    operation = scripted.begin(scripted.start())
    before = Operation.objects.filter(pk=operation.pk).values().get()

    def broken(*args: Any, **kwargs: Any) -> None:
        raise ValueError("the log is broken")

    monkeypatch.setattr(rows, "record", broken)
    scripted.arrive()

    assert Operation.objects.filter(pk=operation.pk).values().get() == before
    operation.payload.refresh_from_db()
    assert operation.payload.result is None
