"""Faults of the bytes: how a response message is put on the wire.

A `Wire` is data: status, headers, how the body is cut into chunks, and how it ends.
"""

import gzip
import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mcpdesk.simulator.faults.moment import Moment

Cut = Callable[[bytes], Sequence[bytes]]
Headers = Callable[[Moment], dict[str, str]]

JSON_TYPE = "application/json"
SSE_TYPE = "text/event-stream"
BOM = b"\xef\xbb\xbf"


class Ending(StrEnum):
    """How a response ends."""

    WHOLE = "whole"
    BROKEN = "broken"
    """The connection is closed before the response is complete."""
    SILENT = "silent"
    """Nothing more comes, and the connection stays open."""


def whole(body: bytes) -> Sequence[bytes]:
    """The body as it is."""
    return (body,)


def no_headers(moment: Moment) -> dict[str, str]:
    """No further headers."""
    return {}


@dataclass(frozen=True, slots=True)
class Wire:
    """One way to put a message on the wire. `pause_ms` passes before each chunk but the first."""

    status: int | None = None
    """None: the status that fits the message."""
    media_type: str | None = JSON_TYPE
    headers: Headers = no_headers
    cut: Cut = whole
    ending: Ending = Ending.WHOLE
    pause_ms: int = 0
    answers: bool = True
    """False: not even the head of a response is sent."""


def fixed(body: bytes) -> Cut:
    """Some other body instead."""
    return lambda _: (body,)


