"""The URL table as it is: every address pattern, found by walking Django's resolver."""

from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

#: Tokens open these, never a session: expected_api.py has their rows.
_API = ("api/v1/", "^api/v1/")


def routes() -> list[str]:
    """Every pattern there is, whole, such as "inbox/<uuid:approval_id>/"; "" is the home page."""
    found = _walk(get_resolver().url_patterns, "")
    return [route for route in found if not route.startswith(_API)]


def _walk(patterns: list[Any], prefix: str) -> Iterator[str]:
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern):
            yield route
