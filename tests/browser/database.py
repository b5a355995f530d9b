"""A database of its own for the whole desk: what its processes commit must not meet other tests."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast
from urllib.parse import urlsplit

import psycopg
from channels.layers import channel_layers
from django.core.management import call_command
from django.db import connection, connections
from django.db.backends.postgresql.base import DatabaseWrapper
from psycopg import sql

from mcpdesk.embedded import locations


@contextmanager
def throw_away(blocker: Any) -> Iterator[str]:
    """Create a database, let the test process use it too, drop it afterwards; yields its URL.

    `blocker` is pytest-django's: within this block the tests may use the database.
    """
    settings_dict = connection.settings_dict
    usual = settings_dict["NAME"]
    name = f"{usual}_whole"
    with blocker.unblock():
        _maintain(name, "DROP DATABASE IF EXISTS {} WITH (FORCE)", "CREATE DATABASE {}")
        try:
            _use(name)
            call_command("migrate", interactive=False, verbosity=0)
            yield _url(name)
        finally:
            _use(usual)
            _maintain(name, "DROP DATABASE {} WITH (FORCE)")


def _url(name: str) -> str:
    given = os.environ.get("DATABASE_URL") or locations.database_url(locations.data_dir())
    return urlsplit(given)._replace(path=f"/{name}").geturl()


def _maintain(name: str, *statements: str) -> None:
    with psycopg.connect(_url("postgres"), autocommit=True) as maintenance:
        for statement in statements:
            maintenance.execute(sql.SQL(statement).format(sql.Identifier(name)))  # type: ignore[arg-type]


def _use(name: str) -> None:
    """Point Django at another database of the same server, and the hints about changes with it:
    a channel layer keeps the name of the database that it was made for.
    """
    for one in connections.all(initialized_only=True):
        one.close()
        cast(DatabaseWrapper, one).close_pool()
    connection.settings_dict["NAME"] = name
    channel_layers.backends.clear()
