"""How much a token may ask, and how often an address may guess, over all web processes.

Headers: draft-ietf-httpapi-ratelimit-headers-10, "RateLimit-Policy" and "RateLimit".
"""

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, cast

from allauth.account.adapter import get_adapter
from django.conf import settings
from django.core.cache import cache
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from mcpdesk.accounts.models import ApiToken
from mcpdesk.accounts.shared_cache import RowsCache
from mcpdesk.api.problems import Problem

WINDOW_S: Final = 60
#: Tokens that open nothing, from one address in a window.
MOST_FAILURES: Final = 30


@dataclass(frozen=True, slots=True)
class Rate:
    """What is left of a limit: so many requests, for so many seconds more."""

    policy: str
    most: int
    left: int
    seconds: int

    def headers(self) -> dict[str, str]:
        return {
            "RateLimit-Policy": f'"{self.policy}";q={self.most};w={WINDOW_S}',
            "RateLimit": f'"{self.policy}";r={self.left};t={self.seconds}',
        }


def of_token(token: ApiToken) -> Rate:
    """Count a request of this token. Whether it is one too many, enforce() says."""
    return _count("token", str(token.pk), settings.API["RATE"])


def of_failures(request: HttpRequest) -> Rate:
    """Count a failed authentication from this address (an IPv6 network counts as one)."""
    return _count("failures", _address(request), MOST_FAILURES)


def enforce(rate: Rate) -> None:
    """Raise Problem where the limit was reached before this request."""
    if rate.left < 0:
        raise Problem(
            429,
            f"At most {rate.most} in {WINDOW_S} s. Try again in {rate.seconds} s.",
            "rate-limit",
            headers={**spent(rate).headers(), "Retry-After": str(rate.seconds)},
        )


def spent(rate: Rate) -> Rate:
    return Rate(rate.policy, rate.most, max(rate.left, 0), rate.seconds)


def _count(policy: str, whom: str, most: int) -> Rate:
    counted = _cache().count(f"api:{policy}:{whom}", WINDOW_S)
    seconds = max(1, round((counted.ends_at - datetime.now(UTC)).total_seconds()))
    return Rate(policy, most, most - counted.number, seconds)


def _cache() -> RowsCache:
    return cast(RowsCache, cache)


def _address(request: HttpRequest) -> str:
    """The network that asks; whoever cannot be told apart is counted as one."""
    try:
        text = str(get_adapter(request).get_client_ip(request))
        address = ipaddress.ip_address(text)
    except (PermissionDenied, ValueError):
        return "unknown"
    if address.version == 6:
        return str(ipaddress.ip_network((address, 64), strict=False))
    return text
