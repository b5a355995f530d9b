"""Which statements read the whole of a table that grows with the years: PostgreSQL's own plans."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from django.db import connection

#: Tables that grow with everything that is done.
BIG = frozenset(
    {
        *("tasks_monitor_operation", "tasks_monitor_historyentry", "tasks_monitor_payload"),
        *("tasks_monitor_inputrequest", "tasks_monitor_delivery", "tasks_monitor_attempt"),
        *("approvals_approval", "approvals_vote", "audit_event"),
        "audit_seal",
    }
)


def big_scans(statements: Iterable[str]) -> list[str]:
    """The big tables that the plans of these statements read from end to end.

    With `enable_seqscan` off, on a small set: those that no index could keep them from reading.
    """
    return sorted({table for one in statements for table in _scanned(one) if table in BIG})


def _scanned(statement: str) -> Iterator[str]:
    if not statement.lstrip("( \n").upper().startswith("SELECT"):
        return
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {statement}".replace("%", "%%"), [])
        found = cursor.fetchone()[0]
    for plan in json.loads(found) if isinstance(found, str) else found:
        yield from _walk(plan["Plan"])


def _walk(node: dict[str, Any]) -> Iterator[str]:
    if node["Node Type"] == "Seq Scan":
        yield node["Relation Name"]
    for child in node.get("Plans", []):
        yield from _walk(child)