def always(**headers: str) -> Headers:
    """The same headers every time; underscores stand for hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: named


def event(body: bytes, eol: bytes = b"\n", prefix: bytes = b"data: ") -> bytes:
    """A server-sent event with the message as its data."""
    return b"event: message" + eol + prefix + body + eol + eol


def events(eol: bytes, prefix: bytes = b"data: ") -> Cut:
    """One event with these line ends."""
    return lambda body: (event(body, eol, prefix),)


def over_lines(body: bytes) -> Sequence[bytes]:
    """The message as indented JSON, one data line for each of its lines."""
    lines = json.dumps(json.loads(body), indent=1, ensure_ascii=False).encode().split(b"\n")
    return (b"".join(b"data: " + line + b"\n" for line in lines) + b"\n",)


def between_comments(body: bytes) -> Sequence[bytes]:
    """Comments and unknown fields around the event, as keep-alives are sent."""
    return (b":\n\n", b": keep-alive\n\nretry: 10000\n", b"id: 7\n" + event(body), b": bye\n\n")


def after_strangers(body: bytes) -> Sequence[bytes]:
    """Events before the answer that are no answer: other JSON, no JSON, a notification."""
    note = (
        b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}'
    )
    return (event(b'{"hello":"world"}'), event(b"[DONE]"), event(b"7"), event(note), event(body))


def unfinished_event(body: bytes) -> Sequence[bytes]:
    """The last event without its blank line."""
    return (b"data: " + body,)


def crumbs(body: bytes) -> Sequence[bytes]:
    """Forty pieces of seven bytes, then the rest: wide characters are split between chunks."""
    pieces = [body[at : at + 7] for at in range(0, min(len(body), 280), 7)]
    return [*pieces, body[280:]]


def event_crumbs(body: bytes) -> Sequence[bytes]:
    """An event in crumbs."""
    return crumbs(event(body))


def half(body: bytes) -> Sequence[bytes]:
    """The first half."""
    return (body[: len(body) // 2],)


def half_event(body: bytes) -> Sequence[bytes]:
    """Half of the event."""
    return half(event(body))


def drips(body: bytes) -> Sequence[bytes]:
    """The message in ten pieces."""
    size = len(body) // 10 + 1
    return [body[at : at + size] for at in range(0, len(body), size)]


def bottomless(body: bytes) -> Sequence[bytes]:
    """The right id, and a result that nests a hundred thousand times."""
    request_id = json.dumps(json.loads(body).get("id")).encode()
    head = b'{"jsonrpc":"2.0","id":' + request_id + b',"result":{"content":'
    return (head, b"[" * 100_000, b"]" * 100_000, b"}}")


def sized(body: bytes) -> Sequence[bytes]:
    """The message with nine mebibytes of blanks behind it."""
    return (body, *[b" " * 1024 * 1024] * 9)


def _retry_seconds(moment: Moment) -> dict[str, str]:
    return {"retry-after": str(moment.seconds)}


def _retry_date(moment: Moment) -> dict[str, str]:
    return {"retry-after": moment.retry_date()}


def _other_origin(moment: Moment) -> dict[str, str]:
    return {"location": moment.other_origin()}


def _other_scheme(moment: Moment) -> dict[str, str]:
    return {"location": f"https://{moment.host}/mcp"}


LOGIN_PAGE = fixed(b"<!doctype html><title>Sign in</title><form><input type=password></form>")
BUSY = fixed(b"Too busy")
SAME_ORIGIN = always(location="/mcp")


def sse(cut: Cut, **more: Any) -> Wire:
    """An event stream."""
    return Wire(media_type=SSE_TYPE, cut=cut, **more)


WIRES: dict[str, Wire] = {
    "sse": sse(events(b"\n")),
    "sse-crlf": sse(events(b"\r\n")),
    "sse-cr": sse(events(b"\r")),
    "sse-no-space": sse(events(b"\n", b"data:")),
    "sse-comments": sse(between_comments, pause_ms=20),
    "sse-many-lines": sse(over_lines),
    "sse-strangers": sse(after_strangers),
    "sse-no-blank-line": sse(unfinished_event),
    "sse-split": sse(event_crumbs, pause_ms=2),
    "sse-bom": sse(lambda body: (BOM + event(body),)),
    "sse-gzip": sse(
        lambda body: (gzip.compress(event(body)),), headers=always(content_encoding="gzip")
    ),
    "sse-broken": sse(half_event, ending=Ending.BROKEN),
    "sse-ends-without-answer": sse(fixed(b": nothing\n\n")),
    "sse-silent": sse(fixed(b": wait\n\n"), ending=Ending.SILENT),
    "json-bom": Wire(cut=lambda body: (BOM + body,)),
    "json-charset": Wire(media_type="application/json; charset=UTF-8"),
    "json-capitals": Wire(media_type="Application/JSON"),
    "json-no-media-type": Wire(media_type=None),
    "json-split": Wire(cut=crumbs, pause_ms=2),
    "json-slow": Wire(cut=drips, pause_ms=100),
    "json-broken": Wire(cut=half, ending=Ending.BROKEN),
    "json-silent": Wire(cut=half, ending=Ending.SILENT),
    "json-bottomless": Wire(cut=bottomless),
    "json-sized": Wire(cut=sized),
    "json-garbage": Wire(cut=fixed(b"{oops")),
    "json-not-utf8": Wire(cut=fixed(b'{"jsonrpc":"2.0","id":1,"result":{"\xff\xfe":1}}')),
    "gzip": Wire(cut=lambda body: (gzip.compress(body),), headers=always(content_encoding="gzip")),
    "deflate": Wire(
        cut=lambda body: (zlib.compress(body),), headers=always(content_encoding="deflate")
    ),
    "encoding-nobody-asked": Wire(
        cut=fixed(b"\x8b\x00\x80"), headers=always(content_encoding="br")
    ),
    "never-answers": Wire(answers=False, ending=Ending.SILENT),
    "http-200-empty": Wire(cut=fixed(b"")),
    "http-202": Wire(status=202, cut=fixed(b""), media_type=None),
    "http-204": Wire(status=204, cut=fixed(b""), media_type=None),
    "html": Wire(media_type="text/html; charset=utf-8", cut=fixed(b"<h1>It works!</h1>")),
    "login-page": Wire(media_type="text/html", cut=LOGIN_PAGE),
    "http-401": Wire(401, "text/plain", always(www_authenticate="Bearer"), fixed(b"Expired")),
    "http-403": Wire(403, "text/html", cut=fixed(b"<h1>Forbidden</h1>")),
    "http-404-plain": Wire(404, "text/plain", cut=fixed(b"Not found")),
    "http-429-seconds": Wire(429, "text/plain", _retry_seconds, BUSY),
    "http-429-date": Wire(429, "text/plain", _retry_date, BUSY),
    "http-429": Wire(429, "text/plain", cut=BUSY),
    "http-500": Wire(500, "text/html", cut=fixed(b"<h1>Internal Server Error</h1>")),
    "http-502": Wire(502, "text/html", cut=fixed(b"<h1>Bad Gateway</h1>")),
    "http-503-seconds": Wire(503, "text/plain", _retry_seconds, BUSY),
    "http-503-date": Wire(503, "text/plain", _retry_date, BUSY),
    "redirect-307": Wire(307, None, SAME_ORIGIN, fixed(b"")),
    "redirect-308": Wire(308, None, SAME_ORIGIN, fixed(b"")),
    "redirect-302": Wire(302, None, SAME_ORIGIN, fixed(b"")),
    "redirect-other-origin": Wire(307, None, _other_origin, fixed(b"")),
    "redirect-other-scheme": Wire(308, None, _other_scheme, fixed(b"")),
    "redirect-loop": Wire(307, None, always(location="/mcp?fault=redirect-loop"), fixed(b"")),
}
"""Ways to answer, by fault name."""

BEFORE_WORK = frozenset(
    name for name in WIRES if name.startswith(("http-4", "http-5", "redirect-", "login-page"))
)
"""Faults of a server that refused before it did anything."""
