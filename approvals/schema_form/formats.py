"""The four string formats an elicitation may ask for, checked and brought into their form."""

import ipaddress
import re
from datetime import UTC, date, datetime
from typing import Final

from approvals.schema_form.model import FieldRefused

_ATOM: Final = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL: Final = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_LOCAL_PART: Final = re.compile(rf'{_ATOM}(?:\.{_ATOM})*|"(?:[ !#-\[\]-~]|\\[ -~])*"', re.ASCII)
_DOMAIN: Final = re.compile(rf"{_LABEL}(?:\.{_LABEL})*", re.ASCII)
_MAX_EMAIL_CHARS: Final = 254
_MAX_LOCAL_CHARS: Final = 64

_PCHAR: Final = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})"
_URI: Final = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):"
    r"(?://(?P<authority>[A-Za-z0-9._~!$&'()*+,;=:@%\[\]-]*)(?=[/?#]|\Z))?"
    rf"(?:{_PCHAR}|/)*(?:\?(?:{_PCHAR}|[/?])*)?(?:\#(?:{_PCHAR}|[/?])*)?",
    re.ASCII,
)
_AUTHORITY: Final = re.compile(
    r"(?:(?:[A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})*@)?"
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)"
    r"(?::[0-9]*)?",
    re.ASCII,
)

_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATE_TIME: Final = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]"
    r"(?P<minute>[0-9]{2}:[0-9]{2})(?P<second>:[0-9]{2})?(?P<fraction>\.[0-9]+)?"
    r"(?P<offset>[Zz]|[+-][0-9]{2}:?[0-9]{2})?"
)


def read_email(text: str) -> str:
    """A mailbox by RFC 5321, 4.1.2. Raises FieldRefused."""
    text = text.strip()
    local, at, domain = text.rpartition("@")
    if (
        not at
        or len(text) > _MAX_EMAIL_CHARS
        or len(local) > _MAX_LOCAL_CHARS
        or not _LOCAL_PART.fullmatch(local)
        or not (_DOMAIN.fullmatch(domain) or _is_address_literal(domain))
    ):
        raise FieldRefused("Enter an e-mail address, such as name@example.org.")
    return text


def _is_address_literal(domain: str) -> bool:
    if not (domain.startswith("[") and domain.endswith("]")):
        return False
    return _is_ip(domain[1:-1].removeprefix("IPv6:"))


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def read_uri(text: str) -> str:
    """An absolute URI by RFC 3986, 3; of http and https also the host. Raises FieldRefused."""
    text = text.strip()
    found = _URI.fullmatch(text)
    if found is None or not _has_good_authority(found["scheme"].lower(), found["authority"]):
        raise FieldRefused("Enter a whole address with its scheme, such as https://example.org/.")
    return text


def _has_good_authority(scheme: str, authority: str | None) -> bool:
    if authority is None:
        return scheme not in {"http", "https"}
    found = _AUTHORITY.fullmatch(authority)
    if found is None:
        return False
    host = found["host"]
    if host.startswith("["):
        return _is_ip(host[1:-1])
    return bool(host) or scheme not in {"http", "https"}


def read_date(text: str) -> str:
    """A calendar date, `full-date` of RFC 3339. Raises FieldRefused."""
    text = text.strip()
    if not _DATE.fullmatch(text):
        raise FieldRefused("Enter a date as YYYY-MM-DD.")
    try:
        date.fromisoformat(text)
    except ValueError:
        raise FieldRefused("This date does not exist.") from None
    return text


def read_date_time(text: str) -> str:
    """A `date-time` of RFC 3339, always with seconds and an offset. Raises FieldRefused.

    A browser's local date and time has no offset: it is read as UTC, as the page says beside
    the field. An offset that was typed is kept.
    """
    found = _DATE_TIME.fullmatch(text.strip())
    if found is None:
        raise FieldRefused("Enter a date and time as YYYY-MM-DDThh:mm, in UTC or with an offset.")
    offset = (found["offset"] or "Z").upper()
    if len(offset) == len("+0200"):
        offset = f"{offset[:3]}:{offset[3:]}"
    moment = f"{found['date']}T{found['minute']}{found['second'] or ':00'}"
    try:
        datetime.fromisoformat(moment + offset)
    except ValueError:
        raise FieldRefused("This date and time does not exist.") from None
    return f"{moment}{found['fraction'] or ''}{offset}"


def posted_date_time(text: str) -> str | None:
    """The same instant as a browser's local control posts it, in UTC; None when it cannot."""
    try:
        moment = datetime.fromisoformat(read_date_time(text)).astimezone(UTC)
    except (FieldRefused, ValueError, OverflowError):
        return None
    if moment.microsecond:
        return None
    return moment.replace(tzinfo=None).isoformat(timespec="seconds")
