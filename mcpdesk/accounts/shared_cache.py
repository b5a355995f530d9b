"""Django's cache as rows, shared by all web processes: what limits sign-ins is counted in it.

Values are JSON, never pickles: who can write to the database must not come to run code by that.
Keys are kept as digests, since they hold addresses of people and machines.
"""

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.db import connection, transaction
from django.db.models import QuerySet

from mcpdesk.accounts.models import CacheEntry

_FOR_EVER = datetime(9999, 1, 1, tzinfo=UTC)
_TABLE = CacheEntry._meta.db_table
# one statement: of two processes that add the same key at once, one has added it
_ADD = (
    f"INSERT INTO {CacheEntry._meta.db_table} (key, value, ends_at) VALUES (%s, %s::jsonb, %s) "  # noqa: S608
    "ON CONFLICT (key) DO UPDATE SET value = EXCLUDED.value, ends_at = EXCLUDED.ends_at "
    f"WHERE {CacheEntry._meta.db_table}.ends_at <= %s"
)
# one statement here too: of many processes that count at once, none is lost
_COUNT = (
    f"INSERT INTO {_TABLE} AS counted (key, value, ends_at) VALUES (%(key)s, '1', %(end)s) "  # noqa: S608
    "ON CONFLICT (key) DO UPDATE SET "
    "value = CASE WHEN counted.ends_at <= %(now)s THEN '1' "
    "ELSE to_jsonb(counted.value::bigint + 1) END, "
    "ends_at = CASE WHEN counted.ends_at <= %(now)s THEN EXCLUDED.ends_at "
    "ELSE counted.ends_at END RETURNING value::bigint, ends_at"
)
#: So many values that have ended go with a value that is kept, or the first count of a window.
_SWEPT = 100


class Counted(NamedTuple):
    """How many there were in a window, this one included, and when the window ends (UTC)."""

    number: int
    ends_at: datetime


class RowsCache(BaseCache):
    """A cache in the table of CacheEntry. Meant for little: counts, locks, codes that were used."""

    def __init__(self, _: str, params: dict[str, Any]) -> None:
        super().__init__(params)

    def add(
        self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None
    ) -> bool:
        """Keep a value unless there is one; whether it was kept."""
        now = datetime.now(UTC)
        kept = CacheEntry._meta.get_field("value").get_db_prep_save(value, connection)
        with connection.cursor() as cursor:
            cursor.execute(_ADD, [self._digest(key, version), kept, self._end(timeout), now])
            return bool(cursor.rowcount == 1)

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        """The value, or `default` where there is none (any more)."""
        found = self._entry(key, version).filter(ends_at__gt=datetime.now(UTC)).first()
        return default if found is None else found.value

    def set(
        self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None
    ) -> None:
        """Keep a value; some of what has ended goes at the same time."""
        self._sweep(datetime.now(UTC))
        CacheEntry.objects.update_or_create(
            key=self._digest(key, version),
            defaults={"value": value, "ends_at": self._end(timeout)},
        )

    def touch(self, key: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        """Let a value end at another time; whether there was one."""
        kept = self._entry(key, version).filter(ends_at__gt=datetime.now(UTC))
        return kept.update(ends_at=self._end(timeout)) == 1

    def delete(self, key: Any, version: int | None = None) -> bool:
        """Forget a value; whether there was one."""
        return self._entry(key, version).delete()[0] == 1

    def clear(self) -> None:
        CacheEntry.objects.all().delete()

    def count(self, key: Any, window_s: int) -> Counted:
        """Count one more in the window that is open, or in a new one of so many seconds."""
        now = datetime.now(UTC)
        end = now + timedelta(seconds=window_s)
        with connection.cursor() as cursor:
            cursor.execute(_COUNT, {"key": self._digest(key, None), "end": end, "now": now})
            counted = Counted(*cursor.fetchone())
        if counted.number == 1:
            self._sweep(now)
        return counted

    def _sweep(self, now: datetime) -> None:
        """Delete some of what has ended, and wait for nobody who does the same."""
        with transaction.atomic():
            ended = CacheEntry.objects.filter(ends_at__lte=now).select_for_update(skip_locked=True)
            keys = list(ended.values_list("key", flat=True)[:_SWEPT])
            CacheEntry.objects.filter(key__in=keys).delete()

    def _entry(self, key: Any, version: int | None) -> QuerySet[CacheEntry]:
        return CacheEntry.objects.filter(key=self._digest(key, version))

    def _digest(self, key: Any, version: int | None) -> str:
        return hashlib.sha256(self.make_and_validate_key(key, version=version).encode()).hexdigest()

    def _end(self, timeout: Any) -> datetime:
        seconds = self.get_backend_timeout(timeout)
        return _FOR_EVER if seconds is None else datetime.fromtimestamp(seconds, UTC)
