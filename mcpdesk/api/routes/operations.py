"""Operations: start, read and wait, list, cancel, adopt."""

from typing import Annotated, Any, Final
from uuid import UUID

from django.db.models import prefetch_related_objects
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Header, Query, Router, Status

from approvals.gate import Disabled, request_start
from approvals.models import Approval
from mcpdesk import keyset
from mcpdesk.accounts import access
from mcpdesk.accounts.access import Member
from mcpdesk.accounts.tokens import Scope
from mcpdesk.api import shown
from mcpdesk.api.callers import ApiRequest, Bearer
from mcpdesk.api.listing import WantedOperations, check_cursor, filters_of, server_of
from mcpdesk.api.problems import Problem
from mcpdesk.api.schemas import Adopt, OperationOut, Operations, Start, Text
from mcpdesk.api.waiting import Until, unsettled
from tasks_monitor import history, selectors
from tasks_monitor.engine.adopt import adopt as adopt_task
from tasks_monitor.engine.cancel import request_cancel
from tasks_monitor.history_filters import OperationFilters
from tasks_monitor.models import API_KEY, Operation

router = Router(tags=["operations"])

#: With it, what an operation keeps (tasks_monitor.engine.start).
_MOST_KEY_CHARS: Final = 196

Key = Annotated[
    Text,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=_MOST_KEY_CHARS,
        description="The same key in the same team is the same operation, however often it comes.",
    ),
]
Wait = Annotated[
    int,
    Query(ge=0, le=60, description="Hold the answer for up to so many seconds (s)."),
]
HoldUntil = Annotated[
    Until,
    Query(
        description="`input`: until it ends, or somebody has to do something. `end`: until it "
        "ends, or an operator has to do something."
    ),
]


@router.post("", auth=Bearer(Scope.START), response={202: OperationOut, 200: OperationOut})
def start(
    request: ApiRequest,
    response: HttpResponse,
    wanted: Start,
    key: Key,
    wait: Wait = 0,
    until: HoldUntil = Until.INPUT,
) -> Any:
    """Start a tool.

    202: it is kept, and will be sent (or waits for approval). 200: this key made it before, and
    nothing was started again.
    """
    caller = request.auth
    outcome = request_start(
        team_id=caller.member.team_id,
        server_id=server_of(caller.member, wanted.server).pk,
        tool_name=wanted.tool,
        arguments=wanted.arguments,
        actor=caller.actor,
        now=caller.now,
        reason=wanted.reason,
        questions_to=wanted.questions_to,
        repeatable=wanted.repeatable,
        idempotency_key=f"{API_KEY}{key}",
    )
    if isinstance(outcome, Disabled):
        raise Problem(403, outcome.sentence, "policy")
    found = _find(caller.member, outcome.operation.pk)
    response["Location"] = shown.address("api:operation", found.pk)
    _hold(response, found, wait, until)
    return Status(202 if outcome.created else 200, shown.operation(found, caller.member))


@router.get("", auth=Bearer(Scope.READ), response=Operations)
def operations(request: ApiRequest, wanted: Query[WantedOperations], after: Text = "") -> Any:
    """The team's operations, narrowed and sorted as on the page of the history."""
    member = request.auth.member
    filters = filters_of(OperationFilters, member, wanted)
    check_cursor(keyset.is_cursor(filters.order, after), after)
    page = history.page(
        member,
        filters,
        after,
        readable=access.payload_seen(member, Approval.objects.all()),
    )
    prefetch_related_objects(page.rows, "token")
    return {"items": [shown.operation_row(row) for row in page.rows], "after": page.after}


@router.get("/{uuid:pk}", auth=Bearer(Scope.READ), response=OperationOut, url_name="operation")
def operation(
    request: ApiRequest,
    response: HttpResponse,
    pk: UUID,
    wait: Wait = 0,
    until: HoldUntil = Until.INPUT,
) -> Any:
    """One operation, at once or when it has come further."""
    member = request.auth.member
    found = _find(member, pk)
    _hold(response, found, wait, until)
    return shown.operation(found, member)


@router.post("/{uuid:pk}/cancel", auth=Bearer(Scope.CANCEL), response={202: OperationOut})
def cancel(request: ApiRequest, pk: UUID) -> Any:
    """Ask for cancellation; it is cancelled when the server says so. Twice changes nothing."""
    caller = request.auth
    request_cancel(_find(caller.member, pk).pk, actor=caller.actor, now=caller.now)
    return Status(202, shown.operation(_find(caller.member, pk), caller.member))


@router.post("/adopt", auth=Bearer(Scope.START), response={202: OperationOut, 200: OperationOut})
def adopt(request: ApiRequest, response: HttpResponse, wanted: Adopt) -> Any:
    """Put a task that some other client started under the desk's care.

    200: the desk follows it already.
    """
    caller = request.auth
    started = adopt_task(
        team_id=caller.member.team_id,
        server_id=server_of(caller.member, wanted.server).pk,
        task_id=wanted.task_id,
        tool_name=wanted.tool,
        actor=caller.actor,
        now=caller.now,
        reason=wanted.reason,
        questions_to=wanted.questions_to,
    )
    found = _find(caller.member, started.operation.pk)
    response["Location"] = shown.address("api:operation", found.pk)
    return Status(202 if started.created else 200, shown.operation(found, caller.member))


def _find(member: Member, pk: UUID) -> Operation:
    """An operation of the team. Raises Http404."""
    found = selectors.shown_operations(member)
    return get_object_or_404(found.select_related("server", "started_by", "token"), pk=pk)


def _hold(response: HttpResponse, found: Operation, wait: int, until: Until) -> None:
    if wait:
        unsettled(response, found, until)
