"""Exports: what a list shows as a file, streamed row by row, and taken up again where it broke off.

One mechanism for operations, approvals and events: a `Subject` gives a queryset in a fixed order,
columns, and the values of a row. Rows are read in batches by keyset, each batch in a transaction of
its own, so that neither memory nor a snapshot grows with the file. What began after the export did
is not in it; a download that was broken off goes on behind the last row that was received.
"""

import csv
import io
import json
import unicodedata
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import parse_qsl

from asgiref.sync import sync_to_async
from django.core.exceptions import ValidationError
from django.db import close_old_connections, connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from mcpdesk import keyset
from mcpdesk.accounts.access import Member, Permission
from mcpdesk.accounts.guard import require
from mcpdesk.audit.log import Actor, record
from mcpdesk.audit.models import Export, ExportFormat
from mcpdesk.keyset import Order

BATCH: Final = 500
#: A row with payloads may be as large as a server's answer.
BATCH_WITH_PAYLOADS: Final = 20
#: In an export's query: arguments, messages, answers and results are in the file.
_PAYLOADS: Final = "payloads"
#: What begins a formula, = + - @ as they are and in full width (OWASP, CSV injection).
_FORMULA: Final = frozenset("=+-@\uff1d\uff0b\uff0d\uff20")
#: With these a cell is disarmed whatever follows; the quote that disarms is one of them, so that
#: taking it away again gives exactly what was there.
_DISARMED: Final = ("\t", "\r", "\n", "'")


@dataclass(frozen=True, slots=True)
class Subject:
    """What can be exported. `order` must never change for a row that exists.

    `rows(member, given, until)`: the rows that the filters of an address give, begun at `until`
    (UTC) or before; raises locks.Busy where nobody can know yet which. `means(name, value)`:
    whether a filter of an address narrows anything.
    `values(rows)`: for each row the values of `columns`, and of `sealed` behind them where they are
    asked for (`values(rows, sealed=True)`).
    """

    name: str
    columns: tuple[str, ...]
    sealed: tuple[str, ...]
    order: Order
    clean: Callable[[Mapping[str, str]], str]
    means: Callable[[str, str], bool]
    rows: Callable[[Member, Mapping[str, str], datetime], QuerySet[Any]]
    values: Callable[[list[Any], bool], Iterable[Sequence[Any]]]


#: What locks.Busy means to whoever takes a file.
BUSY: Final = "The log is being written to at this moment. Take the file again in a few seconds."


class NoSuchRow(Exception):
    """The row behind which the file should go on is not in it."""


@transaction.atomic
def begin(
    member: Member,
    subject: Subject,
    format: ExportFormat,
    given: Mapping[str, str],
    *,
    actor: Actor,
    now: datetime,
    payloads: bool = False,
) -> Export:
    """Put down who takes what; stream() gives the file. Raises PermissionDenied."""
    require(member, Permission.READ_HISTORY)
    if payloads:
        require(member, Permission.SEE_ALL_PAYLOADS)
    query = subject.clean(given)
    export = Export.objects.create(
        team_id=member.team_id,
        user=actor.user,
        service="" if actor.user else actor.name,
        subject=subject.name,
        format=format,
        query="&".join(part for part in (query, f"{_PAYLOADS}=yes" if payloads else "") if part),
        created_at=now,
        updated_at=now,
    )
    record(
        "export.begun",
        team_id=member.team_id,
        actor=actor,
        now=now,
        subject=subject.name,
        format=export.get_format_display(),
        # never the values: a text that is looked for is somebody's words
        filters=", ".join(sorted(dict(parse_qsl(query))))[:200] or "none",
        payloads="with arguments and results" if payloads else "without arguments and results",
    )
    return export


def has_payloads(export: Export) -> bool:
    return dict(parse_qsl(export.query)).get(_PAYLOADS) == "yes"


def stream(
    export: Export,
    member: Member,
    subject: Subject,
    *,
    actor: Actor,
    after: str = "",
    still_may: Callable[[], bool] = lambda: True,
) -> AsyncIterator[bytes]:
    """The file, or what is behind the row with the id `after`; its rows are counted on `export`.

    Nothing is written before the first batch is asked for. `still_may` is asked before each: who
    loses the right gets no more. Raises NoSuchRow, and locks.Busy.
    """
    sending = _Sending(export, member, subject, actor)
    sending.find(after)
    return _parts(sending, still_may)


async def _parts(sending: "_Sending", still_may: Callable[[], bool]) -> AsyncIterator[bytes]:
    while not sending.done:
        part = await sync_to_async(sending.next_part)(still_may)
        if part:
            yield part


