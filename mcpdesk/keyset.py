"""Pages of long lists by keyset: from behind a row, forwards and backwards, at the same cost on any
page. A cursor names the row at the edge of a page; to whoever holds it, it is opaque.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar
from uuid import UUID

from django.db.models import Model, Q, QuerySet

ModelT = TypeVar("ModelT", bound=Model)

_MAX_DIGITS = 18


@dataclass(frozen=True, slots=True)
class Order:
    """By a column that is never null in the list, and by the primary key where that is the same."""

    column: str
    descending: bool = True

    def reversed(self) -> "Order":
        return Order(self.column, not self.descending)

    @property
    def counts(self) -> bool:
        """Whether the column holds whole numbers (ids, ms); else it holds moments."""
        return self.column == "pk" or self.column.endswith("_ms")

    @property
    def names(self) -> tuple[str, ...]:
        """What order_by() takes."""
        sign = "-" if self.descending else ""
        columns = (self.column,) if self.column == "pk" else (self.column, "pk")
        return tuple(f"{sign}{column}" for column in columns)


@dataclass(frozen=True, slots=True)
class Slice(Generic[ModelT]):
    """One page. `before` and `after` are the cursors of the pages around it; empty: none there.

    `count`: how many there are in the whole list, or one more than were to be counted; None: they
    were not counted.
    """

    rows: list[ModelT] = field(default_factory=list)
    before: str = ""
    after: str = ""
    count: int | None = None


@dataclass(frozen=True, slots=True)
class _Found:
    rows: list[Any]
    more: bool
    count: int | None = None


#: Reads from the beginning of what it is given, in that order.
_Read = Callable[[QuerySet[Any], Order], _Found]


def is_cursor(order: Order, cursor: str) -> bool:
    """Whether it names a row of a list in this order."""
    return _place(order, cursor) is not None


def page(queryset: QuerySet[ModelT], order: Order, cursor: str = "", size: int = 50) -> Slice[Any]:
    """The page at a cursor; the first one for an empty cursor, and for one that means nothing."""

    def read(walked: QuerySet[Any], by: Order) -> _Found:
        found = list(walked.order_by(*by.names)[: size + 1])
        return _Found(found[:size], len(found) > size)

    return _page(queryset, order, cursor, read)


def page_by_keys(
    queryset: QuerySet[Any],
    order: Order,
    whole: Callable[[list[Any]], list[Any]],
    cursor: str = "",
    size: int = 50,
    *,
    count_to: int = 0,
) -> Slice[Any]:
    """page(), of rows that `whole` reads by their keys once it is known which stand on the page.

    The same query that finds the keys of the first page counts on from there, to one more than
    `count_to`; keys are cheap, and what narrows the list is looked through once.
    """

    counted = count_to if _place(order, cursor) is None else 0

    def read(walked: QuerySet[Any], by: Order) -> _Found:
        ordered = walked.order_by(*by.names).values_list("pk", flat=True)
        keys = list(ordered[: max(size, counted) + 1])
        return _Found(whole(keys[:size]), len(keys) > size, len(keys) if counted else None)

    return _page(queryset, order, cursor, read)


def _page(queryset: QuerySet[Any], order: Order, cursor: str, read: _Read) -> Slice[Any]:
    place = _place(order, cursor)
    if place is None:
        found = read(queryset, order)
        return Slice(found.rows, "", _after(order, found.rows) if found.more else "", found.count)
    at, backwards = place
    walked = order.reversed() if backwards else order
    found = read(queryset.filter(_behind(walked, *at)), walked)
    rows, more = found.rows, found.more
    if not backwards:
        return Slice(rows, _before(order, rows), _after(order, rows) if more else "")
    rows.reverse()
    return Slice(rows, _before(order, rows) if more else "", _after(order, rows))


def after(queryset: QuerySet[ModelT], order: Order, row: ModelT | None) -> QuerySet[ModelT]:
    """The list in its order, from behind a row of it; None: from its beginning."""
    ordered = queryset.order_by(*order.names)
    if row is None:
        return ordered
    return ordered.filter(_behind(order, getattr(row, order.column), row.pk))


def _behind(order: Order, value: Any, pk: Any) -> Q:
    """Rows behind this one. The first condition alone is one that an index can begin at."""
    step = "lt" if order.descending else "gt"
    if order.column == "pk":
        return Q(**{f"pk__{step}": pk})
    further = Q(**{f"{order.column}__{step}": value}) | Q(**{f"pk__{step}": pk})
    return Q(**{f"{order.column}__{step}e": value}) & further


def _after(order: Order, rows: list[Any]) -> str:
    return _cursor(order, rows[-1]) if rows else ""


def _before(order: Order, rows: list[Any]) -> str:
    return f"~{_cursor(order, rows[0])}" if rows else ""


def _cursor(order: Order, row: Any) -> str:
    value = getattr(row, order.column)
    text = value.astimezone(UTC).isoformat() if isinstance(value, datetime) else str(value)
    return f"{text}_{row.pk}"


def _place(order: Order, cursor: str) -> tuple[tuple[Any, Any], bool] | None:
    """Which row a cursor of ours names, and whether its page goes backwards from there."""
    text, _, pk = cursor.removeprefix("~").partition("_")
    try:
        value, key = _value(text), _key(pk)
    except ValueError:
        return None
    # a cursor of a list in another order names no row of this one
    fits = isinstance(value, int) is order.counts
    return ((value, key), cursor.startswith("~")) if fits else None


def _value(text: str) -> datetime | int:
    if text.isdecimal():
        return _number(text)
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(text)
    return moment


def _key(text: str) -> UUID | int:
    return _number(text) if text.isdecimal() and len(text) <= _MAX_DIGITS else UUID(text)


def _number(text: str) -> int:
    if len(text) > _MAX_DIGITS:
        raise ValueError(text)
    return int(text)
