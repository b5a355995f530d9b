"""One item as one person sees it: what of it they may read, and whether and why they can act."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from approvals import (
    answered,
    around,
    binding,
    deliveries,
    drafts,
    earlier,
    forms,
    opening,
    proposal,
    question,
    read_only,
    schema_form,
    selectors,
    standing,
    standstill,
    tree,
    votes,
)
from approvals.answered import Answer
from approvals.any_item import AnyItem
from approvals.forms import Control
from approvals.models import Approval, ApprovalState, Choice, Draft, Shape
from approvals.outcomes import SAID
from approvals.question import Question, Submitted
from approvals.read_only import ReadField
from approvals.standing import Standing
from approvals.text import warnings_for
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member
from tasks_monitor.models import Delivery
from tasks_monitor.states import TERMINAL, State

_HELD_UP = {
    State.LOST: "The server does not know the task. An answer is kept, and reaches it only if an "
    "operator finds the task.",
    State.UNKNOWN: "An operator decides first what becomes of it. An answer is kept until then.",
    State.STUCK: "Its task comes to no end on the server. An answer is still delivered.",
}
_ACCEPTS_AS = {Shape.CONFIRM: "Approve", Shape.LINK: "Agree to open it"}


@dataclass(frozen=True, slots=True)
class Attempt:
    """What the person has just posted without success: why, and what they had typed."""

    sentence: str
    typed: Submitted
    errors: Mapping[str, str] = field(default_factory=dict)
    opened: frozenset[str] = frozenset()

    @property
    def whole(self) -> str:
        """What is wrong with the answer as a whole, not with one of its fields."""
        return self.errors.get(schema_form.FORM_ERRORS, "")


@dataclass(frozen=True, slots=True)
class Form:
    """What is needed to answer: the controls, the token that binds them, the buttons.

    `may_agree` False: this person has agreed to what stands proposed, and others have to.
    """

    controls: list[Control]
    token: str
    accept_label: str
    allowed: frozenset[Choice]
    wants_secret_confirmed: bool
    is_proposed: bool = False
    may_agree: bool = True

    @property
    def can_accept(self) -> bool:
        return Choice.ACCEPT in self.allowed and self.may_agree

    @property
    def can_propose(self) -> bool:
        """Whether another answer can take the place of what is proposed."""
        return self.is_proposed and bool(self.controls) and Choice.ACCEPT in self.allowed

    @property
    def can_refuse(self) -> bool:
        return Choice.DECLINE in self.allowed


@dataclass(frozen=True, slots=True)
class Item(AnyItem):
    """Everything the page of one question shows to one member."""

    asked: Question | None  # None: not for this member's eyes, or not asked for
    warnings: list[str]
    form: Form | None
    fields: list[ReadField]  # of a question that this member can only read
    attempt: Attempt | None
    typed: list[Control]  # what this person had typed, once nothing can be sent any more
    delivery: Delivery | None
    answer: Answer | None  # what was sent as content
    waits_for_others: int  # questions of the same round that have no answer yet
    replacement: Approval | None
    earlier_consent: Approval | None  # this member agreed to open the same link before

    @property
    def has_form(self) -> bool:
        """Whether the page of this item has a form now."""
        return self.can_act and self.approval.shape != Shape.UNOFFERED

    @property
    def is_unanswerable(self) -> bool:
        """Still asked, and nothing can be said to it: the desk does not offer such questions."""
        return self.approval.is_open and self.approval.shape == Shape.UNOFFERED

    @property
    def held_up(self) -> str:
        """What an answer comes to while the operation waits for an operator; else empty."""
        state = State(self.approval.operation.state)
        return _HELD_UP.get(state, "") if self.approval.is_open else ""

    @property
    def link_to_open(self) -> str:
        """The address, once this very person agreed to open it."""
        accepted = self.approval.decision == Choice.ACCEPT
        agreed = self.agreed_before or (accepted and self.standing is Standing.YOU_DECIDED)
        return self.asked.link.href if agreed and self.asked and self.asked.link else ""

    @property
    def agreed_before(self) -> bool:
        """Whether this is the very link that this member agreed to open, asked for again."""
        return self.earlier_consent is not None

    @property
    def goes_on(self) -> bool:
        """Whether the operation has not ended yet."""
        return State(self.approval.operation.state) not in TERMINAL

    @property
    def said(self) -> str:
        """What was answered, in a word of ours; empty while nothing was."""
        return SAID[Choice(self.approval.decision)] if self.approval.decision else ""

    @property
    def raw_schema(self) -> str:
        """The schema as it came, where it cannot be a form."""
        schema = self.asked.requested_schema if self.asked else None
        return json.dumps(schema, indent=2)

    @property
    def steps(self) -> list[deliveries.Step]:
        return deliveries.steps(self.delivery, self.approval.input_request)


def of(
    member: Member,
    approval: Approval,
    now: datetime,
    attempt: Attempt | None = None,
    *,
    live_parts_only: bool = False,
) -> Item:
    """What this member sees of the item now, after `attempt` if they have just tried something.

    `live_parts_only` leaves out the question and the arguments: they do not change by themselves.
    """
    draft = drafts.load(approval, member.user)
    progress = votes.progress(approval, now)
    deadline = standstill.deadline_of(approval, now) if approval.is_open else None
    stands = standing.of(member, approval, progress, draft, deadline, now)
    # whoever may decide an item may read it
    seen = stands.can_act or access.may_see_payload(member, approval.operation)
    whole = seen and not live_parts_only
    request = approval.input_request
    delivery = deliveries.of(request)
    deleted = approval.operation.payload_deleted_at is not None
    asked = question.read(request) if whole and request and not deleted else None
    shown = _controls(approval, asked, draft, attempt)
    needed = progress.needed
    form = form_of(asked, shown, member, approval, stands, now, needed) if asked else None
    return Item(
        approval=approval,
        member=member,
        standing=stands,
        progress=progress,
        around=around.of(member, approval, stands, progress, deadline, now, seen=seen),
        seen=seen,
        asked=asked,
        # one person's word is the answer
        votes=progress.said if progress.needed > 1 else [],
        earlier=earlier.compare(approval, member) if whole and approval.is_open else None,
        arguments=tree.rows(approval.operation.payload.arguments) if whole else [],
        warnings=warnings_of(asked),
        form=form,
        fields=read_only.fields(approval, asked) if asked and not form else [],
        draft=draft,
        attempt=attempt,
        typed=[] if stands.can_act else _typed(shown, draft, attempt),
        delivery=delivery,
        answer=answered.of(asked, delivery),
        waits_for_others=deliveries.waits_for_others(approval),
        replacement=_replacement(approval),
        earlier_consent=opening.agreed_before(approval, member) if asked and asked.link else None,
        may_cancel_operation=standing.may_cancel_operation(member, approval),
    )


def _controls(
    approval: Approval, asked: Question | None, draft: Draft | None, attempt: Attempt | None
) -> list[Control]:
    """With what was typed, else with what somebody proposed, else with what the server suggests."""
    if asked is None:
        return []
    typed = attempt.typed if attempt else (draft.submitted if draft else None)
    if typed is None:
        typed = proposal.posted(approval, asked)
    return forms.controls(asked, typed, attempt.errors if attempt else {})


def _typed(shown: list[Control], draft: Draft | None, attempt: Attempt | None) -> list[Control]:
    """Only what this person wrote themselves, never what the server suggested."""
    wrote = attempt is not None or (draft is not None and draft.submitted is not None)
    kept = [control for control in shown if control.value and not control.field.secret_like]
    return kept if wrote else []


def form_of(
    asked: Question,
    shown: list[Control],
    member: Member,
    approval: Approval,
    stands: Standing,
    now: datetime,
    needed: int = 1,
) -> Form | None:
    """The form of a question for somebody who stands to it like that; None: there is none.

    `needed`: how many people have to agree before an answer is sent.
    """
    if not asked.allowed or not stands.can_act:
        return None
    is_proposed = approval.proposal is not None
    label = _ACCEPTS_AS.get(asked.shape, "Propose" if needed > 1 else "Send")
    return Form(
        controls=shown,
        token=binding.bind(approval, user_id=member.user_id, now=now),
        accept_label="Confirm exactly this" if is_proposed else label,
        allowed=asked.allowed,
        wants_secret_confirmed=asked.asks_for_secrets,
        is_proposed=is_proposed,
        may_agree=stands is not Standing.YOU_AGREED,
    )


def warnings_of(asked: Question | None) -> list[str]:
    """What to look out for in the server's words, each sentence once."""
    if asked is None:
        return []
    texts = [asked.message, *(_words(field) for field in asked.fields)]
    found = [warning for text in texts for warning in warnings_for(text)]
    if asked.link is not None:
        found.extend(asked.link.warnings)
    return list(dict.fromkeys(warning.sentence for warning in found))


def _words(field: schema_form.Field) -> str:
    """All that a server says in one field."""
    return "\n".join((field.label, field.help, *(choice.title for choice in field.choices)))


def _replacement(approval: Approval) -> Approval | None:
    replaced = approval.state == ApprovalState.SUPERSEDED
    return selectors.replacement_of(approval) if replaced else None
