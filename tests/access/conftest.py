"""One world for each module: made once, and every request that changes it is undone."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.access.snapshot import undone
from tests.access.world import World


@pytest.fixture(scope="module")
def world(django_db_setup: None, django_db_blocker: Any) -> Iterator[World]:
    with django_db_blocker.unblock(), undone():
        yield World.make()


@pytest.fixture(autouse=True)
def _metrics_want_a_token(settings: Any) -> None:
    """Else this machine, which the tests ask from, would be shown the names of every team."""
    settings.METRICS_TOKEN = "a-token-that-none-of-the-actors-has"
