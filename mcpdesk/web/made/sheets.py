"""Lines for PostgreSQL's COPY: of each row only what differs is put into words."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection, models


class Sheet:
    """Lines of one table. `varying` are the columns that differ from row to row, by attname; all
    others have the value that the given instance has, in every row.
    """

    def __init__(self, like: models.Model, varying: Iterable[str]) -> None:
        self.varying = tuple(varying)
        fields = {field.attname: field for field in like._meta.concrete_fields}
        shared = [
            field
            for name, field in fields.items()
            if name not in self.varying and not field.generated and not _is_numbered(field)
        ]
        self.table = like._meta.db_table
        self.columns = [fields[name].column for name in self.varying]
        self.columns += [field.column for field in shared]
        values = [
            field.get_db_prep_save(getattr(like, field.attname), connection) for field in shared
        ]
        self._tail = "".join(f"\t{_text(value)}" for value in values) + "\n"
        self._lines: list[str] = []

    def add(self, *values: Any) -> None:
        """One more row; the values of the varying columns in their order."""
        self._lines.append("\t".join(map(_text, values)) + self._tail)

    def write(self) -> int:
        """Copy the lines into the table; returns how many there were."""
        columns = ", ".join(f'"{column}"' for column in self.columns)
        statement = f'COPY "{self.table}" ({columns}) FROM STDIN'
        with connection.cursor() as cursor, cursor.copy(statement) as copy:
            copy.write("".join(self._lines))
        written = len(self._lines)
        self._lines.clear()
        return written


@contextmanager
def without_indexes(tables: list[str]) -> Iterator[None]:
    """Drop what is no constraint, and build it at the end: many times as fast as row by row."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index"
            " WHERE indrelid = ANY(%s::regclass[]) AND NOT indisunique",
            [[f'"{table}"' for table in tables]],
        )
        found = cursor.fetchall()
        for name, _ in found:
            cursor.execute(f"DROP INDEX {name}")
        try:
            yield
        finally:
            cursor.execute("SET maintenance_work_mem = '512MB'")
            for _, definition in found:
                cursor.execute(definition)


def settle(tables: list[str], numbered: list[str]) -> None:
    """Once all is written: where ids go on, and what the planner has to know."""
    with connection.cursor() as cursor:
        for table in numbered:
            cursor.execute(f'SELECT max(id) FROM "{table}"')  # noqa: S608 - a model's table
            cursor.execute(
                "SELECT setval(pg_get_serial_sequence(%s, 'id'), %s)", [table, cursor.fetchone()[0]]
            )
        for table in tables:
            cursor.execute(f'VACUUM ANALYZE "{table}"')


def _is_numbered(field: Any) -> bool:
    """PostgreSQL gives the number, unless it is among the varying columns."""
    return isinstance(field, models.AutoField | models.BigAutoField)


def _text(value: Any) -> str:
    """A value as COPY reads it. Texts are ours: of their characters only these three matter."""
    if value is None:
        return "\\N"
    if isinstance(value, str):
        return value.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, int | UUID):
        return str(value)
    if isinstance(value, list):
        return "{" + ",".join(map(str, value)) + "}"
    return _wrapped(value)


def _wrapped(value: Any) -> str:
    """Bytes and JSON, also in the wrapper that psycopg puts around them."""
    inner = getattr(value, "obj", value)
    if isinstance(inner, bytes | memoryview):
        return "\\\\x" + bytes(inner).hex()
    return _text(json.dumps(inner))
