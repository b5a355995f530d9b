"""Which addresses the desk may talk to (protection against server-side request forgery)."""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final
from urllib.parse import urljoin, urlsplit

IS_PRIVATE: Final = "The server's address is private, and private addresses are not allowed for it."

_DEFAULT_PORTS = {"http": 80, "https": 443}
# Addresses of IPv6 that lead to an address of IPv4 within them (RFC 6052 section 2.1).
_NAT64 = IPv6Network("64:ff9b::/96")
# The one block of IPv6 from which public addresses are given out (IANA, IPv6 Address Space).
# What a Python knows of the rest depends on its age: site-local, NAT64 of one's own (RFC 8215).
_PUBLIC_IPV6 = IPv6Network("2000::/3")
# For protocols or documentation, which some Pythons take for public.
_RESERVED = (
    IPv4Network("192.0.0.0/24"),
    IPv4Network("192.88.99.0/24"),
    IPv6Network("3fff::/20"),
)


class BadAddress(ValueError):
    """The address cannot be used; the text is a sentence that shows no secret."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme, host and port of an endpoint (RFC 6454)."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"


def origin_of(url: str) -> Origin:
    """The origin of an http or https address. Raises BadAddress."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
        (host or "").encode("idna")  # labels that are empty or too long
    except ValueError:
        raise BadAddress("The address is malformed.") from None
    if parts.scheme not in _DEFAULT_PORTS:
        raise BadAddress("Only http and https addresses can be used.")
    if parts.username is not None or parts.password is not None:
        raise BadAddress("The address must not hold a user name or a password.")
    if not host or any(char.isspace() or not char.isprintable() for char in url):
        raise BadAddress("The address is malformed.")
    return Origin(parts.scheme, host, port or _DEFAULT_PORTS[parts.scheme])


def redirected(url: str, location: str) -> str:
    """Where a redirect leads, if it stays within the origin.

    Raises BadAddress where it does not. Its sentence names the origin alone: it is kept in clear,
    and in a path and a query secrets may stand.
    """
    try:
        target = urljoin(url, location)
    except ValueError:
        raise BadAddress("The server redirects to a malformed address.") from None
    origin = origin_of(target)
    if origin != origin_of(url):
        raise BadAddress(f"The server has moved to {origin}.")
    return target


def why_refused(address: str, *, allow_private: bool, tls: bool) -> str | None:
    """Why no connection to this IP address may be made, in a sentence; None: it may.

    Everything that is not a public unicast address (loopback, private, link-local with the
    metadata services, shared, reserved) needs `allow_private`. Plain http needs it too, and goes
    to such addresses only.
    """
    is_public = _is_public(address)
    if is_public and not tls:
        return "Plain http is for private addresses only: use https."
    if not is_public and not allow_private:
        return IS_PRIVATE
    return None


def _is_public(address: str) -> bool:
    try:
        ip = ip_address(address)
    except ValueError:
        return False
    embedded = _embedded(ip)
    if isinstance(ip, IPv6Address) and ip not in _PUBLIC_IPV6 and not embedded:
        return False
    return all(_is_public_unicast(each) for each in (ip, *embedded))


def _is_public_unicast(ip: IPv4Address | IPv6Address) -> bool:
    reserved = any(ip in network for network in _RESERVED)
    return ip.is_global and not ip.is_multicast and not reserved


def _embedded(ip: IPv4Address | IPv6Address) -> list[IPv4Address]:
    """The IPv4 addresses that an IPv6 address is a way to: mapped, 6to4, Teredo, NAT64."""
    if isinstance(ip, IPv4Address):
        return []
    found = [ip.ipv4_mapped, ip.sixtofour, *(ip.teredo or ())]
    if ip in _NAT64:
        found.append(IPv4Address(int(ip) & 0xFFFFFFFF))
    return [each for each in found if each is not None]
