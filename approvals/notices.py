"""What people are told of an item, and when: written into the outbox with the change it is about.

Each function is called in the transaction of that change, with the item locked. Whom a message goes
to and what it may say is decided here; how and when it is sent is for mcpdesk.notify. What a server
wrote (names of tools apart, which stand as facts) and what people wrote is in no message.
"""

from datetime import datetime

from django.urls import reverse

from approvals.models import Approval, ApprovalState, Choice, Comment, Kind, Verdict
from approvals.outcomes import SAID, what_was_said
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Deciders, Member
from mcpdesk.accounts.models import User
from mcpdesk.mcp.jsontext import canonical
from mcpdesk.notify import alerts, outbox
from mcpdesk.notify.models import Message, Topic
from mcpdesk.notify.outbox import About, Notice
from mcpdesk.notify.selectors import open_alerts
from tasks_monitor.models import Payload

OVER = "It was over before this left."
NOT_PUT_TO_THEM = "It is no longer put to them."

#: Topics that say "this waits for you": of no use once it is over.
_WAITING = (Topic.ASKED, Topic.REMINDER, Topic.ESCALATION, Topic.HANDED)
_ESCALATED = (
    "Now also put to you:",
    "Nobody has decided this in time, so it is put to more people.",
)
_STILL_UNDECIDED = (
    "Still undecided:",
    "Nobody has decided this in time, and everybody whom it is put to was asked before.",
)
_ENDED = {
    ApprovalState.WITHDRAWN: "The server withdrew its question.",
    ApprovalState.SUPERSEDED: "The server replaced its question by another one.",
    ApprovalState.CLOSED: "Its operation ended in another way.",
}


def opened(approval: Approval, who: Deciders, now: datetime) -> None:
    """A new item waits: whoever may decide it is told."""
    _tell(approval, _asked(approval), _ids(who), now)


def reminded(approval: Approval, now: datetime) -> None:
    """Half or nine tenths of its time are over: whoever has not said a word yet is told."""
    notice = _notice(
        approval,
        Topic.REMINDER,
        "approval.reminder",
        "Still waiting:",
        "This still waits for a decision, and part of our time for it is over.",
        step=str(approval.reminders),
    )
    _tell(approval, notice, _silent(approval), now)


def escalated(approval: Approval, asked_before: set[int], now: datetime) -> None:
    """It was put to more people: those who had not been asked before (ids) are told.

    Where everybody had been (the admins, of what was put to the approvers), whoever has not said a
    word yet is told again: a step is never silent.
    """
    new = _ids(access.deciders(approval)) - asked_before
    head, sentence = _ESCALATED if new else _STILL_UNDECIDED
    step = str(approval.escalations)
    notice = _notice(approval, Topic.ESCALATION, "approval.escalated", head, sentence, step=step)
    _tell(approval, notice, new or _silent(approval), now)


def _silent(approval: Approval) -> set[int]:
    """Who may decide it and has not said a word."""
    voters = set(approval.votes.filter(version=approval.version).values_list("user_id", flat=True))
    return _ids(access.deciders(approval)) - voters


def commented(comment: Comment, now: datetime) -> None:
    """Somebody asked or said something: who was mentioned, and who started it, are told."""
    approval = comment.approval
    people = {user.pk for user in comment.mentions.all()}
    if approval.operation.started_by_id is not None:
        people.add(approval.operation.started_by_id)
    notice = _notice(
        approval,
        Topic.COMMENT,
        "approval.commented",
        f"{comment.user} commented:",
        f"{comment.user} wrote a comment. It can be read on the page.",
        step=str(comment.pk),
    )
    _tell(approval, notice, people - {comment.user_id}, now)


def handed(approval: Approval, to: User, by: User, now: datetime) -> None:
    """A colleague was given the item."""
    notice = _notice(
        approval,
        Topic.HANDED,
        "approval.handed",
        f"{by} hands this to you:",
        f"{by} asks you to decide this.",
        step=now.isoformat(),
    )
    _tell(approval, notice, {to.pk}, now, channels=False)


def closed(approval: Approval, now: datetime) -> None:
    """It is over: what was not sent yet is dropped, what was sent says what came of it."""
    ending = _ending(approval)
    about = _about(approval)
    outbox.drop(about, now=now, topics=_WAITING)
    over = _notice(approval, Topic.ASKED, "approval.closed", ending, ending)
    outbox.follow_up(about, over, now=now)
    somebody_again(approval, now)


def nobody_left(approval: Approval, now: datetime) -> None:
    """Nobody may decide it any more: the admins are alerted, once."""
    alerts.raise_alert(
        approval.team_id,
        _nobody(approval),
        "An item waits that too few people may decide. Give somebody the role, or cancel it.",
        now,
        path=_path(approval),
    )


