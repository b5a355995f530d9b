"""The desk's ASGI application on a real port, with a channel layer on the tests' own database."""

import asyncio
import os
import shutil
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn
from channels.layers import get_channel_layer
from django.db import connection
from playwright.sync_api import Browser, sync_playwright

from mcpdesk import layers
from mcpdesk.web.notify_layer import NotifyChannelLayer
from tests import databases

#: A server that ends waits so long (s) for the requests it is at.
GRACE_S = 5
REDIS_URL = os.environ.get("MCPDESK_TEST_REDIS_URL", "")


@pytest.fixture(params=["postgres", *(["redis"] if REDIS_URL else [])])
def live_layer(request: pytest.FixtureRequest, transactional_db: None, settings: Any) -> str:
    """Each channel layer that the product can be configured with."""
    if request.param == "redis":
        layer = layers.over_redis(REDIS_URL)
    else:
        layer = {
            "BACKEND": "mcpdesk.web.notify_layer.NotifyChannelLayer",
            "CONFIG": {"database": databases.place()},
        }
    settings.CHANNEL_LAYERS = {"default": layer}
    return str(request.param)


@pytest.fixture
def desk_url(live_layer: str, settings: Any) -> Iterator[str]:
    """The address of a running desk: HTTP and sockets, as in production."""
    from mcpdesk.asgi import application

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    config = uvicorn.Config(
        application,
        log_level="warning",
        lifespan="off",
        ws="websockets-sansio",
        timeout_graceful_shutdown=GRACE_S,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=_run, args=(server, listener), daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the web server did not start"
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(2 * GRACE_S)
    assert not thread.is_alive(), "the web server did not end"
    listener.close()


def _run(server: uvicorn.Server, listener: socket.socket) -> None:
    """Serve until the server is told to end. A request that is cut off would keep its connection to
    the database for good, and a loop that just ends those of its live layer: some hundred tests
    later there are none left.
    """
    with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
        runner.run(server.serve([listener]))
        layer = get_channel_layer()
        if isinstance(layer, NotifyChannelLayer):
            runner.run(layer.close())


@pytest.fixture(autouse=True, scope="session")
def _no_connections_left(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Connections of the server outlive the tests; the database cannot be dropped under them."""
    yield
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The Chromium of the system, started so that it talks to nobody but the desk."""
    flags = ["no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-sync"]
    flags += ["disable-background-networking", "disable-component-update"]
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        # playwright keeps a loop in this thread, which Django would take for an asynchronous one
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        browser = playwright.chromium.launch(
            executable_path=path, args=[f"--{flag}" for flag in flags]
        )
        yield browser
        browser.close()
