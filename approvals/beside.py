"""The other open questions of the same operation, on the page of one of them.

Each has its own audience, its own form and its own check; what is not put to the reader says for
whom it waits. A plain one is answered right there. One with a link, with something folded, or with
an answer that several have to agree to, is answered on its own page.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from approvals import claim, drafts, folds, forms, item, question, standstill
from approvals.item import Form
from approvals.models import Approval, ApprovalState, Audience, Kind, Shape
from approvals.question import Question
from approvals.standing import Standing
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member, Permission

#: More questions than this are only counted.
MAX_BESIDE = 20
_PLAIN = (Shape.CONFIRM, Shape.FORM, Shape.CHOOSE)


@dataclass(frozen=True, slots=True)
class Beside:
    """One other question. `form` None: it is not answered here, for the reader or for anybody."""

    approval: Approval
    asked: Question | None  # None: not for this member's eyes
    warnings: list[str]
    form: Form | None
    is_mine: bool  # it waits for this member, here or on its own page
    waits_for: str


def of(approval: Approval, member: Member, now: datetime) -> list[Beside]:
    """What else the operation asks now, in the order it was asked; the queries do not grow."""
    others = Approval.objects.filter(
        operation=approval.operation_id, kind=Kind.ANSWER, state=ApprovalState.OPEN
    ).exclude(pk=approval.pk)
    # mostly there is none, and the query that joins all it takes to show one costs far more
    if not others.exists():
        return []
    found = list(
        others.select_related(
            "operation__server",
            "operation__started_by",
            "operation__payload",
            "input_request__operation__server",
            "claimed_by",
        ).order_by("created_at", "pk")[:MAX_BESIDE]
    )
    seen = access.may_see_payload(member, approval.operation)
    mine = _put_to(member, found)
    typed = drafts.of_several(found, member.user)
    return [_one(one, member, now, seen, one.pk in mine, typed.get(one.pk)) for one in found]


def _put_to(member: Member, found: Iterable[Approval]) -> set[object]:
    """Which of them this member may decide."""
    if not member.may(Permission.DECIDE):
        return set()
    put = Approval.objects.filter(access.put_to(member), pk__in=[one.pk for one in found])
    return set(put.values_list("pk", flat=True))


def _one(
    approval: Approval,
    member: Member,
    now: datetime,
    seen: bool,
    mine: bool,
    typed: question.Submitted | None,
) -> Beside:
    asked = question.read(approval.input_request) if seen and approval.input_request else None
    here = mine and asked is not None and _is_plain(approval, member, now)
    form = None
    if here and asked is not None:
        shown = forms.controls(asked, typed, {}, prefix=f"q{approval.pk}-")
        form = item.form_of(asked, shown, member, approval, Standing.YOUR_TURN, now)
    return Beside(
        approval=approval,
        asked=asked,
        warnings=item.warnings_of(asked),
        form=form,
        is_mine=mine and asked is not None and bool(asked.allowed),
        waits_for=_waits_for(approval),
    )


def _is_plain(approval: Approval, member: Member, now: datetime) -> bool:
    """Whether all that has to be seen before it is answered fits in beside another question."""
    return (
        approval.shape in _PLAIN
        and not _is_overdue(approval, now)
        and claim.one_decides(approval)
        and claim.why_not(approval, member.user_id, now) is None
        and not folds.of(approval)
    )


def _is_overdue(approval: Approval, now: datetime) -> bool:
    """A hold is looked up only where the deadline would have passed without one."""
    if approval.deadline_at is None or approval.deadline_at > now:
        return False
    deadline = standstill.deadline_of(approval, now)
    return deadline is not None and deadline <= now


def _waits_for(approval: Approval) -> str:
    if approval.audience == Audience.REQUESTER:
        return str(approval.operation.started_by)
    return approval.get_audience_display()
