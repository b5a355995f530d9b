"""Fills an empty database with a made-up history."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.utils import DatabaseError

from mcpdesk.accounts.errors import Refused
from mcpdesk.accounts.models import Team, User
from mcpdesk.audit.models import Event
from mcpdesk.web.made.events import Events
from mcpdesk.web.made.sheets import settle, without_indexes
from mcpdesk.web.made.story import draw
from mcpdesk.web.made.team import assemble
from mcpdesk.web.made.writing import Book
from tasks_monitor.models import ChartDay, InputRequest, Operation

BATCH = 5000
#: Operations that have not ended, at most, and no more than one in ten.
_OPEN = 300


@dataclass(frozen=True, slots=True)
class Size:
    """How much of everything, over how many days before `now`."""

    operations: int
    events: int
    days: int
    people: int


def fill(size: Size, now: datetime, tell: Callable[[int, int], None], seed: int = 1) -> None:
    """Make the history; `tell` is called with (operations, events) written so far.

    Raises Refused where the database has anything in it: what is made up is never mixed with what
    is true.
    """
    _refuse_data()
    chance = random.Random(seed)  # noqa: S311 - a history, not a secret
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = off")
    cast = assemble(now - timedelta(days=size.days), size.people)
    book = Book(cast, chance, Events(cast, size.events / size.operations))
    tables = [sheet.table for sheet in book.sheets]
    step = timedelta(days=size.days) / size.operations
    first_open = size.operations - min(_OPEN, size.operations // 10)
    events = 0
    with without_indexes(tables):
        for begin in range(0, size.operations, BATCH):
            end = min(begin + BATCH, size.operations)
            for number in range(begin, end):
                began = now - timedelta(days=size.days) + step * (number + chance.random())
                book.take(draw(chance, cast, began, is_open=number >= first_open))
            events += _write(book)
            tell(end, events)
    settle(tables, [InputRequest._meta.db_table])
    # a desk that runs beside has kept days of what was there until now
    ChartDay.objects.all().delete()


def _refuse_data() -> None:
    if any(model.objects.exists() for model in (Team, User, Operation, Event)):
        raise Refused("There is data in this database. Name an empty one in DATABASE_URL.")


@transaction.atomic
def _write(book: Book) -> int:
    with _unchecked():
        return book.write()


@contextmanager
def _unchecked() -> Iterator[None]:
    """Where the role may: foreign keys are right by construction, and checking each takes long."""
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL session_replication_role = replica")
    except DatabaseError:
        pass
    yield
