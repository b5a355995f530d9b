"""The process's network: started when first needed, closed when the worker ends."""

import asyncio
import gc
from collections.abc import Iterator

import pytest
from celery.signals import worker_shutdown

from tasks_monitor.engine.network import close_network, network
from tasks_monitor.transport import Endpoint
from tests.simulator.process import SimulatorProcess


@pytest.fixture
def no_network() -> Iterator[None]:
    close_network()
    yield
    close_network()


def _ask(url: str) -> None:
    """One exchange in the network's own thread, after which a connection is kept alive."""
    used = network()
    session = used._session(Endpoint("s", url, timeout_s=10.0, allow_private=True))
    asyncio.run_coroutine_threadsafe(session.discover(), used._loop).result(10)


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("ends_properly", [True, False])
def test_a_worker_that_ends_leaves_no_connection_open(
    simulator: SimulatorProcess, ends_properly: bool, recwarn: pytest.WarningsRecorder
) -> None:
    """The control is a worker that just forgets its network."""
    _ask(simulator.url)
    forgotten = network()
    if ends_properly:
        worker_shutdown.send(sender=None)
    else:
        network.cache_clear()
        forgotten._loop.call_soon_threadsafe(forgotten._loop.stop)
    forgotten._thread.join(10)
    del forgotten
    gc.collect()
    said = [str(one.message) for one in recwarn if one.category is ResourceWarning]
    assert any("Unclosed client session" in one for one in said) is not ends_properly
    assert (said == []) is ends_properly


@pytest.mark.usefixtures("no_network")
def test_a_worker_that_never_called_anybody_starts_nothing_at_its_end() -> None:
    worker_shutdown.send(sender=None)
    assert network.cache_info().currsize == 0


@pytest.mark.usefixtures("no_network")
def test_after_it_was_closed_there_is_another_one() -> None:
    first = network()
    close_network()
    assert network() is not first
