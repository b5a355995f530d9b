"""The signed token a form carries: this person was shown exactly this question.

It binds the item, its version, a digest of everything that was shown, and the person. A form that
was made for another question, another version or another person is refused with a sentence.
"""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.core import signing

from approvals.models import Approval
from mcpdesk.mcp.jsontext import canonical

#: How long an open page may be answered from.
MAX_AGE = timedelta(hours=24)
#: How far the clock of the process that showed a page may be ahead of the one that takes its form.
MAX_SKEW = timedelta(seconds=60)

FORGED = "This form was not made by the desk. Nothing was sent; answer from the page below."
FOREIGN = "This form was made for somebody else. Nothing was sent; answer from the page below."
OTHER_ITEM = "This form belongs to another question. Nothing was sent; answer from the page below."
CHANGED = (
    "The question, or the answer that is proposed, changed after this page was opened. "
    "Nothing was sent; read it again below before you answer."
)
TOO_OLD = (
    "This page was open for more than a day. Nothing was sent; "
    "read the question again below before you answer."
)

_signer = signing.Signer(salt="approvals.binding")


@dataclass(frozen=True, slots=True)
class _Bound:
    """What the token says, in the order it is written."""

    approval_id: str
    version: int
    digest: str
    user_id: int
    shown_at: float  # seconds since the epoch, UTC


def bind(approval: Approval, *, user_id: int, now: datetime) -> str:
    """A token for the form that shows this item to this person now."""
    return _signer.sign_object(
        [str(approval.pk), approval.version, digest(approval), user_id, now.timestamp()]
    )


def why_not(token: str, approval: Approval, *, user_id: int, now: datetime) -> str | None:
    """Why this token does not speak for this item and person, in a sentence; None: it does."""
    bound = _read(token)
    if bound is None:
        return FORGED
    if bound.user_id != user_id:
        return FOREIGN
    if bound.approval_id != str(approval.pk):
        return OTHER_ITEM
    if bound.version != approval.version or bound.digest != digest(approval):
        return CHANGED
    if not -MAX_SKEW <= timedelta(seconds=now.timestamp() - bound.shown_at) <= MAX_AGE:
        return TOO_OLD
    return None


def shown_at(token: str) -> datetime | None:
    """When the page was shown (UTC) whose form carries this token; None: it is none of ours."""
    bound = _read(token)
    return None if bound is None else datetime.fromtimestamp(bound.shown_at, UTC)


def digest(approval: Approval) -> str:
    """Hex SHA-256 of exactly what the page shows: who asks, what runs, what is asked, and the
    answer that somebody has proposed.
    """
    operation = approval.operation
    server = operation.server
    request = approval.input_request
    shown: list[Any] = [
        [server.pk, server.name, server.url, server.identity],
        [operation.tool_name, operation.payload.arguments],
        [request.method, request.params, request.problem] if request else None,
        approval.policy,
        approval.proposal,
    ]
    return hashlib.sha256(canonical(shown).encode("ascii")).hexdigest()


def _read(token: str) -> _Bound | None:
    try:
        return _Bound(*_signer.unsign_object(token))
    except (signing.BadSignature, ValueError, TypeError):
        return None
