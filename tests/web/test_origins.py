"""Which pages may open the desk's socket."""

from typing import Any

import pytest
from django.conf import settings as django_settings
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from mcpdesk.web.origins import is_own
from tests.factories import MembershipFactory
from tests.web.test_consumer import sign_in

HOST = "desk.example:8642"


@pytest.fixture
def desk(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["desk.example", "[::1]"]
    settings.PUBLIC_URL = "http://desk.example:8642"
    settings.BEHIND_TLS = False


@pytest.mark.usefixtures("desk")
@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://desk.example:8642", HOST),
        ("https://desk.example", "desk.example"),
        ("http://[::1]:8642", "[::1]:8642"),
        ("http://desk.example:8642", "inner:8000"),  # the public address, behind a proxy
    ],
)
def test_a_page_of_the_desk_may(origin: str, host: str) -> None:
    assert is_own(origin, host)


@pytest.mark.usefixtures("desk")
@pytest.mark.parametrize(
    "origin",
    [
        "http://desk.example:9999", "http://desk.example", "https://desk.example", "",
        "null", "http://evil.example:8642", "http://desk.example:8642.evil.example",
        "http://desk.example:8642@evil.example", "http://evil.example/desk.example:8642",
        "ftp://desk.example:8642", "http://[bad", "file://",
    ],
)  # fmt: skip
def test_any_other_page_may_not(origin: str) -> None:
    assert not is_own(origin, HOST)


@pytest.mark.usefixtures("desk")
@pytest.mark.parametrize("host", ["evil.example:8642", "evil.example", "", "[bad", "a b"])
def test_a_name_that_is_not_answered_is_nobodys_origin(host: str) -> None:
    assert not is_own(f"http://{host}", host)


def test_behind_tls_a_page_without_it_may_not(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["desk.example"]
    settings.PUBLIC_URL, settings.BEHIND_TLS = "https://desk.example", True
    assert is_own("https://desk.example", "desk.example")
    assert not is_own("http://desk.example", "desk.example")


# a running desk


def _opened(desk_url: str, path: str, origin: str) -> ClientConnection:
    cookie = sign_in(MembershipFactory().user)
    return connect(
        desk_url.replace("http:", "ws:") + path,
        origin=origin,  # type: ignore[arg-type]
        additional_headers={"Cookie": f"{django_settings.SESSION_COOKIE_NAME}={cookie}"},
    )


def test_another_program_on_the_same_machine_cannot_open_it(desk_url: str) -> None:
    with pytest.raises(InvalidStatus):
        _opened(desk_url, "/ws/live/", "http://127.0.0.1:9")


def test_a_socket_to_nowhere_is_denied_without_a_word_in_the_log(
    desk_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(InvalidStatus):
        _opened(desk_url, "/ws/other/", desk_url)
    assert not [record for record in caplog.records if record.levelname != "DEBUG"]


@pytest.mark.parametrize(
    "said", ["not json", b"\x00\xff", "[" * 100_000, '{"type": "live.change"}']
)
def test_whatever_a_browser_says_is_not_read(
    desk_url: str, said: str | bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with _opened(desk_url, "/ws/live/", desk_url) as socket:
        assert "ready" in str(socket.recv(10))
        socket.send(said)
        with pytest.raises(TimeoutError):
            socket.recv(0.5)
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
