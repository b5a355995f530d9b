"""The one way to start a tool: the policy first, then the operation, in one transaction."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from django.db import transaction

from approvals import notices, policies, policy, recall, words
from approvals.models import Approval, Audience, Kind, Remembered, Shape
from approvals.opened import opened
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Permission
from mcpdesk.accounts.models import User
from mcpdesk.audit.log import DESK, Actor, record
from tasks_monitor.engine.start import (
    callable_server,
    check_arguments,
    check_tool,
    repeated,
    start,
)
from tasks_monitor.models import Operation, Server
from tasks_monitor.selectors import ToolView


@dataclass(frozen=True, slots=True)
class Requested:
    """There is an operation. `approval`: the gate it waits at, None where it may run.

    `created` False: the same request made it before; then `gate` is None, nothing was asked anew.
    `by`: the earlier approval that counted for this call too, so that nobody is asked.
    """

    operation: Operation
    created: bool
    gate: policy.Gate | None = None
    approval: Approval | None = None
    by: Remembered | None = None


@dataclass(frozen=True, slots=True)
class Disabled:
    """The policy refuses this call: nothing was made but the event that says so."""

    sentence: str


Outcome: TypeAlias = Requested | Disabled


@transaction.atomic
def request_start(
    *,
    team_id: int,
    server_id: int,
    tool_name: str,
    arguments: dict[str, Any],
    actor: Actor,
    now: datetime,
    reason: str = "",
    idempotency_key: str | None = None,
    questions_to: str | None = None,
    repeatable: bool = False,
) -> Outcome:
    """Ask the team's policy, and make the operation in the state that it gives.

    Everything is as engine.start takes it. The same `idempotency_key` returns the operation it made
    before, whatever the policy says today. Raises engine.errors.Refused for what cannot be started
    at all.
    """
    call: dict[str, Any] = {
        "team_id": team_id,
        "server_id": server_id,
        "tool_name": tool_name,
        "arguments": arguments,
        "idempotency_key": idempotency_key,
    }
    earlier = repeated(**call)
    if earlier is not None:
        return Requested(earlier, created=False)
    server = callable_server(team_id, server_id)
    check_tool(server, tool_name)
    found = evaluate(server, tool_name, arguments, actor.user)
    if found.effect is policy.Effect.DISABLED:
        return _refuse(server, tool_name, found, actor, now)
    wanted = recall.Call(server, tool_name, arguments, actor.user, actor.token)
    by = recall.find(wanted, found, now, lock=True)
    asks = found.effect is not policy.Effect.ALLOW and by is None
    how: dict[str, Any] = {"reason": reason, "questions_to": questions_to, "repeatable": repeatable}
    started = start(**call, **how, actor=actor, now=now, awaiting_approval=asks)
    if not started.created:
        return Requested(started.operation, created=False)
    _note(started.operation, found, now)
    if by is not None:
        recall.use(by, started.operation, now)
    approval = _open(started.operation, found, now) if asks else None
    return Requested(started.operation, created=True, gate=found, approval=approval, by=by)


def evaluate_call(operation: Operation) -> policy.Gate:
    """What the team's policy says now of the call that an operation is about."""
    arguments = operation.payload.arguments
    return _evaluate(operation.server, operation.tool_name, arguments, operation.started_by)


def ask_again(operation: Operation, found: policy.Gate, now: datetime) -> Approval:
    """The item that asks whether a call that broke may be sent again, by the rules of now.

    In the transaction that has the operation wait for it.
    """
    _note(operation, found, now)
    return _open(operation, found, now)


def evaluate(
    server: Server, tool_name: str, arguments: dict[str, Any], user: User | None
) -> policy.Gate:
    """What the team's policy says of this call now. Raises engine.errors.Refused."""
    check_arguments(arguments)
    return _evaluate(server, tool_name, arguments, user)


def _evaluate(server: Server, tool_name: str, arguments: Any, user: User | None) -> policy.Gate:
    member = access.member_in(user, server.team_id) if user else None
    request = policy.Request(
        server=server.name,
        tool=tool_name,
        arguments=arguments,
        user_id=user.pk if user else None,
        role=member.role if member else "",
        annotations=annotations_of(server, tool_name),
    )
    return policy.gate(policies.active(server.team_id), request)


def questions_of(operation: Operation, now: datetime) -> dict[str, Any] | None:
    """Who answers what the server asks in this call, to be kept on the item (Approval.policy).

    By the rules of now. None: no rule speaks of it, and the operation's own setting decides. Called
    in the transaction that makes the item: a rule that fails is told there.
    """
    found = evaluate_call(operation)
    if found.error:
        _tell_of_failure(operation, found, found.error, now)
    if found.questions is None:
        return None
    return _kept(found, _answered_by(found.questions, operation))


def _answered_by(questions: policy.Ask, operation: Operation) -> policy.Ask:
    """The approvers, where nobody started it, or who did has left or may not answer."""
    if questions.audience is not policy.Audience.REQUESTER:
        return questions
    starter = operation.started_by
    member = access.member_in(starter, operation.team_id) if starter else None
    if member is not None and member.may(Permission.DECIDE):
        return questions
    return replace(questions, audience=policy.Audience.APPROVERS)


