"""What a link is before anybody opens it, read as a browser would read it. Never fetches.

Sources: MCP 2026-07-28, client/elicitation, "URL Mode"; WHATWG URL, 4.4 (basic URL parser).
"""

import re
from dataclasses import dataclass
from typing import Final

from approvals.hosts import Host, InvalidHost, read_host
from approvals.lookalikes import skeleton
from approvals.text import SegmentKind, Warning, reveal

MAX_URL_CHARS: Final = 8_192

_STRIPPED_ENDS: Final = "".join(map(chr, range(0x21)))
_STRIPPED_INSIDE: Final = re.compile(r"[\t\n\r]")
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_AUTHORITY: Final = re.compile(r"[^/\\?#]*")
_PORT: Final = re.compile(r":([^:\]]*)\Z")
_DEFAULT_PORTS: Final = {"https": 443, "http": 80}
_PLAIN_START: Final = re.compile(r"https?://[^/\\]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LinkFacts:
    """A link, taken apart.

    `url` is whole and as it was sent. `host` is the name or address a browser would connect to,
    in ASCII; `host_unicode` the same as people read it. `port` is None when it is the usual
    one. `reason` says in a sentence why it is not openable, and is empty when it is. `href` is
    what a page may link to: the same address with nothing left to interpretation, or empty.
    """

    url: str
    scheme: str = ""
    host: str = ""
    host_unicode: str = ""
    port: int | None = None
    warnings: tuple[Warning, ...] = ()
    reason: str = ""
    href: str = ""

    @property
    def openable(self) -> bool:
        """Whether a person may be offered to open it."""
        return not self.reason


@dataclass(frozen=True, slots=True)
class _Parts:
    scheme: str
    user_info: str
    host: Host
    port: int | None
    rest: str


class _NotOpenable(ValueError):
    """The message is the sentence that says why."""


def inspect_url(url: str, server_host: str) -> LinkFacts:
    """The facts of a link that a server at `server_host` (a host, or host:port) sent.

    Openable are https links, and http links to this machine itself. Never raises.
    """
    scheme = _scheme(url)
    try:
        _check_length(url)
        parts = _split(url, scheme)
    except _NotOpenable as problem:
        return LinkFacts(url, scheme=scheme, reason=str(problem))
    reason = _why_not(url, parts)
    return LinkFacts(
        url=url,
        scheme=scheme,
        host=parts.host.name,
        host_unicode=parts.host.unicode,
        port=parts.port,
        warnings=tuple(_warnings(parts, server_host)),
        reason=reason,
        href="" if reason else _href(parts),
    )


def _browser_text(url: str) -> str:
    """What a browser looks at: spaces and controls around it, tabs and line ends in it are gone."""
    return _STRIPPED_INSIDE.sub("", url.strip(_STRIPPED_ENDS))


def _scheme(url: str) -> str:
    found = _SCHEME.match(_browser_text(url[:MAX_URL_CHARS]))
    return found[1].lower() if found else ""


def _check_length(url: str) -> None:
    if len(url) > MAX_URL_CHARS:
        raise _NotOpenable("This link is too long to be opened.")


def _split(url: str, scheme: str) -> _Parts:
    """The parts as a browser finds them, however many slashes or backslashes there are."""
    if scheme not in _DEFAULT_PORTS:
        raise _NotOpenable(
            f"A link that starts with {scheme}: is never opened."
            if scheme
            else "This is not a whole web address, so it cannot be opened."
        )
    after = _browser_text(url)[len(scheme) + 1 :].lstrip("/\\")
    authority = _AUTHORITY.match(after)
    named = authority[0] if authority else ""
    user_info, _, place = named.rpartition("@")
    port = _PORT.search(place)
    try:
        host = read_host(place[: port.start()] if port else place)
    except InvalidHost:
        raise _NotOpenable("This link names no host that exists, so it cannot be opened.") from None
    return _Parts(scheme, user_info, host, _port(port, scheme), after[len(named) :])


def _port(found: re.Match[str] | None, scheme: str) -> int | None:
    digits = found[1] if found else ""
    if not digits:
        return None
    if not re.fullmatch(r"[0-9]{1,5}", digits) or int(digits) > 65535:
        raise _NotOpenable("This link names a port that does not exist.")
    return None if int(digits) == _DEFAULT_PORTS[scheme] else int(digits)


def _why_not(url: str, parts: _Parts) -> str:
    kinds = {segment.kind for segment in reveal(url)} - {SegmentKind.PLAIN}
    if kinds or re.search(r"\s", url):
        return "This link has spaces or characters that cannot be seen, so it is not opened."
    if "\\" in url:
        return "This link has backslashes, which browsers read as something else."
    if not _PLAIN_START.match(url):
        return "This link is written in a way that browsers repair, so it is not opened."
    if parts.scheme == "http" and not parts.host.is_loopback:
        return "This link is not encrypted (http), so it is not opened."
    return ""


def _href(parts: _Parts) -> str:
    user_info = f"{parts.user_info}@" if parts.user_info else ""
    port = "" if parts.port is None else f":{parts.port}"
    return f"{parts.scheme}://{user_info}{parts.host.name}{port}{parts.rest or '/'}"


def _warnings(parts: _Parts, server_host: str) -> list[Warning]:
    own = _bare_host(server_host)
    found = _host_warnings(parts.host) + _relation_warnings(parts.host, own)
    if parts.user_info:
        found.append(
            Warning(
                "user_info",
                "What stands before the @ is a user name, not where the link leads: "
                f"it leads to {parts.host.unicode}.",
            )
        )
    if parts.port is not None:
        found.append(Warning("odd_port", f"The link leads to the unusual port {parts.port}."))
    if parts.scheme == "http":
        found.append(Warning("not_https", "The link is not encrypted (http)."))
    return found


def _bare_host(server_host: str) -> str:
    """The server's host without its port, as read_host would name it; empty when unreadable."""
    place = server_host.rpartition("@")[2]
    if place.count(":") > 1 and not place.startswith("["):
        place = f"[{place}]"
    try:
        return read_host(_PORT.sub("", place)).name
    except InvalidHost:
        return ""


def _host_warnings(host: Host) -> list[Warning]:
    if host.address is not None:
        where = "this machine or a private network" if not host.address.is_global else "a machine"
        return [Warning("ip_address", f"The link leads to {where} by its address, not by a name.")]
    found = []
    if host.unicode != host.name or "xn--" in host.name:
        found.append(
            Warning(
                "punycode",
                f"The host has letters beyond a to z. It is {host.unicode}, in full {host.name}.",
            )
        )
    if host.is_look_alike:
        found.append(
            Warning("look_alike", "The host has letters that look like others. Read it twice.")
        )
    return found


def _relation_warnings(host: Host, own: str) -> list[Warning]:
    if not own or host.name == own:
        return []
    found = [Warning("other_host", f"The link leads to {host.unicode}, the server is {own}.")]
    if skeleton(host.unicode) == skeleton(own):
        found.append(Warning("like_server", f"The host looks like {own} and is another one."))
    elif _borrows(host.name, own):
        found.append(
            Warning("like_server", f"The host has {own} in its name and belongs to another one.")
        )
    return found


def _borrows(name: str, own: str) -> bool:
    """Whether the server's whole name stands in another's, as in own.example.evil.net."""
    if name.endswith(f".{own}"):
        return False
    return bool(re.search(rf"(?<![a-z0-9]){re.escape(own)}(?![a-z0-9])", name))
