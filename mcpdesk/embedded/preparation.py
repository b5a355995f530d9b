"""What has to be true before the processes start: settings, tables, collected files.

Importing this needs a Django that is set up.
"""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from django.conf import settings
from django.core.checks import run_checks
from django.core.management import call_command
from django.db import connections
from django.db.backends.postgresql.base import DatabaseWrapper as PostgresWrapper
from django.db.migrations.executor import MigrationExecutor
from kombu.exceptions import OperationalError as BrokerError

from mcpdesk.celery import app
from mcpdesk.embedded.console import say, step
from mcpdesk.embedded.errors import StartError
from mcpdesk.embedded.prepared import static_fingerprint

FINGERPRINT = ".collected"
#: What the image of a container has there instead: its files were collected when it was made, and
#: nobody can write them now.
IN_AN_IMAGE = "image"


def check_settings() -> list[str]:
    """Run the checks of the settings; returns the warnings. Raises StartError with the errors.

    Django's other checks are about the code: the tests run them, not every start.
    """
    messages = [message for message in run_checks(tags=["mcpdesk"]) if not message.is_silenced()]
    errors = [str(message) for message in messages if message.is_serious()]
    if errors:
        raise StartError("The settings are not usable:\n" + "\n".join(f"  {e}" for e in errors))
    return [str(message) for message in messages]


def require_database() -> None:
    """Raises StartError where the database of DATABASE_URL does not answer."""
    place = settings.DATABASES["default"]
    # Django's pool would keep trying for a while before it says why
    options = {name: value for name, value in place["OPTIONS"].items() if name != "pool"}
    try:
        psycopg.connect(
            dbname=place["NAME"],
            user=place["USER"],
            password=place["PASSWORD"],
            host=options.pop("host", place["HOST"]),
            port=place["PORT"] or None,
            connect_timeout=5,
            **options,
        ).close()
    except psycopg.OperationalError as error:
        raise StartError(
            f"The database {place['NAME']!r} on {place['HOST'] or 'the local socket'} "
            f"(DATABASE_URL) does not answer: {error}"
        ) from error


def require_broker() -> None:
    """Raises StartError where the broker of REDIS_URL or CELERY_BROKER_URL does not answer."""
    if settings.CELERY_BROKER_URL.startswith("filesystem:"):
        return
    with app.connection_for_write(connect_timeout=5) as connection:
        try:
            connection.ensure_connection(max_retries=2, interval_start=0.5)
        except (BrokerError, OSError) as error:
            raise StartError(
                f"The broker {connection.as_uri()} (REDIS_URL or CELERY_BROKER_URL) does not "
                f"answer: {error}"
            ) from error


def migrate() -> int:
    """Bring the tables up to date; returns how many migrations that took."""
    executor = MigrationExecutor(connections["default"])
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if plan:
        call_command("migrate", interactive=False, verbosity=0)
    return len(plan)


def collect_static() -> bool:
    """Copy the static files to where they are served from; False when they are there already.

    Two processes that begin at once do so one after the other. Raises OSError.
    """
    target = Path(settings.STATIC_ROOT)
    mark = target / FINGERPRINT
    with _alone_in(target.parent):
        wanted = static_fingerprint()
        if mark.exists() and mark.read_text().strip() in {wanted, IN_AN_IMAGE}:
            return False
        shutil.rmtree(target, ignore_errors=True)
        call_command("collectstatic", interactive=False, verbosity=0)
        mark.write_text(wanted)
        return True


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Hold a lock on the folder itself, which leaves no file behind."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def leave_database() -> None:
    """Close this process's connections: the supervisor needs none while it watches."""
    for connection in connections.all(initialized_only=True):
        connection.close()
        if isinstance(connection, PostgresWrapper):
            connection.close_pool()


def prepare(fill: Callable[[], None]) -> None:
    """All of the above, one line for each step; `fill` sees to it that somebody can sign in.

    Raises StartError and OSError.
    """
    for warning in check_settings():
        say(f"Warning: {warning}")
    require_database()
    require_broker()
    with step("Bringing the tables up to date"):
        migrate()
    with step("Collecting static files"):
        collect_static()
    fill()
    leave_database()
