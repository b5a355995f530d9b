"""Reads events and seals as the database holds them, for sealing and verifying them: whatever an
attacker put there is read, or counts as missing, and stops nobody.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, cast

from django.db.models import CharField, F, Func, Q, QuerySet, TextField
from django.db.models.functions import Cast

from mcpdesk.accounts.models import User
from mcpdesk.audit.canonical import Line, Salts
from mcpdesk.audit.models import Event, Seal

#: How many rows the server-side cursor hands over at a time.
FETCH = 2000

#: Times that a datetime holds in whatever zone.
_HELD = (datetime(2, 1, 1, tzinfo=UTC), datetime(9998, 1, 1, tzinfo=UTC))

_FIELDS = (
    *("id", "at_text", "team_id", "kind", "operation_id", "approval_id"),
    *("server_id", "actor_id", "actor_name", "channel", "data_text"),
)


class _UtcText(Func):
    """canonical.moment() in SQL; whatever stands there, infinity included, becomes some text."""

    template = """to_char(%(expressions)s AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""
    output_field = CharField()


def lines(team_id: int, after: int | None, up_to: int, most: int | None = None) -> Iterator[Line]:
    """A team's events with ids over `after` (None: all) up to `up_to`, in order.

    With a server-side cursor: inside a transaction, and with constant memory.
    """
    rows = Event.objects.filter(team_id=team_id, id__lte=up_to).order_by("id")
    if after is not None:
        rows = rows.filter(id__gt=after)
    texts = rows.annotate(
        at_text=_UtcText(F("at")),
        data_text=Cast("data", TextField()),
    ).values_list(*_FIELDS)
    for values in texts[:most].iterator(chunk_size=FETCH):
        *plain, data = values
        yield Line._make([*plain, _parsed(data)])


def seals_of(team_id: int) -> QuerySet[Seal]:
    """A team's seals. One with a time that Python cannot hold (infinity, the year 294276) cannot be
    read at all, and none of ours has one: it counts as missing.
    """
    held = Q()
    for column in ("earliest_at", "latest_at", "sealed_at"):
        held &= Q(**{f"{column}__range": _HELD})
    pruned = Q(pruned_at__isnull=True) | Q(pruned_at__range=_HELD)
    return Seal.objects.filter(held & pruned, team_id=team_id)


def salts() -> Salts:
    """The salt of everybody; None: erased. An installation's people are few beside its events."""
    return dict(User.objects.values_list("pk", "log_salt"))


def _parsed(text: str) -> Any:
    """The data; as text where it is nothing that the desk would have written."""
    try:
        return cast(Any, json.loads(text))
    except (ValueError, RecursionError):
        return text
