"""The peers, started once for all tests that talk to them."""

from collections.abc import Iterator

import pytest

from tests.peers.processes import Peer, running


@pytest.fixture(scope="session")
def fastmcp_peer() -> Iterator[Peer]:
    """A FastMCP server with fastmcp-tasks."""
    with running("tests.peers.fastmcp_peer") as peer:
        yield peer


@pytest.fixture(scope="session")
def sdk_peer() -> Iterator[Peer]:
    """A server on the official Python SDK."""
    with running("tests.peers.sdk_peer") as peer:
        yield peer
