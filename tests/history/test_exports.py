"""Exports: the whole list, as it is, to whoever may have it; broken off, taken up, defused."""

import csv
import io
import json
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.exceptions import PermissionDenied
from django.db import transaction
from hypothesis import given
from hypothesis import strategies as st

from approvals.history_export import APPROVALS
from approvals.models import Approval, Verdict, Vote
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.models import Role
from mcpdesk.audit import exports
from mcpdesk.audit.exports import NoSuchRow, Subject, begin, stream
from mcpdesk.audit.locks import Busy
from mcpdesk.audit.log import DESK, Actor, record
from mcpdesk.audit.models import Event, Export, ExportFormat
from tasks_monitor import event_export
from tasks_monitor.event_export import EVENTS
from tasks_monitor.history_export import OPERATIONS
from tasks_monitor.models import Operation, Payload, Server
from tasks_monitor.states import State
from tests.audit.writing import still_being_written
from tests.factories import NOW, ApprovalFactory, OperationFactory
from tests.history.conftest import Join

LATER = NOW + timedelta(days=30)


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "BATCH", 3)
    monkeypatch.setattr(exports, "BATCH_WITH_PAYLOADS", 2)


@pytest.fixture
def years(server: Server) -> list[Operation]:
    """Ten operations, two of them begun in the same moment."""
    return [
        OperationFactory(
            server=server,
            tool_name=f"tool_{number}",
            state=State.COMPLETED,
            is_error=number % 3 == 0,
            reason=f"=cmd|{number}" if number % 2 else "plain, with a comma",
            created_at=NOW + timedelta(minutes=number // 2),
            finished_at=NOW + timedelta(hours=1 + number),
            arguments={"number": number, "text": "a\nb"},
        )
        for number in range(10)
    ]


def _begin(member: Member, subject: Subject = OPERATIONS, **more: Any) -> Export:
    format = more.pop("format", ExportFormat.CSV)
    given = more.pop("given", {})
    actor = Actor.person(member)
    return begin(member, subject, format, given, actor=actor, now=LATER, **more)


def _parts(
    export: Export, member: Member, subject: Subject = OPERATIONS, **more: Any
) -> list[bytes]:
    async def collect() -> list[bytes]:
        return [part async for part in sending]

    sending = stream(export, member, subject, actor=Actor.person(member), **more)
    return async_to_sync(collect)()


def _read_csv(content: bytes) -> list[dict[str, str]]:
    """As a program reads it: the quote that disarms a cell is taken away."""
    rows = csv.DictReader(io.StringIO(content.decode(), newline=""))
    return [{name: value.removeprefix("'") for name, value in row.items()} for row in rows]


@pytest.mark.django_db
@pytest.mark.usefixtures("small_batches")
def test_a_file_that_is_read_again_equals_the_database(
    auditor: Member, years: list[Operation]
) -> None:
    rows = _read_csv(b"".join(_parts(_begin(auditor), auditor)))
    stored = list(Operation.objects.select_related("history").order_by("created_at", "pk"))
    assert len(rows) == len(stored) == 10
    for row, operation in zip(rows, stored, strict=True):
        assert row["id"] == str(operation.pk)
        assert (row["tool"], row["reason"]) == (operation.tool_name, operation.reason)
        assert (row["state"], row["is_error"]) == (operation.state, json.dumps(operation.is_error))
        assert row["created_at"] == operation.created_at.isoformat().replace("+00:00", "Z")
        assert int(row["took_ms"]) == operation.history.took_ms


@pytest.mark.django_db
@pytest.mark.usefixtures("small_batches", "years")
def test_arguments_and_results_are_in_it_when_they_are_asked_for_and_only_then(
    auditor: Member,
) -> None:
    plain = b"".join(_parts(_begin(auditor, format=ExportFormat.NDJSON), auditor))
    export = _begin(auditor, format=ExportFormat.NDJSON, payloads=True)
    whole = [json.loads(line) for line in b"".join(_parts(export, auditor)).splitlines()]
    assert b"arguments" not in plain
    stored = dict(Payload.objects.values_list("operation_id", "arguments"))
    assert {row["id"]: row["arguments"] for row in whole} == {
        str(pk): arguments for pk, arguments in stored.items()
    }


@pytest.mark.django_db
@pytest.mark.usefixtures("small_batches", "years")
@pytest.mark.parametrize("format", list(ExportFormat))
@pytest.mark.parametrize("received", [1, 2, 3])
def test_a_download_that_was_broken_off_goes_on_to_the_same_file(
    auditor: Member, format: ExportFormat, received: int
) -> None:
    whole = b"".join(_parts(_begin(auditor, format=format), auditor))
    export = _begin(auditor, format=format)
    kept = b"".join(_parts(export, auditor)[:received])
    last = kept.splitlines()[-1].decode()
    last_id = json.loads(last)["id"] if format == ExportFormat.NDJSON else last.split(",")[0]
    export.refresh_from_db()
    rest = b"".join(_parts(export, auditor, after=last_id))
    assert kept + rest == whole
    assert Export.objects.get(pk=export.pk).rows == 10


@pytest.mark.django_db
def test_what_is_not_in_the_file_is_nothing_to_go_on_behind(
    auditor: Member, years: list[Operation]
) -> None:
    export = _begin(auditor, given={"tool": "tool_1"})
    for after in (str(years[2].pk), str(OperationFactory().pk), "nonsense"):
        with pytest.raises(NoSuchRow):
            _parts(export, auditor, after=after)


@pytest.mark.django_db
@pytest.mark.usefixtures("years")
def test_it_holds_what_the_filters_show_of_this_team_until_it_was_begun(
    auditor: Member, server: Server
) -> None:
    OperationFactory()
    OperationFactory(server=server, tool_name="tool_1", created_at=LATER + timedelta(seconds=1))
    rows = _read_csv(b"".join(_parts(_begin(auditor, given={"tool": "tool_1"}), auditor)))
    assert [row["tool"] for row in rows] == ["tool_1"]


@pytest.mark.django_db
@pytest.mark.usefixtures("small_batches", "years")
def test_how_far_it_came_can_be_seen_while_it_comes(auditor: Member) -> None:
    export = _begin(auditor)
    seen: list[int] = []

    def still_may() -> bool:
        seen.append(Export.objects.get(pk=export.pk).rows)
        return True

    _parts(export, auditor, still_may=still_may)
    assert seen == [0, 3, 6, 9]
    assert Export.objects.get(pk=export.pk).finished_at is not None


@pytest.mark.django_db
@pytest.mark.usefixtures("small_batches", "years")
def test_who_loses_the_right_in_the_middle_gets_no_more(auditor: Member) -> None:
    answers: Iterator[bool] = iter([True, False])
    export = _begin(auditor)
    with pytest.raises(PermissionError):
        _parts(export, auditor, still_may=lambda: next(answers))
    assert Export.objects.get(pk=export.pk).rows == 3


@pytest.mark.django_db
@pytest.mark.parametrize("role", [Role.VIEWER, Role.APPROVER, Role.OPERATOR])
def test_who_may_not_read_the_history_exports_nothing(join: Join, role: Role) -> None:
    with pytest.raises(PermissionDenied):
        _begin(join(role))
    assert not Export.objects.exists()


@pytest.mark.django_db
@pytest.mark.usefixtures("small_batches", "years")
def test_the_log_says_who_took_what_and_never_what_was_looked_for(auditor: Member) -> None:
    export = _begin(auditor, given={"text": "plain secret", "state": "completed"}, payloads=True)
    _parts(export, auditor)
    events = Event.objects.filter(kind__startswith="export.").order_by("pk")
    assert [event.sentence for event in events] == [
        f"{auditor.user} exports operations as CSV, with arguments and results"
        " (narrowed by: state, text)",
        f"{auditor.user} has 0 rows of operations",
    ]


@pytest.mark.django_db
def test_approvals_are_exported_with_every_vote_and_its_reason_where_that_is_asked_for(
    auditor: Member, server: Server
) -> None:
    approval: Approval = ApprovalFactory(operation=OperationFactory(server=server), kind="answer")
    said = {"user": auditor.user, "choice": Verdict.APPROVE, "version": 1, "at": NOW}
    Vote.objects.create(approval=approval, reason="@home", **said)
    export = _begin(auditor, APPROVALS, format=ExportFormat.NDJSON, payloads=True)
    (row,) = [
        json.loads(line) for line in b"".join(_parts(export, auditor, APPROVALS)).splitlines()
    ]
    assert (row["id"], row["votes"]) == (str(approval.pk), f"{auditor.user}: approve")
    assert row["reasons"] == {str(auditor.user): "@home"}
    assert row["question"]["message"] == "Continue?"


#: Spaces, controls and marks of direction, as spreadsheets drop them; then what begins a formula.
FORMULA = re.compile(
    r"[\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]*"
    r"[=+\-@\uff1d\uff0b\uff0d\uff20]"
)


@pytest.mark.django_db
def test_what_a_spreadsheet_takes_for_a_formula_is_disarmed_and_read_as_it_is_stored(
    auditor: Member, server: Server
) -> None:
    hidden = ("", "\n", "\r", "\t", " ", "\u00a0", "\ufeff", "\x01\u200b")
    begun = "=+-@\uff1d\uff0b\uff0d\uff20"
    reasons = ["'=1+1", *(f"{unseen}{sign}1+1" for unseen in hidden for sign in begun)]
    for number, reason in enumerate(reasons):
        at = NOW + timedelta(seconds=number)
        OperationFactory(server=server, reason=reason, created_at=at)
    content = b"".join(_parts(_begin(auditor), auditor))
    rows = csv.DictReader(io.StringIO(content.decode(), newline=""))
    assert all(row["reason"].startswith("'") for row in rows)
    assert [row["reason"] for row in _read_csv(content)] == reasons


_HIDDEN = st.text(
    st.sampled_from(" \t\r\n\x00\x0b\x7f\x85\u00a0\u200b\u202e\u3000\ufeff"), max_size=3
)
_BEGUN = st.tuples(_HIDDEN, st.sampled_from("=+-@\uff1d\uff0b\uff0d\uff20'a"), st.text()).map(
    "".join
)


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])) | _BEGUN, min_size=1))
def test_no_cell_is_a_formula_and_each_reads_as_it_was(values: list[str]) -> None:
    (cells,) = csv.reader(io.StringIO(exports.as_csv([values]), newline=""))
    assert not any(cell.startswith(("\t", "\r", "\n")) for cell in cells)
    assert not any(FORMULA.match(cell) for cell in cells)
    assert [cell.removeprefix("'") for cell in cells] == values


def _numbers(parts: list[bytes]) -> list[int]:
    return [int(row["id"]) for row in _read_csv(b"".join(parts))]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("settles", [True, False])
def test_a_file_of_events_passes_none_that_is_still_being_written(
    auditor: Member, settles: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the control: without waiting for writers a number is left out below the file's last."""
    if not settles:
        monkeypatch.setattr(event_export, "settled_up_to", lambda: 2**62)
    export = _begin(auditor, EVENTS)
    with still_being_written(auditor.team_id):
        with transaction.atomic():
            record("audit.read", team_id=auditor.team_id, actor=DESK, now=NOW)
        if settles:
            with pytest.raises(Busy):
                stream(export, auditor, EVENTS, actor=Actor.person(auditor))
        found = [] if settles else _numbers(_parts(export, auditor, EVENTS))
    if settles:
        found = _numbers(_parts(export, auditor, EVENTS))
    below = Event.objects.filter(team=auditor.team_id, at__lte=LATER, pk__lte=found[-1])
    everything = list(below.order_by("pk").values_list("pk", flat=True))
    assert (found == everything) is settles