def somebody_again(approval: Approval, now: datetime) -> None:
    """Somebody may decide it again, or it closed: the alert is over."""
    alerts.close_alert(approval.team_id, _nobody(approval), now)


def rule_failed(team_id: int, rule: str, sentence: str, now: datetime) -> None:
    """A rule of the policy could not be applied, so that it asked: the admins are told."""
    name = rule or "without a name"
    alerts.raise_alert(
        team_id,
        _failing(name),
        f"Rule {name} of the policy could not be applied, so people are asked: {sentence}",
        now,
        path=reverse("policies"),
    )


def rules_failing(team_id: int) -> set[str]:
    """The names of rules of which an alert is open that they could not be applied."""
    found = open_alerts(team_id).filter(matter__startswith=_failing(""))
    return {matter.partition(":")[2] for matter in found.values_list("matter", flat=True)}


def rule_applies(team_id: int, rule: str, now: datetime) -> None:
    """A rule could be applied again, or says something else, or is gone: the alert is over."""
    alerts.close_alert(team_id, _failing(rule), now)


def why_not_any_more(message: Message, member: Member | None) -> str | None:
    """Why a message about an item must not leave any more (mcpdesk.notify.standing)."""
    found = Approval.objects.select_related("operation")
    approval = found.filter(pk=message.approval_id).first() if message.approval_id else None
    if approval is None:
        return OVER
    if message.event == "approval.closed" or message.topic not in _WAITING:
        return None
    if not approval.is_open:
        return OVER
    if member is not None and not access.may_decide(member, approval):
        return NOT_PUT_TO_THEM
    return None


def _tell(
    approval: Approval, notice: Notice, to: set[int], now: datetime, *, channels: bool = True
) -> None:
    outbox.tell(_about(approval), notice, to=to, now=now, channels=channels)


def _asked(approval: Approval) -> Notice:
    if approval.kind != Kind.GATE:
        sentence = "A server asks before it goes on, and the question is put to you."
        return _notice(approval, Topic.ASKED, "approval.opened", "Answer a question:", sentence)
    if approval.sends_again:
        what = "Send this call again?"
        sentence = (
            "A call was sent before, and what became of it is not known. Somebody wants to send it "
            "again, and it waits for your decision."
        )
    else:
        what = "Approve this call?"
        sentence = (
            "Somebody wants to run a tool, and it waits for your decision. Nothing was sent yet."
        )
    return _notice(approval, Topic.ASKED, "approval.opened", what, sentence)


def _notice(
    approval: Approval, topic: Topic, event: str, head: str, sentence: str, *, step: str = ""
) -> Notice:
    operation = approval.operation
    return Notice(
        topic=topic,
        event=event,
        subject=f"{head} {operation.server.name}, “{operation.tool_name[:60]}”",
        sentence=sentence,
        path=_path(approval),
        facts=_facts(approval),
        arguments=_arguments(approval) if event == "approval.opened" else "",
        step=step,
    )


def _facts(approval: Approval) -> tuple[tuple[str, str], ...]:
    operation = approval.operation
    facts = [
        ("Team", approval.team.name),
        ("Server", operation.server.name),
        ("Tool", operation.tool_name),
        ("Started by", operation.starter),
    ]
    ends = {"Our deadline": approval.deadline_at, "Deadline of the server": operation.expires_at}
    if approval.is_open:
        facts += [(whose, f"{at:%Y-%m-%d %H:%M} UTC") for whose, at in ends.items() if at]
    return tuple(facts)


def _arguments(approval: Approval) -> str:
    payload = Payload.objects.filter(operation=approval.operation_id).first()
    return canonical(payload.arguments) if payload and payload.arguments is not None else ""


def _ending(approval: Approval) -> str:
    """What came of it: in words that never call a timeout a refusal."""
    if approval.state == ApprovalState.EXPIRED:
        return f"It expired: {approval.overrun}. Nobody refused it."
    if approval.state != ApprovalState.DECIDED:
        return _ENDED[ApprovalState(approval.state)]
    said: Choice | Verdict = what_was_said(approval.decision)
    return f"{approval.decided_by} {SAID[said]} it."


def _ids(who: Deciders) -> set[int]:
    return {user.pk for user in who.users}


def _about(approval: Approval) -> About:
    return About(approval.team_id, _matter(approval), approval.pk, approval.operation_id)


def _matter(approval: Approval) -> str:
    return f"approval:{approval.pk}"


def _nobody(approval: Approval) -> str:
    return f"nobody_left:{approval.pk}"


def _failing(rule: str) -> str:
    return f"rule_failed:{rule[:80]}"


def _path(approval: Approval) -> str:
    return reverse("inbox_item", args=[approval.pk])
