"""Query parameters that would change nothing: refused, where frameworks pass them over.

A misspelt filter would give more than was meant, and nobody would see it.
"""

from collections.abc import Set
from typing import Final

from django.http import HttpRequest
from ninja.operation import Operation

from mcpdesk.api.problems import Problem

#: May be empty: the beginning of a list.
_CURSOR: Final = "after"


def of(operation: Operation) -> frozenset[str]:
    """The names of a route's query parameters."""
    queries = [model for model in operation.models if model.__ninja_param_source__ == "query"]
    return frozenset(name for model in queries for name in model.__ninja_flatten_map__)


def check(request: HttpRequest, known: Set[str]) -> None:
    """Raise Problem (422) for parameters that are unknown, empty, or given more than once."""
    said = [
        (name, _why_not(name, [str(value) for value in values], known))
        for name, values in request.GET.lists()
    ]
    errors = [{"field": name[:100], "detail": why} for name, why in said if why]
    if errors:
        raise Problem(422, "Something that was sent means nothing here.", errors=errors)


def _why_not(name: str, values: list[str], known: Set[str]) -> str:
    if name not in known:
        return "There is no such parameter here."
    if len(values) > 1:
        return "Say this once."
    return "This is empty: leave it out." if not values[0] and name != _CURSOR else ""
