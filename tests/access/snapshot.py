"""What stands in the database, as a value: equal before and after means that nothing changed."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

#: A session may be touched by anybody who comes.
LEFT_OUT = {"django_session", "usersessions_usersession", "django_migrations"}


def snapshot() -> dict[str, tuple[int, int]]:
    """For every table the number of its rows and a sum over their whole content."""
    tables = sorted(set(connection.introspection.table_names()) - LEFT_OUT)
    one = "SELECT '{0}', count(*), coalesce(sum(hashtext(t::text)), 0) FROM \"{0}\" t"
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(one.format(table) for table in tables))
        return {table: (rows, int(content)) for table, rows, content in cursor.fetchall()}


def changed(before: dict[str, tuple[int, int]]) -> list[str]:
    """The tables that are not as they were."""
    now = snapshot()
    return [table for table in now if now[table] != before.get(table)]


@contextmanager
def undone() -> Iterator[None]:
    """Whatever happens within never was; verbs that want a transaction of their own get one."""
    block = transaction.atomic()
    block._from_testcase = True  # type: ignore[attr-defined] - as Django's own test cases do
    with block:
        yield
        transaction.set_rollback(True)
