"""The database of the tests, for processes and listeners of their own."""

from typing import Any

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
