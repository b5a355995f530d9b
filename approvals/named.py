"""The servers, people and services that rows of the inbox name, each read once for all rows.

As joins of the rows they take PostgreSQL longer to plan than all else takes together.
"""

from collections.abc import Iterable
from typing import Any, TypeVar

from django.db.models import Model, QuerySet

from approvals.models import Approval
from mcpdesk.accounts.models import ApiToken, User
from tasks_monitor.models import Server

NamedT = TypeVar("NamedT", bound=Model)


def fill(
    rows: list[Approval], servers: Iterable[Server] = (), people: Iterable[User] = ()
) -> list[Approval]:
    """The same rows with all they name: of these servers and people, or else read now."""
    called = [row.operation for row in rows]
    named = [pk for row in rows for pk in (row.decided_by_id, row.claimed_by_id)]
    named += [pk for one in called for pk in (one.started_by_id, one.again_by_id)]
    tokens = [one.token_id for one in called if one.started_by_id is None]
    server_of = _by_id(Server.objects.only("name"), [one.server_id for one in called], servers)
    person_of = _by_id(User.objects.only("name", "email"), named, people)
    token_of = _by_id(ApiToken.objects.only("name", "created_by"), tokens)
    for row in rows:
        row.decided_by = person_of.get(row.decided_by_id)
        row.claimed_by = person_of.get(row.claimed_by_id)
    for one in called:
        one.server = server_of[one.server_id]
        one.started_by = person_of.get(one.started_by_id)
        one.again_by = person_of.get(one.again_by_id)
        if one.token_id in token_of:
            one.token = token_of[one.token_id]
    return rows


def _by_id(
    rows: QuerySet[NamedT], ids: Iterable[int | None], known: Iterable[NamedT] = ()
) -> dict[Any, NamedT]:
    """The rows that have these ids, with those that are known: one query, or none."""
    found = {row.pk: row for row in known}
    return found | rows.in_bulk({pk for pk in ids if pk is not None and pk not in found})
