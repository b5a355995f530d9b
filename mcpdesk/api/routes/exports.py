"""Exports: begin one, see how far it came, take the file, go on where it broke off."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any, Final
from uuid import UUID

from django.http import StreamingHttpResponse
from django.shortcuts import get_object_or_404
from ninja import Query, Router, Status

from approvals.history_export import APPROVALS
from mcpdesk.accounts import tokens
from mcpdesk.accounts.tokens import Scope
from mcpdesk.api import shown
from mcpdesk.api.callers import ApiRequest, Bearer, Caller
from mcpdesk.api.listing import meant
from mcpdesk.api.problems import Problem
from mcpdesk.api.schemas import BeginExport, ExportOut
from mcpdesk.audit import exports
from mcpdesk.audit.exports import NoSuchRow, Subject
from mcpdesk.audit.locks import Busy
from mcpdesk.audit.models import Export, ExportFormat
from tasks_monitor.event_export import EVENTS
from tasks_monitor.history_export import OPERATIONS

router = Router(tags=["exports"])

SUBJECTS: Final[dict[str, Subject]] = {one.name: one for one in (OPERATIONS, APPROVALS, EVENTS)}
_TYPES: Final = {
    ExportFormat.CSV: "text/csv; charset=utf-8",
    ExportFormat.NDJSON: "application/x-ndjson",
}
_FILE: Final = {kind.partition(";")[0]: {"schema": {"type": "string"}} for kind in _TYPES.values()}
After = Annotated[
    str,
    Query(
        max_length=100,
        pattern=r"^[^\x00]*$",
        description="The id of the last row that was received.",
    ),
]


@router.post("", auth=Bearer(Scope.EXPORT), response={201: ExportOut})
def begin(request: ApiRequest, wanted: BeginExport) -> Any:
    """Put down what is exported; the file is taken from its link.

    `filters` are those of the list, the server by its name. One that means nothing is refused: the
    file would be of more than was meant.
    """
    caller = request.auth
    subject = SUBJECTS[wanted.subject]
    export = exports.begin(
        caller.member,
        subject,
        wanted.format,
        meant(subject.means, caller.member, wanted.filters, inside="filters."),
        actor=caller.actor,
        now=caller.now,
        payloads=wanted.payloads,
    )
    return Status(201, shown.export(export))


@router.get("/{uuid:pk}", auth=Bearer(Scope.EXPORT), response=ExportOut, url_name="export")
def export(request: ApiRequest, pk: UUID) -> Any:
    """How far the file has come."""
    return shown.export(_find(request.auth, pk))


@router.get(
    "/{uuid:pk}/file",
    auth=Bearer(Scope.EXPORT),
    url_name="export_file",
    openapi_extra={"responses": {200: {"content": _FILE}}},
)
def file(request: ApiRequest, pk: UUID, after: After = "") -> Any:
    """The file, or what is behind the row `after`; who loses the right meanwhile gets no more."""
    caller = request.auth
    found = _find(caller, pk)
    try:
        parts = exports.stream(
            found,
            caller.member,
            SUBJECTS[found.subject],
            actor=caller.actor,
            after=after,
            still_may=_still_may(caller),
        )
    except NoSuchRow:
        raise Problem(404, "The export has no such row.") from None
    except Busy:
        raise Problem(503, exports.BUSY) from None
    return StreamingHttpResponse(parts, content_type=_TYPES[ExportFormat(found.format)])


def _find(caller: Caller, pk: UUID) -> Export:
    """An export that the token's person began; for a service, one that it began itself."""
    by = {"user": caller.token.user, "service": caller.member.service}
    mine = Export.objects.filter(team=caller.member.team_id, **by).select_related("user")
    return get_object_or_404(mine, pk=pk, subject__in=SUBJECTS)


def _still_may(caller: Caller) -> Callable[[], bool]:
    def still_may() -> bool:
        now = datetime.now(UTC)
        token = tokens.as_of(caller.token, now)
        member = tokens.holder(token, now) if token is not None else None
        return member is not None and member.may(tokens.NEEDS[Scope.EXPORT])

    return still_may
