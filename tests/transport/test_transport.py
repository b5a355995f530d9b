"""Connections and responses over real sockets."""

import asyncio
import gzip
import json
import ssl
import subprocess
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from mcpdesk.http.addresses import origin_of
from mcpdesk.http.client import FailureKind
from mcpdesk.mcp import requests
from mcpdesk.mcp.reader import ErrorReply, ReplyProblem, ResultReply, Unreadable
from mcpdesk.mcp.requests import Request
from tasks_monitor import transport as transport_module
from tasks_monitor.transport import Endpoint, Exchange, Transport
from tests.transport.server import RawServer, Received, error_of, http, result_of

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def transport() -> AsyncIterator[Transport]:
    transport = Transport()
    yield transport
    await transport.aclose()


def endpoint(url: str, **more: Any) -> Endpoint:
    return Endpoint("server", url, **{"timeout_s": 5.0, "allow_private": True} | more)


def poll(id: int = 1) -> Request:
    return requests.get_task(id, "task")


def _ok(received: Received) -> bytes:
    return result_of(received, ok=True)


def _failure(exchange: Exchange) -> tuple[FailureKind, bool]:
    assert exchange.reply is None
    assert exchange.failure is not None
    assert exchange.failure.sentence
    return exchange.failure.kind, exchange.failure.sent


# what is sent


async def test_a_request_arrives_with_its_headers_its_body_and_our_name(
    transport: Transport,
) -> None:
    async with RawServer(_ok) as server:
        await transport.send(endpoint(server.url, headers=(("Authorization", "Bearer t"),)), poll())
    (received,) = server.requests
    assert received.path == "/mcp"
    assert received.body == poll().body
    assert received.headers["authorization"] == "Bearer t"
    assert received.headers["accept-encoding"] == "gzip, deflate"
    assert received.headers["user-agent"].startswith("mcpdesk/")
    assert dict(poll().headers).items() <= received.headers.items()


async def test_no_cookie_comes_back(transport: Transport) -> None:
    def answer(received: Received) -> bytes:
        return http(b"{}", "Set-Cookie: a=b; Path=/")

    async with RawServer(answer) as server:
        for _ in range(2):
            await transport.send(endpoint(server.url), poll())
    assert all("cookie" not in received.headers for received in server.requests)


