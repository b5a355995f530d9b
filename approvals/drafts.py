"""What a person has typed and not sent: theirs alone, encrypted, gone once they decide."""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db import transaction

from approvals.models import Approval, Draft, Vote
from approvals.question import Question, Submitted
from mcpdesk.accounts.models import User
from mcpdesk.mcp.jsontext import canonical
from mcpdesk.mcp.limits import MAX_INPUT_REQUEST_BYTES
from tasks_monitor.models import Operation


def save(
    approval: Approval,
    asked: Question,
    *,
    user: User,
    submitted: Submitted,
    shown_at: datetime | None,
    now: datetime,
) -> bool:
    """Keep what was typed; False where it is not kept: it is too big, this person has decided, or
    what the item carried was deleted.

    `shown_at` (UTC): when the page was shown that it was typed into, as far as that is known. Who
    has voted since has done with it; who looked at the item again may be about to say otherwise.
    What looks like a secret is never kept: it is typed again.
    """
    kept = {
        f.name: submitted[f.name] for f in asked.fields if f.name in submitted and not f.secret_like
    }
    return _keep(approval, user, kept, shown_at, now)


def save_reason(
    approval: Approval,
    *,
    user: User,
    reason: str,
    usual_reason: str,
    shown_at: datetime | None,
    now: datetime,
) -> bool:
    """Keep what was typed and picked as the reason of a word on a gate; False as of save()."""
    typed = {"reason": reason, "usual_reason": usual_reason}
    words = {name: words for name, words in typed.items() if words}
    return _keep(approval, user, words, shown_at, now)


def _keep(
    approval: Approval, user: User, kept: Submitted, shown_at: datetime | None, now: datetime
) -> bool:
    """The locks keep a late autosave from bringing back a draft that a vote or a decision deleted,
    or the retention, which does not look at its operation again.
    """
    if len(canonical(kept)) > MAX_INPUT_REQUEST_BYTES:
        return False
    with transaction.atomic():
        operation = Operation.objects.select_for_update(no_key=True).filter(
            pk=approval.operation_id
        )
        if operation.values_list("payload_deleted_at", flat=True).get() is not None:
            return False
        current = Approval.objects.select_for_update().get(pk=approval.pk)
        if current.decided_by_id == user.pk or _voted_since(shown_at, current, user):
            return False
        Draft.objects.update_or_create(
            approval=current, user=user, defaults={"submitted": kept, "saved_at": now}
        )
    return True


def _voted_since(shown_at: datetime | None, approval: Approval, user: User) -> bool:
    theirs = Vote.objects.filter(approval=approval, user=user)
    since = theirs if shown_at is None else theirs.filter(at__gte=shown_at)
    return since.exists()


def load(approval: Approval, user: User) -> Draft | None:
    """This person's draft for the item, if there is one."""
    return Draft.objects.filter(approval=approval, user=user).first()


def of_several(approvals: Iterable[Approval], user: User) -> dict[UUID, Submitted]:
    """What this person has typed for each of these items, by the item's id; in one query."""
    mine = Draft.objects.filter(approval__in=list(approvals), user=user)
    return {draft.approval_id: draft.submitted for draft in mine if draft.submitted is not None}


def discard(approval: Approval, user: User) -> None:
    """Forget what this person typed; others keep theirs to read."""
    Draft.objects.filter(approval=approval, user=user).delete()
