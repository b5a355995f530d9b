"""The database of the tests: where it is, and what a restart of it does to connections."""

import threading
from typing import Any, cast

from django.db import connection


def place() -> dict[str, Any]:
    """Django's settings of the database that the tests are connected to right now."""
    return dict(connection.settings_dict)


def url() -> str:
    """The same as a DATABASE_URL."""
    found = place()
    host = found["HOST"] or found["OPTIONS"].get("host", "")
    user = f"{found['USER']}:{found['PASSWORD']}@" if found["USER"] else ""
    return f"postgresql://{user}/{found['NAME']}?host={host}&port={found['PORT'] or '5432'}"


def end_sessions(idle: int) -> None:
    """As a restart of PostgreSQL does: every session is over but this thread's, also those that
    wait in the pool, which are `idle` at least.
    """
    together = threading.Barrier(idle)

    def leave_one_in_the_pool() -> None:
        connection.ensure_connection()
        try:
            together.wait(10)
        finally:
            connection.close()

    threads = [threading.Thread(target=leave_one_in_the_pool) for _ in range(idle)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def begin_anew() -> None:
    """Give up this thread's connection and the pool with whatever is in it or was taken from it."""
    connection.close()
    cast(Any, connection).close_pool()