def annotations_of(server: Server, tool_name: str) -> Any:
    """What the server claims of the tool, as its list was last read; None: nothing."""
    tool = server.tools.filter(name=tool_name).first()
    definition = tool.definition if tool else None
    return definition.get("annotations") if isinstance(definition, dict) else None


def _refuse(
    server: Server, tool_name: str, found: policy.Gate, actor: Actor, now: datetime
) -> Disabled:
    record(
        "gate.refused",
        team_id=server.team_id,
        server_id=server.pk,
        actor=actor,
        now=now,
        tool=tool_name[:200],
        server=server.name,
        rule=found.rule,
        number=found.number,
    )
    return Disabled(
        f"{tool_name} on {server.name} is disabled: rule {found.number} ({found.rule}) of the "
        "team's policy says so. Nothing was started."
    )


def _note(operation: Operation, found: policy.Gate, now: datetime) -> None:
    """What the policy said, and, where a rule failed, that it did."""
    record(
        "gate.evaluated",
        team_id=operation.team_id,
        server_id=operation.server_id,
        operation_id=operation.pk,
        actor=DESK,
        now=now,
        effect=found.effect.value,
        rule=(found.rule or "")[:80] or "no rule",
        number=found.number,
    )
    if found.error:
        _tell_of_failure(operation, found, found.error, now)
    _tell_of_recovery(operation.team_id, found, now)


def _tell_of_recovery(team_id: int, found: policy.Gate, now: datetime) -> None:
    """Rules that failed before and were applied to this call: the alerts of them are over."""
    failing = notices.rules_failing(team_id)
    if not failing:
        return
    names = [str(rule["name"]) for rule in policies.active(team_id)]
    applied = names if found.number is None else names[: found.number - bool(found.error)]
    for name in failing.intersection(applied):
        notices.rule_applies(team_id, name, now)


def _tell_of_failure(operation: Operation, found: policy.Gate, error: str, now: datetime) -> None:
    """A rule failed, so that people are asked: the log says so, and the admins are told."""
    rule = (found.rule or "without a name")[:80]
    record(
        "gate.rule_failed",
        team_id=operation.team_id,
        server_id=operation.server_id,
        operation_id=operation.pk,
        actor=DESK,
        now=now,
        rule=rule,
        reason=error,
    )
    notices.rule_failed(operation.team_id, rule, error, now)


def _open(operation: Operation, found: policy.Gate, now: datetime) -> Approval:
    """The item that asks whether the tool may run; who may say so is fixed here."""
    ask = _answerable(found.ask or policy.DEFAULT_ASK, operation)
    deadline = None if ask.deadline_s is None else now + timedelta(seconds=ask.deadline_s)
    approval = Approval.objects.create(
        team_id=operation.team_id,
        operation=operation,
        **words.of_new(operation),
        kind=Kind.GATE,
        shape=Shape.RUN,
        audience=Audience(ask.audience),
        created_at=now,
        deadline_at=deadline,
        four_eyes=ask.four_eyes,
        policy={**_kept(found, ask), "claims": list(claims_of(operation))},
    )
    opened(approval, ask.people if ask.audience is policy.Audience.PEOPLE else (), now)
    return approval


def _kept(found: policy.Gate, ask: policy.Ask) -> dict[str, Any]:
    """What an item keeps of the policy: changing a rule never changes an item that exists."""
    return {
        "rule": found.rule,
        "number": found.number,
        "failed": found.error is not None,
        "ask": ask.as_json(),
    }


def claims_of(operation: Operation) -> tuple[str, ...]:
    """What the server claims of the tool, in words of ours. An item keeps what was claimed when it
    was made: as the rules saw it, and as whoever decides sees it, whatever is claimed later.
    """
    tool = operation.server.tools.filter(name=operation.tool_name).first()
    return ToolView.of(tool).claims if tool else ()


def _answerable(ask: policy.Ask, operation: Operation) -> policy.Ask:
    """What a service started has nobody who could decide it themselves: the approvers do."""
    if ask.audience is policy.Audience.REQUESTER and operation.started_by_id is None:
        return policy.DEFAULT_ASK
    return ask


def denies_at_deadline(approval: Approval) -> bool:
    """Whether the rule that made this gate has it denied, not expired, when nobody decides."""
    kept = approval.policy if isinstance(approval.policy, dict) else {}
    ask = kept.get("ask")
    return isinstance(ask, dict) and ask.get("at_deadline") == policy.AtDeadline.DENY


def snapshot_of(approval: Approval) -> policy.Snapshot:
    """The policy of an item as it was when the item was made. Raises policy.BadRule."""
    kept = approval.policy if isinstance(approval.policy, dict) else {}
    return policy.Snapshot(
        ask=policy.read_ask(kept.get("ask")),
        requesters=access.requesters(approval.operation),
        deadline_at=approval.deadline_at,
    )
