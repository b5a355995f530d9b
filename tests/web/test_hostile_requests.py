"""Requests that no page of the desk makes: refused in words, without a trace of an exception."""

import socket
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from django.conf import settings
from django.test import Client, RequestFactory

from mcpdesk.accounts.models import Membership, Role
from tests.factories import MembershipFactory, ServerFactory
from tests.web.browsing import signed_in
from tests.web.test_start_page import add_tool, filled

pytestmark = pytest.mark.django_db

DIGITS = "9" * 5000


@pytest.fixture
def operator() -> Membership:
    return MembershipFactory(role=Role.OPERATOR)


@pytest.mark.parametrize(
    "url",
    [
        "/inbox/?server=%00",
        "/inbox/?tool=a%00b",
        "/operations/?tool=%00",
        "/accounts/login/?next=%00",
    ],
)
def test_an_address_with_a_nul_is_refused(operator: Membership, url: str) -> None:
    assert signed_in(operator).get(url).status_code == 400


@pytest.mark.parametrize("server", [DIGITS, "9" * 30, "-1", "x", "1.0", "٣", "1&server=2"])
def test_a_server_that_cannot_be_is_not_found(operator: Membership, server: str) -> None:
    for url in (f"/operations/new/?server={server}", f"/operations/new/?server={server}&tool=x"):
        assert signed_in(operator).get(url).status_code == 404


def test_a_number_of_thousands_of_digits_is_told_beside_the_editor(operator: Membership) -> None:
    client = signed_in(operator)
    url = add_tool(ServerFactory(team=operator.team))
    page = client.post(url, filled(client, url, arguments=f'{{"count": {DIGITS}}}'))
    assert page.status_code == 422
    assert "more digits than can be read" in page.content.decode()


@pytest.mark.parametrize("url", ["http://[::1", "http://[bad]/", "//\\", "\x01"])
def test_a_page_address_that_is_none_does_no_harm(operator: Membership, url: str) -> None:
    headers = {"HX-Request": "true", "HX-Target": "inbox-detail", "HX-Current-URL": url}
    assert signed_in(operator).get("/inbox/", headers=headers).status_code == 200


@pytest.mark.parametrize("url", ["/inbox/", "/team/", "/operations/", "/nothing/", "/team/add/"])
def test_no_page_is_kept_by_browser_or_proxy(operator: Membership, url: str) -> None:
    kept = signed_in(operator).get(url)["Cache-Control"]
    assert {"no-store", "private"} <= set(kept.replace(" ", "").split(","))
    assert "no-store" in Client().get(url)["Cache-Control"]


def test_a_password_that_is_shown_once_is_kept_by_nobody() -> None:
    client = signed_in(MembershipFactory(role=Role.ADMIN))
    page = client.post("/team/add/", {"email": f"{uuid4()}@example.org", "role": "viewer"})
    assert "secret-once" in page.content.decode()
    assert "no-store" in page["Cache-Control"]


# bodies, as a running desk gets them: before anybody asks who sent them


def _answer_to(desk_url: str, head: str, body: bytes) -> str:
    """The first line that comes back, whenever it comes."""
    place = urlsplit(desk_url)
    with socket.create_connection((str(place.hostname), place.port or 80), timeout=20) as peer:
        request = f"POST /accounts/login/ HTTP/1.1\r\nHost: {place.netloc}\r\n{head}\r\n\r\n"
        # it may be answered and closed before all of it is sent
        with suppress(BrokenPipeError, ConnectionResetError):
            peer.sendall(request.encode() + body)
        return peer.makefile("rb").readline().decode()


@pytest.mark.django_db(transaction=True)
def test_a_body_that_says_it_is_too_big_is_refused_before_it_comes(desk_url: str) -> None:
    assert " 413 " in _answer_to(desk_url, f"Content-Length: {10**12}", b"")


@pytest.mark.django_db(transaction=True)
def test_a_body_without_a_length_is_cut_off_where_it_becomes_too_big(desk_url: str) -> None:
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    many = chunk * (settings.DATA_UPLOAD_MAX_MEMORY_SIZE // 0x10000 + 2)
    assert " 413 " in _answer_to(desk_url, "Transfer-Encoding: chunked", many)


@pytest.mark.django_db(transaction=True)
def test_a_body_of_an_ordinary_form_arrives(desk_url: str) -> None:
    answer = _answer_to(desk_url, "Content-Length: 3\r\nConnection: close", b"a=1")
    assert " 403 " in answer  # read, and refused for want of a CSRF token


# who is counted by the limits on sign-in


@pytest.mark.parametrize(
    ("behind_proxy", "counted"), [(0, "192.0.2.1"), (1, "198.51.100.7")], ids=["direct", "proxy"]
)
def test_sign_ins_are_counted_for_the_browser_not_for_the_proxy(
    behind_proxy: int, counted: str, settings: Any
) -> None:
    from allauth.account.adapter import get_adapter

    settings.ALLAUTH_TRUSTED_PROXY_COUNT = behind_proxy
    came = RequestFactory().get(
        "/", REMOTE_ADDR="192.0.2.1", headers={"X-Forwarded-For": "127.0.0.9, 198.51.100.7"}
    )
    assert get_adapter().get_client_ip(came) == counted
