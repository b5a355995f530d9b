"""The export of operations: a line for each, oldest first."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from django.db.models import QuerySet

from mcpdesk.accounts.access import Member
from mcpdesk.audit.exports import Subject
from mcpdesk.keyset import Order
from tasks_monitor import history
from tasks_monitor.history_filters import OperationFilters
from tasks_monitor.models import HistoryEntry, Operation, Payload

_COLUMNS: Final = (
    *("id", "server", "tool", "started_by", "reason", "state", "is_error", "explanation"),
    *("error_code", "created_at", "finished_at", "took_ms", "people_ms", "server_ms"),
)
_SEALED: Final = ("arguments", "status_message", "result", "error")


def _clean(given: Mapping[str, str]) -> str:
    return OperationFilters.read(given).query


def _rows(member: Member, given: Mapping[str, str], until: datetime) -> QuerySet[HistoryEntry]:
    found = history.entries(member, OperationFilters.read(given))
    return found.filter(created_at__lte=until)


def _values(entries: list[HistoryEntry], sealed: bool) -> Iterator[Sequence[Any]]:
    payloads = _payloads(entries) if sealed else {}
    for operation in history.operations_of([entry.pk for entry in entries]):
        payload = payloads.get(operation.pk)
        beside = [getattr(payload, name, None) for name in _SEALED] if sealed else []
        yield [*_plain(operation), *beside]


def _payloads(entries: list[HistoryEntry]) -> dict[Any, Payload]:
    return Payload.objects.only(*_SEALED).in_bulk([entry.pk for entry in entries])


def _plain(operation: Operation) -> list[Any]:
    line: HistoryEntry = operation.history
    return [
        *(operation.pk, operation.server.name, operation.tool_name),
        *(operation.starter, operation.reason, line.state, line.is_error),
        *(operation.explanation, operation.error_code, line.created_at, line.finished_at),
        *(line.took_ms, line.people_ms, line.server_ms),
    ]


OPERATIONS: Final = Subject(
    name="operations",
    columns=_COLUMNS,
    sealed=_SEALED,
    order=Order("created_at", descending=False),
    clean=_clean,
    means=OperationFilters.means,
    rows=_rows,
    values=_values,
)
