"""Repair: people say what becomes of an operation that the desk cannot follow (engine.reconcile).

One person is enough, unless a rule of the policy says that repairs of such calls take two: then the
first proposes, and a second one carries that out or refuses it. A proposal stands for the situation
that it was made in: once the operation moves, it falls away. Sending again asks the gate again.

Every verb raises Refused, and DoesNotExist for what the member's team has not got; then nothing was
written. `seen` is what seen_of() gave for what was read before: what is otherwise by now is refused
(Overtaken). None: nothing was read.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse

from approvals import gate, policy
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member, Permission
from mcpdesk.accounts.models import User
from mcpdesk.audit.log import Actor
from mcpdesk.audit.models import Channel
from mcpdesk.mcp.jsontext import canonical, storable
from mcpdesk.notify import alerts
from tasks_monitor.engine import telling, words
from tasks_monitor.engine.errors import Refused
from tasks_monitor.engine.reconcile import IN_WORDS, MAX_CHARS, Choice, check, reconcile
from tasks_monitor.engine.rows import lock, note
from tasks_monitor.models import HistoryEntry, Operation, Repair, RepairState
from tasks_monitor.states import NEEDS_OPERATOR, State

CHANGED = "This is not as it was when you read it. Nothing was done: look again."
NOT_YOURS = "Your role does not repair operations. Nothing was done."
PROPOSED_ALREADY = "Something is proposed already: agree to it or refuse it first."
MOVED_ON = "The operation has moved since this was proposed, so that it fell away. Look again."
DECIDED = "This was decided meanwhile. Nothing was done."
YOUR_OWN = "You proposed this, so somebody else must say whether it is done."
NOT_THEIRS_ANY_MORE = "Whoever proposed this may not repair operations any more: refuse it."
ONLY_YOUR_OWN = "Only whoever proposed it takes it back: refuse it instead."
NEEDS_REASON = f"Say why you refuse it, in at most {MAX_CHARS} characters. Nothing was done."
DISABLED = "The policy disables this tool, so that it cannot be sent again. Nothing was done."


class Overtaken(Refused):
    """Somebody was first, or it is not as it was when it was read."""


class NotYours(Refused):
    """Somebody else has to do it."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody wants to become of it. `evidence` goes with "done", `task_id` with a task."""

    choice: Choice
    reason: str
    evidence: str = ""
    task_id: str = ""

    @classmethod
    def of(cls, repair: Repair) -> "Wish":
        return cls(Choice(repair.choice), **repair.content)

    def content(self) -> dict[str, str]:
        """What of it is kept encrypted."""
        return {"reason": self.reason, "evidence": self.evidence, "task_id": self.task_id}


@dataclass(frozen=True, slots=True)
class Done:
    """It is carried out. `asks`: the call waits at the gate before it is sent again."""

    asks: bool


@dataclass(frozen=True, slots=True)
class Proposed:
    """A second person has to agree first; nothing was done."""

    repair: Repair


@dataclass(frozen=True, slots=True)
class _Turn:
    """An operator's turn at an operation that is locked."""

    operation: Operation
    member: Member
    actor: Actor
    now: datetime

    def note(self, kind: str, **data: Any) -> None:
        note(self.operation, kind, self.now, self.actor, **data)


@transaction.atomic(durable=True)
def propose(
    operation_id: UUID,
    *,
    member: Member,
    wish: Wish,
    now: datetime,
    channel: Channel = Channel.WEB,
    seen: str | None = None,
) -> Done | Proposed:
    """Carry a wish out, or propose it where the policy of now asks for a second person."""
    turn = _turn(operation_id, member, now, channel)
    _check_seen(turn.operation, seen)
    check(turn.operation, wish.choice, wish.reason, wish.evidence, wish.task_id)
    if standing(turn.operation) is not None:
        raise Overtaken(PROPOSED_ALREADY)
    _fall_away(turn)
    says = gate.evaluate_call(turn.operation)
    if says.repairs_need_two:
        return _propose(turn, wish)
    done = _carry_out(turn, wish, says)
    _keep(turn, wish, RepairState.DONE, decided_by=member.user, decided_at=now)
    return done


@transaction.atomic(durable=True)
def agree(
    repair_id: int,
    *,
    member: Member,
    now: datetime,
    channel: Channel = Channel.WEB,
    seen: str | None = None,
) -> Done:
    """A second person has the proposal carried out."""
    turn, repair = _proposed(repair_id, member, now, channel, seen)
    if repair.proposed_by_id == member.user_id:
        raise NotYours(YOUR_OWN)
    proposer = access.member_in(repair.proposed_by, member.team_id, now)
    if proposer is None or not proposer.may(Permission.RECONCILE):
        raise Refused(NOT_THEIRS_ANY_MORE)
    turn.note("repair.agreed", person=repair.proposed_by)
    says = gate.evaluate_call(turn.operation)
    done = _carry_out(turn, Wish.of(repair), says, proposed_by=repair.proposed_by)
    _close(turn, repair, RepairState.DONE)
    return done


@transaction.atomic(durable=True)
def refuse(
    repair_id: int,
    *,
    member: Member,
    reason: str,
    now: datetime,
    channel: Channel = Channel.WEB,
    seen: str | None = None,
) -> None:
    """A second person says no, and why; the operation stays as it is."""
    turn, repair = _proposed(repair_id, member, now, channel, seen)
    if repair.proposed_by_id == member.user_id:
        raise NotYours(YOUR_OWN)
    if not 0 < len(reason.strip()) <= MAX_CHARS or not storable(reason):
        raise Refused(NEEDS_REASON)
    repair.content = {**repair.content, "refused_because": reason.strip()}
    turn.note("repair.refused", person=repair.proposed_by)
    _close(turn, repair, RepairState.REFUSED)


