"""One item as one person sees it: what of it they may read, and whether and why they can act."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum, auto

from approvals import binding, drafts, forms, question, schema_form, selectors, tree
from approvals.forms import Control
from approvals.models import Approval, ApprovalState, Choice, Draft, Shape
from approvals.outcomes import SAID
from approvals.question import Question, Submitted
from approvals.text import warnings_for
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member, Permission
from tasks_monitor.models import Delivery, DeliveryState, InputRequest, InputRequestSource
from tasks_monitor.states import TERMINAL, State


class Standing(StrEnum):
    """Why this person can or cannot act; each has its own banner."""

    YOUR_TURN = auto()
    PUT_ASIDE = auto()
    OVERDUE = auto()
    ROLE_TOO_SMALL = auto()
    NOT_PUT_TO_YOU = auto()
    YOU_ANSWERED = auto()
    ANSWERED = auto()
    WITHDRAWN = auto()
    SUPERSEDED = auto()
    EXPIRED = auto()
    CLOSED = auto()


#: Stands in for a secret that was given.
HIDDEN = "(not shown)"

_CAN_ACT = (Standing.YOUR_TURN, Standing.PUT_ASIDE)
_HELD_UP = {
    State.LOST: "The server does not know the task any more. An answer is kept, and reaches it "
    "only if an operator finds the task again.",
    State.UNKNOWN: "An operator decides first what becomes of it. An answer is kept until then.",
    State.STUCK: "The server waits and asks nothing new. An answer is still delivered.",
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
    """What is needed to answer: the controls, the token that binds them, the buttons."""

    controls: list[Control]
    token: str
    accept_label: str
    allowed: frozenset[Choice]
    wants_secret_confirmed: bool

    @property
    def can_accept(self) -> bool:
        return Choice.ACCEPT in self.allowed

    @property
    def can_refuse(self) -> bool:
        return Choice.DECLINE in self.allowed


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a delivery; `at` is None while it has not been taken."""

    label: str
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Item:
    """Everything the page of one item shows to one member."""

    approval: Approval
    member: Member
    standing: Standing
    asked: Question | None  # None: not for this member's eyes
    arguments: list[tree.Row]
    warnings: list[str]
    form: Form | None
    draft: Draft | None
    attempt: Attempt | None
    typed: list[Control]  # what this person had typed, once nothing can be sent any more
    delivery: Delivery | None
    answer: list[tree.Row]  # what was sent as content
    waits_for_others: int  # questions of the same round that have no answer yet
    replacement: Approval | None
    may_cancel_operation: bool

    @property
    def can_act(self) -> bool:
        return self.standing in _CAN_ACT

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
    def server_host(self) -> str:
        return question.server_host(self.approval.operation.server.url)

    @property
    def link_to_open(self) -> str:
        """The address, once this very person agreed to open it."""
        agreed = self.approval.decision == Choice.ACCEPT
        mine = self.standing is Standing.YOU_ANSWERED
        if not (agreed and mine and self.asked and self.asked.link):
            return ""
        return self.asked.link.href

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
    def steps(self) -> list[Step]:
        return delivery_steps(self.delivery, self.approval.input_request)


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
    seen = not live_parts_only and access.may_see_payload(member, approval.operation)
    request = approval.input_request
    delivery = _delivery(request)
    asked = question.read(request) if seen and request else None
    draft = drafts.load(approval, member.user)
    standing = _standing(member, approval, draft, now)
    shown = _controls(asked, draft, attempt)
    can_act = standing in _CAN_ACT
    return Item(
        approval=approval,
        member=member,
        standing=standing,
        asked=asked,
        arguments=tree.rows(approval.operation.payload.arguments) if seen else [],
        warnings=_warnings(asked),
        form=_form(asked, shown, member, approval, now) if asked and can_act else None,
        draft=draft,
        attempt=attempt,
        typed=[] if can_act else _typed(shown, draft, attempt),
        delivery=delivery,
        answer=_answer(asked, delivery),
        waits_for_others=waits_for_others(approval),
        replacement=_replacement(approval),
        may_cancel_operation=member.may(Permission.OPERATE) and _cancellable(approval),
    )


