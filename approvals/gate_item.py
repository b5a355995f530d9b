"""One gate as one person sees it: what would run, who has said what, and why they can(not) act."""

from dataclasses import dataclass
from datetime import datetime

from approvals import (
    around,
    binding,
    drafts,
    earlier,
    policy,
    presets,
    remembered,
    standing,
    standstill,
    tree,
    votes,
)
from approvals.any_item import AnyItem
from approvals.gate import claims_of
from approvals.models import Approval, ReasonPreset, Verdict
from approvals.remembered_form import RememberForm
from approvals.standing import Standing
from approvals.verdict import NEEDS_REASON
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member


@dataclass(frozen=True, slots=True)
class Attempt:
    """What the person has just posted without success: why, and the reason they had typed."""

    sentence: str
    reason: str = ""
    opened: frozenset[str] = frozenset()
    usual_reason: str = ""
    remembers: bool = False

    @property
    def lacks_reason(self) -> bool:
        """Whether the reason is what is to be mended."""
        return self.sentence == NEEDS_REASON


@dataclass(frozen=True, slots=True)
class GateItem(AnyItem):
    """Everything the page of one gate shows to one member."""

    claims: tuple[str, ...]  # the server's own, about the tool
    token: str  # binds a form to what is shown; empty: there is no form
    reasons: list[ReasonPreset]  # that this team often gives
    why_again: str  # why somebody wants the call sent again, in their words; empty: nobody does
    remember_form: RememberForm | None  # None: the rule remembers nothing, or it is too late
    attempt: Attempt | None

    @property
    def has_form(self) -> bool:
        """Whether the page of this item has a form now."""
        return self.can_act

    @property
    def reason(self) -> str:
        """What this member has typed, just now or as a draft."""
        return self.attempt.reason if self.attempt else self._drafted("reason")

    @property
    def usual_reason(self) -> str:
        """The usual reason that they have picked."""
        return self.attempt.usual_reason if self.attempt else self._drafted("usual_reason")

    def _drafted(self, name: str) -> str:
        kept = self.draft.submitted if self.draft else None
        return str(kept.get(name, "")) if kept else ""

    @property
    def can_remember(self) -> bool:
        """Whether what this member has just approved can still be remembered."""
        return self.standing is Standing.YOU_DECIDED and self.remember_form is not None

    @property
    def denied(self) -> bool:
        return self.approval.decision == Verdict.DENY

    @property
    def rule(self) -> str:
        """Why it is asked, in words of ours; the rule's name is an admin's."""
        kept = self.approval.policy or {}
        name = f"rule {kept.get('number')} ({kept.get('rule')})"
        if kept.get("failed"):
            return f"{name} of the policy could not be applied"
        return f"{name} of the policy says so" if kept.get("number") else "no rule covers it"


def of(
    member: Member,
    approval: Approval,
    now: datetime,
    attempt: Attempt | None = None,
    *,
    live_parts_only: bool = False,
) -> GateItem:
    """What this member sees of the gate now, after `attempt` if they have just tried something.

    `live_parts_only` leaves out the arguments: they do not change by themselves.
    """
    draft = drafts.load(approval, member.user)
    progress = votes.progress(approval, now)
    deadline = standstill.deadline_of(approval, now) if approval.is_open else None
    stands = standing.of(member, approval, progress, draft, deadline, now)
    # whoever may decide an item may read it
    seen = stands.can_act or access.may_see_payload(member, approval.operation)
    whole = seen and not live_parts_only
    return GateItem(
        approval=approval,
        member=member,
        standing=stands,
        progress=progress,
        around=around.of(member, approval, stands, progress, deadline, now, seen=seen),
        seen=seen,
        earlier=earlier.compare(approval, member) if whole and approval.is_open else None,
        arguments=tree.rows(approval.operation.payload.arguments) if whole else [],
        claims=_claims(approval) if whole else (),
        token=binding.bind(approval, user_id=member.user_id, now=now) if stands.can_act else "",
        votes=progress.said,
        reasons=list(presets.of(approval.team_id)) if whole and stands.can_act else [],
        why_again=_why_again(approval) if whole else "",
        remember_form=_remember_form(member, approval, stands, now),
        draft=draft,
        attempt=attempt,
        may_cancel_operation=standing.may_cancel_operation(member, approval),
    )


def _remember_form(
    member: Member, approval: Approval, stands: Standing, now: datetime
) -> RememberForm | None:
    """For a word that may leave a remembered decision, now or a moment after it was said."""
    leaves = stands.can_act and remembered.may_leave(approval)
    late = stands is Standing.YOU_DECIDED and remembered.can_still_leave(approval, member, now)
    return RememberForm() if leaves or late else None


def _why_again(approval: Approval) -> str:
    """The reason of the repair by which this item was made, at the same moment."""
    if not approval.sends_again:
        return ""
    made, decisions = approval.created_at.isoformat(), approval.operation.payload.decisions or []
    return next((str(one["reason"]) for one in decisions if one.get("at") == made), "")


def _claims(approval: Approval) -> tuple[str, ...]:
    """As they were when it was asked; of an item from before they were kept, as they are now."""
    kept = (approval.policy or {}).get("claims")
    if isinstance(kept, list):
        return tuple(kept)
    return claims_of(approval.operation)


def came_to(approval: Approval, decision: policy.Decision) -> str:
    """What became of the gate by this person's word, in a sentence."""
    if isinstance(decision, policy.Approved):
        return "It is sent as soon as a worker is free."
    if isinstance(decision, policy.Waiting):
        return f"Nothing is sent yet: waiting for {decision.missing} more of {decision.needed}."
    return "It is not sent again." if approval.sends_again else "Nothing was sent."
