"""An answer that one person proposes and others confirm: exactly that one, as their form shows it.

What looks like a secret is never shown, not even to those who confirm: each types it again, and it
has to be the same, so that each of them knows what is sent.
"""

from typing import Any

from approvals import schema_form
from approvals.models import Approval
from approvals.question import Question, Submitted
from mcpdesk.mcp.jsontext import canonical

_OTHER = "This is not what {who} proposed."
_OTHER_HIDDEN = "This is not what {who} entered."
_UNSHOWABLE = (
    "Others have to confirm exactly this, and a form cannot show it to them. "
    "Write a time in UTC, without fractions of a second."
)


def posted(approval: Approval, asked: Question) -> Submitted | None:
    """What stands proposed, as a browser posts it, without secrets; None: nothing does."""
    if not isinstance(approval.proposal, dict):
        return None
    return _posted(asked, approval.proposal.get("content", {}))


def differs(approval: Approval, response: dict[str, Any]) -> bool:
    """Whether an answer is another one than stands proposed."""
    return canonical(approval.proposal) != canonical(response)


def differences(approval: Approval, response: dict[str, Any], asked: Question) -> dict[str, str]:
    """A sentence for each field in which an answer differs from what stands proposed."""
    who = str(approval.proposed_by)
    proposed = approval.proposal.get("content", {}) if approval.proposal else {}
    said = {True: _OTHER_HIDDEN.format(who=who), False: _OTHER.format(who=who)}
    secret = {field.name: field.secret_like for field in asked.fields}
    names = _unequal(proposed, response.get("content", {}))
    return {name: said[secret.get(name, False)] for name in names}


def unshowable(asked: Question, response: dict[str, Any], submitted: Submitted) -> dict[str, str]:
    """A sentence for each field that a form, filled in with this answer, would change.

    Whoever confirms posts what their form shows; a time with an offset would come back in UTC.
    """
    content = response.get("content")
    if not content:
        return {}
    secrets = {f.name: submitted[f.name] for f in asked.fields if _is_typed_again(f, submitted)}
    shown = {**_posted(asked, content), **secrets}
    made = schema_form.answer(asked.requested_schema, shown)
    again = made.content if isinstance(made, schema_form.Answer) else {}
    return dict.fromkeys(_unequal(content, again), _UNSHOWABLE)


def _is_typed_again(field: schema_form.Field, submitted: Submitted) -> bool:
    return field.secret_like and field.name in submitted


def _posted(asked: Question, content: dict[str, Any]) -> Submitted:
    shown = [field for field in asked.fields if not field.secret_like]
    return {field.name: schema_form.posted(field, content.get(field.name)) for field in shown}


def _unequal(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    names = [*one, *(name for name in other if name not in one)]
    return [name for name in names if _text(one, name) != _text(other, name)]


def _text(content: dict[str, Any], name: str) -> str | None:
    return canonical(content[name]) if name in content else None