def _standing(member: Member, approval: Approval, draft: Draft | None, now: datetime) -> Standing:
    if approval.state == ApprovalState.DECIDED:
        mine = approval.decided_by_id == member.user_id
        return Standing.YOU_ANSWERED if mine else Standing.ANSWERED
    if not approval.is_open:
        return Standing(approval.state)
    if not access.was_put_to(member, approval):
        return Standing.NOT_PUT_TO_YOU
    if not access.may_decide(member, approval):
        return Standing.ROLE_TOO_SMALL
    if approval.deadline_at is not None and approval.deadline_at <= now:
        return Standing.OVERDUE
    aside = draft is not None and draft.snoozed_until is not None and draft.snoozed_until > now
    return Standing.PUT_ASIDE if aside else Standing.YOUR_TURN


def _controls(
    asked: Question | None, draft: Draft | None, attempt: Attempt | None
) -> list[Control]:
    if asked is None:
        return []
    typed = attempt.typed if attempt else (draft.submitted if draft else None)
    return forms.controls(asked, typed, attempt.errors if attempt else {})


def _typed(shown: list[Control], draft: Draft | None, attempt: Attempt | None) -> list[Control]:
    """Only what this person wrote themselves, never what the server suggested."""
    wrote = attempt is not None or (draft is not None and draft.submitted is not None)
    kept = [control for control in shown if control.value and not control.field.secret_like]
    return kept if wrote else []


def _form(
    asked: Question,
    shown: list[Control],
    member: Member,
    approval: Approval,
    now: datetime,
) -> Form | None:
    if not asked.allowed:
        return None
    return Form(
        controls=shown,
        token=binding.bind(approval, user_id=member.user_id, now=now),
        accept_label=_ACCEPTS_AS.get(asked.shape, "Send"),
        allowed=asked.allowed,
        wants_secret_confirmed=asked.asks_for_secrets,
    )


def _warnings(asked: Question | None) -> list[str]:
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


def _delivery(request: InputRequest | None) -> Delivery | None:
    return getattr(request, "delivery", None) if request else None


def _answer(asked: Question | None, delivery: Delivery | None) -> list[tree.Row]:
    """The content that was sent, without what looks like a secret."""
    if asked is None or delivery is None:
        return []
    secret = {field.name for field in asked.fields if field.secret_like}
    content = delivery.response.get("content", {})
    return tree.rows({name: HIDDEN if name in secret else content[name] for name in content})


def waits_for_others(approval: Approval) -> int:
    """How many questions of its round still have no answer, while an answer waits for them."""
    request = approval.input_request
    delivery = _delivery(request)
    if request is None or delivery is None or request.source != InputRequestSource.MRTR:
        return 0
    return selectors.unanswered_beside(request) if delivery.state == DeliveryState.SAVED else 0


def _replacement(approval: Approval) -> Approval | None:
    replaced = approval.state == ApprovalState.SUPERSEDED
    return selectors.replacement_of(approval) if replaced else None


def _cancellable(approval: Approval) -> bool:
    operation = approval.operation
    return operation.cancel_requested_at is None and State(operation.state) not in TERMINAL


def delivery_steps(delivery: Delivery | None, request: InputRequest | None) -> list[Step]:
    """The way of an answer to the server; only a task acknowledges before it applies."""
    if delivery is None or request is None:
        return []
    steps = [
        Step("Saved", delivery.saved_at),
        Step("Sent", delivery.sent_at),
        Step("Acknowledged", delivery.acknowledged_at),
        Step("Applied", delivery.observed_at),
    ]
    by_task = request.source == InputRequestSource.TASK
    return steps if by_task else [step for step in steps if step.label != "Acknowledged"]
