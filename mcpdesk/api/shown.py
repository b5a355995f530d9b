"""Rows as the API shows them; accounts/access.py decides what a caller may see, as on pages."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.urls import reverse

from approvals import binding, drafts, proposal, question, schema_form, standing, standstill, votes
from approvals.item import warnings_of
from approvals.models import Approval, ApprovalState, Choice, Kind, Verdict, Vote
from approvals.outcomes import what_was_said
from approvals.question import Question
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member
from mcpdesk.api import schemas
from mcpdesk.api.schemas import Links, Needs
from mcpdesk.audit.models import Event, Export
from mcpdesk.audit.models import shown as readable
from tasks_monitor import selectors, wording
from tasks_monitor.models import Operation, Server
from tasks_monitor.outcome import outcome
from tasks_monitor.states import NEEDS_OPERATOR, State

_WAITS_FOR_PEOPLE = frozenset({State.AWAITING_APPROVAL, State.INPUT_REQUIRED})


def address(route: str, *args: object) -> str:
    """A page or a route of the API, whole: its reader may be anywhere."""
    return f"{settings.PUBLIC_URL}{reverse(route, args=args)}"


def needs(operation: Operation) -> Needs | None:
    """Who has to do something before it goes on."""
    state = State(operation.state)
    if state in NEEDS_OPERATOR:
        return Needs.OPERATOR
    return Needs.PEOPLE if state in _WAITS_FOR_PEOPLE else None


def operation_row(operation: Operation) -> dict[str, Any]:
    return {
        "id": operation.pk,
        "server": operation.server.name,
        "tool": operation.tool_name,
        "state": operation.state,
        "words": wording.outcome(operation),
        "outcome": outcome(State(operation.state), is_error=operation.is_error),
        "needs": needs(operation),
        "started_by": operation.starter,
        "by_service": operation.started_by_id is None,
        "adopted": operation.adopted,
        "reason": operation.reason,
        "created_at": operation.created_at,
        "updated_at": operation.updated_at,
        "finished_at": operation.finished_at,
        "links": _operation_links(operation.pk),
    }


def operation(found: Operation, member: Member) -> dict[str, Any]:
    """One operation with what this member may see of what it carried."""
    payload = selectors.payload_for(member, found)
    carried: dict[str, Any] = {"payload_visible": access.may_see_payload(member, found)}
    if payload is not None:
        carried |= {
            "arguments": payload.arguments,
            "message": str(payload.status_message or ""),
            "result": payload.result,
            "error": payload.error,
        }
    return {
        **operation_row(found),
        "words": _words(found),
        "explanation": found.explanation,
        "error_code": found.error_code,
        "cancel_requested_at": found.cancel_requested_at,
        "waiting": _waiting(found),
        **carried,
    }


def _words(found: Operation) -> str:
    if State(found.state) == State.AWAITING_APPROVAL:
        by = selectors.gate_waits_for(selectors.gates(found))
        return f"Waiting for approval by {by}" if by else wording.outcome(found)
    if needs(found) is Needs.PEOPLE:
        return f"Waiting for {wording.waits_for(found, selectors.questions(found))}"
    return wording.outcome(found)


def _waiting(found: Operation) -> list[dict[str, Any]]:
    items = Approval.objects.filter(operation=found, state=ApprovalState.OPEN)
    rows = items.order_by("created_at", "pk").values_list("pk", "kind")
    return [{"id": pk, "kind": kind, "links": _approval_links(pk)} for pk, kind in rows]


def _operation_links(pk: UUID) -> Links:
    return Links(self=address("api:operation", pk), page=address("operation", pk))


def _approval_links(pk: UUID) -> Links:
    return Links(self=address("api:approval", pk), page=address("inbox_item", pk))


def approval_row(approval: Approval) -> dict[str, Any]:
    return {
        "id": approval.pk,
        "operation_id": approval.operation_id,
        "kind": approval.kind,
        "shape": approval.shape,
        "state": approval.state,
        "decision": approval.decision or None,
        "server": approval.operation.server.name,
        "tool": approval.operation.tool_name,
        "started_by": approval.operation.starter,
        "reason": approval.operation.reason,
        "created_at": approval.created_at,
        "deadline_at": approval.deadline_at,
        "closed_at": approval.closed_at,
        "links": _approval_links(approval.pk),
    }


def approval(found: Approval, member: Member, now: datetime) -> dict[str, Any]:
    """One item with everything that its page shows: who decides does so by this alone."""
    progress = votes.progress(found, now)
    draft = drafts.load(found, member.user) if not member.service else None
    deadline = standstill.deadline_of(found, now) if found.is_open else found.deadline_at
    how = standing.of(member, found, progress, draft, deadline, now)
    seen = access.may_see_payload(member, found.operation)
    bound = binding.bind(found, user_id=member.user_id, now=now) if how.can_act else None
    return {
        **approval_row(found),
        "deadline_at": deadline,
        "version": found.version,
        "binding": bound,
        "standing": how,
        "can_be_said": sorted(_can_be_said(found)) if how.can_act else [],
        "four_eyes": found.four_eyes,
        "agreed": progress.count,
        "needed": progress.needed,
        "votes": _votes(progress.said, seen),
        "decided_by": str(found.decided_by) if found.decided_by else None,
        "decided_at": found.decided_at,
        "payload_visible": seen,
        **(_carried(found) if seen else {}),
    }


def _can_be_said(found: Approval) -> Iterable[Choice | Verdict]:
    if found.kind == Kind.GATE:
        return list(Verdict)
    request = found.input_request
    return question.read(request).allowed if request else []


def _votes(said: list[Vote], seen: bool) -> list[dict[str, Any]]:
    """Who said what; the reason is part of what was carried."""
    return [
        {
            "by": str(vote.user),
            "said": what_was_said(vote.choice),
            "at": vote.at,
            "reason": (vote.reason or "") if seen else "",
        }
        for vote in said
    ]


def _carried(found: Approval) -> dict[str, Any]:
    arguments = found.operation.payload.arguments
    if found.input_request is None:
        return {"arguments": arguments}
    asked = question.read(found.input_request)
    return {
        "arguments": arguments,
        "question": _question(asked),
        "proposal": proposal.posted(found, asked),
    }


def _question(asked: Question) -> schemas.Question:
    return schemas.Question(
        message=asked.message,
        fields=[_field(field) for field in asked.fields],
        requested_schema=asked.requested_schema,
        link=asked.link.url if asked.link else "",
        warnings=warnings_of(asked),
        problem=asked.problem,
    )


def _field(field: schema_form.Field) -> schemas.FormField:
    return schemas.FormField(
        name=field.name,
        label=field.label,
        help=field.help,
        kind=field.kind.value,
        required=field.required,
        secret=field.secret_like,
        choices=[choice.content for choice in field.choices],
    )


def server(found: Any) -> dict[str, Any]:
    """A server of selectors.servers(), with its counts."""
    return {
        "name": found.name,
        "host": wording.host(found),
        "identity": found.identity,
        "paused": found.paused,
        "reachable": found.unreachable_since is None,
        "protocol_version": found.protocol_version,
        "questions_to": found.questions_to,
        "tools": found.tool_count,
        "open_operations": found.open_count,
        "links": _server_links(found),
    }


def _server_links(found: Server) -> Links:
    tools = address("api:tools", found.name)
    return Links(self=tools, page=address("server", found.pk))


def event(found: Event) -> dict[str, Any]:
    return {
        "id": found.pk,
        "at": found.at,
        "kind": found.kind,
        "sentence": found.sentence,
        "actor": readable(found.actor_name),
        "channel": found.channel,
        "operation_id": found.operation_id,
        "approval_id": found.approval_id,
        "server_id": found.server_id,
        "data": {name: readable(value) for name, value in found.data.items()},
    }


def export(found: Export) -> dict[str, Any]:
    return {
        "id": found.pk,
        "subject": found.subject,
        "format": found.format,
        "begun_by": found.begun_by,
        "rows": found.rows,
        "created_at": found.created_at,
        "finished_at": found.finished_at,
        "links": {
            "self": address("api:export", found.pk),
            "page": address("export", found.pk),
            "file": address("api:export_file", found.pk),
        },
    }