async def test_no_proxy_of_the_environment_is_used(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1/")
    async with RawServer(_ok) as server:
        exchange = await transport.send(endpoint(server.url), poll())
    assert isinstance(exchange.reply, ResultReply)


@pytest.mark.parametrize(
    "header",
    [("X-A", "a\r\nX-B: b"), ("X A", "a"), ("", "a"), ("X-A", "ä"), ("X-A", " a"), ("Host", "x"),
     ("Mcp-Method", "x"), ("Content-Length", "1"), ("Cookie", "a=b"), ("accept", "*/*")],
)  # fmt: skip
async def test_credentials_that_would_break_the_protocol_are_not_sent(
    transport: Transport, header: tuple[str, str]
) -> None:
    async with RawServer(_ok) as server:
        exchange = await transport.send(endpoint(server.url, headers=(header,)), poll())
    assert _failure(exchange) == (FailureKind.BAD_ENDPOINT, False)
    assert server.connections == 0


async def test_credentials_are_never_shown() -> None:
    shown = endpoint("https://example.com/", headers=(("Authorization", "Bearer s3cret"),))
    assert "s3cret" not in repr(shown)
    assert "s3cret" not in str(shown)


# connections


async def test_polls_share_a_connection_and_each_call_has_its_own(transport: Transport) -> None:
    async with RawServer(_ok) as server:
        there = endpoint(server.url)
        for id in (1, 2):
            await transport.send(there, poll(id))
        for id in (3, 4):
            await transport.send(there, requests.call_tool(id, "x", {}))
        await transport.send(there, poll(5))
    assert [received.connection for received in server.requests] == [1, 1, 2, 3, 1]


async def test_two_identities_never_share_a_connection(transport: Transport) -> None:
    async with RawServer(_ok) as server:
        for token in ("a", "b"):
            headers = (("Authorization", token),)
            await transport.send(endpoint(server.url, headers=headers), poll())
    assert [received.connection for received in server.requests] == [1, 2]


async def test_a_connection_survives_an_event_stream(transport: Transport) -> None:
    async def answer(received: Received, writer: asyncio.StreamWriter) -> None:
        event = b'data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n'
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
        writer.write(head + b"Transfer-Encoding: chunked\r\n\r\n")
        writer.write(b"%x\r\n%b\r\n" % (len(event), event))
        await writer.drain()
        writer.write(b"0\r\n\r\n")

    async with RawServer(answer) as server:
        for _ in range(2):
            exchange = await transport.send(endpoint(server.url), poll())
            assert exchange.reply == ResultReply({})
    assert [received.connection for received in server.requests] == [1, 1]


async def test_the_answer_of_a_stream_that_stays_open_is_not_waited_for(
    transport: Transport,
) -> None:
    async def answer(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        writer.write(b'data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n')
        await asyncio.Event().wait()

    async with RawServer(answer) as server:
        exchange = await transport.send(endpoint(server.url, timeout_s=60.0), poll())
    assert exchange.reply == ResultReply({})


async def test_connections_nobody_used_for_a_while_are_closed(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with RawServer(_ok) as one, RawServer(_ok) as other:
        await transport.send(endpoint(one.url), poll())
        monkeypatch.setattr(transport_module, "IDLE_POOL_S", 0.0)
        await transport.send(endpoint(other.url), poll())
        async with asyncio.timeout(5):
            while one.open_connections:
                await asyncio.sleep(0)
        assert other.open_connections == 1


async def test_a_closed_transport_can_be_used_again(transport: Transport) -> None:
    async with RawServer(_ok) as server:
        await transport.aclose()
        await transport.send(endpoint(server.url), poll())
        await transport.aclose()
        exchange = await transport.send(endpoint(server.url), poll())
    assert isinstance(exchange.reply, ResultReply)


# failures before anything was sent


@pytest.mark.parametrize(
    "url",
    ["ftp://127.0.0.1/", "https://user:pw@example.com/", "nonsense", "https://", "https://xn--a/",
     "https://2130706433/", "https://[v1.a]/", "https://a..b/", f"https://{'a' * 300}.example/"],
)  # fmt: skip
async def test_an_address_that_cannot_be_used_is_a_failure(transport: Transport, url: str) -> None:
    exchange = await transport.send(endpoint(url), poll())
    assert _failure(exchange) == (FailureKind.BAD_ENDPOINT, False)


async def test_a_closed_port_refuses_before_anything_is_sent(transport: Transport) -> None:
    async with RawServer(_ok) as server:
        url = server.url
    assert _failure(await transport.send(endpoint(url), poll())) == (FailureKind.REFUSED, False)


async def test_a_name_that_does_not_exist_fails_before_anything_is_sent(
    transport: Transport,
) -> None:
    exchange = await transport.send(endpoint("https://desk.invalid/mcp"), poll())
    assert _failure(exchange) == (FailureKind.DNS, False)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "0x7f.1", "0.0.0.0"])
async def test_a_private_address_is_blocked_by_whatever_name(
    transport: Transport, host: str
) -> None:
    async with RawServer(_ok) as server:
        url = f"https://{host}:{server.port}/"
        exchange = await transport.send(endpoint(url, allow_private=False), poll())
    assert _failure(exchange) == (FailureKind.BLOCKED_ADDRESS, False)
    assert server.connections == 0


async def test_a_name_that_leads_to_a_private_address_at_the_second_look_is_blocked(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DNS rebinding: what counts is the address that is connected to."""

    async def resolve(*args: Any, **kwargs: Any) -> list[dict[str, Any]]:
        found = {"hostname": "example.com", "host": "127.0.0.1", "port": server.port}
        return [found | {"family": 2, "proto": 6, "flags": 0}]

    async with RawServer(_ok) as server:
        monkeypatch.setattr("aiohttp.connector.TCPConnector._resolve_host", resolve)
        url = f"https://example.com:{server.port}/"
        exchange = await transport.send(endpoint(url, allow_private=False), poll())
    assert _failure(exchange) == (FailureKind.BLOCKED_ADDRESS, False)
    assert server.connections == 0


async def test_plain_http_to_a_public_address_is_blocked(transport: Transport) -> None:
    exchange = await transport.send(endpoint("http://8.8.8.8/"), poll())
    assert _failure(exchange) == (FailureKind.BLOCKED_ADDRESS, False)


async def test_a_server_without_tls_fails_before_anything_is_sent(transport: Transport) -> None:
    async def speak_http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(http(b"", status="400 Bad Request"))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(speak_http, "127.0.0.1", 0)
    async with server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        exchange = await transport.send(endpoint(url), poll())
    assert _failure(exchange) == (FailureKind.TLS, False)


async def test_a_certificate_nobody_vouches_for_is_refused(
    transport: Transport, tmp_path: Path
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj",
         "/CN=127.0.0.1", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    context.load_cert_chain(certificate, key)
    async with RawServer(_ok, ssl=context) as server:
        exchange = await transport.send(endpoint(f"https://127.0.0.1:{server.port}/"), poll())
    assert _failure(exchange) == (FailureKind.TLS, False)
    assert server.requests == []


async def test_a_connection_that_does_not_come_about_in_time_sent_nothing(
    transport: Transport,
) -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
        exchange = await transport.send(endpoint(url, timeout_s=0.5), poll())
    assert _failure(exchange) == (FailureKind.CONNECT_TIMEOUT, False)


# failures afterwards


async def test_a_server_that_never_answers_times_out_after_sending(transport: Transport) -> None:
    async def answer(received: Received, writer: asyncio.StreamWriter) -> None:
        await asyncio.Event().wait()

    async with RawServer(answer) as server:
        exchange = await transport.send(endpoint(server.url, timeout_s=0.3), poll())
    assert _failure(exchange) == (FailureKind.TIMEOUT, True)


async def test_the_timeout_is_for_the_whole_exchange(transport: Transport) -> None:
    async def answer(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        while True:
            writer.write(b": still here\n\n")
            await writer.drain()
            await asyncio.sleep(0.02)

    async with RawServer(answer) as server:
        exchange = await transport.send(endpoint(server.url, timeout_s=0.4), poll())
    assert _failure(exchange) == (FailureKind.TIMEOUT, True)


@pytest.mark.parametrize(
    "beginning",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Ty",
        b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{"a":',
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"99\r\ndata: {",
        b"what is this?\r\n\r\n",
    ],
)
@pytest.mark.parametrize("request_", [poll(), requests.call_tool(1, "x", {})])
async def test_an_answer_that_breaks_off_is_a_failure_after_sending(
    transport: Transport, beginning: bytes, request_: Request
) -> None:
    async def answer(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(beginning)
        await writer.drain()
        writer.close()

    async with RawServer(answer) as server:
        exchange = await transport.send(endpoint(server.url), request_)
    assert _failure(exchange) == (FailureKind.BROKEN, True)
    assert len(server.requests) == 1


# redirects


def _redirect(status: str, location: str) -> bytes:
    return http(b"", f"Location: {location}", status=status)


@pytest.mark.parametrize("status", ["307 Temporary Redirect", "308 Permanent Redirect"])
async def test_a_redirect_within_the_origin_is_followed_with_the_same_request(
    transport: Transport, status: str
) -> None:
    def answer(received: Received) -> bytes:
        return _ok(received) if received.path == "/new" else _redirect(status, "/new")

    async with RawServer(answer) as server:
        exchange = await transport.send(endpoint(server.url), poll())
    assert exchange.reply == ResultReply({"ok": True})
    assert [received.path for received in server.requests] == ["/mcp", "/new"]
    assert server.requests[0].body == server.requests[1].body


async def test_a_second_redirect_is_refused(transport: Transport) -> None:
    async with RawServer(_redirect("307 Temporary Redirect", "/again")) as server:
        exchange = await transport.send(endpoint(server.url), poll())
    assert _failure(exchange) == (FailureKind.REDIRECT, True)
    assert len(server.requests) == 2


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other"])
async def test_a_redirect_that_would_become_a_get_is_refused(
    transport: Transport, status: str
) -> None:
    async with RawServer(_redirect(status, "/s3cret")) as server:
        exchange = await transport.send(endpoint(server.url), poll())
    assert _failure(exchange)[0] is FailureKind.REDIRECT
    assert exchange.failure is not None
    assert "s3cret" not in exchange.failure.sentence
    assert len(server.requests) == 1


async def test_a_redirect_to_another_origin_carries_no_credentials_there(
    transport: Transport,
) -> None:
    async with (
        RawServer(_ok) as other,
        RawServer(_redirect("307 Temporary Redirect", other.url)) as server,
    ):
        there = endpoint(server.url, headers=(("Authorization", "Bearer t"),))
        exchange = await transport.send(there, poll())
    assert _failure(exchange)[0] is FailureKind.REDIRECT
    assert exchange.failure is not None
    assert str(origin_of(other.url)) in exchange.failure.sentence
    assert other.connections == 0


# answers


async def test_compressed_answers_are_read(transport: Transport) -> None:
    def answer(received: Received) -> bytes:
        message = {"jsonrpc": "2.0", "id": 1, "result": {"a": "x" * 1000}}
        return http(gzip.compress(json.dumps(message).encode()), "Content-Encoding: gzip")

    async with RawServer(answer) as server:
        exchange = await transport.send(endpoint(server.url), poll())
    assert exchange.reply == ResultReply({"a": "x" * 1000})


async def test_a_bomb_is_refused_by_what_comes_out_of_it(transport: Transport) -> None:
    bomb = http(gzip.compress(b" " * 100_000_000), "Content-Encoding: gzip")
    async with RawServer(bomb) as server:
        exchange = await transport.send(endpoint(server.url), poll())
    assert isinstance(exchange.reply, Unreadable)
    assert exchange.reply.reason is ReplyProblem.TOO_BIG


async def test_a_body_without_end_is_refused(transport: Transport) -> None:
    async def answer(received: Received, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
        while True:
            writer.write(b" " * 100_000)
            await writer.drain()

    async with RawServer(answer) as server:
        exchange = await transport.send(endpoint(server.url, timeout_s=30.0), poll())
    assert isinstance(exchange.reply, Unreadable)
    assert exchange.reply.reason is ReplyProblem.TOO_BIG


async def test_a_login_page_is_refused_credentials(transport: Transport) -> None:
    page = http(b"<html>Sign in</html>", status="401 Unauthorized", kind="text/html")
    async with RawServer(page) as server:
        exchange = await transport.send(endpoint(server.url), poll())
    assert isinstance(exchange.reply, Unreadable)
    assert exchange.reply.reason is ReplyProblem.AUTHORIZATION


@pytest.mark.parametrize(
    ("header", "low", "high"),
    [
        ("Retry-After: 120", 120, 120),
        ("Retry-After: Fri, 31 Dec 9999 23:59:59 GMT", 604_800, 604_800),
    ],
)
@pytest.mark.parametrize("status", ["429 Too Many Requests", "503 Service Unavailable"])
async def test_a_busy_server_says_how_long_to_wait(
    transport: Transport, status: str, header: str, low: float, high: float
) -> None:
    async with RawServer(http(b"later", header, status=status, kind="text/plain")) as server:
        exchange = await transport.send(endpoint(server.url), poll())
    assert isinstance(exchange.reply, Unreadable)
    assert exchange.reply.reason is ReplyProblem.BUSY
    assert exchange.retry_after_s is not None
    assert low <= exchange.retry_after_s <= high


async def test_retry_after_means_nothing_on_a_good_answer(transport: Transport) -> None:
    def answer(received: Received) -> bytes:
        return _ok(received).replace(b"\r\n", b"\r\nRetry-After: 5\r\n", 1)

    async with RawServer(answer) as server:
        exchange = await transport.send(endpoint(server.url), poll())
    assert isinstance(exchange.reply, ResultReply)
    assert exchange.retry_after_s is None


async def test_an_error_inside_a_status_is_read(transport: Transport) -> None:
    def answer(received: Received) -> bytes:
        return error_of(received, -32602)

    async with RawServer(answer) as server:
        exchange = await transport.send(endpoint(server.url), poll())
    assert isinstance(exchange.reply, ErrorReply)
    assert (exchange.reply.code, exchange.reply.http_status) == (-32602, 400)


async def test_an_exchange_has_our_time_and_the_servers(transport: Transport) -> None:
    def answer(received: Received) -> bytes:
        date = b"\r\nDate: Sun, 29 Nov 2026 12:00:00 GMT\r\n"
        return _ok(received).replace(b"\r\n", date, 1)

    async with RawServer(answer) as server:
        before = datetime.now(UTC)
        exchange = await transport.send(endpoint(server.url), poll())
    assert before <= exchange.received_at <= datetime.now(UTC)
    assert exchange.server_date == datetime(2026, 11, 29, 12, tzinfo=UTC)
