"""The page of one operation: its state in words, its phases, what it carried, its timeline."""

from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from mcpdesk.accounts.access import Permission
from mcpdesk.accounts.guard import MemberRequest, member_required
from mcpdesk.mcp.notes import Note
from tasks_monitor import phases, result_blocks, selectors, story, wording
from tasks_monitor.models import InputRequest, InputRequestState, Operation, RepairState
from tasks_monitor.result_parts import part as part_of
from tasks_monitor.states import NEEDS_OPERATOR, TERMINAL, State

_PAGE: Final = "tasks_monitor/operation.html"
#: What a server made is never run: not by this page's address, and not by a browser's guess.
_INERT: Final = "default-src 'none'; sandbox"
#: A task is not looked at in these (engine.checknow).
_UNCHECKED: Final = TERMINAL | {State.AWAITING_APPROVAL}


@require_safe
@member_required()
def operation(request: MemberRequest, pk: UUID) -> HttpResponse:
    """One operation. Its live regions ask here for themselves, by the id of their element."""
    found = find(request, pk)
    if not request.htmx:
        return _page(request, found)
    if request.htmx.target == "operation-actions":
        return render(request, f"{_PAGE}#actions", _actions(request, found))
    if request.htmx.target == "operation-facts":
        return render(request, f"{_PAGE}#facts", _facts(request, found))
    if request.htmx.target == "operation-timeline":
        return render(request, f"{_PAGE}#timeline", _timeline(request, found))
    if request.htmx.target == "timeline-older":
        return render(request, f"{_PAGE}#older", _timeline(request, found))
    return render(request, f"{_PAGE}#state", _state(request, found))


def find(request: MemberRequest, pk: UUID) -> Operation:
    """The operation, if this member may know of it; else a 404."""
    return get_object_or_404(selectors.shown_operations(request.member), pk=pk)


def _page(request: MemberRequest, found: Operation) -> HttpResponse:
    context = {
        **_state(request, found),
        **_actions(request, found),
        **_facts(request, found),
        **_timeline(request, found),
    }
    return render(request, _PAGE, context)


def _about(found: Operation) -> dict[str, Any]:
    """What every part of the page knows."""
    return {"operation": found, "server": found.server, "ended": State(found.state) in TERMINAL}


def _state(request: MemberRequest, found: Operation) -> dict[str, Any]:
    """Where it is, who it waits for, whose turn it was so far, what the server says."""
    questions, gates = selectors.questions(found), selectors.gates(found)
    for question in questions:
        # what the template asks of a row
        question.waits_for = wording.waits_for(found, [question])  # type: ignore[attr-defined]
    return {
        **_about(found),
        **_phases(found),
        "now": datetime.now(UTC),
        "host": wording.host(found.server),
        "tone": wording.tone(found),
        "mark": wording.mark(found),
        "waits_for": wording.waits_for(found, questions),
        "waiting_since": _waiting_since(questions),
        "answerable": any(q.state == InputRequestState.OPEN and not q.problem for q in questions),
        "status_message": selectors.status_message_for(request.member, found),
        "questions": questions,
        "gates": gates,
        "gate": gates[0] if gates else None,
        "gate_waits_for": selectors.gate_waits_for(gates),
    }


def _waiting_since(questions: list[InputRequest]) -> datetime | None:
    opened = [q.opened_at for q in questions if q.state == InputRequestState.OPEN]
    return min(opened, default=None)


def _phases(found: Operation) -> dict[str, Any]:
    """Whose turn it was, and for how long."""
    moves, whole = story.moves(found)
    state, now = State(found.state), datetime.now(UTC)
    done = phases.phases(found.created_at, state, moves, now, whole=whole)
    return {"phases": done, "bar": phases.bar(done), "sums": phases.sums(done)}


def _facts(request: MemberRequest, found: Operation) -> dict[str, Any]:
    """What went out and what came back, as far as this member may see it."""
    payload = selectors.payload_for(request.member, found)
    notes = (payload.notes if payload else None) or []
    return {
        **_about(found),
        "payload": payload,
        "blocks": result_blocks.blocks(payload.result) if payload and payload.result else [],
        "mismatch": Note.OUTPUT_MISMATCH in notes,
    }


def _timeline(request: MemberRequest, found: Operation) -> dict[str, Any]:
    """The newest events, those since a page was opened, or those before one of them."""
    before, first = _event_id(request, "before"), _event_id(request, "from")
    if before is not None:
        events = story.older(found, before)
    elif first is not None:
        events = story.grown(found, first)
    else:
        events = story.newest(found)
    return {**_about(found), "events": events, "is_older": before is not None}


def _event_id(request: MemberRequest, name: str) -> int | None:
    text = request.GET.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None


def _actions(request: MemberRequest, found: Operation) -> dict[str, Any]:
    """What this member may do to it now."""
    state = State(found.state)
    may = request.member.may(Permission.OPERATE)
    runs = state not in TERMINAL and state not in {State.LOST, State.UNKNOWN}
    may_repair = request.member.may(Permission.RECONCILE) and state in NEEDS_OPERATOR
    stuck_call = state == State.STUCK and not found.has_task
    return {
        "operation": found,
        "may_cancel": may and runs and not stuck_call and not found.cancel_requested_at,
        "may_check": may and found.has_task and state not in _UNCHECKED,
        "may_repair": may_repair,
        "proposed": may_repair and found.repairs.filter(state=RepairState.PROPOSED).exists(),
    }


@require_safe
@member_required()
def result_file(request: MemberRequest, pk: UUID) -> HttpResponse:
    """The whole result as it came, to keep: nothing is cut here."""
    # not indented: deep nesting would be sixty times as long as it came
    response = JsonResponse(_result(request, pk), safe=False)
    return _to_keep(response, f"result-{pk}.json")


@require_safe
@member_required()
def result_part(request: MemberRequest, pk: UUID, name: str) -> HttpResponse:
    """One part of the result, to keep: a picture, a resource, the structured content."""
    found = part_of(_result(request, pk), name)
    if found is None:
        raise Http404("no such part of the result")
    response = HttpResponse(found.content, content_type=found.media_type)
    return _to_keep(response, f"result-{pk}-{name}.{found.ending}")


def _result(request: MemberRequest, pk: UUID) -> Any:
    payload = selectors.payload_for(request.member, find(request, pk))
    if payload is None or payload.result is None:
        raise Http404("no result that this member may see")
    return payload.result


def _to_keep(response: HttpResponse, name: str) -> HttpResponse:
    """A file: never shown in the desk's own name, whatever is in it."""
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Content-Security-Policy"] = _INERT
    response["X-Content-Type-Options"] = "nosniff"
    return response
