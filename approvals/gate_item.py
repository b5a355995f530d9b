"""One gate as one person sees it: what would run, who has said what, and why they can(not) act."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum, auto

from approvals import binding, drafts, gate, policy, question, tree
from approvals.models import Approval, ApprovalState, Draft, Verdict, Vote
from approvals.policy.words import who
from approvals.votes import progress
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member, Permission
from tasks_monitor.selectors import ToolView
from tasks_monitor.states import TERMINAL, State


class Standing(StrEnum):
    """Why this person can or cannot act; each has its own banner."""

    YOUR_TURN = auto()
    PUT_ASIDE = auto()
    YOU_APPROVED = auto()  # and more people are needed
    YOU_STARTED = auto()
    ROLE_TOO_SMALL = auto()
    NOT_PUT_TO_YOU = auto()
    OVERDUE = auto()
    YOU_DECIDED = auto()
    DECIDED = auto()
    EXPIRED = auto()
    CLOSED = auto()


_CAN_ACT = (Standing.YOUR_TURN, Standing.PUT_ASIDE, Standing.YOU_APPROVED)


@dataclass(frozen=True, slots=True)
class Attempt:
    """What the person has just posted without success: why, and the reason they had typed."""

    sentence: str
    reason: str = ""
    opened: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class GateItem:
    """Everything the page of one gate shows to one member."""

    approval: Approval
    member: Member
    standing: Standing
    seen: bool  # whether this member may read the arguments
    arguments: list[tree.Row]
    claims: tuple[str, ...]  # the server's own, about the tool
    token: str  # binds a form to what is shown; empty: there is no form
    votes: list[Vote]
    approvals: int
    needed: int
    others: list[str]  # who could still decide it, by name
    draft: Draft | None
    attempt: Attempt | None
    may_cancel_operation: bool

    @property
    def can_act(self) -> bool:
        return self.standing in _CAN_ACT

    @property
    def missing(self) -> int:
        return self.needed - self.approvals

    @property
    def server_host(self) -> str:
        return question.server_host(self.approval.operation.server.url)

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

    @property
    def asks(self) -> str:
        """Whom it was put to, and how many of them are needed."""
        return who(gate.snapshot_of(self.approval).ask)

    @property
    def nobody_left(self) -> bool:
        """Nobody in the team could decide it any more."""
        return self.approval.is_open and len(self.others) < self.missing


def of(
    member: Member, approval: Approval, now: datetime, attempt: Attempt | None = None
) -> GateItem:
    """What this member sees of the gate now, after `attempt` if they have just tried something."""
    seen = access.may_see_payload(member, approval.operation)
    draft = drafts.load(approval, member.user)
    votes = list(approval.votes.select_related("user").order_by("at", "pk"))
    so_far = progress(approval, now)
    counted = so_far.votes
    standing = _standing(member, approval, counted, draft, now)
    can_act = standing in _CAN_ACT
    return GateItem(
        approval=approval,
        member=member,
        standing=standing,
        seen=seen,
        arguments=tree.rows(approval.operation.payload.arguments) if seen else [],
        claims=_claims(approval) if seen else (),
        token=binding.bind(approval, user_id=member.user_id, now=now) if can_act else "",
        votes=votes,
        approvals=so_far.count,
        needed=so_far.needed,
        others=_others(approval, counted) if approval.is_open else [],
        draft=draft,
        attempt=attempt,
        may_cancel_operation=member.may(Permission.OPERATE) and _cancellable(approval),
    )


def _standing(
    member: Member,
    approval: Approval,
    counted: list[Vote],
    draft: Draft | None,
    now: datetime,
) -> Standing:
    if approval.state == ApprovalState.DECIDED:
        mine = approval.decided_by_id == member.user_id
        return Standing.YOU_DECIDED if mine else Standing.DECIDED
    if not approval.is_open:
        return Standing.EXPIRED if approval.state == ApprovalState.EXPIRED else Standing.CLOSED
    if approval.four_eyes and approval.operation.started_by_id == member.user_id:
        return Standing.YOU_STARTED
    if not access.was_put_to(member, approval):
        return Standing.NOT_PUT_TO_YOU
    if not access.may_decide(member, approval):
        return Standing.ROLE_TOO_SMALL
    if approval.deadline_at is not None and approval.deadline_at <= now:
        return Standing.OVERDUE
    if any(vote.user_id == member.user_id for vote in counted):
        return Standing.YOU_APPROVED
    aside = draft is not None and draft.snoozed_until is not None and draft.snoozed_until > now
    return Standing.PUT_ASIDE if aside else Standing.YOUR_TURN


def _others(approval: Approval, counted: list[Vote]) -> list[str]:
    """Members who may decide and whose vote does not count yet."""
    said = [vote.user_id for vote in counted]
    left = access.deciders(approval).exclude(user_id__in=said).select_related("user")
    return [str(one.user) for one in left.order_by("user__name", "pk")]


def _claims(approval: Approval) -> tuple[str, ...]:
    tool = approval.operation.server.tools.filter(name=approval.operation.tool_name).first()
    return ToolView.of(tool).claims if tool else ()


def _cancellable(approval: Approval) -> bool:
    operation = approval.operation
    return operation.cancel_requested_at is None and State(operation.state) not in TERMINAL


def came_to(decision: policy.Decision) -> str:
    """What became of it by this person's word, in a sentence."""
    if isinstance(decision, policy.Approved):
        return "It is sent as soon as a worker is free."
    if isinstance(decision, policy.Waiting):
        return f"Nothing is sent yet: waiting for {decision.missing} more of {decision.needed}."
    return "Nothing was sent."
