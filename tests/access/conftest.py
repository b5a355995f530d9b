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
