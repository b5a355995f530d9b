from collections.abc import Iterator

import pytest

from tests.chaos.machine import Machine


@pytest.fixture(scope="session")
def machine() -> Iterator[Machine]:
    """One machine for the whole folder: each test has an operation of its own on it."""
    with Machine() as machine:
        yield machine
