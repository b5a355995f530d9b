"""One trace for each operation, from its request through people to its result; nothing when off."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from mcpdesk import tracing
from mcpdesk.mcp import requests
from mcpdesk.ops.middleware import TraceContextMiddleware
from tasks_monitor.engine.claim import claim
from tasks_monitor.engine.reconcile import Choice, reconcile
from tasks_monitor.models import Operation
from tasks_monitor.states import State
from tasks_monitor.transport import Transport
from tests.engine import peer
from tests.engine.desk import Desk, ScriptedDesk
from tests.engine.test_secrets import CANARY, with_canaries
from tests.factories import NOW

pytestmark = pytest.mark.django_db

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.fixture(autouse=True)
def _commits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done on commit is done at once: the tests' own transaction never commits."""
    monkeypatch.setattr(
        "tasks_monitor.engine.traces.transaction.on_commit", lambda do, robust=False: do()
    )


@pytest.fixture
def exporter() -> Iterator[InMemorySpanExporter]:
    found = InMemorySpanExporter()
    end = tracing.use(SimpleSpanProcessor(found))
    yield found
    end()


def names(exporter: InMemorySpanExporter) -> list[str]:
    return [span.name for span in exporter.get_finished_spans()]


def the(exporter: InMemorySpanExporter, name: str) -> ReadableSpan:
    (found,) = [span for span in exporter.get_finished_spans() if span.name == name]
    return found


def seconds(span: ReadableSpan) -> float:
    assert span.start_time is not None and span.end_time is not None
    return (span.end_time - span.start_time) / 1e9


def asked_and_answered(desk: ScriptedDesk) -> Operation:
    """A call that became a task, asked somebody for two hours, and came to its result."""
    desk.peer.will(peer.CALL, peer.handle())
    desk.peer.will(peer.GET, peer.task(), peer.task(), peer.waiting("go"), peer.completed())
    desk.peer.will(peer.UPDATE, peer.ACK)
    operation = desk.settle(desk.start())
    desk.clock.advance(7200)
    return desk.finish(operation)


def test_one_trace_goes_from_the_request_through_people_to_the_result(
    scripted: ScriptedDesk, exporter: InMemorySpanExporter
) -> None:
    operation = asked_and_answered(scripted)
    assert operation.state == State.COMPLETED
    spans = exporter.get_finished_spans()
    assert [span.name for span in spans if span.name != "tasks/get"] == [
        "start echo",
        "wait to be sent",
        "tools/call",
        "remote task",
        "deliver answer",
        "wait for people",
        "operation",
    ]
    assert len({span.context.trace_id for span in spans if span.context}) == 1
    assert {span.attributes["mcpdesk.operation"] for span in spans if span.attributes} == {
        str(operation.pk)
    }


def test_all_of_it_hangs_below_the_start(
    scripted: ScriptedDesk, exporter: InMemorySpanExporter
) -> None:
    operation = asked_and_answered(scripted)
    first, *others = exporter.get_finished_spans()
    assert first.parent is None
    assert first.context is not None
    below = {span.parent.span_id for span in others if span.parent}
    assert below == {first.context.span_id}
    assert operation.traceparent.split("-")[2] == f"{first.context.span_id:016x}"


def test_each_span_lasts_as_long_as_what_it_speaks_of(
    scripted: ScriptedDesk, exporter: InMemorySpanExporter
) -> None:
    operation = asked_and_answered(scripted)
    assert seconds(the(exporter, "wait for people")) >= 7200
    assert seconds(the(exporter, "remote task")) < 60
    assert operation.finished_at is not None
    whole = (operation.finished_at - operation.created_at).total_seconds()
    assert seconds(the(exporter, "operation")) == pytest.approx(whole)


def test_checks_that_find_nothing_new_are_no_spans(
    scripted: ScriptedDesk, exporter: InMemorySpanExporter
) -> None:
    scripted.peer.will(peer.CALL, peer.handle())
    scripted.peer.will(peer.GET, peer.task())
    operation = scripted.start()
    for _ in range(10):
        scripted.look(operation)
    assert operation.polls >= 9
    assert names(exporter).count("tasks/get") <= 1


@pytest.mark.parametrize(
    ("answer", "failed"),
    [
        (peer.finished(), False),
        (peer.finished(isError=True), True),
        (peer.Error(-32603, 200), True),
    ],
)
def test_what_failed_is_marked_as_that(
    scripted: ScriptedDesk, exporter: InMemorySpanExporter, answer: peer.Said, failed: bool
) -> None:
    scripted.peer.will(peer.CALL, answer)
    scripted.look(scripted.start())
    status = the(exporter, "operation").status.status_code
    assert status == (StatusCode.ERROR if failed else StatusCode.UNSET)
    assert the(exporter, "tools/call").kind == SpanKind.CLIENT


