"""When to ask again: rules of time as pure functions. Durations in ms unless a name says s."""

import math
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from mcpdesk.mcp.limits import POLL_CAP_MS
from mcpdesk.mcp.tasks import Ttl

POLL_FLOOR_MS = 500
POLL_DEFAULT_MS = 2_000
POLL_GROWN_MS = 30_000
POLL_GROWTH = 1.5
JITTER_SHARE = 0.1
"""At most this share of a delay is added, so that polls of one server spread out."""

STATE_ONLY_FIRST_MS = 250
STATE_ONLY_LAST_MS = 30_000
MAX_RETRY_AFTER_S = 7 * 86_400.0
SKEW_SHOWN_MS = 60_000
"""A clock that differs from ours by more than this is shown."""


def next_poll_delay_ms(asked_ms: int | None, unchanged_polls: int, jitter: float = 0.0) -> int:
    """How long to wait before the next `tasks/get`.

    `asked_ms` is the server's pollIntervalMs. Where it asked for nothing usable (none, zero or
    less) the wait starts at 2 s and grows to 30 s while `unchanged_polls` rises. Never sooner
    than asked, never under 500 ms, never over 10 min. `jitter` (0 to 1) only lengthens.
    """
    if asked_ms is None or asked_ms <= 0:
        growth = POLL_GROWTH ** min(max(unchanged_polls, 0), 50)
        delay = min(POLL_DEFAULT_MS * growth, POLL_GROWN_MS)
    else:
        delay = float(min(max(asked_ms, POLL_FLOOR_MS), POLL_CAP_MS))
    return min(math.ceil(delay * (1 + JITTER_SHARE * jitter)), POLL_CAP_MS)


def state_only_delay_ms(round: int, jitter: float = 0.0) -> int:
    """The pause before a call is sent again that got only a requestState; `round` from 1."""
    doubled = STATE_ONLY_FIRST_MS << min(max(round - 1, 0), 30)
    delay = min(doubled, STATE_ONLY_LAST_MS)
    return math.ceil(delay * (1 + JITTER_SHARE * jitter))


def retry_after(value: str | None, now: datetime) -> float | None:
    """Seconds a Retry-After header asks for (RFC 9110 section 10.2.3), at most a week.

    None where the header is absent or neither a number of seconds nor a date.
    """
    text = (value or "").strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:12]), MAX_RETRY_AFTER_S)
    moment = http_date(text)
    if moment is None:
        return None
    return min(max((moment - now).total_seconds(), 0.0), MAX_RETRY_AFTER_S)


def http_date(value: str | None) -> datetime | None:
    """An HTTP-date (RFC 9110 section 5.6.7) in UTC, or None."""
    if not value:
        return None
    try:
        moment = parsedate_to_datetime(value)
        return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError, TypeError):
        return None


def expires_at(created_at: datetime, ttl: Ttl) -> datetime | None:
    """When the server may drop the task; None: never, or past the end of the calendar."""
    if ttl.ms is None:
        return None
    try:
        return created_at + timedelta(milliseconds=ttl.ms)
    except OverflowError:
        return None if ttl.ms > 0 else created_at


def clock_skew_ms(server_time: datetime, our_time: datetime) -> int:
    """How far the server's clock is ahead of ours (negative: behind)."""
    return round((server_time - our_time).total_seconds() * 1000)
