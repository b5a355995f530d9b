"""What a fault may know of the exchange that it spoils."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime


@dataclass(frozen=True, slots=True)
class Moment:
    """`number` counts the exchanges this rule has seen, from 1; `now_ms` is Unix milliseconds.

    `host` is the Host header of the request, `seconds` the delay that Retry-After names.
    """

    number: int
    now_ms: int
    host: str
    seconds: int

    def retry_date(self) -> str:
        """The date form of Retry-After (RFC 9110, 10.2.3)."""
        now = datetime.fromtimestamp(self.now_ms / 1000, UTC)
        return format_datetime(now + timedelta(seconds=self.seconds), usegmt=True)

    def other_origin(self) -> str:
        """This very server under another name: a request that arrives has followed a redirect."""
        port = self.host.rpartition(":")[2]
        return f"http://localhost:{port}/mcp"
