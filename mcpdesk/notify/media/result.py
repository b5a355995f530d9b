"""What became of one attempt to send; failures say whether trying again can help."""

from dataclasses import dataclass
from datetime import datetime

from mcpdesk.http.client import Failure, FailureKind
from mcpdesk.http.posting import Answer
from mcpdesk.mcp.pacing import retry_after

_HOPELESS = (FailureKind.BAD_ENDPOINT, FailureKind.BLOCKED_ADDRESS)
#: Request Timeout, Too Early, Too Many Requests: the only refusals that pass (RFC 9110, 6585).
_PASSING = (408, 425, 429)
_GONE = 410


@dataclass(frozen=True, slots=True)
class Sent:
    """The other side took it; `provider_id` is what it calls the message, where it says so."""

    provider_id: str = ""


@dataclass(frozen=True, slots=True)
class NotSent:
    """It did not get through; `sentence` is ours, never the other side's words.

    `permanent`: trying again cannot help. `gone`: nothing will ever be taken there again.
    `after_s`: the other side asked to be left alone that long.
    """

    sentence: str
    permanent: bool = False
    gone: bool = False
    after_s: float | None = None


Result = Sent | NotSent


def of_answer(answer: Answer | Failure, now: datetime, *, gone: tuple[int, ...] = ()) -> Result:
    """What a receiver's status means; `gone` are statuses that mean it beside 410."""
    if isinstance(answer, Failure):
        return NotSent(answer.sentence, permanent=answer.kind in _HOPELESS)
    status = answer.status
    if 200 <= status < 300:
        return Sent()
    if status == _GONE or status in gone:
        return NotSent(f"The address is gone (HTTP {status}).", permanent=True, gone=True)
    if 300 <= status < 400:
        return NotSent(f"The address has moved (HTTP {status}): give the new one.", permanent=True)
    if status >= 500 or status in _PASSING:
        after_s = retry_after(answer.retry_after, now) if answer.retry_after else None
        return NotSent(f"The receiver is in trouble (HTTP {status}).", after_s=after_s)
    return NotSent(f"The receiver refuses it (HTTP {status}).", permanent=True)