class _Sending:
    """One download on its way."""

    def __init__(self, export: Export, member: Member, subject: Subject, actor: Actor) -> None:
        self.done = False
        self._export, self._subject, self._actor = export, subject, actor
        self._sealed = has_payloads(export)
        given = dict(parse_qsl(export.query))
        self._rows = subject.rows(member, given, export.created_at)
        self._columns = subject.columns + (subject.sealed if self._sealed else ())
        self._last: Any = None
        self._taken_up = False

    def find(self, after: str) -> None:
        """Begin behind the row with that id; at the beginning where it is empty. Writes nothing."""
        self._last = self._row(after) if after else None
        self._head = self._export.format == ExportFormat.CSV and not after

    def next_part(self, still_may: Callable[[], bool]) -> bytes:
        """The next lines, as bytes; the file ends where there are no more."""
        try:
            if not still_may():
                return self._stop()
            if not self._taken_up:
                self._take_up()
            return self._next_part()
        finally:
            # a slow reader holds no connection between two batches
            if not connection.in_atomic_block:
                close_old_connections()

    def _take_up(self) -> None:
        """The first bytes are asked for: count from here."""
        self._taken_up, sent = True, 0
        if self._last is not None:
            backwards = self._subject.order.reversed()
            sent = keyset.after(self._rows, backwards, self._last).count() + 1
        self._progress(sent, finished_at=None)
        if sent:
            self._note("export.resumed")

    def _next_part(self) -> bytes:
        size = BATCH_WITH_PAYLOADS if self._sealed else BATCH
        ordered = keyset.after(self._rows, self._subject.order, self._last)
        found = list(ordered[:size])
        text = self._text(self._subject.values(found, self._sealed))
        self._last = found[-1] if found else self._last
        self.done = len(found) < size
        now = timezone.now()
        self._progress(self._export.rows + len(found), finished_at=now if self.done else None)
        if self.done:
            self._note("export.finished")
        return text.encode("utf-8")

    def _stop(self) -> bytes:
        self.done = True
        raise PermissionError("This person may not read the history any more.")

    def _row(self, pk: str) -> Any:
        try:
            found = self._rows.filter(pk=pk).first()
        except (ValidationError, ValueError):
            found = None
        if found is None:
            raise NoSuchRow(pk)
        return found

    def _text(self, rows: Iterable[Sequence[Any]]) -> str:
        if self._export.format == ExportFormat.NDJSON:
            return "".join(as_json(self._columns, row) for row in rows)
        lines = [self._columns] if self._head else []
        self._head = False
        return as_csv([*lines, *rows])

    def _progress(self, rows: int, finished_at: datetime | None) -> None:
        export = self._export
        export.rows, export.updated_at, export.finished_at = rows, timezone.now(), finished_at
        export.cursor = str(self._last.pk) if self._last is not None else ""
        export.save(update_fields=["rows", "cursor", "updated_at", "finished_at"])

    def _note(self, kind: str) -> None:
        export = self._export
        with transaction.atomic():
            record(
                kind,
                team_id=export.team_id,
                actor=self._actor,
                now=export.updated_at,
                subject=export.subject,
                rows=export.rows,
            )


def as_csv(rows: Iterable[Sequence[Any]]) -> str:
    """Lines of a CSV file (RFC 4180)."""
    written = io.StringIO()
    csv.writer(written).writerows([_cell(value) for value in row] for row in rows)
    return written.getvalue()


def as_json(columns: Sequence[str], row: Sequence[Any]) -> str:
    """One line of a file of JSON objects; ASCII, so that lone surrogates of a server survive."""
    plain = (_plain(value) for value in row)
    return json.dumps(dict(zip(columns, plain, strict=True)), separators=(",", ":")) + "\n"


def _plain(value: Any) -> Any:
    """A value as JSON has it; times in UTC."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    known = value is None or isinstance(value, str | bool | int | float | dict | list)
    return value if known else str(value)


def _cell(value: Any) -> str:
    plain = _plain(value)
    if plain is None:
        return ""
    if isinstance(plain, str):
        return f"'{plain}" if plain.startswith(_DISARMED) or _is_formula(plain) else plain
    # numbers, true and false as JSON writes them; no text of anybody's can stand here
    return json.dumps(plain, separators=(",", ":"))


def _is_formula(text: str) -> bool:
    """Whether a formula begins here, behind whatever spaces and unseen characters.

    Spreadsheets drop those before they look (Unicode's categories C and Z: control, format, space).
    """
    seen = (char for char in text if unicodedata.category(char)[0] not in "CZ")
    return next(seen, "") in _FORMULA
