"""The timeline of an operation: the newest first, older ones by page, growing without a gap."""

import re
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import transaction
from django.test import Client

from mcpdesk.accounts.models import Membership
from mcpdesk.audit.log import DESK, record
from tasks_monitor.engine.rows import lock, move
from tasks_monitor.models import Operation, Server
from tasks_monitor.states import State
from tasks_monitor.story import GROWN_EVENTS, PAGE_EVENTS
from tests.factories import NOW, OperationFactory
from tests.web.browsing import htmx, signed_in

pytestmark = pytest.mark.django_db

MINUTE = timedelta(minutes=1)


@pytest.fixture
def client(operator: Membership) -> Client:
    return signed_in(operator)


@pytest.fixture
def operation(server: Server) -> Operation:
    return OperationFactory(server=server, state=State.READY)


def happen(operation: Operation, *numbers: int) -> None:
    for number in numbers:
        record(
            "call.sent",
            team_id=operation.team_id,
            actor=DESK,
            now=NOW,
            operation_id=operation.pk,
            attempt=number,
            request_id=number,
            round=0,
        )


def asked(client: Client, operation: Operation, query: str = "", target: str = "") -> str:
    extra = {"headers": htmx(target)} if target else {}
    response = client.get(f"/operations/{operation.pk}/{query}", **extra)  # type: ignore[arg-type]
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def calls(shown: str) -> list[int]:
    return [int(number) for number in re.findall(r"Call (\d+) sent", shown)]


def link(shown: str, name: str) -> str:
    """The query by which the part asks for more."""
    return re.findall(rf'hx-get="[^"]*/(\?{name}=\d+)"', shown)[-1]


def test_older_events_come_page_by_page_and_none_twice(
    client: Client, operation: Operation
) -> None:
    happen(operation, *range(1, 2 * PAGE_EVENTS + 8))
    first = asked(client, operation)
    second = asked(client, operation, link(first, "before"), "timeline-older")
    third = asked(client, operation, link(second, "before"), "timeline-older")
    assert [len(calls(part)) for part in (first, second, third)] == [PAGE_EVENTS, PAGE_EVENTS, 7]
    assert calls(first + second + third) == list(range(2 * PAGE_EVENTS + 7, 0, -1))
    assert "Older events" not in third
    assert "<html" not in second


def test_a_page_that_is_open_grows_and_loses_nothing(client: Client, operation: Operation) -> None:
    happen(operation, *range(1, PAGE_EVENTS + 11))
    first = asked(client, operation)
    happen(operation, *range(100, 130))
    grown = asked(client, operation, link(first, "from"), "operation-timeline")
    assert grown.startswith('<div id="operation-timeline"')
    assert calls(grown) == [*range(129, 99, -1), *calls(first)]
    assert link(grown, "from") == link(first, "from")


def test_what_grew_beyond_measure_says_what_is_left_out(
    client: Client, operation: Operation
) -> None:
    happen(operation, 1)
    first = asked(client, operation)
    happen(operation, *range(2, GROWN_EVENTS + 5))
    grown = asked(client, operation, link(first, "from"), "operation-timeline")
    assert len(calls(grown)) == GROWN_EVENTS
    assert "some of it is left out here" in grown


def test_without_javascript_older_events_are_a_page(client: Client, operation: Operation) -> None:
    happen(operation, *range(1, PAGE_EVENTS + 4))
    first = asked(client, operation)
    page = asked(client, operation, link(first, "before"))
    assert calls(page) == [3, 2, 1]
    assert "Back to the newest events" in page
    assert 'id="operation-timeline" data-live' not in page


@pytest.mark.parametrize("query", ["?before=x", "?from=-1", "?before=²", "?from=" + "9" * 40])
def test_an_address_that_means_nothing_shows_the_newest(
    client: Client, operation: Operation, query: str
) -> None:
    happen(operation, 1, 2)
    assert calls(asked(client, operation, query)) == [2, 1]


def test_another_operations_events_are_not_among_them(
    client: Client, operation: Operation, server: Server
) -> None:
    happen(OperationFactory(server=server), 1)
    assert calls(asked(client, operation)) == []


def _move(operation: Operation, after: State, minutes: int) -> None:
    with transaction.atomic():
        move(lock(operation.pk), after, now=NOW + minutes * MINUTE, reason="because")


def test_the_bar_says_in_words_whose_turn_it_was(client: Client, operation: Operation) -> None:
    for after, minutes in ((State.CALLING, 1), (State.WORKING, 2), (State.INPUT_REQUIRED, 4)):
        _move(operation, after, minutes)
    with time_machine.travel(NOW + 9 * MINUTE, tick=False):
        shown = asked(client, operation, target="operation-state")
    assert shown.startswith('<div id="operation-state"')
    assert 'data-live-every="5"' in shown
    assert "Queued 1 min. Running 3 min. Waiting for input 5 min so far." in shown
    assert len(re.findall('<rect class="phase"', shown)) == 3


def test_the_bar_of_what_ended_asks_no_more_by_the_clock(
    client: Client, operation: Operation
) -> None:
    _move(operation, State.CALLING, 1)
    _move(operation, State.COMPLETED, 2)
    shown = asked(client, operation, target="operation-state")
    assert "Queued 1 min. Running 1 min." in shown
    assert "data-live-every" not in shown
    assert "so far" not in shown


def test_a_label_that_nobody_knows_any_more_breaks_nothing(
    client: Client, operation: Operation
) -> None:
    data: dict[str, Any] = {"before": "Thinking", "after": "Dreaming", "reason": "old"}
    with transaction.atomic():
        record(
            "operation.moved",
            team_id=operation.team_id,
            actor=DESK,
            now=NOW,
            operation_id=operation.pk,
            **data,
        )
    assert "Queued" in asked(client, operation, target="operation-state")


def test_a_final_result_is_not_asked_for_again_and_its_timeline_is(
    client: Client, operation: Operation
) -> None:
    assert '<div id="operation-facts" data-live=' in asked(client, operation)
    _move(operation, State.CALLING, 1)
    _move(operation, State.COMPLETED, 2)
    shown = asked(client, operation)
    assert '<div id="operation-facts" hx-get=' in shown
    assert '<div id="operation-timeline" data-live=' in shown