@transaction.atomic(durable=True)
def take_back(
    repair_id: int,
    *,
    member: Member,
    now: datetime,
    channel: Channel = Channel.WEB,
    seen: str | None = None,
) -> None:
    """Whoever proposed it does not want it any more."""
    turn, repair = _proposed(repair_id, member, now, channel, seen)
    if repair.proposed_by_id != member.user_id:
        raise NotYours(ONLY_YOUR_OWN)
    turn.note("repair.withdrawn")
    _close(turn, repair, RepairState.WITHDRAWN)


def standing(operation: Operation) -> Repair | None:
    """What is proposed for the operation as it is now; None: nothing, or it fell away."""
    found = Repair.objects.filter(operation=operation, state=RepairState.PROPOSED)
    repair = found.select_related("proposed_by").first()
    return repair if repair and _is_current(repair, operation) else None


def of(operation: Operation) -> QuerySet[Repair]:
    """Everything that was proposed or done about an operation, the latest first."""
    related = Repair.objects.filter(operation=operation).select_related("proposed_by", "decided_by")
    return related.order_by("-proposed_at", "-pk")


def seen_of(operation: Operation) -> str:
    """Stands for what is decided about: the state and since when it is in it, what is proposed, and
    what the policy says of a repair now.
    """
    proposed, says = standing(operation), gate.evaluate_call(operation)
    lines = HistoryEntry.objects.filter(pk=operation.pk).values_list("state_since", flat=True)
    facts = [operation.state, str(lines.first()), proposed.pk if proposed else None]
    facts += [says.effect.value, says.repairs_need_two]
    return hashlib.sha256(canonical(facts).encode()).hexdigest()[:32]


def _check_seen(operation: Operation, seen: str | None) -> None:
    if seen is not None and seen != seen_of(operation):
        raise Overtaken(CHANGED)


def _is_current(repair: Repair, operation: Operation) -> bool:
    """Whether the operation is as it was when this was proposed: it has not moved since."""
    moved = HistoryEntry.objects.filter(pk=operation.pk, state_since__gt=repair.proposed_at)
    return State(operation.state) in NEEDS_OPERATOR and not moved.exists()


def _turn(operation_id: UUID, member: Member, now: datetime, channel: Channel) -> _Turn:
    """The operation, locked, for somebody who repairs operations of its team right now."""
    operation = lock(operation_id)
    current = access.member_in(member.user, member.team_id, now)
    if current is None or operation.team_id != current.team_id:
        raise Operation.DoesNotExist
    if not current.may(Permission.RECONCILE):
        raise NotYours(NOT_YOURS)
    return _Turn(operation, current, Actor.person(current, channel), now)


def _proposed(
    repair_id: int, member: Member, now: datetime, channel: Channel, seen: str | None
) -> tuple[_Turn, Repair]:
    mine = Repair.objects.filter(pk=repair_id, operation__team_id=member.team_id)
    turn = _turn(mine.values_list("operation_id", flat=True).get(), member, now, channel)
    repair = mine.select_for_update(of=("self",)).select_related("proposed_by").get()
    if repair.state != RepairState.PROPOSED:
        raise Overtaken(DECIDED)
    if not _is_current(repair, turn.operation):
        raise Overtaken(MOVED_ON)
    _check_seen(turn.operation, seen)
    return turn, repair


def _propose(turn: _Turn, wish: Wish) -> Proposed:
    repair = _keep(turn, wish, RepairState.PROPOSED)
    turn.note("repair.proposed", choice=IN_WORDS[wish.choice])
    path = reverse("operation_reconcile", args=[turn.operation.pk])
    telling.raise_repair(turn.operation, turn.now, path=path)
    return Proposed(repair)


def _carry_out(turn: _Turn, wish: Wish, says: policy.Gate, proposed_by: User | None = None) -> Done:
    """`says`: the policy of now, which what is sent again has to pass. `proposed_by`: None where
    nobody had to agree.
    """
    sends = wish.choice is Choice.SEND_AGAIN
    if sends and says.effect is policy.Effect.DISABLED:
        raise Refused(DISABLED)
    asks = sends and says.effect is policy.Effect.ASK
    operation = reconcile(
        turn.operation.pk,
        choice=wish.choice,
        reason=wish.reason,
        evidence=wish.evidence,
        proposed_by=proposed_by,
        task_id=wish.task_id or None,
        asks_first=asks,
        actor=turn.actor,
        now=turn.now,
    )
    if asks:
        gate.ask_again(operation, says, turn.now)
    return Done(asks)


def _keep(turn: _Turn, wish: Wish, state: RepairState, **decided: Any) -> Repair:
    words.say(turn.operation, wish.reason, wish.evidence)
    return Repair.objects.create(
        operation=turn.operation,
        choice=wish.choice,
        content=wish.content(),
        state=state,
        proposed_by=turn.member.user,
        proposed_at=turn.now,
        **decided,
    )


def _close(turn: _Turn, repair: Repair, state: RepairState) -> None:
    repair.state, repair.decided_by, repair.decided_at = state, turn.member.user, turn.now
    repair.save(update_fields=["state", "content", "decided_by", "decided_at"])
    alerts.close_alert(turn.operation.team_id, telling.repair(turn.operation), turn.now)


def _fall_away(turn: _Turn) -> None:
    """What was proposed before the operation moved is nothing that could still be agreed to."""
    Repair.objects.filter(operation=turn.operation, state=RepairState.PROPOSED).update(
        state=RepairState.WITHDRAWN, decided_at=turn.now
    )
