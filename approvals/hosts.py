"""Host names and addresses as a browser reads them (WHATWG URL, 3.5: host parsing). Pure."""

import ipaddress
import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_to_bytes

import idna

from approvals.lookalikes import is_look_alike

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_FORBIDDEN: Final = re.compile(r"[\x00-\x20\x7f#/:<>?@\[\\\]^|%]")
_MAX_HOST_CHARS: Final = 253
_LOOPBACK_NAMES: Final = ("localhost",)


class InvalidHost(ValueError):
    """No browser opens this host."""


@dataclass(frozen=True, slots=True)
class Host:
    """`name` as it goes into DNS (or an address in its usual form), `unicode` as people read it."""

    name: str
    unicode: str
    address: IpAddress | None = None

    @property
    def is_loopback(self) -> bool:
        """This machine itself, by address or by name (RFC 6761, 6.3)."""
        if self.address is not None:
            return self.address.is_loopback
        return self.name.rstrip(".") in _LOOPBACK_NAMES or self.name.rstrip(".").endswith(
            ".localhost"
        )

    @property
    def is_look_alike(self) -> bool:
        """Whether letters of it are drawn like others, so that it may be taken for another host."""
        return any(is_look_alike(label) for label in self.unicode.split("."))


def read_host(text: str) -> Host:
    """The host that a browser would connect to. Raises InvalidHost."""
    if text.startswith("["):
        return _ipv6(text)
    try:
        decoded = unquote_to_bytes(text).decode("utf-8")
    except UnicodeError:
        raise InvalidHost("not UTF-8") from None
    name = _ascii_name(decoded)
    if not name or len(name) > _MAX_HOST_CHARS + 1 or _FORBIDDEN.search(name):
        raise InvalidHost("not a host name")
    if _ends_in_a_number(name):
        address = ipaddress.IPv4Address(_ipv4_number(name))
        return Host(str(address), str(address), address)
    return Host(name, ".".join(_readable(label) for label in name.split(".")))


def _ipv6(text: str) -> Host:
    try:
        address = ipaddress.IPv6Address(text[1:-1] if text.endswith("]") else "")
    except ValueError:
        raise InvalidHost("not an address") from None
    if address.scope_id:
        raise InvalidHost("not an address")
    return Host(f"[{address}]", f"[{address}]", address.ipv4_mapped or address)


def _ascii_name(text: str) -> str:
    """Every label as DNS has it, after the mapping of UTS 46 that browsers do."""
    if text.isascii():
        return text.lower()
    try:
        mapped = idna.uts46_remap(text, std3_rules=False, transitional=False)
        return ".".join(_ascii_label(label) for label in mapped.split(".")).lower()
    except (idna.IDNAError, UnicodeError):
        raise InvalidHost("not a host name") from None


def _ascii_label(label: str) -> str:
    return label if label.isascii() else "xn--" + label.encode("punycode").decode("ascii")


def _readable(label: str) -> str:
    """The letters behind an `xn--` label; the label itself where there are none."""
    if not label.startswith("xn--"):
        return label
    try:
        decoded = label[4:].encode("ascii").decode("punycode")
        return decoded if _ascii_name(decoded) == label else label
    except (UnicodeError, InvalidHost):
        return label


def _ends_in_a_number(name: str) -> bool:
    last = name.removesuffix(".").rpartition(".")[2]
    return bool(re.fullmatch(r"[0-9]+|0x[0-9a-f]*", last))


def _ipv4_number(name: str) -> int:
    """The address behind decimal, octal and hexadecimal parts (WHATWG URL, IPv4 parser)."""
    parts = name.removesuffix(".").split(".")
    numbers = [_part(part) for part in parts]
    if len(numbers) > 4 or any(number > 255 for number in numbers[:-1]):
        raise InvalidHost("not an address")
    if numbers[-1] >> 8 * (5 - len(numbers)):
        raise InvalidHost("not an address")
    leading = sum(number << 8 * (3 - place) for place, number in enumerate(numbers[:-1]))
    return numbers[-1] + leading


def _part(text: str) -> int:
    try:
        if text.startswith("0x"):
            return int(text[2:] or "0", 16)
        return int(text, 8 if len(text) > 1 and text.startswith("0") else 10)
    except ValueError:
        raise InvalidHost("not an address") from None
