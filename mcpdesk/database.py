"""The pool of connections, after PostgreSQL was away."""

from typing import Any, cast

from django.db import connection


def reconnect() -> None:
    """Give up this thread's connection, and every idle one that is as dead as it is.

    A server that was away leaves a pool of dead connections behind, and the pool finds them out one
    by one, with a pause that doubles between two of them: a few are more than it waits for.
    """
    connection.close()
    pool = cast(Any, connection).pool
    if pool is not None:
        pool.check()
