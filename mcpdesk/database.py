"""The pool of connections, after PostgreSQL was away."""

from typing import Any, Final, cast

from django.db import connection

#: The pages look at idle connections this often (s): one query to each costs a fraction of a ms.
LOOK_EVERY_S: Final = 1.0


def reconnect() -> None:
    """Give up this thread's connection, and every idle one that is as dead as it is.

    A server that was away leaves a pool of dead connections behind, and the pool finds them out one
    by one, with a pause that doubles between two of them: a few are more than it waits for.
    """
    connection.close()
    pool = cast(Any, connection).pool
    if pool is not None:
        pool.check()


class Keeper:
    """Looks at the idle connections now and then, so that no request waits for dead ones."""

    def __init__(self) -> None:
        self._looked_at = float("-inf")

    def look(self, monotonic: float) -> None:
        """Put new ones in the place of dead ones, at most every LOOK_EVERY_S.

        `monotonic` is a steady clock in s.
        """
        if monotonic - self._looked_at < LOOK_EVERY_S:
            return
        self._looked_at = monotonic
        pool = cast(Any, connection).pool
        if pool is not None and not pool.closed:
            pool.check()