def test_a_call_sent_again_stays_in_its_trace(
    scripted: ScriptedDesk, exporter: InMemorySpanExporter
) -> None:
    scripted.peer.will(peer.CALL, peer.Nothing(), peer.finished())
    operation = scripted.look(scripted.start())
    scripted.clock.advance(60)
    reconcile(
        operation.pk,
        choice=Choice.SEND_AGAIN,
        reason="looked",
        actor=scripted.actor,
        now=scripted.clock.now,
    )
    scripted.look(operation)
    assert names(exporter).count("tools/call") == 2
    assert seconds(the(exporter, "wait for an operator")) == 60
    assert len({span.context.trace_id for span in exporter.get_finished_spans()}) == 1  # type: ignore[union-attr]


def test_no_payload_is_in_any_span(scripted: ScriptedDesk, exporter: InMemorySpanExporter) -> None:
    with_canaries(scripted)
    spans = exporter.get_finished_spans()
    assert len(spans) > 5
    assert not any(CANARY in span.to_json() for span in spans)


def test_a_change_that_is_rolled_back_is_no_span(
    scripted: ScriptedDesk, exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        scripted.start()
        raise ZeroDivisionError
    assert names(exporter) == []


# --- the trace of whoever asked


def within(path: str, **headers: str) -> str:
    """The traceparent of what is begun by a request to this path."""
    kept: list[str] = []

    def view(request: Any) -> Any:
        kept.append(tracing.begin("x", NOW, {})[0])

    TraceContextMiddleware(view)(RequestFactory(headers=headers).post(path))
    return kept[0]


def test_a_request_to_the_api_passes_its_trace_on_also_where_nothing_is_traced_here() -> None:
    assert within("/api/v1/operations", traceparent=PARENT) == PARENT


def test_where_it_is_traced_here_it_is_the_parent(exporter: InMemorySpanExporter) -> None:
    given = within("/api/v1/operations", traceparent=PARENT)
    assert given.split("-")[1] == TRACE_ID
    assert given != PARENT


@pytest.mark.parametrize(
    "header",
    ["", "x", PARENT[:-1], f"00-{'0' * 32}-00f067aa0ba902b7-01", PARENT.upper(), "ff" + PARENT[2:]],
)
def test_what_is_no_trace_context_is_none(header: str) -> None:
    assert within("/api/v1/operations", traceparent=header) == ""


def test_a_page_takes_up_no_trace() -> None:
    assert within("/operations/new/", traceparent=PARENT) == ""


def test_a_trace_that_is_not_sampled_is_passed_on_and_not_sent(
    exporter: InMemorySpanExporter,
) -> None:
    given = within("/api/v1/operations", traceparent=PARENT[:-2] + "00")
    assert given.endswith("-00")


def test_nothing_of_it_stays_behind_after_the_request() -> None:
    within("/api/v1/operations", traceparent=PARENT)
    assert tracing.begin("x", NOW, {})[0] == ""


# --- what the server is told


def test_every_request_of_an_operation_carries_its_trace(
    scripted: ScriptedDesk, exporter: InMemorySpanExporter
) -> None:
    operation = asked_and_answered(scripted)
    carried = {work.claim.traceparent for work in scripted.peer.sent}
    assert carried == {operation.traceparent} != {""}


def test_what_leaves_has_it_in_meta(
    desk: Desk, exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SEP-414: `traceparent` in `_meta`, without a prefix."""
    sent: list[Any] = []
    send = Transport.send

    async def watched(self: Transport, endpoint: Any, request: Any, **more: Any) -> Any:
        sent.append(json.loads(request.body))
        return await send(self, endpoint, request, **more)

    monkeypatch.setattr(Transport, "send", watched)
    operation = desk.run("run_task", duration_ms=1)
    assert operation.state == State.COMPLETED
    assert {body["method"] for body in sent} == {"tools/call", "tasks/get"}
    carried = {body["params"]["_meta"].get("traceparent") for body in sent}
    assert carried == {operation.traceparent}


def test_what_belongs_to_no_trace_is_sent_as_before(scripted: ScriptedDesk) -> None:
    operation = scripted.start()
    assert operation.traceparent == ""
    (taken,) = claim(scripted.clock.now, 1)
    assert taken.traceparent == ""
    assert b"traceparent" not in requests.get_task(1, "t").body


# --- off


def test_off_it_asks_the_database_nothing(scripted: ScriptedDesk) -> None:
    assert not tracing.is_on()
    scripted.peer.will(peer.CALL, peer.finished())
    operation = scripted.begin(scripted.start())
    Operation.objects.filter(pk=operation.pk).update(traceparent=PARENT)
    with CaptureQueriesContext(connection) as off:
        scripted.arrive()
    asked = [query["sql"] for query in off if query["sql"].startswith("SELECT")]
    assert not any("historyentry" in sql for sql in asked)


def test_an_address_switches_it_on(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[Any] = []
    monkeypatch.setattr(tracing, "use", used.append)
    tracing.configure()
    assert used == []
    settings.TRACES_TO = "http://127.0.0.1:4318"
    tracing.configure()
    assert len(used) == 1
    used[0].shutdown()
